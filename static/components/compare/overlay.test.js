import assert from "node:assert/strict";
import { test } from "node:test";
import { ticks } from "./overlay.js";

test("ticks are round numbers in the range", () => {
  assert.deepEqual(ticks(0, 100, 5), [0, 20, 40, 60, 80, 100]);
  assert.deepEqual(ticks(130, 990, 4), [500]);
  assert.deepEqual(ticks(0, 3, 10), [0, 1, 2, 3]);
});
