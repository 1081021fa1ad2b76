// The text of a cell or a step in CodeMirror. `column.js` imports this module when the first edit is near.

import { closeBrackets, closeBracketsKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentLess, indentMore } from "@codemirror/commands";
import { bracketMatching, indentOnInput, indentUnit } from "@codemirror/language";
import { lintGutter, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap, lineNumbers, tooltips } from "@codemirror/view";
import { h } from "../core/dom.js";
import { editorHelp, setWords } from "./editor_help.js";
import { python } from "./python_language.js";

/** @import { Extension } from "@codemirror/state" */
/** @import { KeyBinding } from "@codemirror/view" */
/** @import { AreaOptions, EditArea, Range } from "./cell_editor.js" */
/** @import { Words } from "../views.js" */

const INDENT = 4;

/**
 * Insert spaces up to the next multiple of the indentation, or indent the selected lines.
 * @param {EditorView} view
 */
function indent(view) {
  const { head, empty } = view.state.selection.main;
  if (!empty) return indentMore(view);
  const column = head - view.state.doc.lineAt(head).from;
  view.dispatch(view.state.replaceSelection(" ".repeat(INDENT - (column % INDENT))), { userEvent: "input" });
  return true;
}

/** @implements {EditArea} */
export class CodeArea {
  /**
   * @param {string} text
   * @param {AreaOptions} options
   */
  constructor(text, options) {
    this.options = options;
    // In the top layer, so that no scroll container clips the tooltips.
    this.layer = h("div", { class: "editor-layer", popover: "manual" });
    this.view = new EditorView({
      root: /** @type {Document | ShadowRoot} */ (options.host.getRootNode()),
      state: EditorState.create({ doc: text, selection: { anchor: text.length }, extensions: this.extensions() }),
    });
    options.host.append(this.layer);
    this.layer.showPopover();
  }

  /** @returns {Extension[]} */
  extensions() {
    const { kind, label, comment, changed, finish, drop } = this.options;
    const isProse = kind === "prose";
    const done = (/** @type {() => void} */ end) => () => {
      end();
      return true;
    };
    /** @type {KeyBinding[]} */
    const keys = [
      { key: "Escape", run: done(drop) },
      { key: "Mod-Enter", run: done(finish) },
      { key: "Tab", run: indent, shift: indentLess },
    ];
    if (kind === "line") keys.push({ key: "Enter", run: done(finish) });
    const code = [
      editorHelp(),
      python(comment),
      closeBrackets(),
      bracketMatching(),
      indentOnInput(),
      keymap.of(closeBracketsKeymap),
    ];
    return [
      isProse ? [] : code,
      kind === "python" ? [lineNumbers(), lintGutter()] : EditorView.lineWrapping,
      history(),
      indentUnit.of(" ".repeat(INDENT)),
      tooltips({ parent: this.layer, position: "fixed" }),
      keymap.of([...keys, ...historyKeymap, ...defaultKeymap]),
      EditorView.contentAttributes.of({
        "aria-label": label,
        "data-focus": "editor",
        tabindex: "0", // axe does not count an editable element as focusable
        spellcheck: String(isProse),
        autocapitalize: "off",
      }),
      EditorView.updateListener.of((update) => update.docChanged && changed()),
    ];
  }

  get element() {
    return this.view.dom;
  }

  get content() {
    return this.view.contentDOM;
  }

  get text() {
    return this.view.state.doc.toString();
  }

  get selection() {
    return this.view.state.selection.main;
  }

  /** @param {Range} range */
  select({ from, to }) {
    this.view.dispatch({ selection: { anchor: from, head: to }, scrollIntoView: true });
  }

  /**
   * @param {Range} range
   * @param {string} text
   */
  write({ from, to }, text) {
    this.view.dispatch({
      changes: { from, to, insert: text },
      selection: { anchor: from + text.length },
      userEvent: "input",
    });
  }

  get isComposing() {
    return this.view.composing;
  }

  focus() {
    this.view.focus();
  }

  /** Scroll to the caret. */
  show() {
    this.view.dispatch({ scrollIntoView: true });
  }

  /** @param {Words} words */
  setWords(words) {
    this.view.dispatch({ effects: setWords.of(words) });
  }

  /** @param {(Range & { message: string })[]} problems */
  markProblems(problems) {
    const marks = problems.map((problem) => ({ ...problem, severity: /** @type {const} */ ("error") }));
    this.view.dispatch(setDiagnostics(this.view.state, marks));
  }

  closeTooltips() {
    this.layer.remove();
  }

  destroy() {
    this.view.destroy();
  }
}
