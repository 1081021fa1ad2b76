// SVG elements, logarithmic scales and their ticks.

import { nodes } from "./dom.js";

export const SVG = "http://www.w3.org/2000/svg";

/**
 * An SVG element with attributes and children.
 * @template {keyof SVGElementTagNameMap} K
 * @param {K} tag
 * @param {import("./dom.js").Attributes} [attributes]
 * @param {...import("./dom.js").Child} children
 * @returns {SVGElementTagNameMap[K]}
 */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value);
  }
  element.append(...nodes(children));
  return element;
}

/** @typedef {((value: number) => number) & { ticks: number[] }} LogScale */

/**
 * A logarithmic scale from [low, high] to pixels [from, to]; `ticks` are the powers of ten in the range.
 * @param {number} low
 * @param {number} high
 * @param {number} from
 * @param {number} to
 * @returns {LogScale}
 */
export function logScale(low, high, from, to) {
  const [first, last] = [Math.log10(low), Math.log10(high)];
  const at = (/** @type {number} */ value) => from + ((Math.log10(value) - first) / (last - first)) * (to - from);
  /** @type {number[]} */
  const ticks = [];
  for (let power = Math.ceil(first - 1e-9); power <= last + 1e-9; power++) ticks.push(10 ** power);
  return Object.assign(at, { ticks });
}

/**
 * The label of a power of ten: 0.001, 10, 10⁶.
 * @param {number} value
 */
export function tickText(value) {
  const power = Math.round(Math.log10(value));
  if (power >= -3 && power <= 4) return String(Number(value.toPrecision(1)));
  return `10${[...String(power)].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)] ?? "⁻").join("")}`;
}

/**
 * Call `draw` whenever the width of `view` changes.
 * @param {Element} view
 * @param {() => void} draw
 */
export function followWidth(view, draw) {
  let width = 0;
  new ResizeObserver(() => {
    if (view.clientWidth && Math.abs(view.clientWidth - width) > 1) {
      width = view.clientWidth;
      draw();
    }
  }).observe(view);
}
