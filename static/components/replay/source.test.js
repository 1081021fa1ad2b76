import assert from "node:assert/strict";
import { test } from "node:test";
import { timelineData } from "../timeline/example.js";
import { RecordedModel } from "./source.js";

/** @import { StepToBlame } from "../views.js" */

function recorded() {
  const value = timelineData();
  /** @type {Record<string, StepToBlame>} */
  const steps = { "A copy": { kind: "blamed", step: 2, text: 'sch.cache_read("C", "A", "local.vtcm")' } };
  /** @type {import("../views.js").PathAnswer} */
  const path = { kind: "path", ticket: 0, report: 1, start: 0, end: 400, steps: null, lanes: ["/w=="], parts: [] };
  /** @type {string[]} */
  const selected = [];
  const recording = { value, steps, path, script: [] };
  return { model: new RecordedModel(recording, (row) => selected.push(row)), selected };
}

test("answers have the ticket of their query; a selected row is shown", async () => {
  const { model, selected } = recorded();
  /** @type {unknown[]} */
  const answers = [];
  model.on("msg:custom", (answer) => answers.push(answer));
  model.send_msg({ kind: "find", ticket: 5, template: 0, place: [2] });
  model.send_msg({ kind: "select_stall", buffer: "A", block: "copy" });
  model.send_msg({ kind: "select_stall", buffer: "", block: "queue of dma" });
  model.send_msg({ kind: "select", id: "C" });
  await Promise.resolve();
  assert.deepEqual(answers, [
    { kind: "found", ticket: 5, report: 7, cycle: null },
    { kind: "blamed", step: 2, text: 'sch.cache_read("C", "A", "local.vtcm")' },
    { kind: "blamed", step: 0, text: "" },
  ]);
  assert.deepEqual(selected, ["C"]);
});
