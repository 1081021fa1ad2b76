import assert from "node:assert/strict";
import { test } from "node:test";
import { linksOf } from "./dependences.js";
import { exactWindow, timelineData } from "./example.js";

/** Two slots: copies into A#0, A#1, A#0, and a computation after each. */
const WINDOW = exactWindow({
  tasks: {
    kind: [0, 2, 1, 0, 3],
    start: [0, 10, 10, 30, 30],
    length: [10, 10, 20, 10, 20],
    place: [[0], [1], [0], [2], [1]],
    row: [],
  },
});
const KINDS = timelineData().kinds;
const DATA = timelineData({
  kinds: [
    ...KINDS,
    { template: 0, reads: ["A"], writes: ["A#1"], inputs: [], outputs: [[1, "A#1"]], place: 0 },
    { template: 1, reads: ["A#1"], writes: [], inputs: [[1, "A#1"]], outputs: [], place: 0 },
  ],
});

test("a computation waits for the copy of its operand; the next copy into the slot waits for it", () => {
  assert.deepEqual(linksOf(DATA, WINDOW, 2), {
    before: [{ from: 0, to: 2, cause: "data", label: "A#0" }],
    after: [{ from: 2, to: 3, cause: "slot", label: "A#0" }],
  });
});

test("a copy waits for its slot, and its readers wait for it until the slot is filled again", () => {
  assert.deepEqual(linksOf(DATA, WINDOW, 0).after, [{ from: 0, to: 2, cause: "data", label: "A#0" }]);
  assert.deepEqual(linksOf(DATA, WINDOW, 3).before, [{ from: 2, to: 3, cause: "slot", label: "A#0" }]);
  assert.deepEqual(linksOf(DATA, WINDOW, 1), { before: [], after: [{ from: 1, to: 4, cause: "data", label: "A#1" }] });
});
