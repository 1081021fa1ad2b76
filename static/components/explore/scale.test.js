import assert from "node:assert/strict";
import { test } from "node:test";

import { makeScale } from "./scale.js";

test("a linear scale has a margin and round ticks", () => {
  const scale = makeScale([100, 200], 0, 400, "cycles");
  assert.deepEqual([scale.low, scale.high], [94, 206]);
  assert.equal(scale.at(scale.low), 0);
  assert.equal(scale.at(scale.high), 400);
  assert.deepEqual(scale.ticks, [100, 150, 200]);
});

test("values far apart have a logarithmic scale", () => {
  const scale = makeScale([10, 10_000], 300, 0, "cycles");
  assert.ok(Math.abs(scale.at(Math.sqrt(scale.low * scale.high)) - 150) < 1e-9);
  assert.ok(scale.ticks.every((tick) => /^[125]0*$/.test(String(tick))));
});

test("the ticks of bytes are powers of two", () => {
  assert.deepEqual(makeScale([1024, 1 << 20], 0, 900, "bytes").ticks.map(Math.log2), [10, 12, 14, 16, 18, 20]);
});

test("`back` reverses `at`", () => {
  for (const values of [[3, 7], [1, 1000], [5], []]) {
    const scale = makeScale(values, 20, 320, "pJ");
    for (const pixel of [20, 100, 320]) assert.ok(Math.abs(scale.at(scale.back(pixel)) - pixel) < 1e-6);
  }
});

test("a scale of amounts has no negative part", () => {
  assert.equal(makeScale([0, 100], 0, 100, "bytes").low, 0);
});
