// The editor of a cell or a step: its text, the problems below it, and buttons to apply and to cancel.

import { focusIn, h } from "../core/dom.js";
import { PlainArea } from "./plain_area.js";
import { problemLine } from "./problem_line.js";

/** @import { Words } from "../views.js" */
/** @import { TextProblem as Problem } from "../views.js" */

/**
 * A problem with a place, whose lines count from the start of a cell.
 * @typedef {{ [K in keyof Problem]: K extends "message" | "found" | "expected" | "code" | "mend" ? Problem[K] : number } & { in_file: number }} CellProblem
 */

/** @typedef {{ from: number, to: number }} Range Offsets in a text. */

/**
 * @typedef {object} TextOptions
 * @property {string} label
 * @property {"python" | "prose" | "line"} kind
 * @property {string} comment The comment sign.
 * @property {HTMLElement} host An element on the page that will contain the editor and its tooltips.
 */

/** @typedef {TextOptions & { changed: () => void, finish: () => void, drop: () => void }} AreaOptions */

/**
 * The part of an editor that takes the text.
 * @typedef {object} EditArea
 * @property {HTMLElement} element
 * @property {HTMLElement} content The element that takes the keys.
 * @property {string} text
 * @property {Range} selection
 * @property {boolean} isComposing Whether an input method composes a character.
 * @property {() => void} focus
 * @property {(range: Range) => void} select
 * @property {(range: Range, text: string) => void} write Replaces a range as if the user typed `text`.
 * @property {() => void} show Scrolls to the caret.
 * @property {(words: Words) => void} setWords
 * @property {(problems: (Range & { message: string })[]) => void} markProblems
 * @property {() => void} closeTooltips
 * @property {() => void} destroy
 */

/**
 * @typedef {object} EditorEvents
 * @property {(text: string) => void} draft Called after a pause.
 * @property {(text: string, byKey: boolean) => void} done
 * @property {() => void} dropped
 * @property {() => void} left Called when the text loses the focus.
 */

/** @typedef {TextOptions & EditorEvents} EditorOptions */

const PAUSE_MS = 260;

/**
 * @param {string} text
 * @param {number} line
 * @param {number} column
 */
function offsetOf(text, line, column) {
  const lines = text.split("\n");
  if (line > lines.length) return text.length;
  const start = lines.slice(0, line - 1).reduce((sum, { length }) => sum + length + 1, 0);
  return start + Math.min(column - 1, lines[line - 1].length);
}

/**
 * The range of a problem, at least one character. Lines and columns count from 1.
 * @param {string} text
 * @param {{ line: number, column: number, end_line: number, end_column: number }} problem
 * @returns {Range}
 */
export function rangeOf(text, problem) {
  const place = offsetOf(text, problem.line, problem.column);
  const isLineEnd = place === text.length || text[place] === "\n";
  const from = isLineEnd ? Math.max(0, place - 1) : place;
  const to = Math.max(offsetOf(text, problem.end_line, problem.end_column), from + 1);
  return { from, to: Math.min(to, text.length) };
}

export class CellEditor {
  /**
   * @param {string} text
   * @param {EditorOptions} options
   */
  constructor(text, options) {
    this.options = options;
    this.first = text;
    this.over = false;
    /** @type {CellProblem[]} */
    this.problems = [];
    /** @type {number | undefined} */
    this.timer = undefined;
    /** @type {AreaOptions} */
    this.areaOptions = {
      ...options,
      changed: () => this.changed(),
      finish: () => this.finish(),
      drop: () => this.drop(),
    };
    /** @type {EditArea} */
    this.area = new PlainArea(text, this.areaOptions);
    this.messages = h("div", { class: "editor-problems", role: "status" });
    this.element = h(
      "div",
      { class: `cell-edit is-${options.kind}` },
      this.area.element,
      h("div", { class: "editor-foot" }, this.messages, this.bar()),
    );
    this.watch();
  }

  /** Keep the keys from the shortcuts of the page, and notice the loss of the focus. */
  watch() {
    this.area.element.addEventListener("keydown", (event) => event.stopPropagation());
    this.area.content.addEventListener("focusout", (event) => this.left(event));
  }

  /**
   * Continue in an area of another class, with the text, the selection and the focus of the present one.
   * @param {new (text: string, options: AreaOptions) => EditArea} Area
   */
  continueIn(Area) {
    const { area, text } = this;
    if (this.over) return;
    if (area.isComposing) {
      area.content.addEventListener("compositionend", () => this.continueIn(Area), { once: true });
      return;
    }
    const { selection } = area;
    const hasFocus = this.hasFocus();
    this.area = new Area(this.first, this.areaOptions);
    this.watch();
    if (text !== this.area.text) this.retype(text);
    this.area.select(selection);
    area.element.after(this.area.element);
    if (hasFocus) this.focus();
    area.element.remove();
    this.showProblems(this.problems);
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

  get text() {
    return this.area.text;
  }

  hasFocus() {
    return focusIn(this.area.content) === this.area.content;
  }

  focus() {
    this.area.focus();
    this.show();
  }

  /** Scroll to the editor, and to the caret. */
  show() {
    this.element.scrollIntoView({ block: "nearest" });
    this.area.show();
  }

  /** @param {Words} words */
  setWords(words) {
    this.area.setWords(words);
  }

  /**
   * Show the problems of the text; lines count from its start.
   * @param {CellProblem[]} problems
   */
  showProblems(problems) {
    const hasMore = problems.length > this.problems.length;
    this.problems = problems;
    const rangeNow = (/** @type {CellProblem} */ problem) => rangeOf(this.text, problem);
    this.area.markProblems(problems.map((problem) => ({ ...rangeNow(problem), message: problem.message })));
    this.messages.replaceChildren(
      ...problems.map((problem) =>
        problemLine(problem, problem.line, {
          mend: () => this.area.write(rangeNow(problem), problem.mend ?? ""),
          go: () => this.select(rangeNow(problem)),
        }),
      ),
    );
    for (const button of this.messages.querySelectorAll("button"))
      button.addEventListener("mousedown", (event) => event.preventDefault());
    if (hasMore) this.show();
  }

  /** @param {Range} range */
  select(range) {
    this.area.focus();
    this.area.select(range);
  }

  /**
   * Replace the text as if the user typed it.
   * @param {string} text
   */
  retype(text) {
    this.area.write({ from: 0, to: this.text.length }, text);
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
    this.options.left();
    if (this.over || !document.hasFocus() || this.element.contains(/** @type {Node | null} */ (event.relatedTarget)))
      return;
    setTimeout(() => {
      if (!this.over && this.area.content.isConnected && !this.hasFocus()) this.finish(false);
    });
  }

  finish(byKey = true) {
    if (!this.over) {
      this.end();
      this.options.done(this.text, byKey);
    }
  }

  drop() {
    if (!this.over) {
      this.end();
      this.options.dropped();
    }
  }

  end() {
    this.over = true;
    this.area.closeTooltips();
    clearTimeout(this.timer);
    delete document.documentElement.dataset.editing;
  }
}
