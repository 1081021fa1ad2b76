// Two fingers on the timeline: they zoom and pan at once, and the time between them stays between them.

import { timeAt } from "./layout.js";

/** @import { Layout } from "./layout.js" */
/** @import { TimelineModel, View } from "./model.js" */

const MIN_DISTANCE = 24; // fingers that are closer do not zoom further

/** @typedef {{ span: number, distance: number, time: number }} Grip The span, distance and middle at the start of a pinch. */

/**
 * The timeline that is touched; `moved` draws it.
 * @typedef {{ model: TimelineModel, layout: Layout, stage: HTMLElement, plot: HTMLElement, moved: () => void }} Touchable
 */

export class Fingers {
  /** @type {Map<number, number>} Positions by pointer. */
  positions = new Map();
  /** @type {Grip | null} */
  grip = null;

  /** @param {Touchable} host */
  constructor(host) {
    this.host = host;
    host.stage.addEventListener("pointermove", (event) => this.move(event));
    host.stage.addEventListener("pointerup", (event) => this.up(event));
    host.stage.addEventListener("pointercancel", (event) => this.up(event));
  }

  /**
   * Note a new finger. Returns whether there are several now.
   * @param {PointerEvent} event
   */
  down(event) {
    if (event.pointerType !== "touch") return false;
    if (event.isPrimary) this.positions.clear();
    this.positions.set(event.pointerId, event.clientX);
    if (this.positions.size === 2) {
      const { stage, model, layout } = this.host;
      stage.setPointerCapture(event.pointerId);
      this.grip = gripOf(model.view, layout, this.positionsInPlot());
    }
    return this.positions.size > 1;
  }

  /** @param {PointerEvent} event */
  move(event) {
    if (!this.positions.has(event.pointerId)) return;
    this.positions.set(event.pointerId, event.clientX);
    if (!this.grip || this.positions.size < 2) return;
    const { model, layout } = this.host;
    const { start, end } = pinchedView(this.grip, layout, this.positionsInPlot());
    model.showRange(start, end);
    this.host.moved();
  }

  /** @param {PointerEvent} event */
  up(event) {
    this.positions.delete(event.pointerId);
    if (this.positions.size < 2) this.grip = null;
  }

  positionsInPlot() {
    const { left } = this.host.plot.getBoundingClientRect();
    return [...this.positions.values()].map((x) => x - left);
  }
}

/**
 * @param {View} view
 * @param {{ width: number }} layout
 * @param {number[]} fingers
 * @returns {Grip}
 */
export function gripOf(view, layout, [one, other]) {
  return {
    span: view.end - view.start,
    distance: distanceOf(one, other),
    time: timeAt(view, layout, (one + other) / 2),
  };
}

/**
 * The visible range after the fingers moved.
 * @param {Grip} grip
 * @param {{ width: number }} layout
 * @param {number[]} fingers
 * @returns {View}
 */
export function pinchedView({ span, distance, time }, layout, [one, other]) {
  const wide = (span * distance) / distanceOf(one, other);
  const start = time - timeAt({ start: 0, end: wide }, layout, (one + other) / 2);
  return { start, end: start + wide };
}

/**
 * @param {number} one
 * @param {number} other
 */
function distanceOf(one, other) {
  return Math.max(MIN_DISTANCE, Math.abs(one - other));
}
