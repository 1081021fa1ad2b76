// The places of the timeline's parts: lanes of engines, rows of memories, the time axis.

/** @import { MemoryCell as Cell, Timeline as TimelineData } from "../views.js" */
/** @import { View } from "./model.js" */

/** The width of the names beside the lanes. */
export const GUTTER = 176;
/** The margin right of the lanes. */
export const RIGHT = 10;

/** The height of a row of ×N marks. Marks of inner repeats are in rows below. */
export const MARK = 14;
export const MARK_ROWS = 3;

/** The height of the brackets over the iterations of the selected loop. */
export const ITERATIONS = 17;

const AXIS = 18;
const LANE = { least: 29, most: 42 };
const ROW = { least: 16, most: 150 };
/** A class of cores, or a port. */
const CHIP_ROW = { least: 18, most: 31 };
/** The part of the height that lanes take at most. */
const LANES_SHARE = 0.45;

/** @typedef {{ top: number, height: number }} Band */

/** @typedef {{ lanes: number[], rows: number[] }} Pinned The numbers of the rows that come first. */

/**
 * In CSS pixels.
 * @typedef {object} Layout
 * @property {number} width
 * @property {number} height
 * @property {Band[]} lanes
 * @property {Band[]} rows
 * @property {number} top The top of the first row, below the marks of repeats and the brackets of iterations.
 * @property {number} pinnedEnd The end of the pinned rows; `top` without any.
 * @property {number} lanesTop The top of the lanes that are not pinned.
 * @property {number} lanesEnd
 * @property {number} bottom The end of the rows, where the axis begins.
 * @property {number} bar The height of a task in its lane.
 */

/**
 * @param {TimelineData} data
 * @param {number} width The available size.
 * @param {number} height
 * @param {boolean} folded Whether the marks of repeats are shown.
 * @param {Pinned} [pinned]
 * @param {boolean} [hasIterations] Whether the iterations of a loop have brackets.
 * @returns {Layout}
 */
export function layoutOf(data, width, height, folded, pinned = { lanes: [], rows: [] }, hasIterations = false) {
  const markRows = folded ? Math.max(0, ...data.repeats.map((repeat) => markRow(repeat.level) + 1)) : 0;
  const top = (markRows ? markRows * MARK + 2 : 4) + (hasIterations ? ITERATIONS : 0);
  const lane = clamp(((height - AXIS - top) * LANES_SHARE) / Math.max(1, data.engines.length), LANE);
  const below = top + data.engines.length * lane + 2;
  const numbers = [...data.rows.keys()];
  const memories = numbers.filter((n) => data.rows[n].kind === "memory");
  const chip = numbers.filter((n) => data.rows[n].kind !== "memory");
  const rest = height - AXIS - below;
  const chipRow = chip.length ? clamp(rest / data.rows.length, CHIP_ROW) : 0;
  const row = memories.length ? clamp((rest - chip.length * chipRow) / memories.length, ROW) : 0;
  let next = top;
  /** @type {Band[]} */
  const lanes = [];
  /** @type {Band[]} */
  const rows = [];
  const placeLane = (/** @type {number} */ n) => {
    lanes[n] = { top: next, height: lane };
    next += lane;
  };
  const placeRow = (/** @type {number} */ n) => {
    const size = memories.includes(n) ? row : chipRow;
    rows[n] = { top: next + 2, height: size - 7 };
    next += size;
  };
  const placeRows = (/** @type {string} */ kind) =>
    numbers.filter((n) => data.rows[n].kind === kind && !pinned.rows.includes(n)).forEach(placeRow);
  pinned.lanes.forEach(placeLane);
  pinned.rows.forEach(placeRow);
  const pinnedEnd = next;
  placeRows("cores");
  const lanesTop = next;
  data.engines.forEach((_, n) => pinned.lanes.includes(n) || placeLane(n));
  const lanesEnd = next;
  next += 2;
  placeRows("port");
  placeRows("memory");
  const sizes = { width, height: Math.max(next + AXIS, height), bar: lane - 11 };
  return { ...sizes, lanes, rows, top, pinnedEnd, lanesTop, lanesEnd, bottom: next };
}

/**
 * The row of the mark of a repeat that is in `level` others.
 * @param {number} level
 */
export function markRow(level) {
  return Math.min(level, MARK_ROWS - 1);
}

/**
 * @param {number} value
 * @param {{ least: number, most: number }} range
 */
function clamp(value, { least, most }) {
  return Math.max(least, Math.min(most, value));
}

/**
 * The width of the visible range.
 * @param {{ width: number }} layout
 */
export function plotWidth({ width }) {
  return Math.max(1, width - GUTTER - RIGHT);
}

/**
 * The position of a drawn time.
 * @param {View} view
 * @param {{ width: number }} layout
 * @param {number} time
 */
export function xAt({ start, end }, layout, time) {
  return GUTTER + ((time - start) * plotWidth(layout)) / (end - start);
}

/**
 * The drawn time at a position.
 * @param {View} view
 * @param {{ width: number }} layout
 * @param {number} x
 */
export function timeAt({ start, end }, layout, x) {
  return start + ((x - GUTTER) * (end - start)) / plotWidth(layout);
}

/**
 * The band of a cell in the row of its memory.
 * @param {Layout} layout
 * @param {Cell} cell
 * @returns {Band}
 */
export function cellBand(layout, { row, low, high }) {
  const { top, height } = layout.rows[row];
  const end = Math.min(1, high);
  return { top: top + height * (1 - end), height: Math.max(1.5, height * (end - low) - 0.7) };
}

const LEAST_TASK_PX = 3;

/**
 * Whether the tasks of an engine would on average be too narrow to see one by one, in a run with repeats.
 * @param {Pick<TimelineData, "engines" | "repeats">} data
 * @param {number} width Of the whole run.
 */
export function isDense({ engines, repeats }, width) {
  const tasks = Math.max(0, ...engines.map((engine) => engine.tasks));
  return repeats.length > 0 && tasks * LEAST_TASK_PX > width;
}
