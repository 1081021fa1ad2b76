// Scales of the plots: from figures to pixels, linear or logarithmic, with round ticks.

/** @import { Unit } from "./amounts.js" */

/**
 * @typedef {object} Scale
 * @property {(value: number) => number} at The pixel of a value.
 * @property {(pixel: number) => number} back The value of a pixel.
 * @property {number} low
 * @property {number} high
 * @property {number[]} ticks Round values between `low` and `high`.
 */

const LOG_RATIO = 12; // from this ratio of the largest to the smallest value on, a scale is logarithmic
const TICK_ROOM = { upward: 42, across: 90 };

/**
 * A scale from all `values` to the pixels from `from` to `to`.
 * @param {number[]} values
 * @param {number} from
 * @param {number} to
 * @param {Unit} unit
 * @returns {Scale}
 */
export function makeScale(values, from, to, unit) {
  const [low, high, log] = rangeOf(values);
  const [first, last] = log ? [Math.log(low), Math.log(high)] : [low, high];
  const at = (/** @type {number} */ value) =>
    from + (((log ? Math.log(Math.max(value, low)) : value) - first) / (last - first)) * (to - from);
  const back = (/** @type {number} */ pixel) => {
    const value = first + ((pixel - from) / (to - from)) * (last - first);
    return log ? Math.exp(value) : value;
  };
  const room = from > to ? TICK_ROOM.upward : TICK_ROOM.across;
  const most = Math.max(2, Math.floor(Math.abs(to - from) / room));
  return { at, back, low, high, ticks: (log ? logTicks : evenTicks)(low, high, most, unit) };
}

/**
 * The range of the values with a margin, and whether its scale is logarithmic.
 * @param {number[]} values
 * @returns {[low: number, high: number, log: boolean]}
 */
function rangeOf(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) [low, high] = [0, 1];
  if (low > 0 && high / low > LOG_RATIO) return [low / 1.12, high * 1.12, true];
  const margin = (high - low || Math.abs(high) || 1) * 0.06;
  return [low >= 0 ? Math.max(0, low - margin) : low - margin, high + margin, false];
}

/**
 * @param {number} low
 * @param {number} high
 * @param {number} most
 * @param {Unit} unit
 */
function evenTicks(low, high, most, unit) {
  const rough = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step =
    unit === "bytes"
      ? 2 ** Math.ceil(Math.log2(rough))
      : power * ([1, 2, 5].find((factor) => factor * power >= rough) ?? 10);
  const ticks = [];
  for (let n = Math.ceil(low / step); n * step <= high; n++) ticks.push(n * step);
  return ticks;
}

/**
 * @param {number} low
 * @param {number} high
 * @param {number} most
 * @param {Unit} unit
 */
function logTicks(low, high, most, unit) {
  /** @type {number[]} */
  const ticks = [];
  if (unit === "bytes") for (let n = Math.ceil(Math.log2(low)); 2 ** n <= high; n++) ticks.push(2 ** n);
  else
    for (let n = Math.floor(Math.log10(low)); 10 ** n <= high; n++)
      ticks.push(...[1, 2, 5].map((factor) => factor * 10 ** n).filter((tick) => tick >= low && tick <= high));
  const every = Math.max(1, Math.ceil(ticks.length / most));
  return ticks.filter((_, n) => n % every === 0);
}
