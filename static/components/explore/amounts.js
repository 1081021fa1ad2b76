// Figures as text, and amounts that a person types.

import { grouped } from "../core/numbers.js";

/** @typedef {"cycles" | "bytes" | "pJ"} Unit */

/**
 * A prefix of a unit: amounts from `least` on are shown as multiples of `size`.
 * @typedef {{ least: number, size: number, name: string }} Prefix
 */

const THIN_SPACE = "\u202f";

/** @type {(size: number, name: string, least?: number) => Prefix} */
const prefix = (size, name, least = size) => ({ least, size, name });

/** @type {Record<Unit, Prefix[]>} */
const PREFIXES = {
  bytes: [prefix(1 << 30, "GiB"), prefix(1 << 20, "MiB"), prefix(1 << 10, "KiB"), prefix(1, "B")],
  pJ: [prefix(1e12, "J"), prefix(1e9, "mJ"), prefix(1e6, "µJ"), prefix(1e3, "nJ"), prefix(1, "pJ")],
  cycles: [prefix(1e9, "G"), prefix(1e6, "M"), prefix(1e3, "k", 1e4), prefix(1, "")],
};

/**
 * A figure as an axis shows it: 150 k, 64 KiB, 170 µJ.
 * @param {Unit} unit
 * @param {number} value
 */
export function shortAmount(unit, value) {
  const prefixes = PREFIXES[unit];
  const { size, name } = prefixes.find(({ least }) => Math.abs(value) >= least) ?? prefixes[prefixes.length - 1];
  return `${Number((value / size).toPrecision(3))}${name ? THIN_SPACE + name : ""}`;
}

/**
 * A figure with all its digits if it is a number of cycles: 148 836, 64 KiB, 170 µJ.
 * @param {Unit} unit
 * @param {number} value
 */
export function fullAmount(unit, value) {
  return unit === "cycles" ? grouped(value) : shortAmount(unit, value);
}

/**
 * "64 KiB", "150k", "20 µJ" as a number of the unit; null for other texts.
 * @param {Unit} unit
 * @param {string} text
 */
export function readAmount(unit, text) {
  const found = /^\s*([\d.,\s\u202f_]+(?:e\d+)?)\s*([a-zµμ]*)\s*$/i.exec(text);
  if (!found) return null;
  const number = Number(found[1].replace(/[\s\u202f_,]/g, ""));
  const size = sizeOf(unit, found[2].replace("μ", "µ").toLowerCase());
  return Number.isFinite(number) && size ? number * size : null;
}

/**
 * @param {Unit} unit
 * @param {string} name In lower case.
 */
function sizeOf(unit, name) {
  if (name === "" || name === unit.toLowerCase()) return 1;
  const known = PREFIXES[unit].find((one) => one.name.toLowerCase() === name);
  if (known) return known.size;
  if (name === "k") return unit === "bytes" ? 1 << 10 : 1e3;
  if (name === "m") return unit === "bytes" ? 1 << 20 : 1e6;
  return null;
}
