// The candidates of a search as the pictures share them: rows that come from the server as they end, what is filtered, axes and scales.

import { sharp } from "../core/canvas.js";
import { plainText } from "../core/hole_text.js";

/** What came of a candidate: a word, a sign that stands for it in words, and in the scatter a mark of another shape. */
export const OUTCOMES = {
  fits: { word: "fit", sign: "●" },
  over: { word: "too large", sign: "△" },
  pruned: { word: "pruned", sign: "◇" },
  refused: { word: "refused", sign: "×" },
  failed: { word: "failed", sign: "!" },
};

const THIN = "\u202f";

export const digits = (number) => Math.round(number).toLocaleString("en").replaceAll(",", THIN);

const STEPS = {
  bytes: [
    [1 << 30, "GiB"],
    [1 << 20, "MiB"],
    [1 << 10, "KiB"],
    [1, "B"],
  ],
  pJ: [
    [1e12, "J"],
    [1e9, "mJ"],
    [1e6, "µJ"],
    [1e3, "nJ"],
    [1, "pJ"],
  ],
  cycles: [
    [1e9, "G"],
    [1e6, "M"],
    [1e4, "k", 1e3],
    [1, ""],
  ],
};

/** A figure as an axis says it: 150 k, 64 KiB, 170 µJ. */
export function shortAmount(unit, value) {
  const [, name, scale] = STEPS[unit].find(([least]) => Math.abs(value) >= least) ?? STEPS[unit].at(-1);
  const size = scale ?? STEPS[unit].find((step) => step[1] === name)[0];
  return `${Number((value / size).toPrecision(3))}${name ? THIN + name : ""}`;
}

/** A figure in whole: 148 836 cycles, 64 KiB, 170 µJ. */
export function fullAmount(unit, value) {
  return unit === "cycles" ? digits(value) : shortAmount(unit, value);
}

/** "64 KiB", "150k", "20 µJ" as a number of the unit; null for what is none. */
export function readAmount(unit, text) {
  const found = /^\s*([\d.,\s\u202f_]+(?:e\d+)?)\s*([a-zµμ]*)\s*$/i.exec(text);
  if (!found) return null;
  const number = Number(found[1].replace(/[\s\u202f_,]/g, ""));
  const name = found[2].replace("μ", "µ").toLowerCase();
  const known = { k: unit === "bytes" ? 1024 : 1e3, m: unit === "bytes" ? 1 << 20 : 1e6 };
  const step =
    name === "" || name === unit.toLowerCase() || name === "b"
      ? 1
      : (STEPS[unit].find((it) => it[1].toLowerCase() === name)?.[0] ?? known[name]);
  return Number.isFinite(number) && step ? number * step : null;
}

/** From values to pixels, by powers where they are far apart; `ticks` are round values inside. */
export function makeScale(values, from, to, unit) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) [low, high] = [0, 1];
  const log = low > 0 && high / low > 12;
  if (log) [low, high] = [low / 1.12, high * 1.12];
  else {
    const room = (high - low || Math.abs(high) || 1) * 0.06;
    [low, high] = [low - (low - room < 0 && low >= 0 ? low : room), high + room];
  }
  const [first, last] = log ? [Math.log(low), Math.log(high)] : [low, high];
  const at = (value) =>
    from + (((log ? Math.log(Math.max(value, low)) : value) - first) / (last - first)) * (to - from);
  const back = (pixel) => {
    const value = first + ((pixel - from) / (to - from)) * (last - first);
    return log ? Math.exp(value) : value;
  };
  const most = Math.max(2, Math.floor(Math.abs(to - from) / (from > to ? 42 : 90))); // upward they stand closer
  return { at, back, low, high, log, ticks: log ? logTicks(low, high, most, unit) : evenTicks(low, high, most, unit) };
}

function evenTicks(low, high, most, unit) {
  const raw = (high - low) / most;
  const base = unit === "bytes" ? 2 ** Math.ceil(Math.log2(raw)) : null;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = base ?? [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw);
  const ticks = [];
  for (let n = Math.ceil(low / step); n * step <= high; n++) ticks.push(n * step);
  return ticks;
}

function logTicks(low, high, most, unit) {
  const ticks = [];
  if (unit === "bytes") for (let n = Math.ceil(Math.log2(low)); 2 ** n <= high; n++) ticks.push(2 ** n);
  else
    for (let n = Math.floor(Math.log10(low)); 10 ** n <= high; n++)
      ticks.push(...[1, 2, 5].map((k) => k * 10 ** n).filter((t) => t >= low && t <= high));
  const every = Math.max(1, Math.ceil(ticks.length / most));
  return ticks.filter((_, n) => n % every === 0);
}

/** The axes of a search: its holes, then its figures. */
export function axesOf(search) {
  const holes = search.holes.map((hole, index) => {
    const places = hole.order.reduce((found, position, place) => ((found[position] = place), found), []);
    return {
      id: `hole ${index}`,
      kind: "hole",
      index,
      name: hole.name,
      texts: hole.order.map((n) => plainText(hole.values[n])),
      places,
    };
  });
  const figures = search.figures.map((figure, index) => ({
    id: `figure ${index}`,
    kind: "figure",
    index,
    name: figure.label,
    unit: figure.unit,
    key: figure.key,
  }));
  return [...holes, ...figures];
}

/** Where a row stands on an axis: the place of its value, or its figure; null where it has none. */
export const valueOn = (axis, row) =>
  axis.kind === "hole" ? axis.places[row.point[axis.index]] : (row.figures?.[axis.index] ?? null);

export class Candidates {
  constructor() {
    this.begin(null);
  }

  begin(key) {
    Object.assign(this, { key, rows: [], byNumber: new Map(), brushes: new Map(), hidden: new Set(), asked: -1 });
  }

  /** Rows in answer to what was asked for; whether they are of this search. */
  take({ search, from, rows }) {
    if (search !== this.key || from !== this.rows.length) return false;
    for (const [number, status, exact, point, figures, at, why] of rows) {
      const row = { number, status, exact, point, figures, at, why };
      this.rows.push(row);
      this.byNumber.set(number, row);
    }
    return true;
  }

  /** Whether a row is in sight: its kind is not left out, and it is within what is marked on each axis. */
  shows(row, axes) {
    if (this.hidden.has(row.status)) return false;
    for (const axis of axes) {
      const brush = this.brushes.get(axis.id);
      if (!brush) continue;
      const value = valueOn(axis, row);
      if (value === null || value < brush.low || value > brush.high) return false;
    }
    return true;
  }

  inSight(axes) {
    return this.brushes.size || this.hidden.size ? this.rows.filter((row) => this.shows(row, axes)) : this.rows;
  }
}

/** A canvas of the size of its box, sharp on every screen; null while it has none. */
export function pen(canvas) {
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (!width || !height) return null;
  return { context: sharp(canvas, width, height), width, height };
}
