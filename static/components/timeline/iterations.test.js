import assert from "node:assert/strict";
import { test } from "node:test";
import { timelineData } from "./example.js";
import { Iterations } from "./iterations.js";
import { TimelineModel } from "./model.js";
import { TaskSelection } from "./task_selection.js";

/**
 * @param {boolean} folded
 * @param {string} row
 */
function opened(folded, row) {
  const model = new TimelineModel(
    () => {},
    () => {},
  );
  model.isFoldChosen = folded;
  model.show(timelineData());
  const iterations = new Iterations(model);
  iterations.row = row;
  return { model, iterations };
}

test("a bracket reaches from the first start to the last end of an iteration's tasks", () => {
  const { iterations } = opened(false, "ko");
  assert.deepEqual(iterations.drawn()?.slice(0, 2), [
    { place: [0], start: 0, end: 90 },
    { place: [1], start: 100, end: 190 },
  ]);
});

test("in compressed time the bracket is of the chosen copy", () => {
  const { model, iterations } = opened(true, "ko");
  model.seek(230);
  assert.deepEqual(iterations.drawn(), [{ place: [2], start: 0, end: 90 }]);
});

test("the zoom shows all iterations, then the one at the playhead", () => {
  const { model, iterations } = opened(false, "ko");
  model.seek(230);
  const whole = iterations.range();
  assert.deepEqual(whole, { start: 0, end: 390 });
  model.showRange(0, 390);
  assert.deepEqual(iterations.range(), { start: 200, end: 290 });
});

test("a loop inside of tasks, or a block, has no iterations", () => {
  for (const row of ["ax0", "C", ""]) {
    const { iterations } = opened(false, row);
    assert.equal(iterations.loop, undefined);
    assert.equal(iterations.range(), null);
  }
});

test("the selected task is selected in the next run, at its iterations", () => {
  const { model } = opened(false, "");
  const selection = new TaskSelection(model);
  const window = model.windows()[0];
  assert.ok(window.exact);
  selection.select(window, 5);
  const { text } = selection;
  const [copy, matrix] = timelineData().templates;
  model.show(timelineData({ report: 8, templates: [copy, { ...matrix, block: "D" }] }));
  selection.follow();
  assert.equal(selection.at, null, "the block is gone");
  model.show(timelineData());
  selection.select(window, 5);
  model.show(timelineData({ report: 9 }));
  selection.follow();
  assert.equal(selection.text, text);
});
