// The state at the playhead as the other views mark it: rows of the tree, lines of the code, cells of memory.

/** @import { Moment } from "../core/playhead.js" */
/** @import { PlayheadState, TimelineModel } from "./model.js" */

/**
 * @param {TimelineModel} model
 * @param {PlayheadState} state
 * @returns {Moment}
 */
export function momentOf({ data, cycle }, { tasks, cells }) {
  /** @type {Record<string, string>} */
  const rows = {};
  /** @type {Map<string, Set<number>>} The iterations of a loop: engines may be in different ones. */
  const iterations = new Map();
  for (const { template, place } of tasks) {
    for (const row of template.rows) rows[row] = data.engines[template.lane].name;
    template.loops.forEach(({ row }, n) => {
      if (row) iterations.set(row, (iterations.get(row) ?? new Set()).add(place[n]));
    });
  }
  for (const [row, indices] of iterations) rows[row] = [...indices].join(", ");
  const lines = tasks.flatMap(({ template }) => template.rows.map((row) => data.lines[row]).filter(Boolean));
  return {
    cycle,
    rows,
    lines: [...new Set(lines)],
    cells: data.cells.map(({ label, buffer }, n) => ({ label, buffer, state: cells[n] ?? "free" })),
  };
}
