// The candidates of a search, which the plots share: rows that the server sends as they end, filters, and axes.

import { plainText } from "../core/hole_text.js";

/** @import { Rect } from "../core/dom.js" */
/** @import { Unit } from "./amounts.js" */
/** @import { Candidates as RowsMessage, Search } from "../views.js" */

/** @typedef {keyof typeof OUTCOMES} Outcome */
/** @typedef {number[]} Point The position of a value for each hole. */

/**
 * A candidate.
 * @typedef {object} Row
 * @property {number} number
 * @property {Outcome} status
 * @property {boolean} exact Whether the figures were simulated; others are lower bounds.
 * @property {Point} point
 * @property {number[] | null} figures
 * @property {number} seconds The time of the search when it ended; 0 if unknown.
 * @property {string} why
 */

/** @typedef {Row & { figures: number[] }} MeasuredRow */

/**
 * A candidate that was better than all before it. `count` is the number of candidates by then, `index` the figure that it improved, `before`
 * the best one before it, `changes` the choices that differ from that.
 * @typedef {object} Frame
 * @property {MeasuredRow} row
 * @property {number} count
 * @property {number} index
 * @property {MeasuredRow | null} before
 * @property {{ name: string, from: string, to: string, rule: string }[]} changes
 */
/** @typedef {[Row["number"], Outcome, boolean, Point, number[] | null, seconds: number, why: string]} RowValue */
/**
 * @typedef {object} HoleAxis
 * @property {"hole"} kind
 * @property {string} id
 * @property {number} index
 * @property {string} name
 * @property {string[]} texts The values in the order of the axis.
 * @property {number[]} places The place on the axis of each value.
 */

/** @typedef {{ kind: "figure", id: string, index: number, name: string, unit: Unit, key: string }} FigureAxis */
/** @typedef {HoleAxis | FigureAxis} Axis */
/** @typedef {{ low: number, high: number }} Brush The marked part of an axis: places of a hole's values, or figures. */

/**
 * What the plots and tables need of the pane.
 * @typedef {object} Pane
 * @property {Candidates} candidates
 * @property {() => Axis[]} axes
 * @property {() => Search | null} search
 * @property {(row: Row | null, rect?: Rect | null) => void} hover
 * @property {(row: Row) => void} choose
 * @property {(row: { point: Point }) => void} open Open a candidate as a branch.
 * @property {() => void} filtered Call it after a change of a filter.
 */

/** The outcomes of candidates, with the words of the legend. */
export const OUTCOMES = { fits: "fit", over: "too large", pruned: "pruned", refused: "refused", failed: "failed" };

/** @type {Outcome[]} */
export const BACK_TO_FRONT = ["refused", "failed", "pruned", "over", "fits"];

/**
 * @param {Row | undefined} row
 * @returns {row is MeasuredRow}
 */
export const isMeasured = (row) => Boolean(row?.figures);

/**
 * A number from 0 to 1 that separates candidates with equal values; always the same for a candidate.
 * @param {Row} row
 */
export const jitter = (row) => (row.number * 0.618034) % 1;

/**
 * The axes of a search: its holes, then its figures.
 * @param {Pick<Search, "holes" | "figures">} search
 * @returns {Axis[]}
 */
export function axesOf(search) {
  /** @type {HoleAxis[]} */
  const holes = search.holes.map((hole, index) => {
    /** @type {number[]} */
    const places = [];
    hole.order.forEach((position, place) => (places[position] = place));
    const texts = hole.order.map((n) => plainText(hole.values[n]));
    return { id: `hole ${index}`, kind: "hole", index, name: hole.name, texts, places };
  });
  /** @type {FigureAxis[]} */
  const figures = search.figures.map(({ key, label, unit }, index) => ({
    id: `figure ${index}`,
    kind: "figure",
    index,
    name: label,
    unit,
    key,
  }));
  return [...holes, ...figures];
}

/**
 * The place of a candidate on an axis; null without figures.
 * @param {Axis} axis
 * @param {Row} row
 */
export const valueOn = (axis, row) =>
  axis.kind === "hole" ? axis.places[row.point[axis.index]] : (row.figures?.[axis.index] ?? null);

/**
 * The candidates that improved the first objective, in their order. Those that compute something else are left out.
 * @param {Pick<Search, "holes" | "figures" | "objectives" | "checked">} search
 * @param {Row[]} rows
 * @returns {Frame[]}
 */
export function framesOf(search, rows) {
  const index = search.figures.findIndex((figure) => figure.key === search.objectives[0]);
  /** @type {Frame[]} */
  const frames = [];
  rows.forEach((row, n) => {
    const before = frames.at(-1)?.row ?? null;
    if (row.status !== "fits" || !isMeasured(row) || search.checked[row.number] === "failed") return;
    if (before && row.figures[index] >= before.figures[index]) return;
    frames.push({ row, count: n + 1, index, before, changes: before ? changesOf(search, before, row) : [] });
  });
  return index < 0 ? [] : frames;
}

/**
 * The choices in which a candidate differs from another one.
 * @param {Pick<Search, "holes">} search
 * @param {Row} before
 * @param {Row} row
 */
function changesOf(search, before, row) {
  return search.holes
    .map((hole, n) => ({
      name: hole.name,
      from: hole.values[before.point[n]],
      to: hole.values[row.point[n]],
      rule: hole.rule ?? "",
    }))
    .filter(({ from, to }) => from !== to);
}

export class Candidates {
  constructor() {
    /** @type {number | null} */
    this.key = null;
    /** @type {Row[]} */
    this.rows = [];
    /** @type {Map<number, Row>} */
    this.byNumber = new Map();
    /** @type {Map<string, Brush>} By the id of the axis. */
    this.brushes = new Map();
    /** @type {Set<Outcome>} */
    this.hidden = new Set();
  }

  /**
   * Begin with no candidates of another search.
   * @param {number | null} key
   */
  begin(key) {
    Object.assign(this, new Candidates(), { key });
  }

  /**
   * Add rows of the server. Returns whether they are the next ones of this search.
   * @param {RowsMessage} message
   */
  take({ search, from, rows }) {
    if (search !== this.key || from !== this.rows.length) return false;
    for (const [number, status, exact, point, figures, seconds, why] of rows) {
      const row = { number, status, exact, point, figures, seconds, why };
      this.rows.push(row);
      this.byNumber.set(number, row);
    }
    return true;
  }

  /**
   * The candidates of the Pareto front that are here already.
   * @param {Search} search
   */
  front(search) {
    return search.front.map((number) => this.byNumber.get(number)).filter(isMeasured);
  }

  /**
   * The selected candidate.
   * @param {Search} search
   */
  selected(search) {
    return search.card ? this.byNumber.get(search.card.trial) : undefined;
  }

  get isFiltered() {
    return this.brushes.size > 0 || this.hidden.size > 0;
  }

  /**
   * Whether a candidate passes the filters: its outcome is not hidden, and it is in the marked part of each axis.
   * @param {Row} row
   * @param {Axis[]} axes
   */
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

  /** @param {Axis[]} axes */
  visible(axes) {
    return this.isFiltered ? this.rows.filter((row) => this.shows(row, axes)) : this.rows;
  }
}
