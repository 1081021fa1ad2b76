// Windows of the timeline, with their bins decoded.

/** @import { BinnedWindow as SentBinnedWindow, Bins, ExactWindow as SentExactWindow, TimelineRepeat as Repeat } from "../views.js" */

/** @typedef {Repeat["length"]} Series A polynomial in the copies of repeats: each term is a factor times binomial coefficients. */
/** @typedef {[number: number, label: string]} CellLabel */

/**
 * The share of each bin that a template, stall or cell takes, from 0 to 255.
 * @template Levels
 * @typedef {[number: number, levels: Levels]} Band
 */

/**
 * @template Levels
 * @typedef {{ count: number } & Record<Exclude<keyof Bins, "count">, Band<Levels>[]>} BinsOf
 */

/**
 * @template Levels
 * @typedef {Omit<SentBinnedWindow, "bins"> & { bins: BinsOf<Levels> }} BinnedWindowOf
 */

/** @typedef {SentExactWindow | SentBinnedWindow} SentWindow A window with the levels of its bins in base 64. */
/** @typedef {SentExactWindow} ExactWindow */
/** @typedef {BinnedWindowOf<Uint8Array>} BinnedWindow */
/** @typedef {ExactWindow | BinnedWindow} Window */

/**
 * A window as it is drawn.
 * @param {SentWindow} sent
 * @returns {Window}
 */
export function decodedWindow(sent) {
  if (sent.exact) return sent;
  const { count, task, wait, overlap, fill, live } = sent.bins;
  const bins = {
    count,
    task: task.map(decodedBand),
    wait: wait.map(decodedBand),
    overlap: overlap.map(decodedBand),
    fill: fill.map(decodedBand),
    live: live.map(decodedBand),
  };
  return { ...sent, bins };
}

/**
 * @param {Band<string>} band
 * @returns {Band<Uint8Array>}
 */
function decodedBand([number, levels]) {
  return [number, decodedLevels(levels)];
}

/**
 * Shares from 0 to 255, from base 64.
 * @param {string} text
 */
export function decodedLevels(text) {
  return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
}
