import assert from "node:assert/strict";
import { test } from "node:test";
import { logScale, tickText } from "./svg.js";

test("a logarithmic scale maps its ends to pixels and has a tick at each power of ten", () => {
  const scale = logScale(1, 1000, 10, 40);
  assert.deepEqual(
    [1, 10, 100, 1000].map((value) => Math.round(scale(value))),
    [10, 20, 30, 40],
  );
  assert.deepEqual(scale.ticks, [1, 10, 100, 1000]);
});

test("ticks of large and small powers have exponents", () => {
  assert.deepEqual([1e-3, 1, 1e4, 1e6, 1e-5].map(tickText), ["0.001", "1", "10000", "10⁶", "10⁻⁵"]);
});
