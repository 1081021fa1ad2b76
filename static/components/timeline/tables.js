// The timeline as tables, for screen readers and for the exact values.

import { CAUSES } from "../core/stalls.js";
import { h } from "../core/dom.js";
import { grouped } from "../core/numbers.js";
import { activityText } from "./texts.js";

/** @import { Cause } from "../core/colors.js" */
/** @import { PlayheadState, TimelineModel } from "./model.js" */
/** @import { Timeline as TimelineData } from "../views.js" */

/** @typedef {{ caption: string, heads: string[], rows: string[][] }} Table */

/**
 * The state at the playhead, engines, memories, and repeats if there are any.
 * @param {TimelineModel} model
 * @param {PlayheadState | null} state
 * @param {Table[]} further Tables that follow; empty ones are omitted.
 */
export function tablesOf(model, state, further) {
  const { data } = model;
  const activities = data.engines.map(({ name }, lane) => [name, activityText(model, state, lane)]);
  const tables = [
    table(`At cycle ${grouped(model.cycle)}`, ["Engine", "Activity"], activities),
    enginesTable(data),
    memoriesTable(data, state),
  ];
  const chip = data.rows.filter(({ kind }) => kind !== "memory");
  if (chip.length) {
    const rows = chip.map(({ name, tip }) => [name, tip]);
    tables.push(table("Cores and the ports that they share", ["Row", "Facts"], rows));
  }
  if (data.repeats.length) tables.push(repeatsTable(model));
  for (const { caption, heads, rows } of further) if (rows.length) tables.push(table(caption, heads, rows));
  return tables;
}

/** @param {TimelineData} data */
function enginesTable({ engines, cycles }) {
  const causes = /** @type {Cause[]} */ (Object.keys(CAUSES)).filter((cause) => engines.some((e) => e.waits[cause]));
  const share = (/** @type {number} */ part) =>
    `${grouped(part)} (${Math.round((100 * part) / Math.max(1, cycles))} %)`;
  const heads = causes.map((cause) => (cause === "idle" ? "After its last task" : `Stalled on ${CAUSES[cause].word}`));
  return table(
    `Engines over ${grouped(cycles)} cycles`,
    ["Engine", "Tasks", "Busy", ...heads],
    engines.map(({ name, tasks, busy, waits }) => {
      const stalls = causes.map((cause) => waits[cause]).map((part) => (part ? share(part) : "–"));
      return [name, grouped(tasks), share(busy), ...stalls];
    }),
  );
}

/**
 * @param {TimelineData} data
 * @param {PlayheadState | null} state
 */
function memoriesTable({ rows, cells }, state) {
  const slots = (/** @type {number} */ row) =>
    cells.flatMap((cell, number) => {
      if (cell.row !== row) return [];
      return `${cell.label} ${cell.bytes}${state ? `: ${state.cells[number] ?? "free"}` : ""}`;
    });
  return table(
    "Memories",
    ["Memory", "Bytes", "Slots"],
    [...rows.entries()]
      .filter(([, { kind }]) => kind === "memory")
      .map(([row, { scope, text }]) => [scope, text, slots(row).join(", ") || "none"]),
  );
}

/** @param {TimelineModel} model */
function repeatsTable({ data, timeMap }) {
  return table(
    "Repeats",
    ["Start", "Count", "Loops", "Cycles each"],
    data.repeats.map(({ start, extra, names, cycles }) => [
      `cycle ${grouped(timeMap.real(start))}`,
      `×${grouped(extra + 1)}`,
      names.join(", ") || "–",
      grouped(cycles),
    ]),
  );
}

/**
 * @param {string} caption
 * @param {string[]} heads
 * @param {string[][]} rows The first cell of a row is its head.
 */
function table(caption, heads, rows) {
  return h(
    "table",
    {},
    h("caption", {}, caption),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        heads.map((head) => h("th", { scope: "col" }, head)),
      ),
    ),
    h(
      "tbody",
      {},
      rows.map(([first, ...cells]) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, first),
          cells.map((cell) => h("td", {}, cell)),
        ),
      ),
    ),
  );
}
