// Rows of several loops, as T.grid writes them: nested serial loops with nothing between them. Each loop is a chip that is clicked, grabbed and
// dropped on like a row; loops of one iteration are chips that only a drag shows. ArrowRight shows the loops of a row one below the other,
// and so does a drag by keyboard.

import { h } from "../core/dom.js";
import { keep, kept } from "../core/storage.js";
import { extentOf } from "./rows.js";

/** @import { IndexedRow, RowElement, RowIndex } from "./tree.js" */
/** @import { Tree } from "./tree.js" */

const KEY = "tilewright-grid-rows";

/** @param {IndexedRow} row */
function isPlain(row) {
  return row.kind === "loop" && row.loop_kind === "serial" && !row.badges.length;
}

/**
 * The nested loops from `row` on that have nothing between them, outermost first.
 * @param {IndexedRow} row
 */
export function loopsInOneRow(row) {
  const found = [row];
  for (let [inner] = row.children; isPlain(row) && inner && isPlain(inner); [inner] = inner.children) {
    if (found[found.length - 1].children.length !== 1) break;
    found.push(inner);
  }
  return found;
}

export class GridRows {
  /** @param {Tree} tree */
  constructor(tree) {
    this.tree = tree;
    this.on = kept("localStorage", KEY) === true;
    /** @type {Set<string>} Outermost loops whose loops are shown one below the other. */
    this.spread = new Set();
    /** @type {Map<string, IndexedRow[]>} By the outermost loop of a row. */
    this.loops = new Map();
    /** @type {Map<string, string>} The outermost loop of the row of an inner loop. */
    this.heads = new Map();
  }

  toggle() {
    this.on = !this.on;
    this.spread.clear();
    keep("localStorage", KEY, this.on);
  }

  /**
   * Determine the rows of several loops.
   * @param {RowIndex} byId
   */
  update(byId) {
    this.loops.clear();
    this.heads.clear();
    if (!this.on || this.tree.drag?.grab?.by === "keyboard") return;
    /** @type {Set<string>} */
    const seen = new Set();
    for (const row of byId.values()) {
      const loops = seen.has(row.id) ? [] : loopsInOneRow(row);
      if (loops.length < 2) continue;
      for (const loop of loops) seen.add(loop.id);
      if (this.spread.has(row.id)) continue;
      this.loops.set(row.id, loops);
      for (const loop of loops.slice(1)) this.heads.set(loop.id, row.id);
    }
  }

  /**
   * The id of the row that shows a loop or block.
   * @param {string} id
   */
  rowOf(id) {
    return this.heads.get(id) ?? id;
  }

  /**
   * The chips of a row of several loops; null for other rows.
   * @param {string} id
   */
  chips(id) {
    const loops = this.loops.get(id);
    const isNest = loops?.some(({ extent }) => extent !== "1");
    return loops?.map((loop) =>
      h(
        "span",
        { class: `loop-chip${isNest && loop.extent === "1" ? " is-unit" : ""}`, "data-loop": loop.id },
        h("span", { class: "loop-name" }, loop.name),
        extentOf(loop),
        loop.reduces ? h("span", { class: "loop-sum", title: "drives a reduction" }, "Σ") : null,
      ),
    );
  }

  /**
   * The chip of a loop; null if it has none.
   * @param {string} id
   * @returns {HTMLElement | null}
   */
  chip(id) {
    const row = this.rowOf(id);
    if (!this.loops.has(row)) return null;
    return this.tree.elements.get(row)?.querySelector(`[data-loop="${CSS.escape(id)}"]`) ?? null;
  }

  /**
   * Show the decorations of the loops of a row on their chips.
   * @param {RowElement} element
   * @param {string} row
   */
  decorate(element, row) {
    const { drag, search, selection } = this.tree;
    const { grab, pending } = drag;
    for (const { id } of this.loops.get(row) ?? []) {
      const chip = this.chip(id);
      if (!chip) continue;
      const offer = grab?.offers?.get(id);
      const marks = {
        "is-selected": selection.has(id),
        "is-grabbed": grab?.rows.includes(id),
        "is-over": grab?.over === id && offer !== undefined,
        "is-pending": pending?.id === id,
        "is-leaving": drag.after.leaving.has(id),
        "is-match": search.has(id),
        "is-current": search.current === id,
      };
      for (const [name, on] of Object.entries(marks)) chip.classList.toggle(name, Boolean(on));
      if (offer) chip.dataset.offer = offer.state;
      else delete chip.dataset.offer;
    }
  }
}
