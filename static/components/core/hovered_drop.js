// The drop that a drag hovers over: the tree publishes it once it is predicted, and the timeline shows the run after it.

/**
 * A predicted drop of `rows` on a loop.
 * @typedef {{ rows: string[], loop: string, primitive: string }} PredictedDrop
 */

/**
 * The hovered drop, and those on the nearest loops, which are likely to be hovered next.
 * @typedef {{ drop: PredictedDrop, near: PredictedDrop[] }} HoveredDrop
 */

/** @param {PredictedDrop} drop */
export function dropKey({ rows, loop, primitive }) {
  return `${primitive} ${rows.join(" ")} > ${loop}`;
}
