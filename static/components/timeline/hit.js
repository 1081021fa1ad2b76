// The task, stall, tile or bin at a point of the timeline.

import { plotWidth } from "./layout.js";

/** @import { Layout } from "./layout.js" */
/** @import { TimelineModel } from "./model.js" */
/** @import { BinnedWindow, ExactWindow } from "./windows.js" */
/** @import { Intervals } from "../views.js" */

/**
 * Entry `n` of a window. Of a bin, `lane` or `row` is where the point is; the other is -1.
 * @typedef {{ kind: "task", window: ExactWindow, n: number }
 *   | { kind: "wait", window: ExactWindow, n: number }
 *   | { kind: "tile", window: ExactWindow, n: number, isFilling: boolean, row: number }
 *   | { kind: "row", window: ExactWindow, row: number }
 *   | { kind: "bin", window: BinnedWindow, n: number, lane: number, row: number }} Hit
 */

const SLACK = 2; // pixels beside a stall that count as on it

/**
 * @param {TimelineModel} model
 * @param {Layout} layout
 * @param {{ y: number, time: number }} point `time` is drawn time.
 * @returns {Hit | null}
 */
export function hitAt(model, layout, { y, time }) {
  const window = model.windows().findLast(({ start, end }) => start <= time && time < end);
  if (!window) return null;
  const lane = layout.lanes.findIndex(({ top, height }) => y >= top && y < top + height);
  const row = layout.rows.findIndex(({ top, height }) => y >= top - 1 && y <= top + height + 1);
  const at = time - window.start;
  if (!window.exact) {
    if (lane < 0 && row < 0) return null;
    const n = Math.floor((at * window.bins.count) / (window.end - window.start));
    return { kind: "bin", window, n, lane, row };
  }
  const slack = (SLACK * model.span) / plotWidth(layout);
  const inLane = lane >= 0 ? hitInLane(model, window, lane, at, y > layout.lanes[lane].top + layout.bar, slack) : null;
  return inLane ?? (row >= 0 ? hitInRow(model, layout, window, row, at, y) : null);
}

/**
 * @param {TimelineModel} model
 * @param {ExactWindow} window
 * @param {number} lane
 * @param {number} at
 * @param {boolean} isBelow Whether the point is on the strip of stalls below the tasks.
 * @param {number} slack
 * @returns {Hit | null}
 */
function hitInLane({ data }, window, lane, at, isBelow, slack) {
  const { tasks, waits } = window;
  const wait = waits.of.findIndex(
    (of, n) => data.waits[of].lane === lane && contains(waits, n, at, isBelow ? slack : 0),
  );
  const task = tasks.kind.findIndex(
    (kind, n) => data.templates[data.kinds[kind].template].lane === lane && contains(tasks, n, at),
  );
  if (wait >= 0 && (isBelow || task < 0)) return { kind: "wait", window, n: wait };
  return task >= 0 ? { kind: "task", window, n: task } : null;
}

/**
 * @param {TimelineModel} model
 * @param {Layout} layout
 * @param {ExactWindow} window
 * @param {number} row
 * @param {number} at
 * @param {number} y
 * @returns {Hit | null}
 */
function hitInRow({ data }, layout, window, row, at, y) {
  const { top, height } = layout.rows[row];
  const part = 1 - (y - top) / height;
  const find = (/** @type {Intervals} */ intervals) =>
    intervals.of.findIndex((of, n) => {
      const cell = data.cells[of];
      return cell.row === row && cell.low <= part && part <= cell.high && contains(intervals, n, at);
    });
  const live = find(window.lives);
  if (live >= 0) return { kind: "tile", window, n: live, isFilling: false, row };
  const filling = find(window.fills);
  if (filling >= 0) return { kind: "tile", window, n: filling, isFilling: true, row };
  return data.rows[row].tip ? { kind: "row", window, row } : null;
}

/**
 * @param {{ start: number[], length: number[] }} intervals
 * @param {number} n
 * @param {number} at
 * @param {number} [slack]
 */
function contains({ start, length }, n, at, slack = 0) {
  return start[n] - slack <= at && at < start[n] + length[n] + slack;
}

/**
 * The lane whose strip of stalls is at `y`; -1 if there is none.
 * @param {Layout} layout
 * @param {number} y
 */
export function stallStripAt(layout, y) {
  return layout.lanes.findIndex(({ top, height }) => y > top + layout.bar && y < top + height);
}
