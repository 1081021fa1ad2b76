// The loop tree: shows the rows it is given and says what a person wants. It decides nothing about programs: which drops are legal comes
// from Python, and a drop is only a message. Rows keep their element (and focus) from one program to the next, by id.
//
// Three ways to move: drag with the pointer; click the grip, then a loop; Enter, arrows, Enter. All three are one grab: `start`, `hover`,
// `drop`, `cancel`.

import { Popup, make, menuBody, pointRect } from "./popup.js";
import { formBody } from "./forms.js";
import { ancestors, chainOf, icon, indexRows, reordered, rowElement } from "./tree_rows.js";

const DRAG_PIXELS = 4;
const TIP_DELAY = 650;
const EDGE = 30;

const KEYS = [
  ["↑ ↓", "previous, next row"], ["← →", "fold, unfold, go out, go in"], ["Enter", "grab, then drop"], ["⇧ ↑ ⇧ ↓", "grab, and go to the next legal loop"],
  ["Esc", "cancel"], ["Space", "select"], [".", "actions of the row"], ["c / r", "compute_at, reverse_compute_at"],
  ["Ctrl Z", "undo"], ["Ctrl ⇧ Z", "redo"], ["?", "these keys"],
];

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
    this.cursor = "";
    this.grab = null;
    this.press = null;
    this.pending = new Set();
    this.build();
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
    this.ghost = new Popup(this.element, "ghost", {"aria-hidden": "true"});
  }

  listen() {
    const {model, list} = this;
    for (const name of ["packed_rows", "packed_menus", "packed_targets", "selected", "active", "busy"]) {
      const changed = () => this.changed(name);
      model.on(`change:${name}`, changed);
      this.pending.add(name);
    }
    model.on("msg:custom", (event) => this.told(event?.data ?? event));
    list.addEventListener("pointerdown", (e) => this.pointerDown(e));
    list.addEventListener("pointerover", (e) => this.pointerOver(e));
    list.addEventListener("pointerleave", () => this.pointerLeft());
    list.addEventListener("contextmenu", (e) => this.contextMenu(e));
    list.addEventListener("dblclick", (e) => this.doubleClick(e));
    list.addEventListener("keydown", (e) => this.key(e));
    list.addEventListener("focusin", (e) => this.focused(e));
    list.addEventListener("scroll", () => this.hideTip(), {passive: true});
    this.anywhere = {
      pointermove: (e) => this.pointerMove(e), pointerup: (e) => this.pointerUp(e), pointercancel: () => this.cancel(),
      pointerdown: (e) => this.pressedElsewhere(e), keydown: (e) => this.escape(e),
    };
    for (const [name, handler] of Object.entries(this.anywhere)) window.addEventListener(name, handler, true);
  }

  remove() {
    for (const [name, handler] of Object.entries(this.anywhere)) window.removeEventListener(name, handler, true);
    for (const popup of [this.tip, this.sheet, this.ghost]) popup.hide();
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
    if (message.kind === "notice") this.showNotice(message);
    else if (message.kind === "targets") {
      this.answers.set(message.block, message.entries);
      if (this.grab?.row.id === message.block && !this.grab.offers) this.offer();
    }
  }

  draw(rows) {
    this.cancel();
    this.answers.clear();
    const before = this.positions();
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
    this.setCursor(this.byId.has(this.cursor) ? this.cursor : rows[0]?.id ?? "");
    this.element.classList.toggle("is-empty", rows.length === 0);
    this.rest();
    if (this.sheet.shown && !this.byId.has(this.sheetOf)) this.closeSheet(false);
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
    if (id && this.grab && this.grab.by === "keyboard") this.hover(id);
  }

  // ---- A grab.

  /** `by` is "pointer", "click" or "keyboard"; `only` narrows a block's move to one primitive. */
  start(id, by, only = "") {
    const row = this.byId.get(id);
    if (!row || row.kind === "allocation") return;
    this.cancel();
    this.closeSheet(false);
    this.hideTip();
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
    const offers = row.kind === "loop" ? this.loopOffers(row) : this.blockOffers(row, only);
    this.grab.offers = offers;
    const count = {legal: 0, costly: 0, illegal: 0};
    for (const [id, offer] of offers) {
      count[offer.state]++;
      const element = this.elements.get(id);
      element.dataset.offer = offer.state;
      element.querySelector(".mark").replaceChildren(icon({legal: "tick", costly: "costly", illegal: "cross"}[offer.state]));
      element.querySelector(".offer").textContent = offer.label;
    }
    const part = (name, mark, text) => make("span", {class: `legend legend-${name}`}, icon(mark), `${count[name]} ${text}`);
    this.hint.replaceChildren(
      make("b", {}, row.name), part("legal", "tick", "legal"), count.costly ? part("costly", "costly", "costly") : "", part("illegal", "cross", "not possible"),
      make("span", {class: "tw-kbd"}, "Esc"));
    const how = this.grab.by === "keyboard" ? "Arrows choose a loop, Enter drops, Escape cancels." : "";
    this.say(`${row.name} grabbed. ${count.legal} legal, ${count.costly} costly, ${count.illegal} not possible. ${how}`);
    if (this.grab.over) this.hover(this.grab.over);
    else if (this.grab.by === "keyboard") this.hover(this.cursor);
  }

  blockOffers(row, only) {
    const entries = (this.targets.get(row.id) ?? this.answers.get(row.id) ?? []).filter((e) => !only || e.primitive === only);
    const offers = new Map();
    for (const loop of this.byId.values()) {
      if (loop.kind !== "loop") continue;
      const here = entries.filter((entry) => entry.loop === loop.id);
      const legal = here.filter((entry) => entry.legal);
      const state = !legal.length ? "illegal" : legal.every((entry) => entry.costly) ? "costly" : "legal";
      const reasons = (legal.length ? legal : here).map((entry) => ({head: entry.primitive, text: entry.reason, code: entry.code, fix: entry.fix ?? []}));
      if (!here.length) reasons.push({head: "", text: "no move of this block ends here", code: "", fix: []});
      offers.set(loop.id, {state, choices: legal, label: offerLabel(legal), reasons});
    }
    return offers;
  }

  loopOffers(row) {
    const chain = chainOf(this.byId, row);
    const inChain = new Set(chain.map((loop) => loop.id));
    const offers = new Map();
    for (const loop of this.byId.values()) {
      if (loop.kind !== "loop" || loop.id === row.id) continue;
      if (inChain.has(loop.id)) {
        const order = reordered(chain, row.id, loop.id);
        const text = `new order: ${order.map((id) => this.byId.get(id).name).join(", ")}`;
        offers.set(loop.id, {state: "legal", order, label: "reorder", choices: [], reasons: [{head: "reorder", text, code: "", fix: []}]});
      } else {
        const text = `${loop.name} is not in one chain with ${row.name}: only loops that stand directly in one another can be reordered`;
        offers.set(loop.id, {state: "illegal", choices: [], label: "", reasons: [{head: "reorder", text, code: "not-in-one-chain", fix: []}]});
      }
    }
    return offers;
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
    const lines = offer.reasons.map((reason) => this.reasonBody(reason, offer.state));
    this.tip.element.dataset.offer = offer.state;
    this.tip.show(element.getBoundingClientRect(), "beside", ...lines);
    if (grab.by === "keyboard") this.say(`${this.byId.get(id).name}: ${offer.state}. ${offer.reasons.map((r) => r.text).join(" ")}`);
  }

  reasonBody(reason, state) {
    const mark = icon({legal: "tick", costly: "costly", illegal: "cross"}[state]);
    return make(
      "div", {class: `reason reason-${state}`},
      make("div", {class: "reason-head"}, mark, make("code", {}, reason.head || "not here"), reason.code ? make("span", {class: "reason-code"}, reason.code) : null),
      reason.text ? make("div", {class: "reason-text"}, reason.text) : null,
      ...(reason.fix ?? []).map((call) => make("code", {class: "reason-fix"}, call)),
    );
  }

  drop(id, point) {
    const {row, offers, by} = this.grab;
    const offer = offers?.get(id);
    this.cancel();
    this.after = {id: row.id, focus: by === "keyboard"};
    if (!offer) return;
    if (offer.state === "illegal") {
      const [reason, ...more] = offer.reasons;
      this.showNotice({
        text: `${row.name} cannot go to ${this.byId.get(id).name}`, reasons: [reason, ...more],
      });
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
    this.openMenu([{head: `${row.name} → ${this.byId.get(choices[0].loop)?.name}`}, ...items], anchor, row.id);
  }

  cancel() {
    if (!this.grab) return;
    const {row} = this.grab;
    this.grab = null;
    this.press = null;
    this.element.classList.remove("is-grabbing");
    this.elements.get(row.id)?.classList.remove("is-grabbed");
    for (const element of this.elements.values()) {
      if (element.dataset.offer === undefined) continue;
      delete element.dataset.offer;
      element.classList.remove("is-over");
      element.querySelector(".mark").replaceChildren();
      element.querySelector(".offer").textContent = "";
    }
    this.ghost.hide();
    this.tip.hide();
    this.tint(null);
    this.pointed = "";
    this.rest();
  }

  rest() {
    const blocks = [...this.byId.values()].some((row) => row.kind === "block");
    this.hint.replaceChildren(blocks ? "Drag a block onto a loop" : "No blocks");
  }

  // ---- The pointer.

  pointerDown(event) {
    const id = rowOf(event.target);
    if (!id || event.button !== 0) return;
    const act = event.target.closest("[data-act]")?.dataset.act;
    if (act === "menu") return this.toggleMenu(event, id);
    if (act === "fold") return this.fold(id, !this.folded.has(id));
    if (this.grab?.by === "click") return undefined;
    if (event.pointerType !== "mouse" && act !== "grip") return undefined;
    this.press = {id, act, x: event.clientX, y: event.clientY, pointer: event.pointerId};
    return undefined;
  }

  toggleMenu(event, id) {
    event.preventDefault();
    event.stopPropagation();
    const anchor = event.target.closest("[data-act]").getBoundingClientRect();
    if (this.sheet.shown && this.sheetOf === id) this.closeSheet(true);
    else this.rowMenu(id, anchor, "below");
  }

  pointerMove(event) {
    if (this.press && !this.grab) {
      const far = Math.hypot(event.clientX - this.press.x, event.clientY - this.press.y);
      if (far < DRAG_PIXELS) return;
      this.start(this.press.id, "pointer");
      if (!this.grab) {
        this.press = null;
        return;
      }
    }
    if (!this.grab || this.grab.by === "keyboard") return;
    const point = {x: event.clientX, y: event.clientY};
    if (this.grab.by === "pointer") {
      event.preventDefault();
      this.showGhost(point);
      this.scrollAtEdge(point);
    }
    this.hover(this.rowAt(point));
  }

  pointerUp(event) {
    const {press, grab} = this;
    this.press = null;
    const point = {x: event.clientX, y: event.clientY};
    if (grab?.by === "pointer") {
      this.drop(this.rowAt(point), point);
      return;
    }
    if (grab?.by === "click") {
      const id = this.rowAt(point);
      if (id === grab.row.id && !grab.ready) grab.ready = true;
      else if (id === grab.row.id || !id) this.cancel();
      else this.drop(id, point);
      return;
    }
    if (!press || this.rowAt(point) !== press.id) return;
    this.choosen(press.id);
    if (press.act === "grip") {
      this.start(press.id, "click");
      this.grab.ready = true;
    }
  }

  choosen(id) {
    this.focusRow(id);
    if (this.selected !== id) {
      this.select(id);
      this.send({kind: "select", id});
    }
  }

  rowAt({x, y}) {
    const root = this.list.getRootNode();
    const hit = root.elementFromPoint?.(x, y);
    return hit && this.list.contains(hit) ? rowOf(hit) : "";
  }

  showGhost(point) {
    const {row} = this.grab;
    const anchor = pointRect(point.x + 10, point.y + 6);
    if (this.ghost.shown) {
      this.ghost.element.style.left = `${anchor.left}px`;
      this.ghost.element.style.top = `${anchor.top}px`;
      return;
    }
    const colour = row.writes?.[0] ? `--tw-colour: var(--tw-buffer-${row.writes[0].colour})` : "";
    this.ghost.element.style.cssText = colour;
    this.ghost.show(anchor, "below", make("i", {class: "tw-swatch"}), row.name);
  }

  scrollAtEdge({y}) {
    const {top, bottom} = this.list.getBoundingClientRect();
    const speed = y < top + EDGE ? y - top - EDGE : y > bottom - EDGE ? y - bottom + EDGE : 0;
    this.speed = speed / 3;
    if (!speed || this.scrolling) return;
    const step = () => {
      this.scrolling = Boolean(this.grab?.by === "pointer" && this.speed);
      if (!this.scrolling) return;
      this.list.scrollTop += this.speed;
      requestAnimationFrame(step);
    };
    this.scrolling = true;
    requestAnimationFrame(step);
  }

  pointerOver(event) {
    const id = rowOf(event.target);
    if (!id || this.grab || this.press || id === this.pointed) return;
    this.pointed = id;
    const row = this.byId.get(id);
    this.tint(row);
    if (row.kind === "block" && !this.knows(id)) this.askSoon(id);
    clearTimeout(this.tipTimer);
    this.tip.hide();
    if (!row.tooltip) return;
    this.tipTimer = setTimeout(() => {
      if (this.grab || this.sheet.shown || this.pointed !== id) return;
      delete this.tip.element.dataset.offer;
      this.tip.show(this.elements.get(id).getBoundingClientRect(), "beside", make("div", {class: "tip-text"}, row.tooltip));
    }, TIP_DELAY);
  }

  /** Ask ahead, so that the answer is here when the block is grabbed. */
  askSoon(id) {
    clearTimeout(this.askTimer);
    this.askTimer = setTimeout(() => {
      if (this.pointed === id && !this.knows(id)) this.ask(id);
    }, 60);
  }

  pointerLeft() {
    this.pointed = "";
    this.tint(null);
    if (!this.grab) this.hideTip();
    else if (this.grab.by !== "keyboard") this.hover("");
  }

  hideTip() {
    clearTimeout(this.tipTimer);
    if (!this.grab) this.tip.hide();
  }

  /** Bring out the guide line of the loop that is pointed at. */
  tint(row) {
    for (const line of this.list.querySelectorAll(".guide.is-lit")) line.classList.remove("is-lit");
    if (!row) return;
    const id = row.kind === "loop" ? row.id : row.parent;
    for (const line of this.list.querySelectorAll(`.guide[data-of="${CSS.escape(id)}"]`)) line.classList.add("is-lit");
  }

  doubleClick(event) {
    const id = rowOf(event.target);
    if (id && !event.target.closest("[data-act]")) this.fold(id, !this.folded.has(id));
  }

  pressedElsewhere(event) {
    const path = event.composedPath();
    if (this.sheet.shown && !path.includes(this.sheet.element) && !event.composedPath()[0]?.closest?.("[data-act=menu]")) this.closeSheet(false);
    if (this.grab?.by === "click" && !path.includes(this.list)) this.cancel();
    if (this.grab?.by === "keyboard") this.cancel();
  }

  escape(event) {
    if (event.key !== "Escape" || !this.grab) return;
    event.preventDefault();
    event.stopPropagation();
    this.cancel();
    this.say("Cancelled.");
  }

  // ---- The keyboard.

  key(event) {
    const id = rowOf(event.target);
    if (!id) return;
    if (this.command(event, id)) {
      event.preventDefault();
      event.stopPropagation();
    }
  }

  command(event, id) {
    const {key} = event;
    if (event.ctrlKey || event.metaKey) return this.history(event);
    if (event.altKey) return false;
    if ((key === "ArrowDown" || key === "ArrowUp") && event.shiftKey) return this.nextLegal(id, key === "ArrowDown" ? 1 : -1);
    if (key === "ArrowDown") return this.step(id, 1);
    if (key === "ArrowUp") return this.step(id, -1);
    if (key === "Home" || key === "End") return this.step(id, key === "Home" ? -Infinity : Infinity);
    if (key === "Enter") return this.enter(id);
    if (key === "?") return this.openKeys(this.elements.get(id));
    if (this.grab) return key === "Tab" ? (this.cancel(), false) : false;
    if (key === "ArrowLeft" || key === "ArrowRight") return this.sideways(id, key === "ArrowRight");
    if (key === " ") return this.choosen(id), true;
    if (key === "." || key === "ContextMenu" || (key === "F10" && event.shiftKey)) return this.rowMenu(id, this.elements.get(id).getBoundingClientRect(), "below"), true;
    return key.length === 1 && this.letter(id, key);
  }

  history(event) {
    if (event.key.toLowerCase() === "z") this.send({kind: event.shiftKey ? "redo" : "undo"});
    else if (event.key.toLowerCase() === "y") this.send({kind: "redo"});
    else return false;
    return true;
  }

  step(id, by) {
    const rows = this.visible().filter((row) => !this.grab || this.byId.get(row).kind === "loop" || row === id);
    const at = rows.indexOf(id);
    const to = rows[Math.max(0, Math.min(rows.length - 1, at + by))];
    if (to) this.focusRow(to);
    return true;
  }

  nextLegal(id, by) {
    if (!this.grab) this.start(id, "keyboard");
    if (!this.grab?.offers) return true;
    const rows = this.visible();
    for (let at = rows.indexOf(id) + by; at >= 0 && at < rows.length; at += by) {
      const state = this.grab.offers.get(rows[at])?.state;
      if (state === "legal" || state === "costly") {
        this.focusRow(rows[at]);
        break;
      }
    }
    return true;
  }

  sideways(id, into) {
    const row = this.byId.get(id);
    const closed = this.folded.has(id);
    if (into && closed) this.fold(id, false);
    else if (into && row.children.length) this.focusRow(row.children[0].id);
    else if (!into && row.children.length && !closed) this.fold(id, true);
    else if (!into && row.parent) this.focusRow(row.parent);
    return true;
  }

  enter(id) {
    if (!this.grab) this.start(id, "keyboard");
    else if (id === this.grab.row.id) this.cancel();
    else this.drop(id, null);
    return true;
  }

  letter(id, key) {
    const row = this.byId.get(id);
    if (row.kind === "block" && (key === "c" || key === "r")) {
      this.start(id, "keyboard", key === "c" ? "compute_at" : "reverse_compute_at");
      return true;
    }
    const entry = this.entries(id).find((item) => item.key === key);
    if (!entry) return false;
    if (entry.disabled) this.showNotice({text: `${entry.method}: ${entry.disabled}`, reasons: []});
    else this.run(id, entry, this.elements.get(id).getBoundingClientRect());
    return true;
  }

  // ---- Menus and forms.

  entries(id) {
    return (this.menus.rows[id] ?? []).map((n) => this.menus.entries[n]);
  }

  contextMenu(event) {
    const id = rowOf(event.target);
    if (!id) return;
    event.preventDefault();
    this.press = null;
    this.rowMenu(id, pointRect(event.clientX, event.clientY), "below");
  }

  rowMenu(id, anchor, side) {
    const row = this.byId.get(id);
    if (!row) return;
    this.cancel();
    const move = row.kind === "block" ? "Move to a loop…" : "Reorder…";
    const items = [
      {head: row.kind === "loop" ? `${row.name} · ${row.extent}` : row.name},
      {label: move, key: "Enter", help: "then arrows and Enter, or click a loop", run: () => {
        this.focusRow(id);
        this.start(id, "keyboard");
        if (this.grab) this.grab.by = "click";
        if (this.grab) this.grab.ready = true;
      }},
      {line: true},
      ...this.entries(id).map((entry) => ({...entry, run: () => this.run(id, entry, anchor)})),
    ];
    this.openMenu(items, anchor, id, side);
  }

  openMenu(items, anchor, id, side = "below") {
    this.hideTip();
    this.tip.hide();
    this.hideNotice();
    const body = menuBody(items, (back) => this.closeSheet(back));
    this.sheetOf = id;
    this.sheet.show(anchor, side, body.element);
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
    this.hideTip();
    this.tip.hide();
    this.hideNotice();
    const row = this.byId.get(id);
    const form = formBody(entry, row.name, (values) => {
      this.closeSheet(true);
      send(values);
    }, () => this.closeSheet(true));
    this.sheetOf = id;
    this.sheet.show(anchor, "below", form.element);
    this.elements.get(id)?.classList.add("is-open");
    form.focus();
  }

  openKeys(from) {
    const rows = KEYS.map(([keys, text]) => make("tr", {}, make("td", {}, ...keys.split(" ").map((k) => (k === "/" ? " " : make("span", {class: "tw-kbd"}, k)))), make("td", {}, text)));
    const extra = this.entries(this.cursor).filter((e) => e.key && !e.disabled)
      .map((e) => make("tr", {}, make("td", {}, make("span", {class: "tw-kbd"}, e.key)), make("td", {}, e.method)));
    const head = make("div", {class: "menu-head"}, "Keys");
    const mine = extra.length ? make("div", {class: "menu-head"}, `On ${this.byId.get(this.cursor)?.name ?? ""}`) : "";
    const body = make("div", {class: "keys", tabindex: -1, role: "dialog", "aria-label": "Keys"}, head, make("table", {}, ...rows), mine, make("table", {}, ...extra));
    body.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (["Escape", "?", "Enter"].includes(event.key)) {
        event.preventDefault();
        this.closeSheet(true);
      }
    });
    this.sheetOf = this.cursor;
    this.sheet.show(from.getBoundingClientRect(), "below", body);
    body.focus();
    return true;
  }

  closeSheet(back) {
    if (!this.sheet.shown) return;
    this.elements.get(this.sheetOf)?.classList.remove("is-open");
    this.sheet.hide();
    if (back) this.focusRow(this.sheetOf);
  }

  // ---- Words for the person.

  showNotice({text, reasons = [], tone = "bad"}) {
    const close = make("button", {class: "tool", type: "button", "aria-label": "Dismiss", onclick: () => this.hideNotice()}, icon("close"));
    this.notice.dataset.tone = tone;
    this.notice.replaceChildren(
      make("div", {class: "notice-head"}, make("span", {}, text), close), ...reasons.map((reason) => this.reasonBody(reason, "illegal")));
    this.notice.hidden = false;
  }

  hideNotice() {
    this.notice.hidden = true;
  }

  say(text) {
    this.live.textContent = text;
  }
}

/** "compute_at ×4 4 KiB"; both primitives when both fit. */
function offerLabel(legal) {
  const [only, second] = legal;
  return second || !only ? legal.map((entry) => entry.primitive).join(" / ") : [only.primitive, only.note].filter(Boolean).join("  ");
}

function rowOf(node) {
  return node?.closest?.(".row")?.dataset.id ?? "";
}
