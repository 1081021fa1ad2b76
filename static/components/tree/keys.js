// The keyboard on the tree: a cursor that walks, a grab that follows it, a letter a primitive.

import { h } from "../core/dom.js";
import { rowOf } from "./rows.js";

const KEYS = [
  ["↑ ↓", "previous, next row"],
  ["← →", "fold, unfold, go out, go in"],
  ["Enter", "grab, then drop"],
  ["⇧ ↑ ⇧ ↓", "grab, and go to the next legal loop"],
  ["Esc", "cancel"],
  ["Space", "choose"],
  ["⇧ Enter", "layout of a block's buffers"],
  ["Ctrl Space", "choose one more"],
  ["⇧ Space", "choose all up to here"],
  ["Ctrl ⇧ ↓", "choose the next one too"],
  ["Ctrl A", "choose all of a kind"],
  [".", "actions of the row, or of all chosen"],
  ["c / r", "compute_at, reverse_compute_at"],
  ["F2", "rename"],
  ["Ctrl F", "find; / too"],
  ["=", "cost of rows"],
  ["!", "what is wrong here"],
  ["Ctrl Z", "undo"],
  ["Ctrl ⇧ Z", "redo"],
  ["Ctrl ⇧ P", "any action by its name"],
  ["?", "these keys"],
];

export class Keys {
  constructor(tree) {
    this.tree = tree;
    this.anywhere = (event) => this.escape(event);
    tree.list.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("keydown", this.anywhere, true);
  }

  remove() {
    window.removeEventListener("keydown", this.anywhere, true);
  }

  key(event) {
    // A row that the cursor is on may have been scrolled away: then the list itself has the keys.
    const id = rowOf(event.target) || (event.target === this.tree.list ? this.tree.cursor : "");
    if (!id || event.target.tagName === "INPUT") return;
    if (this.command(event, id)) {
      event.preventDefault();
      event.stopPropagation();
    }
  }

  /** Do what a key means; whether it means something. */
  command(event, id) {
    const { tree } = this;
    const { key } = event;
    if (event.ctrlKey || event.metaKey) return this.withControl(event, id);
    if (event.altKey) return false;
    if (key === "ArrowDown" || key === "ArrowUp")
      return this.vertical(id, key === "ArrowDown" ? 1 : -1, event.shiftKey);
    if (key === "Home" || key === "End") return this.step(id, key === "Home" ? -Infinity : Infinity);
    if (key === "Enter" && event.shiftKey && !tree.hand.grab) return this.layout(id);
    if (key === "Enter") return this.enter(id);
    if (key === "?") return this.openKeys(id);
    if (tree.hand.grab) {
      if (key === "Tab") tree.hand.cancel();
      return false;
    }
    if (key === "ArrowLeft" || key === "ArrowRight") return this.sideways(id, key === "ArrowRight");
    if (key === " ") tree.pick(id, event);
    else if (key === "." || key === "ContextMenu" || (key === "F10" && event.shiftKey))
      tree.sheets.rowMenu(id, this.anchor(id));
    else if (key === "F2") tree.rename(id);
    else if (key === "/") tree.search.open();
    else if (key === "=") tree.nextCosts();
    else if (key === "!") tree.toProblem(id);
    else if (key === "Escape") return tree.choice.single();
    else return key.length === 1 && this.letter(id, key);
    return true;
  }

  /** Choose the buffer that a block writes: the inspector shows its layout. A second time the next of its buffers. */
  layout(id) {
    const { tree } = this;
    const { writes = [], reads = [] } = tree.byId.get(id);
    const ids = [...new Set([...writes, ...reads].map((buffer) => buffer.id))];
    if (!ids.length) return false;
    this.looked = { row: id, at: this.looked?.row === id ? (this.looked.at + 1) % ids.length : 0 };
    tree.send({ kind: "select", id, buffer: ids[this.looked.at] });
    return true;
  }

  vertical(id, by, toLegal) {
    return toLegal ? this.nextLegal(id, by) : this.step(id, by);
  }

  withControl(event, id) {
    const { tree } = this;
    const key = event.key.toLowerCase();
    if (key === "z") tree.send({ kind: event.shiftKey ? "redo" : "undo" });
    else if (key === "y") tree.send({ kind: "redo" });
    else if (key === "f" && !event.shiftKey) tree.search.open();
    else if (tree.hand.grab) return false;
    else if (key === "a") tree.choice.all();
    else if (key === " ") tree.pick(id, event);
    else if (key === "arrowdown" || key === "arrowup") this.reach(id, key === "arrowdown" ? 1 : -1, event.shiftKey);
    else return false;
    return true;
  }

  /** To the next row, choosing it too or leaving the choice as it is. */
  reach(id, by, choosing) {
    this.step(id, by);
    if (choosing) this.tree.choice.extend(id, this.tree.cursor);
  }

  anchor(id) {
    return (this.tree.elements.get(id) ?? this.tree.list).getBoundingClientRect();
  }

  openKeys(id) {
    return this.tree.sheets.openKeys(this.tree.elements.get(id) ?? this.tree.list);
  }

  step(id, by) {
    const { grab } = this.tree.hand;
    const rows = grab
      ? this.tree.visible().filter((row) => this.tree.byId.get(row).kind === "loop" || row === id)
      : this.tree.visible();
    const at = rows.indexOf(id);
    const to = rows[Math.max(0, Math.min(rows.length - 1, at + by))];
    if (to) this.tree.focusRow(to);
    return true;
  }

  nextLegal(id, by) {
    const {
      tree,
      tree: { hand },
    } = this;
    if (!hand.grab) hand.start(id, "keyboard");
    if (!hand.grab?.offers) return true;
    const rows = tree.visible();
    for (let at = rows.indexOf(id) + by; at >= 0 && at < rows.length; at += by) {
      const state = hand.grab.offers.get(rows[at])?.state;
      if (state === "legal" || state === "costly") {
        tree.focusRow(rows[at]);
        break;
      }
    }
    return true;
  }

  sideways(id, into) {
    const row = this.tree.byId.get(id);
    const closed = this.tree.folded.has(id);
    if (into && closed) this.tree.fold(id, false);
    else if (into && row.children.length) this.tree.focusRow(row.children[0].id);
    else if (!into && row.children.length && !closed) this.tree.fold(id, true);
    else if (!into && row.parent) this.tree.focusRow(row.parent);
    return true;
  }

  enter(id) {
    const { hand } = this.tree;
    if (!hand.grab) hand.start(id, "keyboard");
    else if (id === hand.grab.row.id) hand.cancel();
    else hand.drop(id, null);
    return true;
  }

  letter(id, key) {
    const row = this.tree.byId.get(id);
    if (row.kind === "block" && (key === "c" || key === "r")) {
      this.tree.hand.start(id, "keyboard", key === "c" ? "compute_at" : "reverse_compute_at");
      return true;
    }
    const { sheets } = this.tree;
    const rows = this.tree.together(id);
    sheets.whenKnown(rows, () => {
      const item = sheets.items(rows, id, this.anchor(id)).find((entry) => entry.key === key);
      if (item?.disabled) sheets.showNotice({ text: `${item.method}: ${item.disabled}`, reasons: [] });
      else item?.run();
    });
    return true;
  }

  escape(event) {
    const { hand } = this.tree;
    if (event.key !== "Escape" || !hand.grab) return;
    event.preventDefault();
    event.stopPropagation();
    const { row, by } = hand.grab;
    hand.cancel();
    if (by === "keyboard") this.tree.focusRow(row.id);
    this.tree.say("Cancelled.");
  }
}

/** The list of keys, and the letters of one row. */
export function keysBody(entries, name, close) {
  const caps = (keys) => keys.split(" ").map((key) => (key === "/" ? " " : h("span", { class: "tw-kbd" }, key)));
  const line = (keys, text) =>
    h("div", { class: "keys-line" }, h("span", { class: "keys-caps" }, ...caps(keys)), h("span", {}, text));
  const letters = entries
    .filter((entry) => entry.key && !entry.disabled)
    .map((entry) => line(entry.key, entry.label.replace("…", "")));
  const part = (head, kind, lines) =>
    h("div", { class: "keys-part" }, h("div", { class: "menu-head" }, head), h("div", { class: kind }, ...lines));
  const body = h(
    "div",
    { class: "keys", tabindex: -1, role: "dialog", "aria-label": "Keys" },
    h(
      "div",
      { class: "keys-columns" },
      part(
        "Keys",
        "",
        KEYS.map(([keys, text]) => line(keys, text)),
      ),
      letters.length ? part(`On ${name}`, "keys-letters", letters) : null,
    ),
  );
  body.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (!["Escape", "?", "Enter"].includes(event.key)) return;
    event.preventDefault();
    close();
  });
  return body;
}
