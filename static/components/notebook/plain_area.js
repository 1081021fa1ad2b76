// A text area with the keys of the editor. It takes the text until CodeMirror is loaded.

import { h } from "../core/dom.js";

/** @import { AreaOptions, EditArea, Range } from "./cell_editor.js" */

/** @implements {EditArea} */
export class PlainArea {
  /**
   * @param {string} text
   * @param {AreaOptions} options
   */
  constructor(text, { kind, label, changed, finish, drop }) {
    this.changed = changed;
    this.content = /** @type {HTMLTextAreaElement} */ (
      h("textarea", {
        class: "plain-area",
        "aria-label": label,
        "data-focus": "editor",
        spellcheck: String(kind === "prose"),
        autocapitalize: "off",
        rows: text.split("\n").length,
        oninput: changed,
        onkeydown: (event) => {
          if (event.isComposing) return;
          if (event.key === "Escape") drop();
          else if (event.key === "Enter" && (kind === "line" || event.ctrlKey || event.metaKey)) finish();
          else if (event.key === "Tab") this.write(this.selection, "    ");
          else return;
          event.preventDefault();
        },
      })
    );
    this.isComposing = false;
    this.content.addEventListener("compositionstart", () => (this.isComposing = true));
    this.content.addEventListener("compositionend", () => (this.isComposing = false));
    this.content.value = text;
    this.content.setSelectionRange(text.length, text.length);
  }

  get element() {
    return this.content;
  }

  get text() {
    return this.content.value;
  }

  get selection() {
    return { from: this.content.selectionStart, to: this.content.selectionEnd };
  }

  /** @param {Range} range */
  select({ from, to }) {
    this.content.setSelectionRange(from, to);
  }

  /**
   * @param {Range} range
   * @param {string} text
   */
  write({ from, to }, text) {
    this.content.setRangeText(text, from, to, "end");
    this.changed();
  }

  focus() {
    this.content.focus();
  }

  show() {}

  setWords() {}

  markProblems() {}

  closeTooltips() {}

  destroy() {}
}
