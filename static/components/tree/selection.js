// The selected rows. A click selects one, with Ctrl adds or removes one, with Shift selects a range; so do the keys. An action on one of
// the selected rows is applied to all of them if they are of one kind.

import { publish } from "../core/bus.js";

/** @import { Tree } from "./tree.js" */

export class Selection {
  /** @param {Tree} tree */
  constructor(tree) {
    this.tree = tree;
    /** @type {Set<string>} In the order in which they were selected. */
    this.rows = new Set();
    this.anchor = "";
    this.sent = "";
  }

  /** @param {string} id */
  has(id) {
    return this.rows.has(id);
  }

  /**
   * The rows that an action on `id` is applied to, in the order of the text.
   * @param {string} id
   */
  together(id) {
    const { byId } = this.tree;
    if (!this.rows.has(id) || this.rows.size < 2) return [id];
    const rows = [...byId.values()].filter((row) => this.rows.has(row.id));
    const kind = byId.get(id)?.kind;
    return rows.every((row) => row.kind === kind) ? rows.map((row) => row.id) : [id];
  }

  /**
   * Apply a click or Space on a row.
   * @param {string} id
   * @param {{ ctrlKey?: boolean, metaKey?: boolean, shiftKey?: boolean }} [keys]
   */
  pick(id, { ctrlKey = false, metaKey = false, shiftKey = false } = {}) {
    if (shiftKey && this.tree.byId.has(this.anchor)) this.rows = new Set(this.between(this.anchor, id));
    else if (ctrlKey || metaKey) {
      if (!this.rows.delete(id)) this.rows.add(id);
      this.anchor = id;
    } else {
      this.rows = new Set([id]);
      this.anchor = id;
    }
    this.changed(id);
  }

  /** Select all visible rows of the kind of the cursor's row. */
  all() {
    const { byId, cursor } = this.tree;
    const kind = byId.get(cursor)?.kind;
    this.rows = new Set(this.tree.visible().filter((id) => byId.get(id)?.kind === kind));
    this.changed(cursor);
  }

  /**
   * Extend the selection from one row to another.
   * @param {string} from
   * @param {string} to
   */
  extend(from, to) {
    if (!this.rows.has(from)) {
      this.rows = new Set([from]);
      this.anchor = from;
    }
    this.rows = new Set(this.between(this.tree.byId.has(this.anchor) ? this.anchor : from, to));
    this.changed(to);
  }

  /** Select only the cursor's row. Returns whether several were selected. */
  single() {
    if (this.rows.size < 2) return false;
    this.pick(this.tree.cursor);
    return true;
  }

  /**
   * @param {string} from
   * @param {string} to
   */
  between(from, to) {
    const rows = this.tree.visible();
    const [a, b] = [rows.indexOf(from), rows.indexOf(to)].sort((x, y) => x - y);
    return a < 0 ? [to] : rows.slice(a, b + 1);
  }

  /** @param {string} id */
  changed(id) {
    const { tree } = this;
    tree.decorateAll();
    tree.minimap.draw();
    tree.showHint();
    if (this.rows.size > 1) tree.say(`${this.rows.size} rows selected`);
    publish("selected", id);
    if (this.sent === id) return;
    this.sent = id;
    tree.send({ kind: "select", id });
  }

  /** @param {string} id The row that the server selects; "" for none. */
  receive(id) {
    this.sent = id;
    publish("selected", id);
    if (id && this.rows.has(id)) return;
    this.rows = new Set(id ? [id] : []);
    this.anchor = id;
    if (this.tree.byId.has(id)) this.tree.setCursor(id);
  }

  /** Remove rows that the program does not have any more. */
  prune() {
    this.rows = new Set([...this.rows].filter((id) => this.tree.byId.has(id)));
  }
}
