// The loop tree: draws the rows of a program and sends what the user does. The server decides which drops are legal and what they cost. Rows keep
// their elements (and the focus) from one program to the next, by id.
//
// The state (folds, selection, grab, matches, costs) is in fields; `decorate` applies it to the elements of the mounted rows. Parts: drag,
// dialogs (menus, forms, notice), search, minimap, virtual list (mounted rows), pointer and keys.

import { focusIn, h } from "../core/dom.js";
import { Popup } from "../core/popup.js";
import { arrange, patch } from "../core/patch.js";
import { ancestors, ariaLabel, icon, indexRows, part, rowElement, rowOf, showCost, updateAttribute } from "./rows.js";
import { MARKS } from "./offers.js";
import { Drag } from "./drag.js";
import { Dialogs } from "./dialogs.js";
import { Search } from "./search.js";
import { Minimap } from "./minimap.js";
import { VirtualList } from "./virtual_list.js";
import { GridRows } from "./grid_rows.js";
import { keep, kept } from "../core/storage.js";
import { Selection } from "./selection.js";
import { renameField } from "./rename.js";
import { treeCommands } from "./commands.js";
import { goToProblem, showMark } from "./problems.js";
import { showReaders } from "./readers.js";
import { Pointer } from "./pointer.js";
import { Keys } from "./keys.js";
import { latest, subscribe } from "../core/bus.js";
import { followMoment } from "../core/playhead.js";

/** @import { Message } from "../messages.js" */
/** @import { Moment } from "../core/playhead.js" */
/** @import { IconName } from "./rows.js" */
/** @import { Model, Rect } from "../core/dom.js" */
/** @import { Answered, Cost, DropRepair, DropTarget as Target, DropTargets, Entry as MenuEntry, Field } from "../views.js" */
/** @import { Menu, PredictedCall, PredictedDrop, PredictedFigure, Prediction as Figures, Row, RowMark as Mark } from "../views.js" */
/** @import { Reader, TreeAfter } from "../views.js" */

/** @typedef {{ packed_rows: string, packed_menus: string, packed_targets: string, packed_costs: string, packed_marks: string }} PackedJson */

/** @typedef {{ selected: string, opened: number, active: string[] | null, busy: boolean, send_msg: (message: Message) => void }} TreeParameters */

/** @typedef {Omit<Model, "send_msg"> & PackedJson & TreeParameters} TreeModel */

/**
 * @typedef {object} Derived
 * @property {Row} own The row as sent.
 * @property {IndexedRow[]} children
 * @property {boolean} last Whether it is the last of its siblings.
 * @property {number} place Among its siblings, from 1.
 * @property {number} siblings
 * @property {string} [signature] Equal for rows with equal elements.
 * @property {string} [searchText]
 */

/** @typedef {Row & Derived} IndexedRow */

/** @typedef {Map<string, IndexedRow>} RowIndex Parents first, in the order of the text. */

/**
 * The element of a row; `decorated` are keys of its present decorations, to skip equal updates.
 * @typedef {HTMLElement & { decorated: { offer?: string, cost?: string, mark?: string, readers?: string } }} RowElement
 */

/** @typedef {"" | "cycles" | "bytes"} CostMode */
/** @typedef {PredictedFigure["trend"]} Trend */

/** @typedef {PredictedDrop["value"]} Prediction */
/** @typedef {PredictedCall["value"]} Effect The prediction for a call of a menu or form. */
/** @typedef {Pick<DropRepair, "calls" | "blocks">} Repair */
/** @typedef {Map<string, Prediction>} Predictions By `predictionKey`. */

/** @typedef {Target & { loop: string, value?: Figures }} Drop A target with what was predicted. */

/** @typedef {"legal" | "costly" | "illegal"} OfferState */

/**
 * @typedef {object} Reason
 * @property {string} head The primitive, or "".
 * @property {string} text
 * @property {string} code
 * @property {string[]} [fix] Calls that would help.
 * @property {Figures} [value]
 * @property {OfferState} [state]
 */

/**
 * The result of a drop on one loop.
 * @typedef {object} Offer
 * @property {OfferState} state
 * @property {Drop[]} choices The legal drops.
 * @property {string} label
 * @property {Reason[]} reasons
 * @property {Trend} trend
 */

/** @typedef {{ x: number, y: number }} Point In CSS pixels of the viewport. */

/** @typedef {Field["default"] | (number | null)[]} Value The value of an argument. */

/** @typedef {Record<string, Value>} Values */

/** @typedef {Exclude<Field["type"], "choice">} TextType */

/** @typedef {{ entries: MenuEntry[], rows: Record<string, number[]> }} Menus Each distinct entry once; by row, its entries. */

/**
 * `otherwise` is the head of a reason without one, `more` what follows the reasons.
 * @typedef {{ text: string, reasons?: Reason[], tone?: string, otherwise?: string, more?: HTMLElement | null }} TreeNotice
 */

/**
 * What the server sends beside the parameters.
 * @typedef {Answered | { kind: "notice" } & TreeNotice | DropRepair | DropTargets | TreeAfter | PredictedDrop | PredictedCall | Menu} TreeMessage
 */

/** @typedef {Rect} Anchor What a popup opens at. */

/** @type {CostMode[]} */
const COST_MODES = ["cycles", "bytes", ""];
const COST_KEY = "tilewright-costs";
const COST_WORDS = { "": "off", cycles: "busy cycles", bytes: "bytes copied" };

const PARAMETERS = /** @type {const} */ ([
  "packed_rows",
  "packed_menus",
  "packed_targets",
  "packed_costs",
  "packed_marks",
  "selected",
  "opened",
  "active",
  "busy",
]);

export class Tree {
  /** @param {TreeModel} model */
  constructor(model) {
    this.model = model;
    /** @type {RowIndex} */
    this.byId = new Map();
    /** @type {Map<string, RowElement>} Of the mounted rows. */
    this.elements = new Map();
    /** @type {Map<string, string>} The signatures of the mounted rows. */
    this.drawn = new Map();
    /** @type {Set<string>} */
    this.folded = new Set();
    /** @type {Set<string>} Rows that are active at the playhead. */
    this.active = new Set();
    /** @type {Moment["rows"]} */
    this.now = {};
    /** @type {Menus} */
    this.menus = { entries: [], rows: {} };
    /** @type {Map<string, Target[]>} By block. */
    this.targets = new Map();
    /** @type {Record<string, Cost>} */
    this.costs = {};
    /** @type {Record<string, Mark>} */
    this.marks = {};
    /** @type {Reader[]} */
    this.readers = [];
    /** @type {CostMode} */
    this.costMode = COST_MODES.find((mode) => mode === kept("localStorage", COST_KEY)) ?? "cycles";
    this.cursor = "";
    /** @type {{ id: string, focus: boolean } | null} The row to go to after the next program arrives. */
    this.after = null;
    /** @type {Set<typeof PARAMETERS[number]>} Changed parameters. */
    this.pending = new Set(PARAMETERS);
    this.reducedMotion = window.matchMedia("(prefers-reduced-motion: reduce)");

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
    const tool = (/** @type {IconName} */ name, /** @type {string} */ label, /** @type {() => void} */ run) =>
      h("button", { class: "tool", type: "button", title: label, "aria-label": label, onclick: run }, icon(name));
    this.foldButton = tool("fold", "Fold all loops", () => this.foldAll());
    this.costButton = tool("costs", "", () => this.nextCosts());
    this.gridButton = tool("grid", "Loops of a nest in one row (#)", () => this.toggleGrid());
    const find = tool("find", "Find (/)", () => this.search.open());
    /** @type {HTMLButtonElement} */
    const keys = h(
      "button",
      {
        class: "tool",
        type: "button",
        title: "Keys (?)",
        "aria-label": "Keys",
        onclick: () => this.dialogs.openKeys(keys.getBoundingClientRect()),
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
      h("div", { class: "foot" }, this.hint, find, this.costButton, this.gridButton, this.foldButton, keys),
      this.live,
    );
    this.tip = new Popup(this.element, "tip", { role: "tooltip" });
    this.selection = new Selection(this);
    this.grid = new GridRows(this);
    this.virtual = new VirtualList(this.list);
    this.drag = new Drag(this);
    this.dialogs = new Dialogs(this);
    this.minimap = new Minimap(this);
    this.body.append(this.minimap.canvas, this.drag.after.element);
    this.pointer = new Pointer(this);
    this.keys = new Keys(this);
    this.ends = [followMoment((moment) => this.showMoment(moment))];
    this.listen();
    this.showCostMode();
    this.showGridMode();
    this.flush();
  }

  listen() {
    const { model, list } = this;
    for (const name of PARAMETERS) model.on(name, () => this.changed(name));
    model.on("msg:custom", (message) => this.receive(message));
    list.addEventListener("focusin", (event) => this.focused(event));
    list.addEventListener("scroll", () => this.scrolled(), { passive: true });
    this.ends.push(
      subscribe("readers", (readers) => {
        this.readers = readers;
        this.decorateAll();
      }),
    );
    this.ends.push(subscribe("commands", (commands) => void commands.push(...treeCommands(this))));
  }

  remove() {
    this.pointer.remove();
    this.keys.remove();
    this.minimap.remove();
    for (const end of this.ends) end();
    for (const popup of [this.tip, this.dialogs.popup]) popup.hide();
  }

  /** @param {Message} message */
  send(message) {
    if (message.kind === "move" || message.kind === "moves" || message.kind === "revise")
      this.dialogs.revision = message;
    this.model.send_msg(message);
  }

  // ---- Updates from the server.

  /** @param {typeof PARAMETERS[number]} name */
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
    if (pending.has("active")) this.showMoment(latest("moment") ?? null);
    if (pending.has("busy")) this.element.classList.toggle("is-busy", model.busy);
    if (pending.has("packed_rows")) this.draw(JSON.parse(model.packed_rows));
    if (pending.has("opened")) this.setCursor([...this.byId.keys()][0] ?? "");
    if (pending.has("selected")) this.selection.receive(model.selected);
    this.decorateAll();
  }

  /**
   * Show the playhead: loops with their iterations, blocks with the engines that run them.
   * @param {Moment | null} moment
   */
  showMoment(moment) {
    this.now = moment?.rows ?? {};
    this.active = new Set([...(this.model.active ?? []), ...Object.keys(this.now)]);
    for (const [id, element] of this.elements) this.showActive(id, element);
  }

  /**
   * @param {string} id
   * @param {RowElement} element
   */
  showActive(id, element) {
    element.classList.toggle("is-active", this.active.has(id));
    for (const loop of this.grid.loops.get(id) ?? []) {
      const chip = this.grid.chip(loop.id);
      chip?.classList.toggle("is-active", this.active.has(loop.id));
      if (chip) this.showIteration(loop.id, chip);
    }
    if (!this.grid.loops.has(id)) this.showIteration(id, element);
  }

  /**
   * @param {string} id
   * @param {HTMLElement} element Of the row or the chip.
   */
  showIteration(id, element) {
    const name = element.querySelector(".loop-name, .block-name");
    if (!(name instanceof HTMLElement)) return;
    if (this.now[id] === undefined) delete name.dataset.now;
    else if (name.dataset.now !== this.now[id]) name.dataset.now = this.now[id];
  }

  /** @param {TreeMessage} message */
  receive(message) {
    const { drag, dialogs } = this;
    if (message.kind === "notice") dialogs.notify(message);
    else if (message.kind === "answered") dialogs.receiveAnswer();
    else if (message.kind === "repair") {
      drag.receiveRepair(message);
      dialogs.showRepair(message);
    } else if (message.kind === "targets") drag.receiveTargets(message);
    else if (message.kind === "tree_after") drag.after.receive(message);
    else if (message.kind === "predicted") drag.receivePrediction(message);
    else if (message.kind === "tried") dialogs.trials.receive(message);
    else if (message.kind === "menu") dialogs.receiveMenu(message);
  }

  /** @param {Row[]} rows */
  draw(rows) {
    this.drag.reset();
    const before = this.positions();
    const place = Math.max(0, [...this.byId.keys()].indexOf(this.cursor));
    this.byId = indexRows(rows);
    const deepest = rows.reduce((most, row) => Math.max(most, row.depth), 1);
    this.element.style.setProperty("--guide", `${Math.max(4, Math.min(14, Math.floor(240 / deepest)))}px`);
    this.updateFolds();
    const fresh = this.mount();
    this.selection.prune();
    this.setCursor(this.byId.has(this.cursor) ? this.cursor : (rows[Math.min(place, rows.length - 1)]?.id ?? ""));
    this.element.classList.toggle("is-empty", rows.length === 0);
    this.showHint();
    this.dialogs.reset();
    this.search.update(false);
    this.minimap.draw();
    if (before.size) this.animate(before, fresh);
    this.goAfter();
  }

  /** Mount the rows in the visible range and remove others. Returns the new elements. */
  mount() {
    const { byId } = this;
    /** @type {RowElement[]} */
    const fresh = [];
    const focused = focusIn(this.list);
    const [first, behind] = this.virtual.range();
    const ids = this.virtual.ids.slice(first, behind);
    const wanted = new Set(ids);
    for (const [id, element] of this.elements) {
      if (wanted.has(id)) continue;
      if (element === focused) this.list.focus({ preventScroll: true });
      element.remove();
      this.elements.delete(id);
      this.drawn.delete(id);
    }
    const order = ids.flatMap((id) => {
      const row = byId.get(id);
      if (!row) return [];
      const before = this.elements.get(id);
      const element = this.updateElement(row, before);
      if (!before) fresh.push(element);
      updateAttribute(element, "aria-posinset", row.place);
      updateAttribute(element, "aria-setsize", row.siblings);
      return [element];
    });
    arrange(this.list, order, this.virtual.below);
    this.virtual.setSpacers([first, behind]);
    if (focused === this.list && wanted.has(this.cursor)) requestAnimationFrame(() => this.returnFocus());
    return fresh;
  }

  /**
   * The element of a row: the present one, updated if the row changed, or a new one.
   * @param {IndexedRow} row
   * @param {RowElement | undefined} element
   */
  updateElement(row, element) {
    const { byId } = this;
    const { id } = row;
    const own = (row.signature ??= JSON.stringify([
      { ...row.own, tooltip: null },
      row.last,
      row.children.length > 0,
      ancestors(byId, row).map((outer) => outer.id),
    ]));
    const { grid } = this;
    const inOneRow = [row, ...ancestors(byId, row)].map((outer) => grid.loops.get(outer.id)?.map((loop) => loop.own));
    const signature = grid.loops.size ? own + JSON.stringify(inOneRow) : own;
    if (element && this.drawn.get(id) === signature) return element;
    const made = rowElement(byId, row, grid);
    if (element) {
      made.tabIndex = element.tabIndex;
      patch(element, made).decorated = {};
    }
    const updated = element ?? made;
    this.elements.set(id, updated);
    this.drawn.set(id, signature);
    this.decorate(id);
    return updated;
  }

  /** Return the focus, which the list had meanwhile, to the row of the cursor. Focusing forces a layout, so call it in a frame. */
  returnFocus() {
    if (focusIn(this.list) === this.list) this.elements.get(this.cursor)?.focus({ preventScroll: true });
  }

  /** Scroll to the row that was moved, and focus it if it had the focus. */
  goAfter() {
    const { after } = this;
    this.after = null;
    if (!after || !this.byId.has(after.id)) return;
    if (after.focus) this.focusRow(after.id);
    else requestAnimationFrame(() => this.scrollTo(after.id));
  }

  /**
   * The positions of the mounted rows, from their heights: the browser would lay the page out for the question.
   * @returns {Map<string, number | undefined>}
   */
  positions() {
    if (this.reducedMotion.matches) return new Map();
    return new Map([...this.elements.keys()].map((id) => [id, this.virtual.topOf(id)]));
  }

  /**
   * @param {Map<string, number | undefined>} before
   * @param {RowElement[]} fresh
   */
  animate(before, fresh) {
    const ease = { duration: 180, easing: "cubic-bezier(0.2, 0, 0, 1)" };
    const { virtual } = this;
    for (const [id, element] of this.elements) {
      const [from, to] = [before.get(id), virtual.topOf(id)];
      if (from === undefined || to === undefined || from === to) continue;
      if (virtual.isVisible(from) || virtual.isVisible(to))
        element.animate([{ transform: `translateY(${from - to}px)` }, { transform: "none" }], ease);
    }
    for (const element of fresh) {
      if (virtual.isVisible(virtual.topOf(rowOf(element))))
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
    this.virtual.readScroll();
    this.minimap.move();
    if (!this.virtual.isComplete) this.mount();
    this.drag.after.place();
  }

  /** The size of the list changed, and with it perhaps the heights of rows. */
  resized() {
    this.virtual.readScroll();
    if (this.virtual.measure(this.elements) || !this.virtual.isComplete) this.mount();
    this.minimap.draw();
  }

  // ---- Decorations of the mounted rows.

  decorateAll() {
    for (const id of this.elements.keys()) this.decorate(id);
  }

  /** @param {string} id */
  decorate(id) {
    const head = this.grid.heads.get(id);
    if (head) {
      this.decorate(head);
      return;
    }
    const element = this.elements.get(id);
    const row = this.byId.get(id);
    if (!element || !row) return;
    const { search, grid } = this;
    const isNest = grid.loops.has(id);
    const { grab, pending } = this.drag;
    const folded = row.children.length > 0 && this.folded.has(id);
    element.setAttribute("aria-selected", String(this.selection.has(id)));
    if (row.children.length) element.setAttribute("aria-expanded", String(!folded));
    updateAttribute(element, "tabindex", id === this.cursor ? 0 : -1);
    const marks = {
      "is-open": this.dialogs.of === id,
      "is-grabbed": !isNest && grab?.rows.includes(id),
      "is-over": !isNest && grab?.over === id && grab.offers?.has(id),
      "is-pending": !isNest && pending?.id === id,
      "is-leaving": !isNest && this.drag.after.leaving.has(id),
      "is-match": !isNest && search.has(id),
      "is-current": !isNest && search.current === id,
    };
    for (const [name, on] of Object.entries(marks)) element.classList.toggle(name, Boolean(on));
    this.showActive(id, element);
    this.decorateOffer(element, isNest ? undefined : grab?.offers?.get(id));
    grid.decorate(element, id);
    showCost(element, this.costs[id], this.costMode, folded);
    showMark(element, this.marks[id], ariaLabel(row, grid.loops.get(id)));
    showReaders(
      element,
      this.readers.filter((reader) => reader.row === id),
    );
  }

  /**
   * @param {RowElement} element
   * @param {Offer | undefined} offer
   */
  decorateOffer(element, offer) {
    const key = offer ? `${offer.state} ${offer.label} ${offer.trend}` : "";
    if ((element.decorated.offer ?? "") === key) return;
    element.decorated.offer = key;
    if (offer) element.dataset.offer = offer.state;
    else delete element.dataset.offer;
    part(element, "mark").replaceChildren(...(offer ? [icon(MARKS[offer.state])] : []));
    part(element, "offer").textContent = offer?.label ?? "";
  }

  /**
   * Show the problems of a row.
   * @param {string} id
   */
  showProblem(id) {
    if (this.marks[id]) goToProblem(id, () => this.focusRow(id));
    else this.say("No problem here.");
  }

  /**
   * The rows that an action on `id` is applied to: all selected ones if it is one of them and they are of one kind, else itself.
   * @param {string} id
   */
  together(id) {
    return this.selection.together(id);
  }

  /**
   * @param {string} id
   * @param {MouseEvent | KeyboardEvent} event
   */
  pick(id, event) {
    this.focusRow(id);
    this.selection.pick(id, event);
  }

  /**
   * Grab a row, to be dropped by a click or by the keyboard.
   * @param {string} id
   */
  grabByClick(id) {
    this.focusRow(id);
    this.drag.start(id, "click");
  }

  /** @param {string} id */
  nameOf(id) {
    return this.byId.get(id)?.name ?? id;
  }

  /**
   * Where a popup about a row opens.
   * @param {string} id
   */
  anchor(id) {
    return (this.elementOf(id) ?? this.list).getBoundingClientRect();
  }

  /**
   * The element of a loop or block: its row, or its chip in a row of several loops.
   * @param {string} id
   */
  elementOf(id) {
    return this.grid.chip(id) ?? this.elements.get(id);
  }

  nextCosts() {
    this.costMode = COST_MODES[(COST_MODES.indexOf(this.costMode) + 1) % COST_MODES.length];
    keep("localStorage", COST_KEY, this.costMode);
    this.showCostMode();
    this.say(this.costButton.title);
    this.decorateAll();
  }

  showCostMode() {
    this.costButton.title = this.costButton.ariaLabel = `Cost of rows: ${COST_WORDS[this.costMode]}`;
    this.costButton.classList.toggle("is-on", this.costMode !== "");
  }

  toggleGrid() {
    this.grid.toggle();
    this.showGridMode();
    this.applyFolds();
    this.say(`Loops of a nest in one row: ${this.grid.on ? "on" : "off"}`);
  }

  showGridMode() {
    this.gridButton.classList.toggle("is-on", this.grid.on);
    this.gridButton.ariaPressed = String(this.grid.on);
  }

  /**
   * Show the loops of a row one below the other, or in one row again. Returns whether it was shown otherwise.
   * @param {string} id
   * @param {boolean} spread
   */
  spreadLoops(id, spread) {
    const { grid } = this;
    if (spread ? !grid.loops.has(id) || this.folded.has(id) : !grid.spread.has(id)) return false;
    if (spread) grid.spread.add(id);
    else grid.spread.delete(id);
    this.applyFolds();
    this.focusRow(id);
    return true;
  }

  // ---- Folding and the cursor.

  /** Determine the rows that are not folded away. */
  updateFolds() {
    /** @type {string[]} */
    const ids = [];
    /** @type {Set<string>} */
    const away = new Set();
    this.grid.update(this.byId);
    for (const [id, row] of this.byId) {
      const hidden = row.parent && (away.has(row.parent) || this.folded.has(row.parent));
      if (hidden) away.add(id);
      else if (!this.grid.heads.has(id)) ids.push(id);
    }
    this.virtual.set(ids, (id) => this.byId.get(id)?.kind);
    const all = [...this.byId.values()].some((row) => row.children.length && !this.folded.has(row.id));
    this.foldButton.replaceChildren(icon(all ? "fold" : "unfold"));
    this.foldButton.title = this.foldButton.ariaLabel = all ? "Fold all loops" : "Unfold all loops";
  }

  applyFolds() {
    this.updateFolds();
    this.mount();
    if (!this.virtual.place.has(this.cursor)) {
      const folded = ancestors(this.byId, this.byId.get(this.cursor)).find((row) => this.folded.has(row.id));
      this.setCursor(folded?.id ?? this.cursor);
    }
    this.decorateAll();
    this.minimap.draw();
  }

  /**
   * @param {string} id
   * @param {boolean} closed
   */
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
    return this.virtual.ids;
  }

  /** @param {string} of */
  setCursor(of) {
    const id = this.grid.rowOf(of);
    const before = this.cursor;
    this.cursor = id;
    if (before !== id) updateAttribute(this.elements.get(before), "tabindex", -1);
    updateAttribute(this.elements.get(id), "tabindex", 0);
    // If the row of the cursor is not mounted, Tab reaches the list.
    this.list.tabIndex = this.elements.has(id) || !this.byId.size ? -1 : 0;
  }

  /**
   * Scroll to a row, and mount it.
   * @param {string} of
   */
  scrollTo(of) {
    const { list, virtual } = this;
    const id = this.grid.rowOf(of);
    const top = virtual.topOf(id);
    if (top === undefined) return;
    if (!this.elements.has(id)) {
      list.scrollTop = top - list.clientHeight / 2;
      virtual.readScroll();
      this.mount();
    }
    this.elements.get(id)?.scrollIntoView({ block: "nearest" });
  }

  /** @param {string} id */
  focusRow(id) {
    if (!this.byId.has(id)) return;
    this.scrollTo(id);
    this.setCursor(id);
    this.elements.get(this.cursor)?.focus({ preventScroll: true });
  }

  /**
   * Scroll to a row without focusing it, and unfold the loops around it.
   * @param {string} id
   */
  reveal(id) {
    const around = ancestors(this.byId, this.byId.get(id)).filter((row) => this.folded.has(row.id));
    around.forEach((row) => this.folded.delete(row.id));
    if (around.length) this.applyFolds();
    this.scrollTo(id);
    this.setCursor(id);
  }

  /** @param {FocusEvent} event */
  focused(event) {
    const id = rowOf(event.target);
    if (!id) return;
    this.setCursor(id);
    this.pointer.requestSoon(id);
    const { grab } = this.drag;
    if (grab && grab.by !== "pointer" && id !== grab.over) this.drag.hover(id);
  }

  /** The line below the tree while nothing is grabbed. */
  showHint() {
    const blocks = [...this.byId.values()].some((row) => row.kind === "block");
    const count = this.selection.rows.size;
    this.hint.replaceChildren(
      count > 1
        ? `${count} rows selected`
        : blocks
          ? "Drag a block onto a loop"
          : this.byId.size
            ? "No blocks"
            : "No loops or blocks: the loop nest of the workload cell appears here",
    );
  }

  /** @param {string} id */
  rename(id) {
    this.drag.cancel();
    this.focusRow(id);
    renameField(this, id);
  }

  /** @param {string} text A text for screen readers. */
  say(text) {
    this.live.textContent = text;
  }
}
