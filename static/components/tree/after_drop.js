// The tree after the hovered drop, drawn between the rows: a line where rows appear, with their names, and marks on the rows that leave. It lies
// over the list, so that no row moves.

import { h } from "../core/dom.js";
import { publish } from "../core/bus.js";
import { dropKey } from "../core/hovered_drop.js";

/** @import { PredictedDrop } from "../core/hovered_drop.js" */
/** @import { AppearingRow, TreeAfter } from "../views.js" */
/** @import { Offer } from "./tree.js" */
/** @import { Tree } from "./tree.js" */

const NEAR = 2; // drops on the nearest loops whose trees are requested in advance
const MARK_WIDTH = 20; // of the column left of the rows
const MARGIN = 30; // right of the rows

export class AfterDrop {
  /** @type {PredictedDrop | null} The hovered drop. */
  drop = null;
  /** @type {TreeAfter | null} What is drawn. */
  shown = null;
  /** @type {Set<string>} Rows that leave their place. */
  leaving = new Set();
  /** @type {Map<string, TreeAfter>} By drop. */
  known = new Map();
  /** @type {Set<string>} The requested drops. */
  pending = new Set();

  /** @param {Tree} tree */
  constructor(tree) {
    this.tree = tree;
    this.element = h("div", { class: "after-drop", "aria-hidden": "true" });
  }

  /** Forget all answers, which are about an earlier program. */
  reset() {
    this.hide();
    this.known.clear();
    this.pending.clear();
  }

  /**
   * Show the tree after a drop with this offer, as soon as it is predicted.
   * @param {string[]} rows
   * @param {Offer | undefined} offer
   */
  hover(rows, offer) {
    const drop = predictedDrop(rows, offer);
    const isSame = drop && this.drop && dropKey(drop) === dropKey(this.drop);
    if (isSame && this.shown) return;
    if (!isSame) this.hide();
    if (!drop) return;
    this.drop = drop;
    const near = this.nearDrops(drop);
    publish("drop", { drop, near });
    const found = this.known.get(dropKey(drop));
    if (found) this.show(found);
    else this.request(drop);
    if (found) near.forEach((next) => this.request(next));
  }

  /** @param {PredictedDrop} drop */
  request(drop) {
    const key = dropKey(drop);
    if (this.known.has(key) || this.pending.has(key)) return;
    this.pending.add(key);
    this.tree.send({ kind: "tree_after", ...drop });
  }

  /**
   * A prediction arrived: an earlier request for this drop has no answer.
   * @param {PredictedDrop} drop
   */
  predicted(drop) {
    this.pending.delete(dropKey(drop));
  }

  /** @param {TreeAfter} answer */
  receive(answer) {
    const key = dropKey(answer);
    this.pending.delete(key);
    this.known.set(key, answer);
    if (!this.drop || dropKey(this.drop) !== key) return;
    this.show(answer);
    this.nearDrops(this.drop).forEach((next) => this.request(next));
  }

  /**
   * The predicted drops on the loops nearest to the hovered one.
   * @param {PredictedDrop} drop
   * @returns {PredictedDrop[]}
   */
  nearDrops({ rows, loop }) {
    const { drag, byId } = this.tree;
    const ids = [...byId.keys()];
    const here = ids.indexOf(loop);
    const drops = ids.flatMap((id, n) => {
      const found = id === loop ? null : predictedDrop(rows, drag.grab?.offers?.get(id));
      return found ? [{ found, away: Math.abs(n - here) }] : [];
    });
    return drops
      .sort((a, b) => a.away - b.away)
      .slice(0, NEAR)
      .map(({ found }) => found);
  }

  /** @param {TreeAfter} answer */
  show(answer) {
    this.shown = answer;
    this.setLeaving(answer.leaving);
    this.place();
  }

  hide() {
    if (this.drop) publish("drop", null);
    this.drop = this.shown = null;
    this.setLeaving([]);
    this.element.replaceChildren();
  }

  /** @param {string[]} rows */
  setLeaving(rows) {
    const before = this.leaving;
    this.leaving = new Set(rows);
    for (const id of new Set([...before, ...rows])) this.tree.decorate(id);
  }

  /** Place the lines at the rows where they are now. */
  place() {
    const { shown, tree } = this;
    if (!shown) return;
    const guide = parseFloat(tree.element.style.getPropertyValue("--guide")) || 14;
    const frame = tree.body.getBoundingClientRect();
    const lines = shown.groups.flatMap(({ above, rows }) => {
      const row = this.shownRow(above);
      if (above && !row) return [];
      const top = (row?.getBoundingClientRect().bottom ?? tree.list.getBoundingClientRect().top) - frame.top;
      const left = MARK_WIDTH + rows[0].depth * guide - tree.list.scrollLeft;
      const width = tree.list.clientWidth - left - MARGIN;
      const style = `top: ${Math.round(top)}px; left: ${left}px; width: ${width}px`;
      return [
        h("div", { class: "after-drop-line", style }, h("span", { class: "after-drop-rows" }, rows.map(rowChip))),
      ];
    });
    this.element.replaceChildren(...lines);
  }

  /**
   * The element of a row, or of the folded loop around it.
   * @param {string} id
   */
  shownRow(id) {
    const { tree } = this;
    for (let at = id; at; at = tree.byId.get(at)?.parent ?? "") {
      const element = tree.elements.get(tree.grid.rowOf(at));
      if (element) return element;
    }
    return undefined;
  }
}

/**
 * The first predicted drop of an offer.
 * @param {string[]} rows
 * @param {Offer | undefined} offer
 * @returns {PredictedDrop | null}
 */
function predictedDrop(rows, offer) {
  const choice = offer?.choices.find(({ value }) => value);
  return choice ? { rows, loop: choice.loop, primitive: choice.primitive } : null;
}

/** @param {AppearingRow} row */
function rowChip({ kind, name, extent, colour, new: isNew }) {
  const style = colour === null ? "" : `--tw-colour: var(--tw-buffer-${colour})`;
  return h(
    "span",
    { class: `after-drop-row is-${kind}`, style },
    h("i", {}, isNew ? "+" : "→"),
    kind === "block" ? h("i", { class: "tw-swatch" }) : null,
    h("b", {}, name),
    extent,
  );
}
