// Which rows are chosen. A click chooses one, with Ctrl one more or less, with Shift all from the last one on; so do the keys. What is done
// to one of the chosen rows is done to all of them, where they are of one kind.

export class Choice {
  constructor(tree) {
    this.tree = tree;
    this.rows = new Set();
    this.anchor = "";
    this.said = "";
  }

  has(id) {
    return this.rows.has(id);
  }

  /** The rows in the order of the text that are handled with `id`. */
  together(id) {
    const { byId } = this.tree;
    if (!this.rows.has(id) || this.rows.size < 2) return [id];
    const { kind } = byId.get(id);
    const same = [...byId.keys()].filter((row) => this.rows.has(row));
    return same.every((row) => byId.get(row).kind === kind) ? same : [id];
  }

  /** A click or Space on a row. */
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

  all() {
    const { byId, cursor } = this.tree;
    const kind = byId.get(cursor)?.kind;
    this.rows = new Set(this.tree.visible().filter((id) => byId.get(id).kind === kind));
    this.changed(cursor);
  }

  /** One row more in a direction. */
  extend(from, to) {
    if (!this.rows.has(from)) {
      this.rows = new Set([from]);
      this.anchor = from;
    }
    this.rows = new Set(this.between(this.tree.byId.has(this.anchor) ? this.anchor : from, to));
    this.changed(to);
  }

  /** Only the cursor's row again; whether there were several. */
  single() {
    if (this.rows.size < 2) return false;
    this.pick(this.tree.cursor);
    return true;
  }

  between(from, to) {
    const rows = this.tree.visible();
    const [a, b] = [rows.indexOf(from), rows.indexOf(to)].sort((x, y) => x - y);
    return a < 0 ? [to] : rows.slice(a, b + 1);
  }

  changed(id) {
    const { tree } = this;
    tree.decorateAll();
    tree.minimap.draw();
    tree.rest();
    if (this.rows.size > 1) tree.say(`${this.rows.size} rows chosen`);
    if (this.said === id) return;
    this.said = id;
    tree.send({ kind: "select", id });
  }

  /** Python says what is chosen: one row, or none. */
  told(id) {
    this.said = id;
    if (id && this.rows.has(id)) return;
    this.rows = new Set(id ? [id] : []);
    this.anchor = id;
    if (this.tree.byId.has(id)) this.tree.setCursor(id);
  }

  /** Another program: rows that are gone are not chosen. */
  keep() {
    this.rows = new Set([...this.rows].filter((id) => this.tree.byId.has(id)));
  }
}
