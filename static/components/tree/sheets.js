// What opens beside a row: its menu, the form of a call, the list of keys, a field for its name; and the notice below the rows.

import { h } from "../core/dom.js";
import { Popup } from "../core/popup.js";
import { menuBody } from "../core/menu.js";
import { formBody } from "./forms.js";
import { icon } from "./rows.js";
import { reasonBody, repairBody } from "./offers.js";
import { forSeveral } from "./several.js";
import { keysBody } from "./keys.js";

export class Sheets {
  constructor(tree) {
    this.tree = tree;
    this.popup = new Popup(tree.element, "sheet");
    this.memory = { more: false };
    this.asking = null;
    this.answers = new Map();
    this.waiting = [];
    this.of = "";
  }

  get shown() {
    return this.popup.shown;
  }

  /** Another program: its menus are other ones. A form stays while its row does. */
  forget() {
    const { tree } = this;
    this.answers.clear();
    // A key that came before the new rows is about them, where they have its row.
    this.waiting = this.waiting.filter(({ rows }) => rows.every((id) => tree.byId.has(id)));
    for (const { rows } of this.waiting) rows.forEach((id) => this.ask(id));
    if (!this.shown || tree.byId.has(this.of)) return;
    // The row of a form is gone (split, fused): the keyboard goes on where it was.
    const focused = this.popup.element.contains(tree.list.getRootNode().activeElement);
    this.close(false);
    if (focused) tree.focusRow(tree.cursor);
  }

  // ---- Menus.

  /** The entries of a row; undefined while they are not here. */
  entries(id) {
    return this.tree.menus.rows[id]?.map((n) => this.tree.menus.entries[n]) ?? this.answers.get(id);
  }

  ask(id) {
    if (this.entries(id) === undefined) this.tree.send({ kind: "menu", row: id });
  }

  /** `run()` once the entries of all `rows` are here. */
  whenKnown(rows, run) {
    const missing = rows.filter((id) => this.entries(id) === undefined);
    if (!missing.length) return run();
    missing.forEach((id) => this.ask(id));
    this.waiting.push({ rows, run });
    return undefined;
  }

  told({ row, entries }) {
    this.answers.set(row, entries);
    const ready = this.waiting.filter(({ rows }) => rows.every((id) => this.entries(id) !== undefined));
    this.waiting = this.waiting.filter((wait) => !ready.includes(wait));
    for (const { run } of ready) run();
  }

  /** The menu of a row, or of all that are chosen where it is one of them. */
  rowMenu(id, anchor) {
    const { tree } = this;
    if (!tree.byId.has(id)) return;
    tree.hand.cancel();
    const rows = tree.together(id);
    this.whenKnown(rows, () => {
      const row = tree.byId.get(id);
      if (row)
        this.menu(
          rows.length > 1 ? `${rows.length} rows` : row.kind === "loop" ? `${row.name} · ${row.extent}` : row.name,
          this.items(rows, id, anchor),
          anchor,
          id,
        );
    });
  }

  /** What can be done to `rows`: [{label, key, help, group, run, …}]. */
  items(rows, id, anchor) {
    const { tree } = this;
    const row = tree.byId.get(id);
    if (rows.length > 1) return forSeveral(tree, rows, id, anchor);
    const entries = this.entries(id);
    const move = row.kind === "block" ? "Move to a loop…" : "Reorder…";
    const grab = {
      label: move,
      key: "Enter",
      help: "then arrows and Enter, or click a loop",
      group: entries[0]?.group,
      run: () => {
        tree.focusRow(id);
        tree.hand.start(id, "click");
      },
    };
    const name = {
      label: "Rename…",
      key: "F2",
      help: "its name in the notebook's text",
      group: "Notes",
      run: () => tree.rename(id),
    };
    return [grab, ...entries.map((entry) => ({ ...entry, run: () => this.run([id], entry, anchor) })), name];
  }

  menu(title, items, anchor, id) {
    const body = menuBody(title, items, (back) => this.close(back), this.memory);
    this.open(body, anchor, id);
    body.onresize = () => this.popup.move(anchor, "below");
  }

  /** Show a menu or a form beside its row. */
  open(body, anchor, id) {
    this.close(false); // with it the form that still waits for an answer: that one is not about this sheet
    this.tree.pointer.hideTip();
    this.tree.tip.hide();
    this.hideNotice();
    this.of = id;
    this.popup.show(anchor, "below", body.element);
    this.tree.decorate(id);
    body.focus();
  }

  close(back) {
    this.asking = null;
    if (!this.shown) return;
    this.popup.hide();
    const { of } = this;
    this.of = "";
    this.tree.decorate(of);
    if (back) this.tree.focusRow(of);
  }

  // ---- Calls.

  /** Call the primitive of `entry` on each of `rows`, asking for what it needs to know. */
  run(rows, entry, anchor) {
    const { tree } = this;
    const [id] = rows;
    const send = (values) =>
      tree.send(
        rows.length > 1
          ? { kind: "calls", method: entry.method, targets: rows, arguments: values }
          : { kind: "call", method: entry.method, target: id, arguments: values },
      );
    if (!entry.fields.length) {
      tree.focusRow(tree.cursor);
      send({});
      return;
    }
    const target = rows.length > 1 ? `${rows.length} rows` : tree.byId.get(id).name;
    const form = formBody(
      entry,
      target,
      (values) => {
        this.asking = form;
        send(values);
      },
      () => this.close(true),
    );
    form.onresize = () => this.popup.move(anchor, "below");
    this.open(form, anchor, id);
  }

  /** The call of a form was answered: what was refused stays in the form, to be mended. */
  answered() {
    const form = this.asking;
    this.asking = null;
    if (form && !form.refused) this.close(true);
  }

  openKeys(from) {
    const { tree } = this;
    const body = keysBody(this.entries(tree.cursor) ?? [], tree.byId.get(tree.cursor)?.name ?? "", () =>
      this.close(true),
    );
    this.open({ element: body, focus: () => body.focus() }, from.getBoundingClientRect(), tree.cursor);
    return true;
  }

  // ---- Words below the rows.

  notify(message) {
    this.tree.after = null;
    if (this.asking) this.asking.refuse(message);
    else this.showNotice(message);
  }

  /** Reasons without a primitive of their own are of the call that the text names. */
  showNotice({ text, reasons = [], tone = "bad", otherwise = "" }) {
    const { notice } = this.tree;
    const close = h(
      "button",
      { class: "tool", type: "button", "aria-label": "Dismiss", onclick: () => this.hideNotice() },
      icon("close"),
    );
    notice.dataset.tone = tone;
    notice.replaceChildren(
      h("div", { class: "notice-head" }, h("span", {}, text), close),
      ...reasons.map((reason) => reasonBody(reason, "illegal", otherwise)),
    );
    notice.hidden = false;
  }

  wishFor(wish) {
    this.wish = wish;
    this.tree.send(wish);
  }

  /** The calls that would make a refused drop possible, to be made in one click. */
  showRepair({ wish, calls }) {
    const { notice } = this.tree;
    if (!calls.length || notice.hidden || JSON.stringify(wish) !== JSON.stringify(this.wish)) return;
    notice.querySelectorAll(".reason-fix").forEach((line) => line.remove());
    notice.append(
      repairBody(calls, () => {
        this.hideNotice();
        this.tree.send({ kind: "repair", method: wish.primitive, target: wish.block, arguments: { loop: wish.loop } });
      }),
    );
  }

  hideNotice() {
    this.wish = null;
    this.tree.notice.hidden = true;
  }
}
