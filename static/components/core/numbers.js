// Numbers as text, and round steps of axes.

const THIN_SPACE = "\u202f";

/**
 * A rounded number with its digits in groups of three; from 10¹⁵ on with an exponent.
 * @param {number} value
 */
export function grouped(value) {
  const rounded = Math.round(value);
  if (Math.abs(rounded) >= 1e15) return rounded.toExponential(2);
  return String(rounded).replace(/\B(?=(\d{3})+(?!\d))/g, THIN_SPACE);
}

/**
 * The round numbers from `start` to `end` that an axis with about `count` marks shows.
 * @param {number} start
 * @param {number} end
 * @param {number} count
 */
export function ticks(start, end, count) {
  const step = roundStep(end - start, count);
  const found = [];
  for (let at = Math.ceil(start / step) * step; at <= end; at += step) found.push(at);
  return found;
}

/**
 * The round step of an axis of `span` that has at most `count` marks; at least 1.
 * @param {number} span
 * @param {number} count
 */
export function roundStep(span, count) {
  const rough = Math.max(span / Math.max(1, count), 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10);
}
