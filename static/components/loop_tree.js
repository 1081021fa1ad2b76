// The loop tree: shows the rows it is given and says what a person wants. It decides nothing about programs: which drops are legal comes
// from Python, and a drop is only a message. Rows keep their element (and focus) from one program to the next, by id.
//
// Three ways to move: drag with the pointer; click the grip, then a loop; Enter, arrows, Enter. All three are one grab: `start`, `hover`,
// `drop`, `cancel`.

import { Popup, make, pointRect } from "./popup.js";
import { menuBody } from "./menu.js";
import { formBody } from "./forms.js";
import { ancestors, icon, indexRows, rowElement, rowOf } from "./tree_rows.js";
import { MARKS, blockOffers, loopOffers, reasonBody, repairBody } from "./tree_offers.js";
import { Pointer } from "./tree_pointer.js";
import { Keys, keysBody } from "./tree_keys.js";

export function render({model}) {
  const tree = new Tree(model);
  model.on("remove", () => tree.remove());
  return tree.element;
}

class Tree {
  constructor(model) {
    this.model = model;
    this.byId = new Map();
    this.elements = new Map();
    this.drawn = new Map();
    this.folded = new Set();
    this.answers = new Map();
    this.held = null;
    this.cursor = "";
    this.grab = null;
    this.pending = new Set();
    this.menuMemory = {more: false};
    this.asking = null;
    this.build();
    this.pointer = new Pointer(this);
    this.keys = new Keys(this);
    this.listen();
    this.flush();
  }

  // ---- The frame.

  build() {
    this.list = make("div", {class: "list", role: "tree", "aria-label": "Loop nest", "aria-multiselectable": "false"});
    this.hint = make("div", {class: "hint"});
    this.live = make("div", {class: "tw-hidden", role: "status", "aria-live": "polite"});
    this.notice = make("div", {class: "notice", role: "alert", hidden: true});
    const tool = (name, label, run) => make("button", {class: "tool", type: "button", title: label, "aria-label": label, onclick: run}, icon(name));
    this.foldButton = tool("fold", "Fold all loops", () => this.foldAll());
    const keys = make("button", {class: "tool", type: "button", title: "Keys", "aria-label": "Keys", onclick: (e) => this.openKeys(e.currentTarget)}, "?");
    this.element = make(
      "div", {class: "tw-tree"}, make("div", {class: "progress", "aria-hidden": "true"}), this.list, this.notice,
      make("div", {class: "foot"}, this.hint, this.foldButton, keys), this.live,
    );
    this.tip = new Popup(this.element, "tip", {role: "tooltip"});
    this.sheet = new Popup(this.element, "sheet");
  }

  listen() {
    for (const name of ["packed_rows", "packed_menus", "packed_targets", "selected", "active", "busy"]) {
      this.model.on(`change:${name}`, () => this.changed(name));
      this.pending.add(name);
    }
    this.model.on("msg:custom", (event) => this.told(event?.data ?? event));
    this.list.addEventListener("focusin", (event) => this.focused(event));
  }

  remove() {
    this.pointer.remove();
    this.keys.remove();
    for (const popup of [this.tip, this.sheet]) popup.hide();
  }

  send(message) {
    this.model.send_msg(message);
  }

  // ---- What Python says.

  changed(name) {
    if (!this.pending.size) queueMicrotask(() => this.flush());
    this.pending.add(name);
  }

  flush() {
    const {model, pending} = this;
    this.pending = new Set();
    if (pending.has("packed_menus")) this.menus = JSON.parse(model.packed_menus);
    if (pending.has("packed_targets")) this.targets = new Map(Object.entries(JSON.parse(model.packed_targets)));
    if (pending.has("packed_rows")) this.draw(JSON.parse(model.packed_rows));
    if (pending.has("busy")) this.element.classList.toggle("is-busy", model.busy);
    if (pending.has("selected") || pending.has("packed_rows")) this.select(model.selected);
    if (pending.has("active") || pending.has("packed_rows")) this.light(model.active);
  }

  told(message) {
    if (message.kind === "notice" && this.asking) this.asking.refuse(message);
    else if (message.kind === "notice") this.showNotice(message);
    else if (message.kind === "answered") this.answered();
    else if (message.kind === "repair") this.showRepair(message);
    else if (message.kind === "targets") {
      this.answers.set(message.block, message.entries);
      if (this.grab?.row.id === message.block && !this.grab.offers) this.offer();
      if (this.held?.row.id === message.block) this.dropHeld();
    }
  }

  draw(rows) {
    this.cancel();
    this.letGo();
    this.answers.clear();
    const before = this.positions();
    const place = Math.max(0, [...this.byId.keys()].indexOf(this.cursor));
    this.byId = indexRows(rows);
    const fresh = [];
    const order = rows.map((row) => {
      const full = this.byId.get(row.id);
      const text = JSON.stringify([row, full.last, full.siblings, full.place, full.children.length > 0, ancestors(this.byId, full).map((o) => o.id)]);
      let element = this.elements.get(row.id);
      if (!element || this.drawn.get(row.id) !== text) {
        const made = rowElement(this.byId, full);
        if (element) this.takePlace(element, made);
        else fresh.push(made);
        element = made;
        this.elements.set(row.id, element);
        this.drawn.set(row.id, text);
      }
      return element;
    });
    for (const id of [...this.elements.keys()]) {
      if (this.byId.has(id)) continue;
      this.elements.get(id).remove();
      this.elements.delete(id);
      this.drawn.delete(id);
    }
    this.inOrder(order);
    this.applyFolds();
    this.setCursor(this.byId.has(this.cursor) ? this.cursor : rows[Math.min(place, rows.length - 1)]?.id ?? "");
    this.element.classList.toggle("is-empty", rows.length === 0);
    this.rest();
    if (this.sheet.shown && !this.byId.has(this.sheetOf)) {
      // The row of a form is gone (split, fused): the keyboard goes on where it was.
      const focused = this.sheet.element.contains(this.list.getRootNode().activeElement);
      this.closeSheet(false);
      if (focused) this.focusRow(this.cursor);
    }
    if (before.size) this.animate(before, fresh);
    this.goAfter();
  }

  /** After a move, the moved row stays in sight, and keeps the keyboard where it had it. */
  goAfter() {
    const {after} = this;
    this.after = null;
    if (!after || !this.byId.has(after.id)) return;
    if (after.focus) this.focusRow(after.id);
    else this.elements.get(after.id).scrollIntoView({block: "nearest"});
  }

  /** `made` instead of `element`, with the focus if it had it. */
  takePlace(element, made) {
    const focused = this.list.getRootNode().activeElement === element;
    element.replaceWith(made);
    if (focused) made.focus({preventScroll: true});
  }

  /** Put the elements in order, moving as few as possible: a moved element loses its focus. */
  inOrder(order) {
    let at = this.list.firstChild;
    for (const element of order) {
      if (element === at) at = at.nextSibling;
      else this.list.insertBefore(element, at);
    }
  }

  positions() {
    const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (still || this.elements.size > 300) return new Map();
    return new Map([...this.elements].map(([id, element]) => [id, element.offsetTop]));
  }

  animate(before, fresh) {
    const ease = {duration: 180, easing: "cubic-bezier(0.2, 0, 0, 1)"};
    const moves = [...this.elements].map(([id, element]) => [element, before.has(id) ? before.get(id) - element.offsetTop : 0]);
    for (const [element, shift] of moves) {
      if (shift) element.animate([{transform: `translateY(${shift}px)`}, {transform: "none"}], ease);
    }
    for (const element of fresh) {
      element.animate([{opacity: 0, backgroundColor: "var(--tw-accent-soft)"}, {opacity: 1, backgroundColor: "transparent"}], {duration: 500});
    }
  }

  select(id) {
    this.selected = id;
    for (const [row, element] of this.elements) element.setAttribute("aria-selected", String(row === id));
    if (this.byId.has(id)) this.setCursor(id);
  }

  light(ids) {
    const lit = new Set(ids);
    for (const [row, element] of this.elements) element.classList.toggle("is-active", lit.has(row));
  }

  // ---- Folding and the cursor.

  applyFolds() {
    for (const [id, row] of this.byId) {
      const element = this.elements.get(id);
      element.hidden = ancestors(this.byId, row).some((outer) => this.folded.has(outer.id));
      if (row.children.length) element.setAttribute("aria-expanded", String(!this.folded.has(id)));
    }
    const all = [...this.byId.values()].some((row) => row.children.length && !this.folded.has(row.id));
    this.foldButton.replaceChildren(icon(all ? "fold" : "unfold"));
    this.foldButton.title = this.foldButton.ariaLabel = all ? "Fold all loops" : "Unfold all loops";
  }

  fold(id, closed) {
    if (!this.byId.get(id)?.children.length) return;
    if (closed) this.folded.add(id);
    else this.folded.delete(id);
    this.applyFolds();
  }

  foldAll() {
    const parents = [...this.byId.values()].filter((row) => row.children.length).map((row) => row.id);
    const close = parents.some((id) => !this.folded.has(id));
    this.folded = new Set(close ? parents : []);
    this.applyFolds();
    if (close) this.setCursor(this.visible()[0] ?? "");
  }

  visible() {
    return [...this.byId.keys()].filter((id) => !this.elements.get(id).hidden);
  }

  setCursor(id) {
    this.elements.get(this.cursor)?.setAttribute("tabindex", "-1");
    this.cursor = id;
    this.elements.get(id)?.setAttribute("tabindex", "0");
  }

  focusRow(id) {
    const element = this.elements.get(id);
    if (!element) return;
    this.setCursor(id);
    element.focus({preventScroll: true});
    element.scrollIntoView({block: "nearest"});
  }

  focused(event) {
    const id = rowOf(event.target);
    if (id) this.setCursor(id);
    if (id && this.grab && this.grab.by !== "pointer") this.hover(id);
  }

  // ---- A grab.

  /** `by` is "pointer", "click" or "keyboard"; `only` narrows a block's move to one primitive. */
  start(id, by, only = "") {
    const row = this.byId.get(id);
    if (!row || row.kind === "allocation") return;
    this.cancel();
    this.letGo();
    this.closeSheet(false);
    this.pointer.hideTip();
    this.hideNotice();
    this.grab = {row, by, only, offers: null, over: ""};
    this.element.classList.add("is-grabbing");
    this.elements.get(id).classList.add("is-grabbed");
    if (this.knows(id)) this.offer();
    else {
      this.ask(id);
      this.hint.replaceChildren("Asking which loops are legal…");
    }
  }

  /** Whether the answer to "where may this go?" is here. Loops are answered by the shape of the tree. */
  knows(id) {
    return this.byId.get(id)?.kind === "loop" || this.targets.has(id) || this.answers.has(id);
  }

  ask(id) {
    this.send({kind: "targets", block: id});
  }

  offer() {
    const {row, only} = this.grab;
    const answers = this.targets.get(row.id) ?? this.answers.get(row.id) ?? [];
    const offers = row.kind === "loop" ? loopOffers(this.byId, row) : blockOffers(this.byId, answers, only);
    this.grab.offers = offers;
    const count = {legal: 0, costly: 0, illegal: 0};
    for (const [id, offer] of offers) {
      count[offer.state]++;
      const element = this.elements.get(id);
      element.dataset.offer = offer.state;
      element.querySelector(".mark").replaceChildren(icon(MARKS[offer.state]));
      element.querySelector(".offer").textContent = offer.label;
    }
    const part = (name, text) => make("span", {class: `legend legend-${name}`}, icon(MARKS[name]), `${count[name]} ${text}`);
    this.hint.replaceChildren(
      make("b", {}, row.name), part("legal", "legal"), count.costly ? part("costly", "costly") : "", part("illegal", "not possible"),
      make("span", {class: "tw-kbd"}, "Esc"));
    const how = this.grab.by === "keyboard" ? "Arrows choose a loop, Enter drops, Escape cancels." : "";
    this.say(`${row.name} grabbed. ${count.legal} legal, ${count.costly} costly, ${count.illegal} not possible. ${how}`);
    if (this.grab.over) this.hover(this.grab.over);
    else if (this.grab.by !== "pointer") this.hover(this.cursor);
  }

  /** The pointer or cursor is over row `id`: say what a drop there would do. */
  hover(id) {
    const {grab} = this;
    this.elements.get(grab.over)?.classList.remove("is-over");
    grab.over = id;
    const offer = grab.offers?.get(id);
    if (!offer) {
      this.tip.hide();
      return;
    }
    const element = this.elements.get(id);
    element.classList.add("is-over");
    const lines = offer.reasons.map((reason) => reasonBody(reason, offer.state));
    this.tip.element.dataset.offer = offer.state;
    this.tip.show(element.getBoundingClientRect(), "beside", ...lines);
    if (grab.by === "keyboard") this.say(`${this.byId.get(id).name}: ${offer.state}. ${offer.reasons.map((r) => r.text).join(" ")}`);
  }

  drop(id, point) {
    const {row, offers, by, only} = this.grab;
    this.cancel();
    if (!offers && this.byId.get(id)?.kind === "loop") {
      // The hand was faster than the answer: the drop waits for it.
      this.held = {row, by, only, id, point};
      this.elements.get(id).classList.add("is-held");
      this.hint.replaceChildren(`Asking whether ${row.name} may go to ${this.byId.get(id).name}…`);
      return;
    }
    this.dropped(row, by, offers?.get(id), id, point);
  }

  dropHeld() {
    const {row, by, only, id, point} = this.held;
    this.letGo();
    this.dropped(row, by, blockOffers(this.byId, this.answers.get(row.id) ?? [], only).get(id), id, point);
  }

  /** A drop that waits is given up, or its answer is here. */
  letGo() {
    if (!this.held) return;
    this.elements.get(this.held.id)?.classList.remove("is-held");
    this.held = null;
    this.rest();
  }

  dropped(row, by, offer, id, point) {
    if (!offer) return;
    this.after = {id: row.id, focus: by === "keyboard"};
    if (offer.state === "illegal") {
      this.showNotice({text: `${row.name} cannot go to ${this.byId.get(id).name}`, reasons: offer.reasons, otherwise: "not here"});
      const primitive = offer.reasons[0]?.head;
      if (row.kind === "block" && primitive) {
        this.wish = {kind: "wish", block: row.id, loop: id, primitive};
        this.send(this.wish);
      }
      return;
    }
    if (offer.order) {
      this.send({kind: "reorder", loops: offer.order});
      return;
    }
    if (offer.choices.length === 1) this.sendMove(row, offer.choices[0]);
    else this.choose(row, offer.choices, point ? pointRect(point.x, point.y) : this.elements.get(id).getBoundingClientRect());
  }

  sendMove(row, choice) {
    this.say(`${choice.primitive} ${row.name} at ${choice.loop}`);
    this.send({kind: "move", block: row.id, loop: choice.loop, primitive: choice.primitive});
  }

  choose(row, choices, anchor) {
    const items = choices.map((choice) => ({
      label: choice.primitive, key: {compute_at: "c", reverse_compute_at: "r"}[choice.primitive], help: choice.reason,
      run: () => this.sendMove(row, choice),
    }));
    this.openMenu(`${row.name} → ${this.byId.get(choices[0].loop)?.name}`, items, anchor, row.id);
  }

  cancel() {
    if (!this.grab) {
      this.letGo();
      return;
    }
    const {row} = this.grab;
    this.grab = null;
    this.element.classList.remove("is-grabbing");
    this.elements.get(row.id)?.classList.remove("is-grabbed");
    for (const element of this.elements.values()) {
      if (element.dataset.offer === undefined) continue;
      delete element.dataset.offer;
      element.classList.remove("is-over");
      element.querySelector(".mark").replaceChildren();
      element.querySelector(".offer").textContent = "";
    }
    this.tip.hide();
    this.pointer.rest();
    this.rest();
  }

  rest() {
    const blocks = [...this.byId.values()].some((row) => row.kind === "block");
    this.hint.replaceChildren(blocks ? "Drag a block onto a loop" : "No blocks");
  }

  /** Select row `id`. */
  pick(id) {
    this.focusRow(id);
    if (this.selected !== id) {
      this.select(id);
      this.send({kind: "select", id});
    }
  }

  // ---- Menus and forms.

  entries(id) {
    return (this.menus.rows[id] ?? []).map((n) => this.menus.entries[n]);
  }

  rowMenu(id, anchor) {
    const row = this.byId.get(id);
    if (!row) return;
    this.cancel();
    const entries = this.entries(id);
    const move = row.kind === "block" ? "Move to a loop…" : "Reorder…";
    const items = [
      {label: move, key: "Enter", help: "then arrows and Enter, or click a loop", group: entries[0]?.group, run: () => {
        this.focusRow(id);
        this.start(id, "click");
      }},
      ...entries.map((entry) => ({...entry, run: () => this.run(id, entry, anchor)})),
    ];
    this.openMenu(row.kind === "loop" ? `${row.name} · ${row.extent}` : row.name, items, anchor, id);
  }

  openMenu(title, items, anchor, id) {
    const body = menuBody(title, items, (back) => this.closeSheet(back), this.menuMemory);
    this.openSheet(body, anchor, id);
    body.onresize = () => this.sheet.move(anchor, "below");
  }

  /** Show a menu or a form beside its row. */
  openSheet(body, anchor, id) {
    this.closeSheet(false);  // with it the form that still waits for an answer: that one is not about this sheet
    this.pointer.hideTip();
    this.tip.hide();
    this.hideNotice();
    this.sheetOf = id;
    this.sheet.show(anchor, "below", body.element);
    this.elements.get(id)?.classList.add("is-open");
    body.focus();
  }

  run(id, entry, anchor) {
    const send = (values) => this.send({kind: "call", method: entry.method, target: id, arguments: values});
    if (!entry.fields.length) {
      this.focusRow(id);
      send({});
      return;
    }
    const form = formBody(entry, this.byId.get(id).name, (values) => {
      this.asking = form;
      send(values);
    }, () => this.closeSheet(true));
    form.onresize = () => this.sheet.move(anchor, "below");
    this.openSheet(form, anchor, id);
  }

  /** The call of a form was answered: what was refused stays in the form, to be mended. */
  answered() {
    const form = this.asking;
    this.asking = null;
    if (form && !form.refused) this.closeSheet(true);
  }

  openKeys(from) {
    const body = keysBody(this.entries(this.cursor), this.byId.get(this.cursor)?.name ?? "", () => this.closeSheet(true));
    this.openSheet({element: body, focus: () => body.focus()}, from.getBoundingClientRect(), this.cursor);
    return true;
  }

  closeSheet(back) {
    this.asking = null;
    if (!this.sheet.shown) return;
    this.elements.get(this.sheetOf)?.classList.remove("is-open");
    this.sheet.hide();
    if (back) this.focusRow(this.sheetOf);
  }

  // ---- Words for the person.

  /** Reasons without a primitive of their own are of the call that the text names. */
  showNotice({text, reasons = [], tone = "bad", otherwise = ""}) {
    const close = make("button", {class: "tool", type: "button", "aria-label": "Dismiss", onclick: () => this.hideNotice()}, icon("close"));
    this.notice.dataset.tone = tone;
    this.notice.replaceChildren(
      make("div", {class: "notice-head"}, make("span", {}, text), close), ...reasons.map((reason) => reasonBody(reason, "illegal", otherwise)));
    this.notice.hidden = false;
  }

  /** The calls that would make a refused drop possible, to be made in one click. */
  showRepair({wish, calls}) {
    if (!calls.length || this.notice.hidden || JSON.stringify(wish) !== JSON.stringify(this.wish)) return;
    this.notice.querySelectorAll(".reason-fix").forEach((line) => line.remove());
    this.notice.append(repairBody(calls, () => {
      this.hideNotice();
      this.send({kind: "repair", block: wish.block, loop: wish.loop, primitive: wish.primitive});
    }));
  }

  hideNotice() {
    this.wish = null;
    this.notice.hidden = true;
  }

  say(text) {
    this.live.textContent = text;
  }
}
