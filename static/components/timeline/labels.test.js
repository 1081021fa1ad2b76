import assert from "node:assert/strict";
import { test } from "node:test";
import { shortened, slotLabel, taskLabel } from "./labels.js";

test("a text is cut to the width, and omitted where next to nothing fits", () => {
  assert.equal(shortened("matrix", 100), "matrix");
  assert.equal(shortened("matrix", 24), "mat…");
  assert.equal(shortened("matrix", 12), "");
});

test("the label of a slot keeps its number", () => {
  assert.equal(slotLabel("A_local.vtcm#1", 200), "A_local.vtcm#1");
  assert.equal(slotLabel("A_local.vtcm#1", 46), "A_loc…#1");
  assert.equal(slotLabel("A_local.vtcm", 30), "A_lo…");
});

test("the label of a task has its innermost index where both fit", () => {
  const loops = ["io", "ko"].map((name) => ({ name, row: "", extent: 4 }));
  /** @type {import("../views.js").TaskTemplate} */
  const template = { lane: 0, block: "matmul", rows: [], loops, colour: 0, grid: [0, 0] };
  const task = {
    kind: { template: 0, reads: [], writes: [], inputs: [], outputs: [], place: 0 },
    template,
    number: 0,
    place: [1, 3],
  };
  assert.equal(taskLabel(task, 100), "matmul ko=3");
  assert.equal(taskLabel(task, 40), "matmul");
  assert.equal(taskLabel({ ...task, template: { ...template, loops: [] }, place: [] }, 100), "matmul");
});
