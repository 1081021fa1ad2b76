// Where the box of the tour stands.

/** @import { Rect } from "../core/dom.js" */

const AWAY = 14; // px between the box and an anchor
const GRID = 16;

/**
 * The place of a box that covers none of the anchors: beside all of them if possible, else the nearest free place, else the one that covers
 * the least.
 * @param {Rect[]} rects
 * @param {number} width
 * @param {number} height
 * @param {number} roomWidth
 * @param {number} roomHeight
 * @returns {[left: number, top: number]}
 */
export function boxPlace(rects, width, height, roomWidth, roomHeight) {
  const [lastX, lastY] = [Math.max(AWAY, roomWidth - width - AWAY), Math.max(AWAY, roomHeight - height - AWAY)];
  if (!rects.length) return [lastX, lastY];
  const all = {
    left: Math.min(...rects.map((r) => r.left)),
    top: Math.min(...rects.map((r) => r.top)),
    right: Math.max(...rects.map((r) => r.right)),
    bottom: Math.max(...rects.map((r) => r.bottom)),
  };
  const within = (/** @type {number} */ at, /** @type {number} */ last) => Math.max(AWAY, Math.min(at, last));
  /** @type {[number, number][]} */
  const beside = [
    [all.right + AWAY, within(all.top, lastY)],
    [all.left - AWAY - width, within(all.top, lastY)],
    [within(all.left, lastX), all.bottom + AWAY],
    [within(all.left, lastX), all.top - AWAY - height],
  ];
  const fits = ([x, y] = [0, 0]) => x >= AWAY / 2 && y >= AWAY / 2 && x <= lastX + AWAY / 2 && y <= lastY + AWAY / 2;
  const free = beside.find((at) => fits(at));
  if (free) return free;
  const covered = (/** @type {number} */ x, /** @type {number} */ y) =>
    rects.reduce((sum, r) => {
      const across = Math.min(r.right, x + width) - Math.max(r.left, x);
      const down = Math.min(r.bottom, y + height) - Math.max(r.top, y);
      return sum + Math.max(0, across) * Math.max(0, down);
    }, 0);
  /** @type {[number, number]} */
  let best = [lastX, lastY];
  let least = Infinity;
  const xs = places(lastX, [...rects.map((r) => r.right), ...rects.map((r) => r.left - width)]);
  const ys = places(lastY, [...rects.map((r) => r.bottom), ...rects.map((r) => r.top - height)]);
  for (const x of xs)
    for (const y of ys) {
      const cost = covered(x, y) * 1e6 + Math.hypot(x - all.right, y - all.top);
      if (cost < least) [best, least] = [[x, y], cost];
    }
  return best;
}

/**
 * The coordinates that are tried: a grid, and those at the edges of the anchors.
 * @param {number} last
 * @param {number[]} edges
 */
function places(last, edges) {
  const grid = Array.from({ length: Math.floor((last - AWAY) / GRID) + 1 }, (_, n) => AWAY + n * GRID);
  return [...grid, ...edges.filter((at) => at >= AWAY && at <= last)];
}
