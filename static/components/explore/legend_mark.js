// The marks of outcomes in the legend, as the scatter plot draws them.

import { svg } from "../core/svg.js";

/** @import { Outcome } from "./model.js" */

const CROSS = "M2.8 2.8l6.4 6.4m0-6.4l-6.4 6.4";

/** @type {Record<Outcome, string>} */
const SHAPES = {
  fits: "M2.4 6a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0 -7.2 0",
  over: "M6 2l3.6 7.2h-7.2z",
  pruned: "M6 2.4l3.6 3.6l-3.6 3.6l-3.6-3.6z",
  refused: CROSS,
  failed: CROSS,
};

/**
 * The mark of an outcome: each has its own shape.
 * @param {Outcome} status
 */
export function legendMark(status) {
  const attributes = { class: `xp-mark is-${status}`, viewBox: "0 0 12 12", "aria-hidden": "true" };
  return svg("svg", attributes, svg("path", { d: SHAPES[status] }));
}
