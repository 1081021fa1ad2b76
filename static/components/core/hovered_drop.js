// The drop that a drag hovers over: the tree announces it once it is predicted, and the timeline shows the run after it.

import { presentGroup } from "./playhead.js";

/**
 * A predicted drop of `rows` on a loop.
 * @typedef {{ rows: string[], loop: string, primitive: string }} PredictedDrop
 */

/**
 * The hovered drop, and those on the nearest loops, which are likely to be hovered next.
 * @typedef {{ drop: PredictedDrop, near: PredictedDrop[] }} HoveredDrop
 */

const DROP = "tilewright:drop";

/** @param {PredictedDrop} drop */
export function dropKey({ rows, loop, primitive }) {
  return `${primitive} ${rows.join(" ")} > ${loop}`;
}

/**
 * Announce the hovered drop; null when none is hovered.
 * @param {HoveredDrop | null} hovered
 */
export function announceDrop(hovered) {
  window.dispatchEvent(new CustomEvent(DROP, { detail: { group: presentGroup(), hovered } }));
}

/**
 * Call `show(hovered)` whenever the hovered drop changes. Returns a function that ends this.
 * @param {(hovered: HoveredDrop | null) => void} show
 */
export function followDrop(show) {
  const update = (/** @type {Event} */ event) => {
    if (event instanceof CustomEvent && event.detail.group === presentGroup()) show(event.detail.hovered);
  };
  window.addEventListener(DROP, update);
  return () => window.removeEventListener(DROP, update);
}
