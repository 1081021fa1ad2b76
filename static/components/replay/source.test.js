import assert from "node:assert/strict";
import { test } from "node:test";
import { binnedWindow, exactWindow, timelineData } from "../timeline/example.js";
import { RecordedModel } from "./source.js";

/** @import { SentWindow } from "../timeline/windows.js" */

/** @import { StepToBlame } from "../views.js" */

/** @param {SentWindow} folded */
function recorded(folded = exactWindow()) {
  const value = { ...timelineData(), window: binnedWindow() };
  /** @type {Record<string, StepToBlame>} */
  const steps = { "A copy": { kind: "blamed", step: 2, text: 'sch.cache_read("C", "A", "local.vtcm")' } };
  /** @type {import("../views.js").PathAnswer} */
  const path = { kind: "path", ticket: 0, report: 1, start: 0, end: 400, steps: null, lanes: ["/w=="], parts: [] };
  /** @type {string[]} */
  const selected = [];
  const recording = { value, folded, detail: null, steps, path, script: [] };
  return { model: new RecordedModel(recording, (row) => selected.push(row)), selected };
}

test("a window in real time has the tasks of every copy, with their iterations", () => {
  const { model } = recorded();
  const window = model.window({ start: 130, end: 250, folded: false });
  assert.ok(window.exact);
  assert.deepEqual(window.tasks, {
    kind: [0, 1, 0, 1],
    start: [-30, 10, 70, 110],
    length: [40, 50, 40, 50],
    place: [[1], [1], [2], [2]],
    row: [0, 0, 0, 0],
  });
  assert.deepEqual(window.fills, { start: [0, 70], length: [10, 40], of: [0, 0] });
  assert.deepEqual(window.bytes[0].at, [0, 60, 70]);
});

test("the whole run is as it was recorded", () => {
  const { model } = recorded();
  assert.deepEqual(model.window({ start: 0, end: 400, folded: false }), binnedWindow());
});

test("a task is found at its iterations, in the copies of the repeats", () => {
  const { model } = recorded();
  assert.equal(model.find(1, [3]), 340);
  assert.equal(model.find(1, [4]), null);
});

test("from bins, a part is cut out and no task is found", () => {
  const whole = { ...binnedWindow(), folded: true, end: 100 };
  const { model } = recorded(whole);
  const window = model.window({ start: 25, end: 75, folded: true });
  assert.ok(!window.exact);
  assert.equal(window.bins.count, 50);
  assert.equal(window.bins.task[0][1], btoa(String.fromCharCode(...Array(25).fill(255), ...Array(25).fill(0))));
  assert.equal(model.find(0, [0]), null);
});

test("answers have the ticket of their query; a selected row is shown", async () => {
  const { model, selected } = recorded();
  /** @type {unknown[]} */
  const answers = [];
  model.on("msg:custom", ({ data }) => answers.push(data));
  model.send_msg({ kind: "find", ticket: 5, template: 0, place: [2] });
  model.send_msg({ kind: "select_stall", buffer: "A", block: "copy" });
  model.send_msg({ kind: "select_stall", buffer: "", block: "queue of dma" });
  model.send_msg({ kind: "select", id: "C" });
  await Promise.resolve();
  assert.deepEqual(answers, [
    { kind: "found", ticket: 5, report: 7, cycle: 200 },
    { kind: "blamed", step: 2, text: 'sch.cache_read("C", "A", "local.vtcm")' },
    { kind: "blamed", step: 0, text: "" },
  ]);
  assert.deepEqual(selected, ["C"]);
});
