// What opens beside a row: its menu, the form of a call, the list of keys; and the notice below the rows.

import { focusIn, h } from "../core/dom.js";
import { Popup } from "../core/popup.js";
import { menuBody } from "../core/menu.js";
import { defaultValues, formBody } from "./forms.js";
import { icon } from "./rows.js";
import { LATER_STEPS, reasonBody, repairBody, switchOffBody } from "./offers.js";
import { sharedItems } from "./several.js";
import { keysBody } from "./keys.js";
import { Trials, effectElement } from "./trials.js";

/** @import { Menu, MenuItem } from "../core/menu.js" */
/** @import { CallForm } from "./forms.js" */
/** @import { CallOnRow, FindRepair, Move, MoveSeveral, ReviseOnRow } from "../messages.js" */
/** @import { Tree } from "./tree.js" */
/** @import { Anchor, IndexedRow, Reason, Repair, TreeNotice, Values } from "./tree.js" */
/** @import { Entry as MenuEntry } from "../views.js" */

/** @typedef {Move | MoveSeveral} DropMessage */
/** @typedef {DropMessage | ReviseOnRow} Revision A message that revises a step of the notebook. */

/** @type {Record<Revision["kind"], string>} */
const SWITCH_OFF = {
  move: "Move, and switch them off",
  moves: "Move, and switch them off",
  revise: "Change, and switch them off",
};

const UNTRIED = ["Notes"]; // groups of entries that change no cycles
const TRIAL_DELAY = 250; // ms after an edit of a form

/**
 * @param {string} id
 * @param {MenuEntry} entry
 * @param {Values} values
 * @returns {CallOnRow | ReviseOnRow}
 */
function callOf(id, { method, revises, target = id }, values) {
  return revises
    ? { kind: "revise", method, target, arguments: values }
    : { kind: "call", method, target: id, arguments: values };
}

/** @typedef {{ rows: string[], run: () => void }} Waiting What runs when the entries of all `rows` are known. */

export class Dialogs {
  /** @param {Tree} tree */
  constructor(tree) {
    this.tree = tree;
    this.popup = new Popup(tree.element, "sheet");
    this.memory = { more: false };
    this.trials = new Trials(tree);
    /** @type {CallForm | null} The form whose call is not answered yet. */
    this.submitted = null;
    /** @type {Map<string, MenuEntry[]>} By row. */
    this.answers = new Map();
    /** @type {Waiting[]} */
    this.waiting = [];
    /** @type {FindRepair | null} The request that the notice waits for. */
    this.pendingRepair = null;
    /** @type {Revision | null} The revision that the notice is about, if it is about one. */
    this.revision = null;
    /** @type {number | undefined} */
    this.trialTimer = undefined;
    this.of = "";
  }

  get shown() {
    return this.popup.shown;
  }

  /** Drop the menus of an earlier program. A form stays while its row exists. */
  reset() {
    const { tree } = this;
    this.answers.clear();
    // A key that was pressed before the new rows arrived applies to them, if they have its row.
    this.waiting = this.waiting.filter(({ rows }) => rows.every((id) => tree.byId.has(id)));
    for (const { rows } of this.waiting) rows.forEach((id) => this.request(id));
    if (!this.shown || tree.byId.has(this.of)) return;
    // The row of a form is gone (split, fused): the keyboard returns to the cursor.
    const focused = this.popup.element.contains(focusIn(tree.list));
    this.close(false);
    if (focused) tree.focusRow(tree.cursor);
  }

  // ---- Menus.

  /**
   * The entries of a row; undefined until they are known.
   * @param {string} id
   */
  entries(id) {
    const { rows, entries } = this.tree.menus;
    return rows[id]?.map((n) => entries[n]) ?? this.answers.get(id);
  }

  /** @param {string} id */
  request(id) {
    if (this.entries(id) === undefined) this.tree.send({ kind: "menu", row: id });
  }

  /**
   * Call `run()` once the entries of all `rows` are known.
   * @param {string[]} rows
   * @param {() => void} run
   */
  whenKnown(rows, run) {
    const missing = rows.filter((id) => this.entries(id) === undefined);
    if (!missing.length) {
      run();
      return;
    }
    missing.forEach((id) => this.request(id));
    this.waiting.push({ rows, run });
  }

  /** @param {{ row: string, entries: MenuEntry[] }} message */
  receiveMenu({ row, entries }) {
    this.answers.set(row, entries);
    const ready = this.waiting.filter(({ rows }) => rows.every((id) => this.entries(id) !== undefined));
    this.waiting = this.waiting.filter((wait) => !ready.includes(wait));
    for (const { run } of ready) run();
  }

  /**
   * Open the menu of a row, or of all selected rows if it is one of them.
   * @param {string} id
   * @param {Anchor} anchor
   */
  rowMenu(id, anchor) {
    const { tree } = this;
    if (!tree.byId.has(id)) return;
    tree.drag.cancel();
    const rows = tree.together(id);
    this.whenKnown(rows, () => {
      const row = tree.byId.get(id);
      if (!row) return;
      const name = row.kind === "loop" ? `${row.name} · ${row.extent}` : row.name;
      const items = this.items(rows, row, anchor);
      const body = this.menu(rows.length > 1 ? `${rows.length} rows` : name, items, anchor, id);
      if (rows.length === 1) this.predict(id, this.entries(id) ?? [], items, body);
    });
  }

  /**
   * Show the predicted effects of a menu's entries, with the values that their forms begin with.
   * @param {string} id
   * @param {MenuEntry[]} entries
   * @param {MenuItem[]} items
   * @param {Menu} body
   */
  predict(id, entries, items, body) {
    const tried = entries.flatMap((entry) => {
      const values =
        entry.disabled || entry.rare || entry.revises || UNTRIED.includes(entry.group) ? null : defaultValues(entry);
      const item = items.find(({ label, method }) => label === entry.label && method === entry.method);
      return values && item ? [{ item, call: callOf(id, entry, values) }] : [];
    });
    const calls = tried.map(({ call }) => call);
    this.trials.begin(calls, (index, effect) => body.annotate?.(tried[index].item, effectElement(effect)));
  }

  /**
   * The form that changes a step of the notebook.
   * @param {string} id
   * @param {string} method
   * @param {Anchor} anchor
   */
  revise(id, method, anchor) {
    this.tree.drag.cancel();
    this.whenKnown([id], () => {
      const entry = this.entries(id)?.find(
        (item) => item.method === method && (item.revises || method.startsWith("kernel_")),
      );
      if (entry) this.call([id], entry, anchor);
    });
  }

  /**
   * The actions on `rows`, whose entries are known; `row` is the one that the menu opens at.
   * @param {string[]} rows
   * @param {IndexedRow} row
   * @param {Anchor} anchor
   * @returns {MenuItem[]}
   */
  items(rows, row, anchor) {
    const { tree } = this;
    const { id } = row;
    if (rows.length > 1) return sharedItems(tree, rows, id, anchor);
    const entries = this.entries(id) ?? [];
    const move = {
      label: row.kind === "block" ? "Move to a loop…" : "Reorder…",
      key: "Enter",
      help: "then arrows and Enter, or click a loop",
      group: entries.find((entry) => !entry.revises)?.group,
      run: () => tree.grabByClick(id),
    };
    const rename = {
      label: "Rename…",
      key: "F2",
      help: "its name in the notebook's text",
      group: "Notes",
      run: () => tree.rename(id),
    };
    return [move, ...entries.map((entry) => ({ ...entry, run: () => this.call([id], entry, anchor) })), rename];
  }

  /**
   * @param {string} title
   * @param {MenuItem[]} items
   * @param {Anchor} anchor
   * @param {string} id
   * @returns {Menu}
   */
  menu(title, items, anchor, id) {
    const body = menuBody(title, items, (back) => this.close(back), this.memory);
    this.open(body, anchor, id);
    body.onresize = () => this.popup.move(anchor, "below");
    return body;
  }

  /**
   * Show a menu or a form beside its row.
   * @param {Menu} body
   * @param {Anchor} anchor
   * @param {string} id
   */
  open(body, anchor, id) {
    this.close(false); // also forgets a submitted form: its answer does not concern this dialog
    this.tree.pointer.hideTip();
    this.tree.tip.hide();
    this.hideNotice();
    this.of = id;
    this.popup.show(anchor, "below", body.element);
    this.tree.decorate(id);
    body.focus();
  }

  /** @param {boolean} restoreFocus */
  close(restoreFocus) {
    this.submitted = null;
    this.trials.stop();
    clearTimeout(this.trialTimer);
    if (!this.shown) return;
    this.popup.hide();
    const { of } = this;
    this.of = "";
    this.tree.decorate(of);
    if (restoreFocus) this.tree.focusRow(of);
  }

  // ---- Calls.

  /**
   * Call the primitive of `entry` on each of `rows`, after a form if it has arguments.
   * @param {string[]} rows
   * @param {MenuEntry} entry
   * @param {Anchor} anchor
   */
  call(rows, entry, anchor) {
    const { tree } = this;
    const [id] = rows;
    const { method } = entry;
    const send = (/** @type {Values} */ values) =>
      tree.send(
        rows.length > 1 ? { kind: "calls", method, targets: rows, arguments: values } : callOf(id, entry, values),
      );
    if (!entry.fields.length) {
      tree.focusRow(tree.cursor);
      send({});
      return;
    }
    const submit = (/** @type {Values} */ values) => {
      this.submitted = form;
      send(values);
    };
    const target = rows.length > 1 ? `${rows.length} rows` : tree.nameOf(id);
    const form = formBody(entry, target, submit, () => this.close(true));
    form.onresize = () => this.popup.move(anchor, "below");
    this.open(form, anchor, id);
    if (rows.length > 1 || UNTRIED.includes(entry.group)) return;
    const predict = () =>
      this.trials.begin(
        form.trials().map((values) => callOf(id, entry, values)),
        form.showEffect,
      );
    form.onedit = () => {
      clearTimeout(this.trialTimer);
      this.trialTimer = window.setTimeout(predict, TRIAL_DELAY);
    };
    predict();
  }

  /** The submitted call was answered. A refused form stays open, so that it can be corrected. */
  receiveAnswer() {
    const form = this.submitted;
    this.submitted = null;
    if (form && !form.refused) this.close(true);
  }

  /** @param {Anchor} anchor */
  openKeys(anchor) {
    const { cursor } = this.tree;
    const body = keysBody(this.entries(cursor) ?? [], this.tree.byId.get(cursor)?.name ?? "", () => this.close(true));
    this.open({ element: body, focus: () => body.focus() }, anchor, cursor);
  }

  // ---- The notice below the rows.

  /** @param {TreeNotice} notice */
  notify(notice) {
    this.tree.after = null;
    if (this.submitted) this.submitted.refuse({ ...notice, more: this.switchOffBody(notice.reasons) });
    else this.showNotice(notice);
  }

  /** @param {TreeNotice} notice */
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
    const more = this.switchOffBody(reasons);
    if (more) notice.append(more);
    notice.hidden = false;
  }

  /**
   * The button that makes a revision with its later steps switched off, if it was refused for them.
   * @param {Reason[]} [reasons]
   */
  switchOffBody(reasons = []) {
    const { revision } = this;
    if (!revision || !reasons.some(({ code }) => code === LATER_STEPS)) return null;
    return switchOffBody(SWITCH_OFF[revision.kind], () => {
      this.hideNotice();
      this.tree.send({ ...revision, switch_off: true });
    });
  }

  /** @param {FindRepair} request */
  requestRepair(request) {
    this.pendingRepair = request;
    this.tree.send(request);
  }

  /**
   * Offer what makes a refused drop possible.
   * @param {{ request: FindRepair } & Repair} message
   */
  showRepair({ request: { block, loop, primitive, others = [] }, calls, blocks }) {
    const { notice } = this.tree;
    const { pendingRepair: pending, revision } = this;
    const isPending = pending?.block === block && pending.loop === loop && pending.primitive === primitive;
    if (!(calls.length + blocks.length) || notice.hidden || !isPending) return;
    if (revision?.kind !== "move" && revision?.kind !== "moves") return;
    notice.querySelectorAll(".reason-fix").forEach((line) => line.remove());
    notice.append(
      repairBody({ calls, blocks }, 1 + others.length, () => {
        this.hideNotice();
        this.tree.send({ ...revision, repair: true });
      }),
    );
  }

  hideNotice() {
    this.pendingRepair = null;
    this.tree.notice.hidden = true;
  }
}
