// A drag of rows: where they may go, and what each drop would do. A pointer drag, a click on the grip and then on a loop, and Enter, arrows,
// Enter are all one grab: `start`, `hover`, `drop`, `cancel`.

import { h } from "../core/dom.js";
import { pointRect } from "../core/popup.js";
import { AfterDrop } from "./after_drop.js";
import { icon } from "./rows.js";
import { MARKS, NO_PRIMITIVE, offersOf, offerText, predictionKey, reasonBody, repairText } from "./offers.js";

/** @import { Anchor, Drop, IndexedRow, Offer, OfferState, Point, Prediction, Predictions, Repair } from "./tree.js" */
/** @import { DropTarget as Target } from "../views.js" */
/** @import { DropMessage } from "./dialogs.js" */
/** @import { FindRepair } from "../messages.js" */
/** @import { Tree } from "./tree.js" */

/**
 * The rows of a move.
 * @typedef {object} Move
 * @property {IndexedRow} row The row that was grabbed.
 * @property {string[]} rows All rows that move.
 * @property {string} key `rows` as one text.
 * @property {string} name
 * @property {"pointer" | "click" | "keyboard"} by
 * @property {string} only The only primitive to use, or "".
 */

/** @typedef {Move & { offers: Map<string, Offer> | null, over: string }} Grab `offers` is null until the targets are known. */

/** @typedef {Move & { id: string, point: Point | null }} PendingDrop A drop on row `id` before the targets are known. */

const REPAIR_DELAY = 250; // ms

/** @type {Record<string, string>} */
const MOVE_KEYS = { compute_at: "c", reverse_compute_at: "r" };

/** @param {string[]} rows */
const keyOf = (rows) => rows.join(" ");

export class Drag {
  /** @param {Tree} tree */
  constructor(tree) {
    this.tree = tree;
    /** @type {Grab | null} */
    this.grab = null;
    /** @type {PendingDrop | null} */
    this.pending = null;
    /** @type {Map<string, Target[]>} By rows. */
    this.answers = new Map();
    /** @type {Map<string, Predictions>} By rows. */
    this.predictions = new Map();
    /** @type {Map<string, Repair>} By loop, what makes a drop there legal. */
    this.repairs = new Map();
    /** @type {number | undefined} */
    this.repairTimer = undefined;
    this.after = new AfterDrop(tree);
  }

  /** Drop all answers, which are about an earlier program. */
  reset() {
    this.cancel();
    this.cancelPending();
    this.answers.clear();
    this.predictions.clear();
    this.repairs.clear();
    this.after.reset();
  }

  /**
   * @param {string} id
   * @param {Move["by"]} by
   * @param {string} [only]
   */
  start(id, by, only = "") {
    const { tree } = this;
    const row = tree.byId.get(id);
    if (!row) return;
    this.cancel();
    this.cancelPending();
    this.repairs.clear();
    tree.dialogs.close(false);
    tree.pointer.hideTip();
    tree.dialogs.hideNotice();
    const rows = tree.together(id);
    const known = this.hasTargets(rows);
    if (!known) this.requestTargets(rows); // first: the server works meanwhile
    const name = rows.length > 1 ? `${rows.length} ${row.kind}s` : row.name;
    const grab = { row, rows, key: keyOf(rows), name, by, only, offers: null, over: "" };
    this.grab = grab;
    tree.element.classList.add("is-grabbing");
    if (tree.grid.on && by === "keyboard") tree.applyFolds();
    tree.decorateAll();
    if (known) this.showOffers(grab);
    else tree.hint.replaceChildren("Checking drop targets…");
  }

  /** @param {string[]} rows */
  hasTargets(rows) {
    return this.answers.has(keyOf(rows)) || (rows.length === 1 && this.tree.targets.has(rows[0]));
  }

  /** @param {string[]} rows */
  requestTargets(rows) {
    this.tree.send({ kind: "targets", rows });
  }

  /** @param {string[]} rows */
  targetsOf(rows) {
    return (rows.length === 1 && this.tree.targets.get(rows[0])) || (this.answers.get(keyOf(rows)) ?? []);
  }

  /** @param {Move} move */
  offersOf({ rows, key, only }) {
    return offersOf(this.tree.byId, this.targetsOf(rows), only, this.predictions.get(key) ?? new Map());
  }

  /** @param {{ rows: string[], entries: Target[] }} message */
  receiveTargets({ rows, entries }) {
    const key = keyOf(rows);
    this.answers.set(key, entries);
    if (this.grab?.key === key && !this.grab.offers) this.showOffers(this.grab);
    if (this.pending?.key === key) this.dropPending(this.pending);
  }

  /** @param {{ rows: string[], loop: string, primitive: string, value: Prediction }} message */
  receivePrediction({ rows, loop, primitive, value }) {
    const key = keyOf(rows);
    const predictions = this.predictions.get(key) ?? new Map();
    this.predictions.set(key, predictions.set(predictionKey(loop, primitive), value));
    const { grab } = this;
    if (grab?.key !== key || !grab.offers) return;
    this.after.predicted({ rows, loop, primitive });
    this.updateOffers(grab);
    this.tree.decorate(loop);
    if (grab.over === loop) this.hover(loop);
  }

  /**
   * Update the offers and the line below the tree that counts them. Returns the counts.
   * @param {Grab} grab
   */
  updateOffers(grab) {
    const { tree } = this;
    const offers = this.offersOf(grab);
    for (const id of grab.rows) offers.delete(id);
    grab.offers = offers;
    /** @type {Record<OfferState, number>} */
    const count = { legal: 0, costly: 0, illegal: 0 };
    for (const offer of offers.values()) count[offer.state]++;
    const legal = this.targetsOf(grab.rows).filter((target) => target.legal);
    const all = legal.reduce((sum, target) => sum + (target.loops?.length ?? 1), 0);
    const done = this.predictions.get(grab.key)?.size ?? 0;
    // Until the first prediction arrives, it is unknown whether the server makes any.
    const predicting = this.predictions.size > 0 && done < all;
    const legend = (/** @type {OfferState} */ state, /** @type {string} */ text) =>
      h("span", { class: `legend legend-${state}` }, icon(MARKS[state]), `${count[state]} ${text}`);
    tree.element.classList.toggle("is-predicting", predicting);
    tree.hint.replaceChildren(
      h("b", {}, grab.name),
      legend("legal", "legal"),
      count.costly ? legend("costly", "costly") : "",
      legend("illegal", "not possible"),
      predicting ? h("span", { class: "predicting" }, `predicted ${done}/${all}`) : "",
      h("span", { class: "tw-kbd" }, "Esc"),
    );
    return count;
  }

  /** @param {Grab} grab */
  showOffers(grab) {
    const { tree } = this;
    const { legal, costly, illegal } = this.updateOffers(grab);
    tree.decorateAll();
    const how = grab.by === "keyboard" ? "Arrows choose a loop, Enter drops, Escape cancels." : "";
    tree.say(`${grab.name} grabbed. ${legal} legal, ${costly} costly, ${illegal} not possible. ${how}`);
    if (grab.over) this.hover(grab.over);
    else if (grab.by !== "pointer") this.hover(tree.cursor);
    tree.send({ kind: "begin_drag", rows: grab.rows, near: grab.over || grab.row.id });
  }

  /**
   * Show the result of a drop on row `id`, which is below the pointer or has the cursor.
   * @param {string} id
   */
  hover(id) {
    const { tree, grab } = this;
    if (!grab) return;
    const before = grab.over;
    grab.over = id;
    if (before !== id) tree.decorate(before);
    tree.decorate(id);
    const offer = grab.offers?.get(id);
    const element = tree.elementOf(id);
    this.after.hover(grab.rows, offer);
    if (!offer || !element) {
      tree.tip.hide();
      return;
    }
    if (before !== id && offer.choices.some((choice) => !choice.value)) tree.send({ kind: "drag_over", row: id });
    tree.tip.element.dataset.offer = offer.state;
    tree.tip.show(
      element.getBoundingClientRect(),
      "beside",
      ...offer.reasons.map((reason) => reasonBody(reason, reason.state ?? offer.state)),
      repairHint(this.repairs.get(id), grab.rows.length),
    );
    if (before !== id) this.requestRepairSoon(grab, id, offer);
    if (grab.by === "keyboard") tree.say(`${tree.nameOf(id)}: ${offerText(offer)}`);
  }

  /**
   * Request a repair when the drag rests over a loop with an illegal drop.
   * @param {Grab} grab
   * @param {string} id
   * @param {Offer} offer
   */
  requestRepairSoon(grab, id, offer) {
    clearTimeout(this.repairTimer);
    const request = repairRequest(grab, offer, id);
    if (offer.state !== "illegal" || !request || this.repairs.has(id)) return;
    this.repairTimer = window.setTimeout(() => {
      if (this.grab === grab && grab.over === id) this.tree.send(request);
    }, REPAIR_DELAY);
  }

  /** @param {{ request: FindRepair } & Repair} message Without calls and blocks, no repair is known. */
  receiveRepair({ request: { block, loop }, calls, blocks }) {
    if (this.grab?.row.id !== block) return;
    this.repairs.set(loop, { calls, blocks });
    if (calls.length + blocks.length && this.grab.over === loop) this.hover(loop);
  }

  /**
   * @param {string} id
   * @param {Point | null} point Of the pointer.
   */
  drop(id, point) {
    const { tree } = this;
    if (!this.grab) return;
    const { offers, ...move } = this.grab;
    const offer = offers?.get(id);
    const isClear = offer?.choices.length === 1 && !move.rows.includes(id);
    if (isClear) this.finish(move, offer, id, point); // first: the server works meanwhile
    this.cancel(Boolean(offer?.choices.length));
    if (isClear) return;
    if (offers || tree.byId.get(id)?.kind !== "loop") {
      this.finish(move, offer, id, point);
      return;
    }
    this.pending = { ...move, id, point };
    tree.decorate(id);
    tree.hint.replaceChildren(`Checking whether ${move.name} can move to ${tree.nameOf(id)}…`);
  }

  /** @param {PendingDrop} pending */
  dropPending(pending) {
    const { id, point, ...move } = pending;
    this.cancelPending();
    this.finish(move, this.offersOf(move).get(id), id, point);
  }

  cancelPending() {
    if (!this.pending) return;
    const { id } = this.pending;
    this.pending = null;
    this.tree.decorate(id);
    this.tree.showHint();
  }

  /**
   * @param {Move} move
   * @param {Offer | undefined} offer
   * @param {string} id
   * @param {Point | null} point
   */
  finish(move, offer, id, point) {
    const { tree } = this;
    if (!offer || move.rows.includes(id)) return;
    tree.after = { id: move.row.id, focus: move.by === "keyboard" };
    if (offer.state === "illegal") {
      const text = `${move.name} cannot go to ${tree.nameOf(id)}`;
      const request = repairRequest(move, offer, id);
      tree.dialogs.revision = request && dropMessage(move, id, request.primitive);
      tree.dialogs.showNotice({ text, reasons: offer.reasons, otherwise: NO_PRIMITIVE });
      if (request) tree.dialogs.requestRepair(request);
    } else if (offer.choices.length === 1) this.send(move, offer.choices[0]);
    else this.choose(move, offer.choices, point ? pointRect(point.x, point.y) : tree.anchor(id));
  }

  /**
   * @param {Move} move
   * @param {Drop} choice
   */
  send(move, { loop, primitive, order }) {
    const { tree } = this;
    tree.say(`${primitive} ${move.name} at ${tree.nameOf(loop)}`);
    if (order) tree.send({ kind: "reorder", loops: order });
    else tree.send(dropMessage(move, loop, primitive));
  }

  /**
   * Ask which of two possible primitives to use.
   * @param {Move} move
   * @param {Drop[]} choices
   * @param {Anchor} anchor
   */
  choose(move, choices, anchor) {
    const items = choices.map((choice) => ({
      label: [choice.primitive, choice.value?.label].filter(Boolean).join("  "),
      key: MOVE_KEYS[choice.primitive],
      help: choice.reason,
      run: () => this.send(move, choice),
    }));
    this.tree.dialogs.menu(`${move.name} → ${this.tree.nameOf(choices[0].loop)}`, items, anchor, move.row.id);
  }

  /** @param {boolean} [dropped] Whether the rows were dropped: the server still needs its predictions then. */
  cancel(dropped = false) {
    if (!this.grab) {
      this.cancelPending();
      return;
    }
    const { tree } = this;
    this.grab = null;
    this.after.hide();
    if (!dropped) tree.send({ kind: "end_drag" });
    tree.element.classList.remove("is-grabbing", "is-predicting");
    if (tree.grid.on) tree.applyFolds();
    tree.decorateAll();
    tree.tip.hide();
    tree.pointer.endGrab();
    tree.showHint();
  }
}

/**
 * The message of a drop of blocks.
 * @param {Move} move
 * @param {string} loop
 * @param {string} primitive
 * @returns {DropMessage}
 */
function dropMessage({ rows, row }, loop, primitive) {
  return rows.length > 1 ? { kind: "moves", rows, loop } : { kind: "move", block: row.id, loop, primitive };
}

/**
 * The request for a repair of an illegal drop; null for loops.
 * @param {Move} move
 * @param {Offer} offer
 * @param {string} loop
 * @returns {FindRepair | null}
 */
function repairRequest({ row, rows }, offer, loop) {
  const primitive = offer.reasons[0]?.head;
  const others = rows.filter((id) => id !== row.id);
  return row.kind === "block" && primitive ? { kind: "find_repair", block: row.id, loop, primitive, others } : null;
}

/**
 * @param {Repair | undefined} repair
 * @param {number} drops The number of dragged blocks.
 */
function repairHint(repair, drops) {
  if (!repair || !(repair.calls.length + repair.blocks.length)) return null;
  const { calls, blocks } = repair;
  const them = blocks.length
    ? `move all ${blocks.length + drops}`
    : `see ${calls.length - (drops > 1 ? 0 : 1) === 1 ? "it" : "them"}`;
  return h(
    "div",
    { class: "reason-help" },
    `${repairText(repair, drops)}: drop ${drops > 1 ? "them" : "it"} here to ${them}`,
  );
}
