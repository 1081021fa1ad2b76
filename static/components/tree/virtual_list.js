// The mounted rows of a list: all of them if they are few, else the visible ones and some around, between two spacers. The heights of rows are
// measured on mounted rows, one of each kind.

import { h } from "../core/dom.js";

/** @import { Row } from "../views.js" */
/** @import { RowElement } from "./tree.js" */

/** @typedef {Row["kind"]} Kind */

const FEW = 100;
const AROUND = 60; // more than a fast wheel moves between two frames
const MAX_HEIGHT = 60; // pixels; no row is higher

/** The vertical positions of rows, from one height for each kind. */
export class RowPositions {
  constructor() {
    /** @type {Record<Kind, number>} */
    this.heights = { loop: 23, block: 29 };
    /** @type {string[]} */
    this.ids = [];
    /** @type {(id: string) => Kind | undefined} */
    this.kind = () => undefined;
    /** @type {Map<string, number>} */
    this.place = new Map();
    this.tops = new Float64Array(1);
  }

  /**
   * @param {string[]} ids The rows that are not folded away, in order.
   * @param {(id: string) => Kind | undefined} kind
   */
  set(ids, kind) {
    this.ids = ids;
    this.kind = kind;
    this.place = new Map(ids.map((id, n) => [id, n]));
    this.tops = new Float64Array(ids.length + 1);
    ids.forEach((id, n) => {
      this.tops[n + 1] = this.tops[n] + this.heights[kind(id) ?? "loop"];
    });
  }

  /** @param {Record<Kind, number>} heights */
  setHeights(heights) {
    this.heights = heights;
    this.set(this.ids, this.kind);
  }

  /**
   * The number of the row at a height.
   * @param {number} y
   */
  rowAt(y) {
    let [low, high] = [0, this.ids.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.tops[middle + 1] <= y) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /**
   * The upper edge of a row; undefined for one that is folded away.
   * @param {string} id
   */
  topOf(id) {
    const at = this.place.get(id);
    return at === undefined ? undefined : this.tops[at];
  }

  get height() {
    return this.tops[this.ids.length];
  }
}

export class VirtualList extends RowPositions {
  /** @param {HTMLElement} list */
  constructor(list) {
    super();
    this.list = list;
    this.above = h("div", { class: "spacer", role: "none" });
    this.below = h("div", { class: "spacer", role: "none" });
    this.top = this.room = 0;
    list.append(this.above, this.below);
  }

  /** Read the scroll position. Call it when the list is laid out anyway, since the question forces a layout. */
  readScroll() {
    this.top = this.list.scrollTop;
    this.room = this.list.clientHeight;
  }

  /**
   * Whether a row with this upper edge is visible.
   * @param {number | undefined} y
   */
  isVisible(y) {
    return y !== undefined && y > this.top - MAX_HEIGHT && y < this.top + this.room;
  }

  /** Whether all rows are mounted. */
  get isComplete() {
    return this.ids.length <= FEW;
  }

  /**
   * The rows to mount: the first, and the one behind the last.
   * @returns {[number, number]}
   */
  range() {
    if (this.isComplete) return [0, this.ids.length];
    const first = Math.max(0, this.rowAt(this.top) - AROUND);
    return [first, Math.min(this.ids.length, this.rowAt(this.top + this.room) + AROUND)];
  }

  /** @param {[number, number]} range */
  setSpacers([first, behind]) {
    this.above.style.height = `${this.tops[first]}px`;
    this.below.style.height = `${this.height - this.tops[behind]}px`;
  }

  /**
   * Measure the mounted rows. Returns whether a height changed.
   * @param {Map<string, RowElement>} elements
   */
  measure(elements) {
    /** @type {Partial<Record<Kind, number>>} */
    const found = {};
    for (const [id, element] of elements) {
      const kind = this.kind(id);
      if (!kind || found[kind]) continue;
      found[kind] = element.offsetHeight;
      if (found.loop && found.block) break;
    }
    const heights = { loop: found.loop || this.heights.loop, block: found.block || this.heights.block };
    if (heights.loop === this.heights.loop && heights.block === this.heights.block) return false;
    this.setHeights(heights);
    return true;
  }
}
