// Bookmarks of cycles, kept for the session by the address of the page: lines over the plot with a flag at the axis.

import { keep, kept } from "../core/storage.js";

/** @import { TimelineModel } from "./model.js" */
/** @import { Pen } from "./pen.js" */

const FLAG = 7; // pixels

/** The key of the present page. */
function key() {
  return `tilewright-bookmarks ${window.location.pathname}`;
}

export class Bookmarks {
  /** @param {TimelineModel} model */
  constructor(model) {
    this.model = model;
  }

  /** The cycles with a bookmark within the run, in order. @returns {number[]} */
  get cycles() {
    const found = kept("sessionStorage", key());
    const cycles = Array.isArray(found) ? found.filter((cycle) => typeof cycle === "number") : [];
    return cycles.filter((cycle) => cycle < this.model.data.cycles);
  }

  /** Set or remove a bookmark at the playhead. Returns what was done, in words. */
  toggle() {
    const here = Math.round(this.model.cycle);
    const others = this.cycles.filter((cycle) => cycle !== here);
    const isNew = others.length === this.cycles.length;
    keep("sessionStorage", key(), isNew ? [...others, here].sort((a, b) => a - b) : others);
    return `Bookmark at cycle ${here} ${isNew ? "set" : "removed"}`;
  }

  /**
   * The next or previous bookmark from the playhead, around the ends of the run; null without bookmarks.
   * @param {1 | -1} direction
   */
  next(direction) {
    const { cycles } = this;
    const here = Math.round(this.model.cycle);
    const ahead = cycles.filter((cycle) => (cycle - here) * direction > 0);
    return (direction > 0 ? (ahead[0] ?? cycles[0]) : (ahead.at(-1) ?? cycles.at(-1))) ?? null;
  }

  /** @param {Pen} pen */
  paint(pen) {
    const { top, bottom } = pen.layout;
    for (const cycle of this.cycles) {
      const x = pen.x(this.model.toDrawn(cycle));
      if (x < pen.left - 1 || x > pen.right) continue;
      pen.vertical(x, top, bottom, pen.colors.accent, [1, 3]);
      pen.rect(x, x + FLAG, bottom - FLAG, FLAG, pen.colors.accent);
    }
  }
}
