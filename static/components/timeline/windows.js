// Windows of the timeline: their bins decoded, and the intervals of at least two busy engines.

/** @import { TaskColumns as Tasks } from "../views.js" */
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
/** @typedef {SentExactWindow & { overlaps: [start: number, end: number][] }} ExactWindow With intervals of at least two busy engines. */
/** @typedef {BinnedWindowOf<Uint8Array>} BinnedWindow */
/** @typedef {ExactWindow | BinnedWindow} Window */

/**
 * A window as it is drawn.
 * @param {SentWindow} sent
 * @returns {Window}
 */
export function decodedWindow(sent) {
  if (sent.exact) return { ...sent, overlaps: overlapping(sent.tasks) };
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

/**
 * The intervals in which at least two tasks run.
 * @param {Pick<Tasks, "start" | "length">} tasks
 * @returns {[start: number, end: number][]}
 */
export function overlapping(tasks) {
  /** @type {[time: number, change: 1 | -1][]} */
  const edges = tasks.start.flatMap((start, n) => [
    [start, 1],
    [start + tasks.length[n], -1],
  ]);
  edges.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  /** @type {[number, number][]} */
  const found = [];
  let busy = 0;
  for (const [time, change] of edges) {
    const last = found.at(-1);
    if (busy > 1 && last && time > last[0]) last[1] = time;
    busy += change;
    // An interval continues the one that ends where it starts.
    if (change > 0 && busy === 2 && last?.[1] !== time) found.push([time, time]);
  }
  return found.filter(([start, end]) => end > start);
}
