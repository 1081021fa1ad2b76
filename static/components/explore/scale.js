// Scales of the axes, linear or logarithmic, with round ticks.

/** @import { Unit } from "./amounts.js" */

/**
 * @typedef {object} Scale
 * @property {(value: number) => number} at The place of a value, from 0 to 1.
 * @property {(place: number) => number} back The value of a place.
 * @property {number} low
 * @property {number} high
 * @property {number[]} ticks Round values between `low` and `high`.
 */

const LOG_RATIO = 12; // from this ratio of the largest to the smallest value on, a scale is logarithmic

/**
 * A scale of all `values`, with at most `most` ticks.
 * @param {number[]} values
 * @param {Unit} unit
 * @param {number} most
 * @returns {Scale}
 */
export function makeScale(values, unit, most) {
  const { low, high, isLog } = rangeOf(values);
  const [first, last] = isLog ? [Math.log(low), Math.log(high)] : [low, high];
  const at = (/** @type {number} */ value) =>
    ((isLog ? Math.log(Math.max(value, low)) : value) - first) / (last - first);
  const back = (/** @type {number} */ place) => {
    const value = first + place * (last - first);
    return isLog ? Math.exp(value) : value;
  };
  return { at, back, low, high, ticks: (isLog ? logTicks : evenTicks)(low, high, Math.max(2, most), unit) };
}

/**
 * The range of the values with a margin, and whether its scale is logarithmic. The same as `Amounts` in app/plots/study.py.
 * @param {number[]} values
 */
export function rangeOf(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) [low, high] = [0, 1];
  if (low > 0 && high / low > LOG_RATIO) return { low: low / 1.12, high: high * 1.12, isLog: true };
  const margin = (high - low || Math.abs(high) || 1) * 0.06;
  return { low: low >= 0 ? Math.max(0, low - margin) : low - margin, high: high + margin, isLog: false };
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
