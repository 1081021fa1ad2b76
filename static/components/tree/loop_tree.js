// The loop tree: shows the rows it is given and says what a person wants. It decides nothing about programs: which drops are legal and what
// they cost comes from Python, and a drop is only a message. Rows keep their element (and focus) from one program to the next, by id.
//
// What is known (folds, choice, grab, matches, costs) is in fields; `decorate` puts it on the elements of the rows that stand. Parts: the
// hand (grabs), sheets (menus, forms, notices), search, minimap, window (which rows stand), pointer and keys.

import { h } from "../core/dom.js";
import { Popup } from "../core/popup.js";
import { arrange, patch } from "../core/patch.js";
import { ancestors, icon, indexRows, rowElement, rowOf, showCost, spoken, tell } from "./rows.js";
import { MARKS } from "./offers.js";
import { Hand } from "./drag.js";
import { Sheets } from "./sheets.js";
import { Search } from "./search.js";
import { Minimap } from "./minimap.js";
import { Window } from "./window.js";
import { Choice } from "./choice.js";
import { renameField } from "./rename.js";
import { treeCommands } from "./commands.js";
import { goToProblem, showMark } from "./problems.js";
import { Pointer } from "./pointer.js";
import { Keys } from "./keys.js";
import { followMoment, presentMoment } from "../core/playhead.js";

const COST_MODES = ["", "cycles", "bytes"];
const COST_WORDS = { "": "off", cycles: "busy cycles", bytes: "bytes copied" };

export function render({ model }) {
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
    this.lit = new Set();
    this.now = {};
    this.costs = {};
    this.marks = {};
    this.costMode = "";
    this.cursor = "";
    this.pending = new Set();
    this.still = window.matchMedia("(prefers-reduced-motion: reduce)");
    this.build();
    this.choice = new Choice(this);
    this.window = new Window(this.list);
    this.hand = new Hand(this);
    this.sheets = new Sheets(this);
    this.minimap = new Minimap(this);
    this.body.append(this.minimap.canvas);
    this.pointer = new Pointer(this);
    this.keys = new Keys(this);
    this.listen();
    this.flush();
  }

  // ---- The frame.

  build() {
    this.list = h("div", {
      class: "list",
      role: "tree",
      "aria-label": "Loop nest",
      "aria-multiselectable": "true",
      tabindex: -1,
    });
    this.hint = h("div", { class: "hint" });
    this.live = h("div", { class: "tw-hidden", role: "status", "aria-live": "polite" });
    this.notice = h("div", { class: "notice", role: "alert", hidden: true });
    const tool = (name, label, run) =>
      h("button", { class: "tool", type: "button", title: label, "aria-label": label, onclick: run }, icon(name));
    this.foldButton = tool("fold", "Fold all loops", () => this.foldAll());
    this.costButton = tool("costs", "Cost of rows: off", () => this.nextCosts());
    const find = tool("find", "Find (/)", () => this.search.open());
    const keys = h(
      "button",
      {
        class: "tool",
        type: "button",
        title: "Keys (?)",
        "aria-label": "Keys",
        onclick: (e) => this.sheets.openKeys(e.currentTarget),
      },
      "?",
    );
    this.search = new Search(this);
    this.body = h("div", { class: "body" }, this.list);
    this.element = h(
      "div",
      { class: "tw-tree" },
      h("div", { class: "progress", "aria-hidden": "true" }),
      this.search.element,
      this.body,
      this.notice,
      h("div", { class: "foot" }, this.hint, find, this.costButton, this.foldButton, keys),
      this.live,
    );
    this.tip = new Popup(this.element, "tip", { role: "tooltip" });
  }

  listen() {
    for (const name of [
      "packed_rows",
      "packed_menus",
      "packed_targets",
      "packed_costs",
      "packed_marks",
      "selected",
      "active",
      "busy",
    ]) {
      this.model.on(`change:${name}`, () => this.changed(name));
      this.pending.add(name);
    }
    this.model.on("msg:custom", (event) => this.told(event?.data ?? event));
    this.list.addEventListener("focusin", (event) => this.focused(event));
    this.list.addEventListener("scroll", () => this.scrolled(), { passive: true });
    this.unfollow = followMoment((moment) => this.light(moment));
    this.collect = (event) => event.detail.push(...treeCommands(this));
    window.addEventListener("tilewright:commands", this.collect);
  }

  remove() {
    this.pointer.remove();
    this.keys.remove();
    this.minimap.remove();
    this.unfollow();
    window.removeEventListener("tilewright:commands", this.collect);
    for (const popup of [this.tip, this.sheets.popup]) popup.hide();
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
    const { model, pending } = this;
    this.pending = new Set();
    if (pending.has("packed_menus")) this.menus = JSON.parse(model.packed_menus);
    if (pending.has("packed_targets")) this.targets = new Map(Object.entries(JSON.parse(model.packed_targets)));
    if (pending.has("packed_costs")) this.costs = JSON.parse(model.packed_costs);
    if (pending.has("packed_marks")) this.marks = JSON.parse(model.packed_marks);
    if (pending.has("active")) this.light(presentMoment());
    if (pending.has("busy")) this.element.classList.toggle("is-busy", model.busy);
    if (pending.has("packed_rows")) this.draw(JSON.parse(model.packed_rows));
    if (pending.has("selected")) this.choice.told(model.selected);
    this.decorateAll();
  }

  /** Rows lit by the playhead: loops with their iteration, blocks with the engine that runs them. */
  light(moment) {
    this.now = moment?.rows ?? {};
    this.lit = new Set([...(this.model.active ?? []), ...Object.keys(this.now)]);
    for (const [id, element] of this.elements) this.lightRow(id, element);
  }

  lightRow(id, element) {
    element.classList.toggle("is-active", this.lit.has(id));
    const name = element.querySelector(".loop-name, .block-name");
    if (this.now[id] === undefined) delete name?.dataset.now;
    else if (name && name.dataset.now !== this.now[id]) name.dataset.now = this.now[id];
  }

  told(message) {
    const { hand, sheets } = this;
    if (message.kind === "notice") sheets.notify(message);
    else if (message.kind === "answered") sheets.answered();
    else if (message.kind === "repair") {
      hand.helped(message);
      sheets.showRepair(message);
    } else if (message.kind === "targets") hand.told(message);
    else if (message.kind === "predicted") hand.predicted(message);
    else if (message.kind === "menu") sheets.told(message);
  }

  draw(rows) {
    this.hand.forget();
    const before = this.positions();
    const place = Math.max(0, [...this.byId.keys()].indexOf(this.cursor));
    this.byId = indexRows(rows);
    const deepest = rows.reduce((most, row) => Math.max(most, row.depth), 1);
    this.element.style.setProperty("--guide", `${Math.max(4, Math.min(14, Math.floor(240 / deepest)))}px`);
    this.layFolds();
    const fresh = this.stand();
    this.choice.keep();
    this.setCursor(this.byId.has(this.cursor) ? this.cursor : (rows[Math.min(place, rows.length - 1)]?.id ?? ""));
    this.element.classList.toggle("is-empty", rows.length === 0);
    this.rest();
    this.sheets.forget();
    this.search.look(false);
    this.minimap.draw();
    if (before.size) this.animate(before, fresh);
    this.goAfter();
  }

  /** The elements of the rows in sight, in order; those that are new are returned. */
  stand() {
    const { byId } = this;
    const fresh = [];
    const focused = this.list.getRootNode().activeElement;
    const [first, behind] = this.window.range();
    const ids = this.window.ids.slice(first, behind);
    const wanted = new Set(ids);
    for (const [id, element] of this.elements) {
      if (wanted.has(id)) continue;
      if (element === focused) this.list.focus({ preventScroll: true });
      element.remove();
      this.elements.delete(id);
      this.drawn.delete(id);
    }
    const order = ids.map((id) => {
      const row = byId.get(id);
      const text = (row.text ??= JSON.stringify([
        { ...row.own, tooltip: null },
        row.last,
        row.children.length > 0,
        ancestors(byId, row).map((o) => o.id),
      ]));
      let element = this.elements.get(id);
      if (!element || this.drawn.get(id) !== text) {
        const made = rowElement(byId, row);
        if (element) {
          made.tabIndex = element.tabIndex;
          patch(element, made).said = {};
        } else fresh.push((element = made));
        this.elements.set(id, element);
        this.drawn.set(id, text);
        this.decorate(id);
      }
      tell(element, "aria-posinset", row.place);
      tell(element, "aria-setsize", row.siblings);
      return element;
    });
    arrange(this.list, order, this.window.below);
    this.window.space([first, behind]);
    if (focused === this.list && wanted.has(this.cursor)) requestAnimationFrame(() => this.takeFocus());
    return fresh;
  }

  /** The row of the cursor stands again: what the list kept for it is its own. With the layout that the frame needs anyway. */
  takeFocus() {
    if (this.list.getRootNode().activeElement === this.list)
      this.elements.get(this.cursor)?.focus({ preventScroll: true });
  }

  /** After a move, the moved row stays in sight, and keeps the keyboard where it had it. */
  goAfter() {
    const { after } = this;
    this.after = null;
    if (!after || !this.byId.has(after.id)) return;
    if (after.focus) this.focusRow(after.id);
    else requestAnimationFrame(() => this.bring(after.id));
  }

  /** Where the rows stand, by their heights: to ask the browser would make it lay the page out. */
  positions() {
    if (this.still.matches) return new Map();
    return new Map([...this.elements.keys()].map((id) => [id, this.window.topOf(id)]));
  }

  animate(before, fresh) {
    const ease = { duration: 180, easing: "cubic-bezier(0.2, 0, 0, 1)" };
    const { window: rows } = this;
    for (const [id, element] of this.elements) {
      const [from, to] = [before.get(id), rows.topOf(id)];
      if (from !== undefined && from !== to && (rows.sees(from) || rows.sees(to)))
        element.animate([{ transform: `translateY(${from - to}px)` }, { transform: "none" }], ease);
    }
    for (const element of fresh) {
      if (rows.sees(rows.topOf(rowOf(element))))
        element.animate(
          [
            { opacity: 0, backgroundColor: "var(--tw-accent-soft)" },
            { opacity: 1, backgroundColor: "transparent" },
          ],
          { duration: 500 },
        );
    }
  }

  scrolled() {
    this.window.look();
    this.minimap.move();
    if (!this.window.whole) this.stand();
  }

  /** The list has another size: rows may be of another height. */
  resized() {
    this.window.look();
    if (this.window.measure(this.elements) || !this.window.whole) this.stand();
    this.minimap.draw();
  }

  // ---- What is known, on the rows that stand.

  decorateAll() {
    for (const id of this.elements.keys()) this.decorate(id);
  }

  decorate(id) {
    const element = this.elements.get(id);
    const row = this.byId.get(id);
    if (!element || !row) return;
    const {
      hand: { grab, held },
      search,
    } = this;
    const folded = row.children.length > 0 && this.folded.has(id);
    element.setAttribute("aria-selected", String(this.choice.has(id)));
    if (row.children.length) element.setAttribute("aria-expanded", String(!folded));
    tell(element, "tabindex", id === this.cursor ? 0 : -1);
    const marks = {
      "is-open": this.sheets.of === id,
      "is-grabbed": grab?.rows.includes(id),
      "is-over": grab?.over === id && grab.offers?.has(id),
      "is-held": held?.id === id,
      "is-match": search.has(id),
      "is-current": search.current === id,
    };
    for (const [name, on] of Object.entries(marks)) element.classList.toggle(name, Boolean(on));
    this.lightRow(id, element);
    this.decorateOffer(element, grab?.offers?.get(id));
    showCost(element, this.costs[id], this.costMode, folded);
    showMark(element, this.marks[id], spoken(row));
  }

  decorateOffer(element, offer) {
    const said = offer ? `${offer.state} ${offer.label} ${offer.trend}` : "";
    if ((element.said.offer ?? "") === said) return;
    element.said.offer = said;
    if (offer) element.dataset.offer = offer.state;
    else delete element.dataset.offer;
    element.querySelector(".mark").replaceChildren(...(offer ? [icon(MARKS[offer.state])] : []));
    element.querySelector(".offer").textContent = offer?.label ?? "";
  }

  /** To what is said of row `id`. */
  toProblem(id) {
    if (this.marks[id]) goToProblem(id, () => this.byId.has(id) && this.focusRow(id));
    else this.say("No problem here.");
  }

  get chosen() {
    return this.choice.rows;
  }

  /** The rows that are handled with row `id`: all that are chosen, where it is one of them and they are of one kind; else itself. */
  together(id) {
    return this.choice.together(id);
  }

  chosenInTurn() {
    return [...this.choice.rows];
  }

  pick(id, event) {
    this.focusRow(id);
    this.choice.pick(id, event);
  }

  nextCosts() {
    this.costMode = COST_MODES[(COST_MODES.indexOf(this.costMode) + 1) % COST_MODES.length];
    this.costButton.title = this.costButton.ariaLabel = `Cost of rows: ${COST_WORDS[this.costMode]}`;
    this.costButton.classList.toggle("is-on", this.costMode !== "");
    this.say(this.costButton.title);
    this.decorateAll();
  }

  // ---- Folding and the cursor.

  /** Which rows are not folded away. */
  layFolds() {
    const ids = [];
    const away = new Set();
    for (const [id, row] of this.byId) {
      const hidden = row.parent && (away.has(row.parent) || this.folded.has(row.parent));
      if (hidden) away.add(id);
      else ids.push(id);
    }
    this.window.set(ids, (id) => this.byId.get(id)?.kind);
    const all = [...this.byId.values()].some((row) => row.children.length && !this.folded.has(row.id));
    this.foldButton.replaceChildren(icon(all ? "fold" : "unfold"));
    this.foldButton.title = this.foldButton.ariaLabel = all ? "Fold all loops" : "Unfold all loops";
  }

  applyFolds() {
    this.layFolds();
    this.stand();
    if (!this.window.place.has(this.cursor))
      this.setCursor(
        ancestors(this.byId, this.byId.get(this.cursor) ?? {}).find((row) => this.folded.has(row.id))?.id ??
          this.cursor,
      );
    this.decorateAll();
    this.minimap.draw();
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
    return this.window.ids;
  }

  setCursor(id) {
    const before = this.cursor;
    this.cursor = id;
    if (before !== id) tell(this.elements.get(before), "tabindex", -1);
    tell(this.elements.get(id), "tabindex", 0);
    // A tree whose row of the cursor does not stand is still reached by Tab.
    this.list.tabIndex = this.elements.has(id) || !this.byId.size ? -1 : 0;
  }

  /** Scroll so that row `id` is in sight, and stands. */
  bring(id) {
    const { list, window: rows } = this;
    const top = rows.topOf(id);
    if (top === undefined) return;
    if (!this.elements.has(id)) {
      list.scrollTop = top - list.clientHeight / 2;
      rows.look();
      this.stand();
    }
    this.elements.get(id)?.scrollIntoView({ block: "nearest" });
  }

  focusRow(id) {
    if (!this.byId.has(id)) return;
    this.bring(id);
    this.setCursor(id);
    this.elements.get(id)?.focus({ preventScroll: true });
  }

  /** Bring a row into sight without the focus: what it is folded away in is unfolded. */
  reveal(id) {
    const around = ancestors(this.byId, this.byId.get(id)).filter((row) => this.folded.has(row.id));
    around.forEach((row) => this.folded.delete(row.id));
    if (around.length) this.applyFolds();
    this.bring(id);
    this.setCursor(id);
  }

  focused(event) {
    const id = rowOf(event.target);
    if (!id) return;
    this.setCursor(id);
    this.pointer.askSoon(id);
    if (this.hand.grab && this.hand.grab.by !== "pointer" && id !== this.hand.grab.over) this.hand.hover(id);
  }

  rest() {
    const blocks = [...this.byId.values()].some((row) => row.kind === "block");
    const count = this.choice.rows.size;
    this.hint.replaceChildren(
      count > 1
        ? `${count} rows chosen`
        : blocks
          ? "Drag a block onto a loop"
          : this.byId.size
            ? "No blocks"
            : "No loops and no blocks: the nest of the workload cell stands here",
    );
  }

  rename(id) {
    this.hand.cancel();
    this.focusRow(id);
    renameField(this, id);
  }

  say(text) {
    this.live.textContent = text;
  }
}
