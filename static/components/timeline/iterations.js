// The iterations of the selected loop: a bracket for each above the engines, and the range of the loop for the zoom. Engines overlap
// iterations, so a bracket reaches from the first start to the last end of the tasks of an iteration, and every second one is lower.

import { GUTTER, ITERATIONS, RIGHT } from "./layout.js";
import { shortened } from "./labels.js";

/** @import { LoopAround } from "../views.js" */
/** @import { TimelineModel } from "./model.js" */
/** @import { Pen } from "./pen.js" */

/** @typedef {{ start: number, end: number }} Span */
/** @typedef {{ place: number[], start: number, end: number }} Iteration In drawn time; `place` has the indices down to the loop. */

const LEAST_PX = 5; // of a bracket, on average
const LOWER = 3;
const TICK = 4;

export class Iterations {
  /** The row of the tree that is selected. */
  row = "";

  /** @param {TimelineModel} model */
  constructor(model) {
    this.model = model;
  }

  /**
   * The templates whose tasks run inside of the loop, each with the depth of the loop among those around it.
   * @returns {Map<number, number>}
   */
  get depths() {
    const { templates } = this.model.data;
    const found = templates.map(
      ({ loops }, n) => /** @type {const} */ ([n, loops.findIndex((l) => l.row === this.row)]),
    );
    return new Map(found.filter(([, depth]) => depth >= 0));
  }

  /** @returns {LoopAround | undefined} The loop, if whole tasks run in its iterations. */
  get loop() {
    return this.row
      ? this.model.data.templates.flatMap(({ loops }) => loops).find(({ row }) => row === this.row)
      : undefined;
  }

  /**
   * The iterations whose tasks are drawn, in the order of their starts; null where bins are drawn.
   * @returns {Iteration[] | null}
   */
  drawn() {
    const { depths, model } = this;
    const window = model.windows().at(-1);
    if (!window?.exact) return null;
    /** @type {Map<string, Iteration>} */
    const found = new Map();
    const { tasks } = window;
    for (let n = 0; n < tasks.start.length; n++) {
      const depth = depths.get(model.data.kinds[tasks.kind[n]].template);
      if (depth === undefined) continue;
      const place = model.task(window, n).place.slice(0, depth + 1);
      const start = window.start + tasks.start[n];
      const end = start + tasks.length[n];
      const known = found.get(`${place}`);
      if (known) {
        known.start = Math.min(known.start, start);
        known.end = Math.max(known.end, end);
      } else found.set(`${place}`, { place, start, end });
    }
    return [...found.values()].sort((one, other) => one.start - other.start);
  }

  /**
   * The range of real time to zoom to: all iterations of the loop around the playhead; if these are visible already, the one at the playhead.
   * @returns {Span | null}
   */
  range() {
    const { model, depths } = this;
    const now = this.latest(depths);
    const tasksIn = (/** @type {number} */ fixed) =>
      [...depths].flatMap(([number, depth]) => {
        const extents = model.data.templates[number].loops.map(({ extent }) => extent);
        const at = (/** @type {(extent: number) => number} */ inner) =>
          extents.map((extent, k) => (k < depth + fixed ? (now[k] ?? 0) : inner(extent)));
        const ends = [at(() => 0), at((extent) => extent - 1)].map((place) => model.scene.task(number, place));
        return ends.filter((task) => task !== null);
      });
    const whole = spanOf(tasksIn(0));
    const { start, end } = model.view;
    const isShown =
      whole && same(model.toDrawn(whole.start), start, model.span) && same(model.toDrawn(whole.end), end, model.span);
    return isShown ? spanOf(tasksIn(1)) : whole;
  }

  /**
   * The indices of the last iteration that has begun by the playhead.
   * @param {Map<number, number>} depths
   */
  latest(depths) {
    const begun = [...depths].map(([number, depth]) => this.model.latestTask(number)?.place.slice(0, depth + 1) ?? []);
    return begun.reduce((one, other) => {
      const k = other.findIndex((index, n) => index !== one[n]);
      return k >= 0 && other[k] > (one[k] ?? -1) ? other : one;
    }, []);
  }

  /** @param {Pen} pen */
  paint(pen) {
    const { loop } = this;
    if (!loop) return;
    const { layout, colors } = pen;
    const top = layout.top - ITERATIONS;
    const middle = top + ITERATIONS / 2;
    const all = this.drawn();
    const shown = all?.filter(({ start, end }) => pen.visible(start, end)) ?? [];
    if (!all || shown.length * LEAST_PX > layout.width - GUTTER - RIGHT) {
      pen.text(`Zoom in for the iterations of ${loop.name} (Z)`, GUTTER + 4, middle, colors.muted);
      return;
    }
    shown.forEach(({ place, start, end }, n) => {
      const [from, to] = [pen.x(start) + 0.5, Math.max(pen.x(end) - 1, pen.x(start) + 1)];
      const y = top + 1.5 + (all.indexOf(shown[n]) % 2) * LOWER;
      pen.line([from, y], [to, y], colors.accent);
      for (const x of [from, to]) pen.line([x, y], [x, y + TICK], colors.accent);
      const index = place[place.length - 1];
      const left = Math.max(from, pen.left) + 3;
      const next = shown[n + 1] ? pen.x(shown[n + 1].start) : Infinity;
      const width = Math.min(to, next, pen.right) - left - 2;
      const text = [`${loop.name} = ${index}`, String(index)].find((words) => shortened(words, width) === words);
      if (text) pen.text(text, left, top + ITERATIONS - 5.5, colors.accent);
    });
  }
}

/**
 * @param {Span[]} spans
 * @returns {Span | null}
 */
function spanOf(spans) {
  if (!spans.length) return null;
  return { start: Math.min(...spans.map(({ start }) => start)), end: Math.max(...spans.map(({ end }) => end)) };
}

/**
 * Whether two times are equal but for a hundredth of the visible range.
 * @param {number} one
 * @param {number} other
 * @param {number} span
 */
function same(one, other, span) {
  return Math.abs(one - other) <= Math.max(1, span / 100);
}
