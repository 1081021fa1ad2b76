// The editor of a cell or a step: CodeMirror with the problems below the text, and buttons to apply and to cancel. `column.js` imports this
// module when the first edit is near.

import { closeBrackets, closeBracketsKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentLess, indentMore } from "@codemirror/commands";
import { bracketMatching, indentOnInput, indentUnit } from "@codemirror/language";
import { lintGutter, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap, lineNumbers, tooltips } from "@codemirror/view";
import { focusIn, h } from "../core/dom.js";
import { editorHelp, setWords } from "./editor_help.js";
import { problemLine } from "./problem_line.js";
import { python } from "./python_language.js";

/** @import { Extension, Text } from "@codemirror/state" */
/** @import { KeyBinding } from "@codemirror/view" */
/** @import { CellProblem, Words } from "./types.js" */

const PAUSE_MS = 260;
const INDENT = 4;

/**
 * @param {Text} text
 * @param {number} line
 * @param {number} column
 */
function offsetOf(text, line, column) {
  if (line > text.lines) return text.length;
  const { from, to } = text.line(line);
  return Math.min(from + column - 1, to);
}

/**
 * The range of a problem, at least one character. Lines and columns count from 1.
 * @param {Text} text
 * @param {{ line: number, column: number, end_line: number, end_column: number }} problem
 */
export function rangeOf(text, problem) {
  const place = offsetOf(text, problem.line, problem.column);
  const from = place === text.lineAt(place).to ? Math.max(0, place - 1) : place;
  const to = Math.max(offsetOf(text, problem.end_line, problem.end_column), from + 1);
  return { from, to: Math.min(to, text.length) };
}

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

/**
 * @typedef {object} EditorOptions
 * @property {string} label
 * @property {"python" | "prose" | "line"} kind
 * @property {string} comment The comment sign.
 * @property {HTMLElement} host An element on the page that will contain the editor and its tooltips.
 * @property {(text: string) => void} draft Called after a pause.
 * @property {(text: string, byKey: boolean) => void} done
 * @property {() => void} dropped
 */

export class CellEditor {
  /**
   * @param {string} text
   * @param {EditorOptions} options
   */
  constructor(text, options) {
    this.options = options;
    this.first = text;
    this.over = false;
    this.problemCount = 0;
    /** @type {number | undefined} */
    this.timer = undefined;
    // In the top layer, so that no scroll container clips the tooltips.
    this.layer = h("div", { class: "editor-layer", popover: "manual" });
    this.view = new EditorView({
      root: /** @type {Document | ShadowRoot} */ (options.host.getRootNode()),
      state: EditorState.create({ doc: text, selection: { anchor: text.length }, extensions: this.extensions() }),
    });
    this.messages = h("div", { class: "editor-problems", role: "status" });
    this.element = h(
      "div",
      { class: `cell-edit is-${options.kind}` },
      this.view.dom,
      h("div", { class: "editor-foot" }, this.messages, this.bar()),
    );
    this.view.dom.addEventListener("keydown", (event) => event.stopPropagation()); // the page has shortcuts
    this.content.addEventListener("focusout", (event) => this.left(event));
  }

  /** @returns {Extension[]} */
  extensions() {
    const { kind, label, comment } = this.options;
    const isProse = kind === "prose";
    const finish = () => this.finish();
    /** @type {KeyBinding[]} */
    const keys = [
      { key: "Escape", run: () => this.drop() },
      { key: "Mod-Enter", run: finish },
      { key: "Tab", run: indent, shift: indentLess },
    ];
    if (kind === "line") keys.push({ key: "Enter", run: finish });
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
      EditorView.updateListener.of((update) => update.docChanged && this.changed()),
    ];
  }

  bar() {
    const key = this.options.kind === "line" ? "Enter" : "Ctrl+Enter";
    const keep = (/** @type {Event} */ event) => event.preventDefault(); // a loss of the focus would finish the edit
    const apply = () => this.finish();
    return h(
      "div",
      { class: "cell-edit-bar", onpointerdown: keep, onmousedown: keep },
      h("button", { class: "tool primary small", type: "button", title: key, onclick: apply }, "Apply"),
      h("button", { class: "tool small", type: "button", title: "Esc", onclick: () => this.drop() }, "Cancel"),
      h("span", { class: "quiet editor-keys" }, `${key} applies, Esc cancels`),
    );
  }

  /** The element that takes the keys. */
  get content() {
    return this.view.contentDOM;
  }

  get text() {
    return this.view.state.doc.toString();
  }

  focus() {
    this.options.host.append(this.layer);
    this.layer.showPopover();
    this.view.focus();
    this.show();
  }

  /** Scroll to the editor, and to the caret. */
  show() {
    this.element.scrollIntoView({ block: "nearest" });
    this.view.dispatch({ scrollIntoView: true });
  }

  /** @param {Words} words */
  setWords(words) {
    this.view.dispatch({ effects: setWords.of(words) });
  }

  /**
   * Show the problems of the text; lines count from its start.
   * @param {CellProblem[]} problems
   */
  showProblems(problems) {
    const grown = problems.length > this.problemCount;
    this.problemCount = problems.length;
    const rangeNow = (/** @type {CellProblem} */ problem) => rangeOf(this.view.state.doc, problem);
    this.view.dispatch(
      setDiagnostics(
        this.view.state,
        problems.map((problem) => ({ ...rangeNow(problem), severity: "error", message: problem.message })),
      ),
    );
    this.messages.replaceChildren(
      ...problems.map((problem) =>
        problemLine(problem, problem.line, {
          mend: () => this.write(rangeNow(problem), problem.mend ?? ""),
          go: () => this.select(rangeNow(problem)),
        }),
      ),
    );
    for (const button of this.messages.querySelectorAll("button"))
      button.addEventListener("mousedown", (event) => event.preventDefault());
    if (grown) this.show();
  }

  /** @param {{ from: number, to: number }} range */
  select({ from, to }) {
    this.view.focus();
    this.view.dispatch({ selection: { anchor: from, head: to }, scrollIntoView: true });
  }

  /**
   * Replace a range as if the user typed `text`.
   * @param {{ from: number, to: number }} range
   * @param {string} text
   */
  write({ from, to }, text) {
    this.view.dispatch({
      changes: { from, to, insert: text },
      selection: { anchor: from + text.length },
      userEvent: "input",
    });
  }

  /**
   * Replace the text as if the user typed it.
   * @param {string} text
   */
  retype(text) {
    this.write({ from: 0, to: this.view.state.doc.length }, text);
  }

  changed() {
    // The page asks for consent before it closes with an unfinished edit.
    if (this.text === this.first) delete document.documentElement.dataset.editing;
    else document.documentElement.dataset.editing = "";
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.options.draft(this.text), PAUSE_MS);
  }

  /**
   * Finish the edit when another element of the page gets the focus, not when another window does.
   * @param {FocusEvent} event
   */
  left(event) {
    if (this.over || !document.hasFocus() || this.element.contains(/** @type {Node | null} */ (event.relatedTarget)))
      return;
    setTimeout(() => {
      if (!this.over && this.content.isConnected && focusIn(this.content) !== this.content) this.finish(false);
    });
  }

  finish(byKey = true) {
    if (!this.over) {
      this.end();
      this.options.done(this.text, byKey);
    }
    return true;
  }

  drop() {
    if (!this.over) {
      this.end();
      this.options.dropped();
    }
    return true;
  }

  end() {
    this.over = true;
    this.layer.remove();
    clearTimeout(this.timer);
    delete document.documentElement.dataset.editing;
  }
}
