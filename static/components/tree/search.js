// The search for rows: by names, variables, buffers, badges, and the primitives that made them. Enter goes from one match to the next.

import { h } from "../core/dom.js";
import { icon } from "./rows.js";

/** @import { IndexedRow } from "./tree.js" */
/** @import { IconName } from "./rows.js" */
/** @import { Tree } from "./tree.js" */

export class Search {
  /** @param {Tree} tree */
  constructor(tree) {
    this.tree = tree;
    /** @type {string[]} */
    this.matches = [];
    /** @type {Set<string>} */
    this.matched = new Set();
    this.at = -1;
    this.input = h("input", {
      class: "search-text",
      type: "search",
      placeholder: "Rows, buffers, primitives",
      "aria-label": "Find in the loop nest",
      autocomplete: "off",
      spellcheck: "false",
    });
    this.count = h("span", { class: "search-count", role: "status" });
    const tool = (/** @type {IconName} */ name, /** @type {string} */ label, /** @type {() => void} */ run) =>
      h("button", { class: "tool", type: "button", title: label, "aria-label": label, onclick: run }, icon(name));
    this.element = h(
      "div",
      { class: "search", role: "search", hidden: true },
      icon("find"),
      this.input,
      this.count,
      tool("up", "Previous match", () => this.go(-1)),
      tool("down", "Next match", () => this.go(1)),
      tool("close", "Close the search", () => this.close()),
    );
    this.input.addEventListener("input", () => this.update());
    this.element.addEventListener("keydown", (event) => this.key(event));
  }

  get shown() {
    return !this.element.hidden;
  }

  open() {
    this.element.hidden = false;
    this.input.focus();
    this.input.select();
    this.update();
  }

  close() {
    this.element.hidden = true;
    this.matches = [];
    this.at = -1;
    this.tree.decorateAll();
    this.tree.minimap.draw();
    this.tree.focusRow(this.tree.cursor);
  }

  /** @param {string} id */
  has(id) {
    return this.shown && this.matched.has(id);
  }

  get current() {
    return this.shown ? this.matches[this.at] : undefined;
  }

  /** @param {boolean} [jump] Whether to scroll to the first match at or after the cursor. */
  update(jump = true) {
    const { tree } = this;
    if (!this.shown) return;
    const words = this.input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const all = [...tree.byId.values()];
    const matches = words.length ? all.filter((row) => words.every((word) => searchText(row).includes(word))) : [];
    this.matches = matches.map((row) => row.id);
    this.matched = new Set(this.matches);
    const atCursor = all.findIndex((row) => row.id === tree.cursor);
    const fromCursor = new Set(all.slice(Math.max(0, atCursor)));
    const next = matches.findIndex((row) => fromCursor.has(row));
    this.at = matches.length ? Math.max(0, next) : -1;
    if (jump) this.show();
    else this.showCount();
  }

  /** @param {1 | -1} by */
  go(by) {
    if (!this.matches.length) return;
    this.at = (this.at + by + this.matches.length) % this.matches.length;
    this.show();
  }

  show() {
    if (this.current) this.tree.reveal(this.current);
    this.showCount();
  }

  showCount() {
    const none = this.input.value.trim() ? "no match" : "";
    this.count.textContent = this.matches.length ? `${this.at + 1} of ${this.matches.length}` : none;
    this.tree.decorateAll();
    this.tree.minimap.draw();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    event.stopPropagation();
    if (event.key === "Escape") this.close();
    else if (event.target === this.input && (event.key === "Enter" || event.key === "ArrowDown"))
      this.go(event.shiftKey ? -1 : 1);
    else if (event.target === this.input && event.key === "ArrowUp") this.go(-1);
    else if (event.key.toLowerCase() === "f" && (event.ctrlKey || event.metaKey)) this.open();
    else return;
    event.preventDefault();
  }
}

/**
 * The texts of a row that a search looks at, in lower case.
 * @param {IndexedRow} row
 */
function searchText(row) {
  row.searchText ??= [
    row.kind,
    row.name,
    row.variable,
    row.detail,
    row.loop_kind,
    ...(row.by ?? []),
    ...[...(row.reads ?? []), ...(row.writes ?? [])].flatMap((buffer) => [buffer.name, buffer.scope]),
    ...row.badges.flatMap((badge) => [badge.text, badge.tip]),
    ...(row.iters ?? []).map((iterator) => iterator.name),
  ]
    .filter(Boolean)
    .join(" ")
    .toLowerCase();
  return row.searchText;
}
