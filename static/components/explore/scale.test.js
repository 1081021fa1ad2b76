import assert from "node:assert/strict";
import { test } from "node:test";

import { makeScale } from "./scale.js";

test("a linear scale has a margin and round ticks", () => {
  const scale = makeScale([100, 200], "cycles", 4);
  assert.deepEqual([scale.low, scale.high], [94, 206]);
  assert.equal(scale.at(scale.low), 0);
  assert.equal(scale.at(scale.high), 1);
  assert.deepEqual(scale.ticks, [100, 150, 200]);
});

test("values far apart have a logarithmic scale", () => {
  const scale = makeScale([10, 10_000], "cycles", 7);
  assert.ok(Math.abs(scale.at(Math.sqrt(scale.low * scale.high)) - 0.5) < 1e-9);
  assert.ok(scale.ticks.every((tick) => /^[125]0*$/.test(String(tick))));
});

test("the ticks of bytes are powers of two", () => {
  assert.deepEqual(makeScale([1024, 1 << 20], "bytes", 10).ticks.map(Math.log2), [10, 12, 14, 16, 18, 20]);
});

test("`back` reverses `at`", () => {
  for (const values of [[3, 7], [1, 1000], [5], []]) {
    const scale = makeScale(values, "pJ", 5);
    for (const place of [0, 0.3, 1]) assert.ok(Math.abs(scale.at(scale.back(place)) - place) < 1e-9);
  }
});

test("a scale of amounts has no negative part", () => {
  assert.equal(makeScale([0, 100], "bytes", 4).low, 0);
});
