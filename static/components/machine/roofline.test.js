import assert from "node:assert/strict";
import { test } from "node:test";
import { labelHeights, range } from "./roofline.js";

test("the range of an axis covers its values in half decades, at least one decade", () => {
  const [low, high] = range([4, 20], 1, 1);
  assert.ok(Math.abs(low - 10 ** 0.5) < 1e-9 && Math.abs(high - 10 ** 1.5) < 1e-9);
  assert.deepEqual(range([10], 1, 1), [10, 100]);
  assert.deepEqual(range([0, 1, 100], 1, 1), [1, 100]);
});

test("only labels side by side push each other down", () => {
  assert.deepEqual(
    labelHeights([
      { cx: 0, cy: 10 },
      { cx: 20, cy: 12 },
    ]),
    [13.5, 26.5],
  );
  assert.deepEqual(
    labelHeights([
      { cx: 0, cy: 10 },
      { cx: 500, cy: 12 },
    ]),
    [13.5, 15.5],
  );
});
