// The keys of the tree: arrows move the cursor and a grab with it, and each primitive has a letter.

import { h } from "../core/dom.js";
import { rowOf } from "./rows.js";

/** @import { Entry as MenuEntry } from "../views.js" */
/** @import { Tree } from "./tree.js" */

const KEYS = [
  ["↑ ↓", "previous, next row"],
  ["← →", "fold or go to the parent, unfold or go to the child"],
  ["Enter", "grab, then drop"],
  ["⇧ ↑ ⇧ ↓", "grab, and go to the next legal loop"],
  ["Esc", "cancel"],
  ["Space", "select"],
  ["⇧ Enter", "layout of a block's buffers"],
  ["Ctrl Space", "add to the selection"],
  ["⇧ Space", "select up to here"],
  ["Ctrl ⇧ ↓", "add the next row to the selection"],
  ["Ctrl A", "select all rows of this kind"],
  [".", "actions of the row or the selected rows"],
  ["c / r", "compute_at, reverse_compute_at"],
  ["F2", "rename"],
  ["Ctrl F", "find; / too"],
  ["=", "cost of rows"],
  ["#", "loops of a nest in one row; → shows them one below the other"],
  ["!", "problems of the row"],
  ["Ctrl Z", "undo"],
  ["Ctrl ⇧ Z", "redo"],
  ["Ctrl ⇧ P", "find any action"],
  ["F6", "next area of the screen"],
  ["Alt Enter", "enlarge the tree, and back"],
  ["?", "these keys"],
];

const SIGNS = [
  ["S", "iterator of a block: spatial"],
  ["R", "iterator of a block: reduction"],
  ["C O", "iterator of a block: scan, opaque"],
  ["Σ", "the loop drives a reduction"],
  ["×2", "slots of a double buffer; more if more than two alternate"],
];

export class Keys {
  /** @param {Tree} tree */
  constructor(tree) {
    this.tree = tree;
    /** @type {{ row: string, at: number } | null} The buffer that the layout key showed last. */
    this.inspected = null;
    this.listeners = new AbortController();
    tree.list.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("keydown", (event) => this.escape(event), { capture: true, signal: this.listeners.signal });
  }

  remove() {
    this.listeners.abort();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    // The list has the focus while the row of the cursor is not mounted.
    const id = rowOf(event.target) || (event.target === this.tree.list ? this.tree.cursor : "");
    if (!id || event.target instanceof HTMLInputElement) return;
    if (this.command(event, id)) {
      event.preventDefault();
      event.stopPropagation();
    }
  }

  /**
   * Run the command of a key. Returns whether it has one.
   * @param {KeyboardEvent} event
   * @param {string} id
   */
  command(event, id) {
    const { tree } = this;
    const { key } = event;
    if (event.ctrlKey || event.metaKey) return this.withControl(event, id);
    if (event.altKey) return false;
    if (key === "ArrowDown" || key === "ArrowUp")
      return this.vertical(id, key === "ArrowDown" ? 1 : -1, event.shiftKey);
    if (key === "Home" || key === "End") return this.step(id, key === "Home" ? -Infinity : Infinity);
    if (key === "Enter" && event.shiftKey && !tree.drag.grab) return this.layout(id);
    if (key === "Enter") return this.enter(id);
    if (key === "?") {
      tree.dialogs.openKeys(tree.anchor(id));
      return true;
    }
    if (tree.drag.grab) {
      if (key === "Tab") tree.drag.cancel();
      return false;
    }
    if (key === "ArrowLeft" || key === "ArrowRight") return this.sideways(id, key === "ArrowRight");
    if (key === " ") tree.pick(id, event);
    else if (key === "." || key === "ContextMenu" || (key === "F10" && event.shiftKey))
      tree.dialogs.rowMenu(id, tree.anchor(id));
    else if (key === "F2") tree.rename(id);
    else if (key === "/") tree.search.open();
    else if (key === "=") tree.nextCosts();
    else if (key === "#") tree.toggleGrid();
    else if (key === "!") tree.showProblem(id);
    else if (key === "Escape") return tree.selection.single();
    else return key.length === 1 && this.letter(id, key);
    return true;
  }

  /**
   * Select the buffer that a block writes, so that the inspector shows its layout; the next time, the next one of its buffers.
   * @param {string} id
   */
  layout(id) {
    const { tree } = this;
    const { writes = [], reads = [] } = tree.byId.get(id) ?? {};
    const ids = [...new Set([...writes, ...reads].map((buffer) => buffer.id))];
    if (!ids.length) return false;
    const at = this.inspected?.row === id ? (this.inspected.at + 1) % ids.length : 0;
    this.inspected = { row: id, at };
    tree.send({ kind: "select", id, buffer: ids[at] });
    return true;
  }

  /**
   * @param {string} id
   * @param {1 | -1} by
   * @param {boolean} toLegal
   */
  vertical(id, by, toLegal) {
    return toLegal ? this.nextLegal(id, by) : this.step(id, by);
  }

  /**
   * @param {KeyboardEvent} event
   * @param {string} id
   */
  withControl(event, id) {
    const { tree } = this;
    const key = event.key.toLowerCase();
    if (key === "z") tree.send({ kind: event.shiftKey ? "redo" : "undo" });
    else if (key === "y") tree.send({ kind: "redo" });
    else if (key === "f" && !event.shiftKey) tree.search.open();
    else if (tree.drag.grab) return false;
    else if (key === "a") tree.selection.all();
    else if (key === " ") tree.pick(id, event);
    else if (key === "arrowdown" || key === "arrowup") this.reach(id, key === "arrowdown" ? 1 : -1, event.shiftKey);
    else return false;
    return true;
  }

  /**
   * Move the cursor, and extend the selection if `extending`.
   * @param {string} id
   * @param {1 | -1} by
   * @param {boolean} extending
   */
  reach(id, by, extending) {
    this.step(id, by);
    if (extending) this.tree.selection.extend(id, this.tree.cursor);
  }

  /**
   * @param {string} id
   * @param {number} by The number of rows; of loops during a grab.
   */
  step(id, by) {
    const { grab } = this.tree.drag;
    const rows = grab
      ? this.tree.visible().filter((row) => this.tree.byId.get(row)?.kind === "loop" || row === id)
      : this.tree.visible();
    const at = rows.indexOf(id);
    const to = rows[Math.max(0, Math.min(rows.length - 1, at + by))];
    if (to) this.tree.focusRow(to);
    return true;
  }

  /**
   * @param {string} id
   * @param {1 | -1} by
   */
  nextLegal(id, by) {
    const { tree } = this;
    const { drag } = tree;
    if (!drag.grab) drag.start(id, "keyboard");
    if (!drag.grab?.offers) return true;
    const rows = tree.visible();
    for (let at = rows.indexOf(id) + by; at >= 0 && at < rows.length; at += by) {
      const state = drag.grab.offers.get(rows[at])?.state;
      if (state === "legal" || state === "costly") {
        tree.focusRow(rows[at]);
        break;
      }
    }
    return true;
  }

  /**
   * @param {string} id
   * @param {boolean} into
   */
  sideways(id, into) {
    const row = this.tree.byId.get(id);
    if (!row) return false;
    const closed = this.tree.folded.has(id);
    if (this.tree.spreadLoops(id, into)) return true;
    if (into && closed) this.tree.fold(id, false);
    else if (into && row.children.length) this.tree.focusRow(row.children[0].id);
    else if (!into && row.children.length && !closed) this.tree.fold(id, true);
    else if (!into && row.parent) this.tree.focusRow(row.parent);
    return true;
  }

  /** @param {string} id */
  enter(id) {
    const { drag } = this.tree;
    if (!drag.grab) drag.start(id, "keyboard");
    else if (id === drag.grab.row.id) drag.cancel();
    else drag.drop(id, null);
    return true;
  }

  /**
   * @param {string} id
   * @param {string} key
   */
  letter(id, key) {
    const { tree } = this;
    const { dialogs } = tree;
    const row = tree.byId.get(id);
    if (!row) return false;
    if (row.kind === "block" && (key === "c" || key === "r")) {
      tree.drag.start(id, "keyboard", key === "c" ? "compute_at" : "reverse_compute_at");
      return true;
    }
    const rows = tree.together(id);
    dialogs.whenKnown(rows, () => {
      const item = dialogs.items(rows, row, tree.anchor(id)).find((entry) => entry.key === key);
      if (item?.disabled) dialogs.showNotice({ text: `${item.method}: ${item.disabled}` });
      else item?.run();
    });
    return true;
  }

  /** @param {KeyboardEvent} event */
  escape(event) {
    const { drag } = this.tree;
    if (event.key !== "Escape" || !drag.grab) return;
    event.preventDefault();
    event.stopPropagation();
    const { row, by } = drag.grab;
    drag.cancel();
    if (by === "keyboard") this.tree.focusRow(row.id);
    this.tree.say("Cancelled.");
  }
}

/**
 * The list of keys, and the letters of one row.
 * @param {MenuEntry[]} entries Of the row.
 * @param {string} name Of the row.
 * @param {() => void} close
 */
export function keysBody(entries, name, close) {
  const caps = (/** @type {string} */ keys) =>
    keys.split(" ").map((key) => (key === "/" ? " " : h("span", { class: "tw-kbd" }, key)));
  const line = (/** @type {string} */ keys, /** @type {string} */ text) =>
    h("div", { class: "keys-line" }, h("span", { class: "keys-caps" }, ...caps(keys)), h("span", {}, text));
  const letters = entries
    .filter((entry) => entry.key && !entry.disabled)
    .map((entry) => line(entry.key, entry.label.replace("…", "")));
  const part = (/** @type {string} */ head, /** @type {string} */ kind, /** @type {HTMLElement[]} */ lines) =>
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
      part(
        "Signs",
        "",
        SIGNS.map(([sign, text]) => line(sign, text)),
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
