// The timeline in words: what a person who does not see it, or wants the figures, reads instead.

import { h } from "../core/dom.js";
import { CAUSES, waitText } from "../core/colors.js";
import { grouped } from "./clock.js";
import { indicesText } from "./model.js";

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

/** Engines with what they did and waited for, memories with their slots, what runs at the playhead. */
export function tablesOf(model, now) {
  const { data } = model;
  const causes = Object.keys(CAUSES).filter((cause) => data.engines.some((engine) => engine.waits[cause]));
  const share = (cycles) => `${grouped(cycles)} (${Math.round((100 * cycles) / Math.max(1, data.cycles))} %)`;
  const engines = table(
    `Engines over ${grouped(data.cycles)} cycles`,
    [
      "Engine",
      "Tasks",
      "Busy",
      ...causes.map((cause) => (cause === "idle" ? "Done before the end" : `Waits: ${CAUSES[cause].word}`)),
    ],
    data.engines.map((e) => [
      e.name,
      grouped(e.tasks),
      share(e.busy),
      ...causes.map((cause) => (e.waits[cause] ? share(e.waits[cause]) : "–")),
    ]),
  );
  const memories = table(
    "Memories",
    ["Memory", "Bytes", "Slots"],
    data.rows.map((row, n) => {
      const cells = data.cells.map((cell, k) => ({ ...cell, k })).filter((cell) => cell.row === n);
      const slots = cells.map((cell) => `${cell.label} ${cell.bytes}${now ? `: ${now.cells[cell.k] ?? "free"}` : ""}`);
      return [row.scope, row.text, slots.join(", ") || "none"];
    }),
  );
  const running = data.engines.map((engine, lane) => [engine.name, doingText(model, now, lane)]);
  const repeats = data.repeats.map((r) => [
    `cycle ${grouped(model.folding.clock(r.start, {}))}`,
    `×${grouped(r.extra + 1)}`,
    r.names.join(", ") || "–",
    grouped(r.cycles),
  ]);
  return [
    table(`At cycle ${grouped(model.cycle)}`, ["Engine", "Does"], running),
    engines,
    memories,
    repeats.length ? table("What repeats", ["From", "Times", "Iterations of", "Cycles each"], repeats) : null,
  ].filter(Boolean);
}

/** What an engine does at the playhead, in words. */
export function doingText(model, now, lane) {
  if (!now) return "not known yet";
  const task = now.tasks.find((t) => t.template.lane === lane);
  if (task) return [task.template.block, indicesText(task.template, task.place)].filter(Boolean).join(": ");
  const wait = now.waits.map((n) => model.data.waits[n]).find((w) => w.lane === lane);
  if (!wait) return "nothing";
  return wait.cause === "idle"
    ? "done"
    : `waits for ${waitText(wait)}${wait.block ? ` in the hands of ${wait.block}` : ""}`;
}

/** Everything at the playhead in one sentence: the value of its slider. */
export function nowText(model, now) {
  const doing = now
    ? model.data.engines.map((engine, lane) => `${engine.name} ${doingText(model, now, lane)}`).join("; ")
    : "";
  return `cycle ${grouped(model.cycle)}${doing ? `: ${doing}` : ""}`;
}
