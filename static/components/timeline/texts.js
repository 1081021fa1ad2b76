// The timeline in words: tips, reasons of stalls, and the state at the playhead.

import { CAUSES } from "../core/stalls.js";
import { grouped } from "../core/numbers.js";

import { runsOf } from "./time_map.js";

/** @import { Cause } from "../core/colors.js" */
/** @import { Hit } from "./hit.js" */
/** @import { PlayheadState, Task, TimelineModel } from "./model.js" */
/** @import { Band } from "./windows.js" */
/** @import { StallKind as WaitKind, Timeline as TimelineData } from "../views.js" */

/**
 * Why an engine stalls, as a sentence.
 * @param {WaitKind} wait
 */
export function stallReason(wait) {
  return `${CAUSES[wait.cause].reason.replace("{block}", wait.block).replace("{what}", wait.what)}.`;
}

/**
 * The cause and the object of a stall in two words.
 * @param {Pick<WaitKind, "cause" | "what">} wait
 */
export function waitText(wait) {
  const { word } = CAUSES[wait.cause];
  return wait.cause === "idle" ? word : `${word} ${wait.what.replace("queue of ", "")}`;
}

/**
 * The title of a stall, such as `matrix stalled on operand`.
 * @param {string} engine
 * @param {Cause} cause
 */
export function stallTitle(engine, cause) {
  return cause === "idle" ? `${engine} done` : `${engine} stalled on ${CAUSES[cause].word}`;
}

/**
 * `mo = 1, ko = 3`
 * @param {Pick<Task, "template" | "place">} task
 */
export function indicesText({ template, place }) {
  return template.loops.map((loop, n) => `${loop.name} = ${place[n]}`).join(", ");
}

/**
 * The tip of what is at a point.
 * @param {TimelineModel} model
 * @param {Hit} hit
 */
export function tipText(model, hit) {
  if (hit.kind === "task") return taskTip(model, hit);
  if (hit.kind === "wait") return stallTip(model, hit);
  if (hit.kind === "row") return model.data.rows[hit.row].tip;
  if (hit.kind === "tile") return tileTip(model, hit);
  return binTip(model, hit);
}

/**
 * @param {TimelineModel} model
 * @param {Hit & { kind: "task" }} hit
 */
function taskTip(model, { window, n }) {
  const { start, length, row } = window.tasks;
  const task = model.task(window, n);
  const times = window.folded ? runsOf(model.data.repeats, row[n]) : 1;
  return lines(
    `${task.template.block}  ${indicesText(task)}`.trim(),
    `${task.kind.reads.join(", ") || "nothing"} → ${task.kind.writes.join(", ") || "nothing"}`,
    durationText(model, window, start[n], length[n]),
    times > 1 && `${grouped(times)} repetitions`,
  );
}

/**
 * @param {TimelineModel} model
 * @param {Hit & { kind: "wait" }} hit
 */
function stallTip(model, { window, n }) {
  const { start, length, of } = window.waits;
  const wait = model.data.waits[of[n]];
  return lines(
    [stallTitle(model.data.engines[wait.lane].name, wait.cause), wait.what].filter(Boolean).join(" "),
    wait.block && `held by ${wait.block}`,
    durationText(model, window, start[n], length[n]),
    "click for details",
  );
}

/**
 * @param {TimelineModel} model
 * @param {Hit & { kind: "tile" }} hit
 */
function tileTip(model, { window, n, isFilling }) {
  const { start, length, of } = isFilling ? window.fills : window.lives;
  const cell = model.data.cells[of[n]];
  const { kind, tip } = model.data.rows[cell.row];
  if (kind === "cores") {
    const duration = durationText(model, window, start[n], length[n]);
    return lines(tip, `${cell.label} ${isFilling ? "starts" : "runs"} ${duration}`, "click to show its tasks");
  }
  return lines(
    `${cell.label}  ${cell.bytes} in ${model.data.rows[cell.row].scope}, from byte ${cell.address}`,
    `${isFilling ? "being filled" : "live"} ${durationText(model, window, start[n], length[n])}`,
  );
}

/**
 * The share of a bin that each task, stall or slot takes.
 * @param {TimelineModel} model
 * @param {Hit & { kind: "bin" }} hit
 */
function binTip(model, { window, n, lane, row }) {
  const { data } = model;
  const { bins, start, end } = window;
  const width = (end - start) / bins.count;
  const from = model.toReal(start + n * width);
  const shares = (
    /** @type {Band<Uint8Array>[]} */ bands,
    /** @type {(number: number) => boolean} */ isHere,
    /** @type {(number: number) => string} */ label,
  ) =>
    bands
      .filter(([number, levels]) => isHere(number) && levels[n])
      .map(([number, levels]) => `${label(number)} ${Math.max(1, Math.round(levels[n] / 2.55))} %`);
  const parts =
    lane >= 0
      ? [
          ...shares(
            bins.task,
            (number) => data.templates[number].lane === lane,
            (number) => data.templates[number].block,
          ),
          ...shares(
            bins.wait,
            (number) => data.waits[number].lane === lane,
            (number) => stallText(data.waits[number]),
          ),
        ]
      : [
          ...shares(
            bins.fill,
            (number) => data.cells[number].row === row,
            (number) => `${data.cells[number].label} filling`,
          ),
          ...shares(
            bins.live,
            (number) => data.cells[number].row === row,
            (number) => `${data.cells[number].label} ${data.rows[row].kind === "cores" ? "runs" : "live"}`,
          ),
          data.rows[row].tip,
        ];
  const name = lane >= 0 ? data.engines[lane].name : data.rows[row].scope;
  return lines(`${name}, ${grouped(from)} to ${grouped(from + width)}`, ...parts, "zoom in for single tasks");
}

/** @param {WaitKind} wait */
function stallText(wait) {
  return wait.cause === "idle" ? "done" : `stalled on ${waitText(wait)}`;
}

/**
 * @param {TimelineModel} model
 * @param {{ folded: boolean, start: number }} window
 * @param {number} start
 * @param {number} length
 */
function durationText(model, window, start, length) {
  const from = model.toReal(window.start + start, window.folded);
  return `${grouped(from)} to ${grouped(from + length)}: ${grouped(length)} cycles`;
}

/** @param {...(string | false)} parts */
function lines(...parts) {
  return parts.filter(Boolean).join("\n");
}

/**
 * How far the axis is from scale, such as `88 % of the cycles in 23 % of the width`; empty if it is true.
 * @param {TimelineModel} model
 */
export function foldNote({ folded, data, timeMap }) {
  if (!folded) return "";
  const { inside } = timeMap.root;
  const cycles = inside.reduce((sum, span) => sum + span.total({}), 0);
  const width = inside.reduce((sum, span) => sum + span.end - span.start, 0);
  const percent = (/** @type {number} */ share) => `${Math.round(100 * share)} %`;
  return `${percent(cycles / data.cycles)} of the cycles in ${percent(width / data.length)} of the width`;
}

/**
 * The activity of an engine at the playhead.
 * @param {TimelineModel} model
 * @param {PlayheadState | null} state
 * @param {number} lane
 */
export function activityText(model, state, lane) {
  if (!state) return "unknown";
  const task = state.tasks.find(({ template }) => template.lane === lane);
  if (task) return [task.template.block, indicesText(task)].filter(Boolean).join(": ");
  const wait = stallOf(model.data, state, lane);
  if (!wait) return "nothing";
  return stallText(wait) + (wait.cause !== "idle" && wait.block ? ` held by ${wait.block}` : "");
}

/**
 * The stall of an engine at the playhead.
 * @param {TimelineData} data
 * @param {PlayheadState} state
 * @param {number} lane
 * @returns {WaitKind | undefined}
 */
export function stallOf(data, state, lane) {
  return state.waits.map((number) => data.waits[number]).find((wait) => wait.lane === lane);
}

/**
 * The state at the playhead in one sentence: the value of its slider.
 * @param {TimelineModel} model
 * @param {PlayheadState | null} state
 */
export function playheadText(model, state) {
  const cycle = `cycle ${grouped(model.cycle)}`;
  if (!state) return cycle;
  const activities = model.data.engines.map(({ name }, lane) => `${name} ${activityText(model, state, lane)}`);
  return `${cycle}: ${activities.join("; ")}`;
}
