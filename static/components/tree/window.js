// Which rows stand in the document: all of them while they are few, else those in sight and some around, between two spacers. The heights of
// rows are measured on those that stand, one of each kind.

import { h } from "../core/dom.js";

const WHOLE = 100;
const AROUND = 30;
const HIGHEST = 60; // pixels that no row goes beyond

export class Window {
  constructor(list) {
    this.list = list;
    this.above = h("div", { class: "spacer", role: "none" });
    this.below = h("div", { class: "spacer", role: "none" });
    this.heights = { loop: 23, block: 29 };
    this.ids = [];
    this.top = this.room = 0;
    this.tops = new Float64Array(1);
    list.append(this.above, this.below);
  }

  /** Look where the list is scrolled to, which is asked for when it was laid out: at any other time the browser would do so for the question. */
  look() {
    this.top = this.list.scrollTop;
    this.room = this.list.clientHeight;
  }

  /** Whether a row that begins at a height is in sight. */
  sees(y) {
    return y > this.top - HIGHEST && y < this.top + this.room;
  }

  /** The rows that are not folded away, in order; `kind(id)` is "loop" or "block". */
  set(ids, kind) {
    this.ids = ids;
    this.kind = kind;
    this.place = new Map(ids.map((id, n) => [id, n]));
    this.tops = new Float64Array(ids.length + 1);
    ids.forEach((id, n) => {
      this.tops[n + 1] = this.tops[n] + (this.heights[kind(id)] ?? 23);
    });
  }

  get whole() {
    return this.ids.length <= WHOLE;
  }

  /** [first, behind the last] of the rows that should stand. */
  range() {
    if (this.whole) return [0, this.ids.length];
    const first = Math.max(0, this.rowAt(this.top) - AROUND);
    return [first, Math.min(this.ids.length, this.rowAt(this.top + this.room) + AROUND)];
  }

  /** The number of the row at a height. */
  rowAt(y) {
    let [low, high] = [0, this.ids.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.tops[middle + 1] <= y) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Where row `id` begins; undefined for one that is folded away. */
  topOf(id) {
    const at = this.place.get(id);
    return at === undefined ? undefined : this.tops[at];
  }

  get height() {
    return this.tops[this.ids.length];
  }

  space([first, behind]) {
    this.above.style.height = `${this.tops[first]}px`;
    this.below.style.height = `${this.height - this.tops[behind]}px`;
  }

  /** Look at the rows that stand; whether their heights are other ones than thought. */
  measure(elements) {
    const found = {};
    for (const [id, element] of elements) {
      const kind = this.kind?.(id);
      if (!kind || found[kind]) continue;
      found[kind] = element.offsetHeight;
      if (found.loop && found.block) break;
    }
    const news = Object.entries(found).filter(([kind, height]) => height && height !== this.heights[kind]);
    if (!news.length) return false;
    Object.assign(this.heights, Object.fromEntries(news));
    this.set(this.ids, this.kind);
    return true;
  }
}
