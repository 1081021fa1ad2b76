// An editor for a cell or a line: a text field above the same text with syntax colours, with line numbers, indentation, paired brackets, and wavy
// lines under errors. Every change is an input event, so that the browser's undo works.

import { focusIn, h } from "../core/dom.js";
import { highlighted } from "../core/python_text.js";
import { EditorHelp } from "./editor_help.js";

/** @import { Child } from "../core/dom.js" */
/** @import { CellProblem } from "./types.js" */

/** @typedef {Omit<CellProblem, "in_file"> & { in_file?: number }} EditorProblem */
/** @typedef {[start: number, end: number, className: string, title?: string]} MarkedRange */

/** @type {Record<string, string>} */
const PAIRS = { "(": ")", "[": "]", "{": "}", '"': '"', "'": "'" };
const CLOSING = new Set(Object.values(PAIRS));
const PAUSE_MS = 260;
const LINE = 18; // px, as in the style sheet

/**
 * Replace the selection as if the user typed `text`.
 * @param {HTMLTextAreaElement} area
 * @param {string} text
 */
function type(area, text) {
  const done = text === "" ? document.execCommand("delete") : document.execCommand("insertText", false, text);
  if (done) return;
  area.setRangeText(text, area.selectionStart, area.selectionEnd, "end");
  area.dispatchEvent(new Event("input", { bubbles: true }));
}

/**
 * @param {HTMLTextAreaElement} area
 * @param {number} start
 * @param {number} end
 * @param {string} text
 */
function replaceRange(area, start, end, text) {
  area.setSelectionRange(start, end);
  type(area, text);
}

/**
 * The range from the start of the first selected line to the end of the last one.
 * @param {HTMLTextAreaElement} area
 */
function selectedLines(area) {
  const { value, selectionStart: start, selectionEnd: end } = area;
  const first = value.lastIndexOf("\n", start - 1) + 1;
  const until = end > start && value[end - 1] === "\n" ? end - 1 : end;
  const stop = value.indexOf("\n", until);
  return [first, stop < 0 ? value.length : stop];
}

/**
 * Change the selected lines, and keep them selected.
 * @param {HTMLTextAreaElement} area
 * @param {(lines: string[]) => string[]} change
 */
function changeLines(area, change) {
  const { selectionStart: start, selectionEnd: end, value } = area;
  const [first, last] = selectedLines(area);
  const old = value.slice(first, last).split("\n");
  const lines = change(old);
  if (lines.join("\n") === old.join("\n")) return;
  replaceRange(area, first, last, lines.join("\n"));
  const grown = lines.join("\n").length - (last - first);
  if (old.length === 1 && start === end) {
    const at = Math.max(first, start + grown);
    area.setSelectionRange(at, at);
  } else area.setSelectionRange(first, last + grown);
}

/**
 * @param {HTMLTextAreaElement} area
 * @param {boolean} outwards
 */
function indent(area, outwards) {
  const { value, selectionStart: start, selectionEnd: end } = area;
  if (!outwards && start === end) {
    const column = start - value.lastIndexOf("\n", start - 1) - 1;
    type(area, " ".repeat(4 - (column % 4)));
    return;
  }
  changeLines(area, (lines) =>
    lines.map((line) => (outwards ? line.replace(/^( {1,4}|\t)/, "") : line && `    ${line}`)),
  );
}

/**
 * Comment the selected lines, or uncomment them if all are comments.
 * @param {HTMLTextAreaElement} area
 * @param {string} sign
 */
function toggleComment(area, sign) {
  changeLines(area, (lines) => {
    const full = lines.filter((line) => line.trim());
    const all = full.length > 0 && full.every((line) => line.startsWith(sign.trimEnd()));
    return lines.map((line) =>
      !line.trim() ? line : all ? line.replace(sign, "").replace(sign.trimEnd(), "") : sign + line,
    );
  });
}

/**
 * Insert a line break with the indentation of the line, one level deeper after a colon or an open bracket.
 * @param {HTMLTextAreaElement} area
 */
function newLine(area) {
  const { value, selectionStart: start } = area;
  const line = value.slice(value.lastIndexOf("\n", start - 1) + 1, start);
  const spaces = line.match(/^\s*/)?.[0] ?? "";
  const opens = /[:([{]\s*$/.test(line);
  const closes = opens && /^[)\]}]/.test(value.slice(area.selectionEnd));
  type(area, `\n${spaces}${opens ? "    " : ""}`);
  if (closes) {
    const at = area.selectionStart;
    type(area, `\n${spaces}`);
    area.setSelectionRange(at, at);
  }
}

/**
 * @param {HTMLTextAreaElement} area
 * @param {1 | -1} by
 */
function moveLines(area, by) {
  const { value, selectionStart: start, selectionEnd: end } = area;
  const [first, last] = selectedLines(area);
  if (by < 0 ? first === 0 : last === value.length) return;
  const text = value.slice(first, last);
  if (by < 0) {
    const above = value.lastIndexOf("\n", first - 2) + 1;
    replaceRange(area, above, last, `${text}\n${value.slice(above, first - 1)}`);
    area.setSelectionRange(start - (first - above), end - (first - above));
  } else {
    const stop = value.indexOf("\n", last + 1);
    const below = stop < 0 ? value.length : stop;
    const moved = value.slice(last + 1, below);
    replaceRange(area, first, below, `${moved}\n${text}`);
    area.setSelectionRange(start + moved.length + 1, end + moved.length + 1);
  }
}

/**
 * Insert, skip and delete brackets and quotes in pairs. Returns whether the key was handled.
 * @param {HTMLTextAreaElement} area
 * @param {string} key
 */
function pairs(area, key) {
  const { value, selectionStart: start, selectionEnd: end } = area;
  const after = value[end] ?? "";
  if (CLOSING.has(key) && start === end && after === key) {
    area.setSelectionRange(start + 1, start + 1);
    return true;
  }
  if (key === "Backspace" && start === end && PAIRS[value[start - 1]] && PAIRS[value[start - 1]] === after) {
    replaceRange(area, start - 1, start + 1, "");
    return true;
  }
  if (!PAIRS[key]) return false;
  if (start !== end) {
    const text = value.slice(start, end);
    type(area, key + text + PAIRS[key]);
    area.setSelectionRange(start + 1, start + 1 + text.length);
    return true;
  }
  const quote = key === '"' || key === "'";
  if (after && !/[\s)\]},:]/.test(after)) return false;
  if (quote && /[\w"']/.test(value[start - 1] ?? "")) return false;
  type(area, key + PAIRS[key]);
  area.setSelectionRange(start + 1, start + 1);
  return true;
}

/**
 * The offsets of the bracket beside the caret and of its partner. Strings are not considered.
 * @param {string} value
 * @param {number} caret
 */
export function matching(value, caret) {
  const open = "([{";
  const close = ")]}";
  for (const at of [caret - 1, caret]) {
    const way = open.includes(value[at] || " ") ? 1 : close.includes(value[at] || " ") ? -1 : 0;
    if (!way) continue;
    let depth = 0;
    for (let n = at; n >= 0 && n < value.length && Math.abs(n - at) < 4000; n += way) {
      if (open.includes(value[n])) depth += 1;
      else if (close.includes(value[n])) depth -= 1;
      if (depth === 0) return [at, n];
    }
  }
  return [];
}

/**
 * The text without colours, with marked ranges, which may overlap.
 * @param {string} value
 * @param {MarkedRange[]} ranges
 * @returns {(Node | string)[]}
 */
function marked(value, ranges) {
  const edges = [
    ...new Set([0, value.length, ...ranges.flatMap(([start, end]) => [start, Math.min(end, value.length)])]),
  ].sort((a, b) => a - b);
  const parts = edges.slice(1).map((end, n) => {
    const over = ranges.filter(([from, to]) => from <= edges[n] && to >= end);
    const text = value.slice(edges[n], end);
    return over.length ? h("span", { class: over.map((range) => range[2]).join(" "), title: over[0][3] }, text) : text;
  });
  return [...parts, "\n"];
}

/**
 * @param {string} value
 * @param {number} line
 * @param {number} column
 */
function offsetOf(value, line, column) {
  let at = 0;
  for (let n = 1; n < line; n += 1) {
    const next = value.indexOf("\n", at);
    if (next < 0) return value.length;
    at = next + 1;
  }
  const end = value.indexOf("\n", at);
  return Math.min(at + column - 1, end < 0 ? value.length : end);
}

/**
 * The range of a problem in `value`, at least one character.
 * @param {string} value
 * @param {{ line: number, column: number, end_line: number, end_column: number }} problem
 * @returns {[start: number, end: number]}
 */
export function rangeOf(value, problem) {
  let start = offsetOf(value, problem.line, problem.column);
  let end = offsetOf(value, problem.end_line, problem.end_column);
  if (end <= start) end = start + 1;
  if (value[start] === "\n" || start >= value.length) start = Math.max(0, start - 1);
  return [start, end];
}

/**
 * A problem with its place and a button for its fix.
 * @param {EditorProblem} problem
 * @param {number} line
 * @param {{ mend?: () => void, go?: () => void }} [actions]
 */
export function problemLine(problem, line, { mend, go } = {}) {
  return h(
    "div",
    { class: "inline-problem cell-error" },
    h("span", { class: "sign", "aria-hidden": "true" }, "✘"),
    h(
      "div",
      {},
      go
        ? h(
            "button",
            { class: "where", type: "button", title: "Go to the line", onclick: go },
            `line ${line}:${problem.column}`,
          )
        : h("span", { class: "where" }, `line ${line}:${problem.column}`),
      " ",
      problem.message,
      problem.found ? h("div", { class: "quiet" }, "found ", h("code", {}, problem.found)) : null,
      problem.expected
        ? h("div", { class: "quiet clamped", title: problem.expected }, "expected ", problem.expected)
        : null,
    ),
    mend && problem.mend
      ? h("button", { class: "tool small primary", type: "button", onclick: mend }, `Write ${problem.mend}`)
      : null,
  );
}

/**
 * @typedef {object} EditorOptions
 * @property {string} label
 * @property {"python" | "prose" | "line"} kind
 * @property {string} [comment] The comment sign.
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
    /** @type {EditorProblem[]} */
    this.problems = [];
    /** @type {EditorHelp | undefined} */
    this.help = undefined;
    /** @type {number | undefined} */
    this.timer = undefined;
    this.area = h("textarea", {
      class: "cell-editor",
      spellcheck: options.kind === "prose" ? "true" : "false",
      autocapitalize: "off",
      autocomplete: "off",
      "aria-label": options.label,
      value: text,
      rows: "1",
      "data-focus": "editor",
    });
    this.colours = h("pre", { class: "editor-colours", "aria-hidden": "true" });
    this.marks = h("pre", { class: "editor-marks", "aria-hidden": "true" });
    this.numbers = h("div", { class: "editor-numbers", "aria-hidden": "true" });
    this.messages = h("div", { class: "editor-problems", role: "status" });
    const text_ = h("div", { class: "editor-text" }, this.marks, this.colours, this.area);
    const keep = (/** @type {Event} */ event) => event.preventDefault(); // a loss of the focus would finish the edit
    const bar = h(
      "div",
      { class: "cell-edit-bar", onpointerdown: keep, onmousedown: keep },
      h(
        "button",
        {
          class: "tool primary small",
          type: "button",
          title: options.kind === "line" ? "Enter" : "Ctrl+Enter",
          onclick: () => this.finish(),
        },
        "Apply",
      ),
      h("button", { class: "tool small", type: "button", title: "Esc", onclick: () => this.drop() }, "Cancel"),
      h(
        "span",
        { class: "quiet editor-keys" },
        options.kind === "line" ? "Enter applies, Esc cancels" : "Ctrl+Enter applies, Esc cancels",
      ),
    );
    this.frame = h("div", { class: "editor-frame" }, this.numbers, text_);
    this.element = h(
      "div",
      { class: `cell-edit is-${options.kind}` },
      this.frame,
      h("div", { class: "editor-foot" }, this.messages, bar),
    );
    if (options.kind !== "prose") {
      this.help = new EditorHelp({
        area: this.area,
        pre: this.colours,
        host: this.element,
        write: (start, end, text) => replaceRange(this.area, start, end, text),
      });
    }
    this.area.addEventListener("input", () => this.input());
    this.area.addEventListener("keydown", (event) => this.key(event));
    this.area.addEventListener("keyup", () => this.mark());
    this.area.addEventListener("pointerup", () => this.mark());
    this.area.addEventListener("focusout", (event) => this.left(event));
    this.draw();
  }

  focus() {
    this.area.focus({ preventScroll: true });
    this.show();
  }

  /** Scroll to the editor, and to the line of the caret. */
  show() {
    this.element.scrollIntoView({ block: "nearest" });
    if (this.options.kind !== "python") return;
    const top = (this.area.value.slice(0, this.area.selectionStart).split("\n").length - 1) * LINE;
    const { scrollTop, clientHeight } = this.frame;
    if (top < scrollTop) this.frame.scrollTop = top;
    else if (top + 2 * LINE > scrollTop + clientHeight) this.frame.scrollTop = top + 2 * LINE - clientHeight;
  }

  get text() {
    return this.area.value;
  }

  /**
   * Show the problems of the text; lines count from its start.
   * @param {EditorProblem[]} problems
   */
  showProblems(problems) {
    const grown = problems.length > this.problems.length;
    this.problems = problems;
    this.messages.replaceChildren(
      ...problems.map((p) =>
        problemLine(p, p.line, {
          mend: p.mend ? () => this.applyFix(p) : undefined,
          go: () => {
            const [start, end] = rangeOf(this.area.value, p);
            this.area.focus();
            this.area.setSelectionRange(start, end);
          },
        }),
      ),
    );
    for (const button of this.messages.querySelectorAll("button"))
      button.addEventListener("mousedown", (event) => event.preventDefault());
    this.mark();
    if (grown) this.show();
    this.help?.place();
  }

  /** @param {EditorProblem} problem */
  applyFix(problem) {
    const [start, end] = rangeOf(this.area.value, problem);
    this.area.focus();
    replaceRange(this.area, start, end, problem.mend ?? "");
  }

  /**
   * Replace the text as if the user typed it.
   * @param {string} text
   */
  retype(text) {
    this.area.value = text;
    this.input();
  }

  input() {
    this.draw();
    this.help?.typed();
    // The page asks for consent before it closes with an unfinished edit.
    if (this.area.value === this.first) delete document.documentElement.dataset.editing;
    else document.documentElement.dataset.editing = "";
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.options.draft(this.area.value), PAUSE_MS);
  }

  draw() {
    const lines = this.area.value.split("\n");
    const plain = this.options.kind === "prose";
    this.colours.replaceChildren(...lines.flatMap((line) => [...(plain ? [line] : highlighted(line)), "\n"]));
    if (!plain) this.numbers.replaceChildren(...lines.map((_, n) => h("div", {}, n + 1)));
    this.mark();
  }

  mark() {
    const { value, selectionStart: start, selectionEnd: end } = this.area;
    /** @type {MarkedRange[]} */
    const ranges = this.problems.map((p) => [...rangeOf(value, p), "squiggle", p.message]);
    if (start === end) for (const at of matching(value, start)) ranges.push([at, at + 1, "bracket"]);
    this.marks.replaceChildren(...marked(value, ranges));
    const bad = new Set(this.problems.map((p) => p.line));
    [...this.numbers.children].forEach((number, n) => number.classList.toggle("is-bad", bad.has(n + 1)));
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    event.stopPropagation();
    const { key } = event;
    const control = event.ctrlKey || event.metaKey;
    if (!event.isComposing && this.help?.key(event)) event.preventDefault();
    else if (key === "Escape") this.drop();
    else if (key === "Enter" && (control || (this.options.kind === "line" && !event.shiftKey))) this.finish();
    else if (key === "Tab") indent(this.area, event.shiftKey);
    else if (this.options.kind === "prose" || event.isComposing) return;
    else if (key === "/" && control) toggleComment(this.area, this.options.comment ?? "# ");
    else if ((key === "ArrowUp" || key === "ArrowDown") && event.altKey)
      moveLines(this.area, key === "ArrowUp" ? -1 : 1);
    else if (key === "Enter") newLine(this.area);
    else if (control || event.altKey || !pairs(this.area, key)) return;
    else this.help?.typed(); // the caret is between the pair now
    event.preventDefault();
  }

  /**
   * Finish the edit when another element of the page gets the focus, not when another window does.
   * @param {FocusEvent} event
   */
  left(event) {
    if (this.over || !document.hasFocus() || this.element.contains(/** @type {Node | null} */ (event.relatedTarget)))
      return;
    setTimeout(() => {
      if (!this.over && this.area.isConnected && focusIn(this.area) !== this.area) this.finish(false);
    });
  }

  finish(byKey = true) {
    if (this.over) return;
    this.end();
    this.options.done(this.area.value, byKey);
  }

  drop() {
    if (this.over) return;
    this.end();
    this.options.dropped();
  }

  end() {
    this.over = true;
    this.help?.remove();
    clearTimeout(this.timer);
    delete document.documentElement.dataset.editing;
  }
}
