import assert from "node:assert/strict";
import { test } from "node:test";
import { binnedWindow, timelineData } from "./example.js";
import { hitAt, stallStripAt } from "./hit.js";
import { layoutOf } from "./layout.js";
import { TimelineModel } from "./model.js";
import { activityText, foldNote, playheadText, stallReason, stallTitle, tipText } from "./texts.js";

function opened(data = timelineData()) {
  const model = new TimelineModel(
    () => {},
    () => {},
  );
  model.isFoldChosen = true;
  model.show(data);
  const layout = layoutOf(data, 800, 400, true);
  /**
   * The kind and the tip at a point.
   * @param {number} y
   * @param {number} time
   */
  const at = (y, time) => {
    const hit = hitAt(model, layout, { y, time });
    return hit && [hit.kind, tipText(model, hit)];
  };
  return { model, layout, at };
}

test("a task is hit in its lane, a stall in the gap or on the strip below", () => {
  const { layout, at } = opened();
  const [dma, matrix] = layout.lanes.map(({ top }) => top + 3);
  assert.deepEqual(at(dma, 10), ["task", "copy  ko = 0\nA → A#0\n0 to 40: 40 cycles\n4 repetitions"]);
  assert.deepEqual(at(matrix, 10), [
    "wait",
    "matrix stalled on operand A#0\nheld by copy\n0 to 40: 40 cycles\nclick for details",
  ]);
  assert.equal(at(dma, 50), null);
  assert.deepEqual(at(layout.lanes[0].top + layout.bar + 2, 95)?.[0], "wait");
  assert.equal(stallStripAt(layout, layout.lanes[1].top + layout.bar + 2), 1);
  assert.equal(stallStripAt(layout, dma), -1);
});

test("a tile is hit in the band of its cell", () => {
  const { layout, at } = opened();
  const { top, height } = layout.rows[0];
  assert.deepEqual(at(top + height * 0.9, 10), [
    "tile",
    "A#0  1 KiB in local.vtcm, from byte 0\nbeing filled 0 to 40: 40 cycles",
  ]);
  assert.deepEqual(at(top + height * 0.9, 60), [
    "tile",
    "A#0  1 KiB in local.vtcm, from byte 0\nlive 40 to 90: 50 cycles",
  ]);
  assert.equal(at(top + height * 0.1, 60), null);
});

test("of bins the shares are known", () => {
  const { model, layout, at } = opened(timelineData({ bins: [binnedWindow()] }));
  model.setFolded(false);
  assert.deepEqual(at(layout.lanes[0].top + 3, 10), ["bin", "dma, 0 to 200\ncopy 100 %\nzoom in for single tasks"]);
  assert.deepEqual(at(layout.lanes[1].top + 3, 210), [
    "bin",
    "matrix, 200 to 400\nstalled on operand A#0 50 %\nzoom in for single tasks",
  ]);
});

test("the state at the playhead is told by engine", () => {
  const { model } = opened();
  model.seek(100);
  const state = model.stateAtPlayhead();
  assert.equal(playheadText(model, state), "cycle 100: dma copy: ko = 1; matrix stalled on operand A#0 held by copy");
  assert.equal(playheadText(model, null), "cycle 100");
  model.seek(195);
  assert.equal(activityText(model, model.stateAtPlayhead(), 0), "done");
});

test("a folded axis says how far it is from scale", () => {
  const { model } = opened(timelineData({ cycles: 500, length: 200 }));
  assert.equal(foldNote(model), "80 % of the cycles in 50 % of the width");
  model.setFolded(false);
  assert.equal(foldNote(model), "");
});

test("a stall has a title and a reason", () => {
  const [wait, idle] = timelineData().waits;
  assert.equal(stallTitle("matrix", wait.cause), "matrix stalled on operand");
  assert.equal(stallReason(wait), "Operand not ready: copy is still filling A#0.");
  assert.equal(stallTitle("dma", idle.cause), "dma done");
});
