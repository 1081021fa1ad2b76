import assert from "node:assert/strict";
import { test } from "node:test";
import { timelineData } from "./example.js";
import { TimelineModel } from "./model.js";
import { momentOf } from "./moment.js";

test("loops have the iterations of all running tasks, blocks their engines", () => {
  const model = new TimelineModel(
    () => {},
    () => {},
  );
  model.show(timelineData());
  const [copy, compute] = model.data.kinds.map((kind, number) => ({
    kind,
    template: model.data.templates[number],
    number,
    place: [number + 1],
  }));
  const moment = momentOf(model, { tasks: [copy, compute, copy], waits: [], cells: { 1: "filling" } });
  assert.deepEqual(moment.rows, { copy: "dma", C: "matrix", ko: "1, 2" });
  assert.deepEqual(moment.lines, [4, 6]);
  assert.deepEqual(
    moment.cells.map(({ label, state }) => [label, state]),
    [
      ["A#0", "free"],
      ["A#1", "filling"],
    ],
  );
});
