// The keyboard on the tree: a cursor that walks, a grab that follows it, a letter a primitive.

import { make } from "./popup.js";
import { rowOf } from "./tree_rows.js";

const KEYS = [
  ["↑ ↓", "previous, next row"], ["← →", "fold, unfold, go out, go in"], ["Enter", "grab, then drop"], ["⇧ ↑ ⇧ ↓", "grab, and go to the next legal loop"],
  ["Esc", "cancel"], ["Space", "select"], [".", "actions of the row"], ["c / r", "compute_at, reverse_compute_at"],
  ["Ctrl Z", "undo"], ["Ctrl ⇧ Z", "redo"], ["?", "these keys"],
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
    const id = rowOf(event.target);
    if (!id) return;
    if (this.command(event, id)) {
      event.preventDefault();
      event.stopPropagation();
    }
  }

  /** Do what a key means; whether it means something. */
  command(event, id) {
    const {tree} = this;
    const {key} = event;
    if (event.ctrlKey || event.metaKey) return this.history(event);
    if (event.altKey) return false;
    if (key === "ArrowDown" || key === "ArrowUp") return this.vertical(id, key === "ArrowDown" ? 1 : -1, event.shiftKey);
    if (key === "Home" || key === "End") return this.step(id, key === "Home" ? -Infinity : Infinity);
    if (key === "Enter") return this.enter(id);
    if (key === "?") return tree.openKeys(tree.elements.get(id));
    if (tree.grab) {
      if (key === "Tab") tree.cancel();
      return false;
    }
    if (key === "ArrowLeft" || key === "ArrowRight") return this.sideways(id, key === "ArrowRight");
    if (key === " ") tree.pick(id);
    else if (key === "." || key === "ContextMenu" || (key === "F10" && event.shiftKey)) tree.rowMenu(id, tree.elements.get(id).getBoundingClientRect());
    else return key.length === 1 && this.letter(id, key);
    return true;
  }

  vertical(id, by, toLegal) {
    return toLegal ? this.nextLegal(id, by) : this.step(id, by);
  }

  history(event) {
    if (event.key.toLowerCase() === "z") this.tree.send({kind: event.shiftKey ? "redo" : "undo"});
    else if (event.key.toLowerCase() === "y") this.tree.send({kind: "redo"});
    else return false;
    return true;
  }

  step(id, by) {
    const rows = this.tree.visible().filter((row) => !this.tree.grab || this.tree.byId.get(row).kind === "loop" || row === id);
    const at = rows.indexOf(id);
    const to = rows[Math.max(0, Math.min(rows.length - 1, at + by))];
    if (to) this.tree.focusRow(to);
    return true;
  }

  nextLegal(id, by) {
    if (!this.tree.grab) this.tree.start(id, "keyboard");
    if (!this.tree.grab?.offers) return true;
    const rows = this.tree.visible();
    for (let at = rows.indexOf(id) + by; at >= 0 && at < rows.length; at += by) {
      const state = this.tree.grab.offers.get(rows[at])?.state;
      if (state === "legal" || state === "costly") {
        this.tree.focusRow(rows[at]);
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
    if (!this.tree.grab) this.tree.start(id, "keyboard");
    else if (id === this.tree.grab.row.id) this.tree.cancel();
    else this.tree.drop(id, null);
    return true;
  }

  letter(id, key) {
    const row = this.tree.byId.get(id);
    if (row.kind === "block" && (key === "c" || key === "r")) {
      this.tree.start(id, "keyboard", key === "c" ? "compute_at" : "reverse_compute_at");
      return true;
    }
    const entry = this.tree.entries(id).find((item) => item.key === key);
    if (!entry) return false;
    if (entry.disabled) this.tree.showNotice({text: `${entry.method}: ${entry.disabled}`, reasons: []});
    else this.tree.run(id, entry, this.tree.elements.get(id).getBoundingClientRect());
    return true;
  }

  escape(event) {
    if (event.key !== "Escape" || !this.tree.grab) return;
    event.preventDefault();
    event.stopPropagation();
    const {row, by} = this.tree.grab;
    this.tree.cancel();
    if (by === "keyboard") this.tree.focusRow(row.id);
    this.tree.say("Cancelled.");
  }
}

/** The list of keys, and the letters of one row. */
export function keysBody(entries, name, close) {
  const caps = (keys) => keys.split(" ").map((key) => (key === "/" ? " " : make("span", {class: "tw-kbd"}, key)));
  const line = (keys, text) => make("div", {class: "keys-line"}, make("span", {class: "keys-caps"}, ...caps(keys)), make("span", {}, text));
  const letters = entries.filter((entry) => entry.key && !entry.disabled).map((entry) => line(entry.key, entry.label.replace("…", "")));
  const part = (head, kind, lines) => make("div", {class: "keys-part"}, make("div", {class: "menu-head"}, head), make("div", {class: kind}, ...lines));
  const body = make(
    "div", {class: "keys", tabindex: -1, role: "dialog", "aria-label": "Keys"},
    make("div", {class: "keys-columns"}, part("Keys", "", KEYS.map(([keys, text]) => line(keys, text))),
      letters.length ? part(`On ${name}`, "keys-letters", letters) : null),
  );
  body.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (!["Escape", "?", "Enter"].includes(event.key)) return;
    event.preventDefault();
    close();
  });
  return body;
}
