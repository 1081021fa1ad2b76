// The tasks of a window that one of them waits for, and those that wait for it.

/** @import { CellLabel, ExactWindow } from "./windows.js" */
/** @import { Timeline as TimelineData } from "../views.js" */

/**
 * Task `from` has to end before task `to` starts: because of the data or the slot in a cell. Both are numbers of tasks in the window.
 * @typedef {{ from: number, to: number, cause: "data" | "slot", label: string }} Link
 */

/**
 * The links of task `n`: those that end at it, then those that start at it.
 * @param {TimelineData} data
 * @param {ExactWindow} window
 * @param {number} n
 * @returns {{ before: Link[], after: Link[] }}
 */
export function linksOf(data, { tasks }, n) {
  const kindOf = (/** @type {number} */ task) => data.kinds[tasks.kind[task]];
  const endOf = (/** @type {number} */ task) => tasks.start[task] + tasks.length[task];
  const { inputs, outputs } = kindOf(n);
  const numbers = [...tasks.start.keys()];
  const earlier = numbers.filter((task) => task !== n && endOf(task) <= tasks.start[n]).reverse();
  const later = numbers.filter((task) => task !== n && tasks.start[task] >= endOf(n));
  const writesTo = (/** @type {number} */ task, /** @type {number} */ cell) => has(kindOf(task).outputs, cell);
  const readsFrom = (/** @type {number} */ task, /** @type {number} */ cell) => has(kindOf(task).inputs, cell);
  /** @type {Link[]} */
  const before = [];
  /** @type {Link[]} */
  const after = [];
  for (const [cell, label] of inputs) {
    const writer = earlier.find((task) => writesTo(task, cell));
    if (writer !== undefined) before.push({ from: writer, to: n, cause: "data", label });
    const next = later.find((task) => writesTo(task, cell));
    if (next !== undefined && !has(outputs, cell)) after.push({ from: n, to: next, cause: "slot", label });
  }
  for (const [cell, label] of outputs) {
    const user = earlier.find((task) => readsFrom(task, cell) || writesTo(task, cell));
    if (user !== undefined) before.push({ from: user, to: n, cause: "slot", label });
    for (const task of later) {
      if (readsFrom(task, cell)) after.push({ from: n, to: task, cause: "data", label });
      if (writesTo(task, cell)) break;
    }
  }
  return { before: distinct(before), after: distinct(after) };
}

/**
 * @param {CellLabel[]} cells
 * @param {number} cell
 */
function has(cells, cell) {
  return cells.some(([number]) => number === cell);
}

/**
 * One link for each pair of tasks: several cells of one slot are one.
 * @param {Link[]} links
 */
function distinct(links) {
  const found = new Map(links.map((link) => [`${link.from} ${link.to}`, link]));
  for (const link of links) if (link.cause === "data") found.set(`${link.from} ${link.to}`, link);
  return [...found.values()];
}
