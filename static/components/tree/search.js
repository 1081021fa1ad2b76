// Finding rows: by their names, variables and buffers, by the primitives that made them, by what is noted on them. Matches are lit; Enter
// goes from one to the next.

import { h } from "../core/dom.js";
import { icon } from "./rows.js";

export class Search {
  constructor(tree) {
    this.tree = tree;
    this.hits = [];
    this.found = new Set();
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
    const tool = (name, label, run) =>
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
    this.input.addEventListener("input", () => this.look());
    this.element.addEventListener("keydown", (event) => this.key(event));
  }

  get shown() {
    return !this.element.hidden;
  }

  open() {
    this.element.hidden = false;
    this.input.focus();
    this.input.select();
    this.look();
    return true;
  }

  close() {
    this.element.hidden = true;
    this.hits = [];
    this.at = -1;
    this.tree.decorateAll();
    this.tree.minimap.draw();
    this.tree.focusRow(this.tree.cursor);
  }

  has(id) {
    return this.shown && this.found.has(id);
  }

  get current() {
    return this.shown ? this.hits[this.at] : undefined;
  }

  /** Find again: the text or the rows are other ones. The first match at the cursor or behind it comes into sight. */
  look(jump = true) {
    const { tree } = this;
    if (!this.shown) return;
    const words = this.input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const all = [...tree.byId.values()];
    this.hits = words.length
      ? all.filter((row) => words.every((word) => searchText(row).includes(word))).map((row) => row.id)
      : [];
    this.found = new Set(this.hits);
    const order = new Map(all.map((row, n) => [row.id, n]));
    const behind = this.hits.findIndex((id) => order.get(id) >= (order.get(tree.cursor) ?? 0));
    this.at = this.hits.length ? Math.max(0, behind) : -1;
    if (jump) this.show();
    else this.tell();
  }

  go(by) {
    if (!this.hits.length) return;
    this.at = (this.at + by + this.hits.length) % this.hits.length;
    this.show();
  }

  show() {
    if (this.current) this.tree.reveal(this.current);
    this.tell();
  }

  tell() {
    const none = this.input.value.trim() ? "nothing" : "";
    this.count.textContent = this.hits.length ? `${this.at + 1} of ${this.hits.length}` : none;
    this.tree.decorateAll();
    this.tree.minimap.draw();
  }

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

/** What of a row can be found, in small letters. */
function searchText(row) {
  if (row.found === undefined) {
    const buffers = [...(row.reads ?? []), ...(row.writes ?? [])].flatMap((b) => [b.name, b.scope]);
    const badges = (row.badges ?? []).flatMap((b) => [b.text, b.tip]);
    const iters = (row.iters ?? []).map((it) => it.name);
    const parts = [
      row.kind,
      row.name,
      row.variable,
      row.detail,
      row.loop_kind,
      ...(row.by ?? []),
      ...buffers,
      ...badges,
      ...iters,
    ];
    row.found = parts.filter(Boolean).join(" ").toLowerCase();
  }
  return row.found;
}
