import assert from "node:assert/strict";
import { test } from "node:test";
import { decodedLevels, overlapping } from "./windows.js";

test("levels are bytes in base 64", () => {
  assert.deepEqual([...decodedLevels("AAH/")], [0, 1, 255]);
});

test("tasks overlap where two of them run; intervals that touch are one", () => {
  const tasks = { start: [0, 5, 10, 30], length: [10, 10, 5, 5] };
  assert.deepEqual(overlapping(tasks), [[5, 15]]);
  assert.deepEqual(overlapping({ start: [0, 10], length: [10, 10] }), []);
  assert.deepEqual(overlapping({ start: [0, 2, 3], length: [20, 4, 10] }), [[2, 13]]);
});
