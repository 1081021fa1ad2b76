import assert from "node:assert/strict";
import { test } from "node:test";
import { grouped, roundStep, ticks } from "./numbers.js";

test("digits are in groups of three", () => {
  assert.equal(grouped(0), "0");
  assert.equal(grouped(999.6), "1\u202f000");
  assert.equal(grouped(-1234567), "-1\u202f234\u202f567");
  assert.equal(grouped(2.5e15), "2.50e+15");
});

test("a step is round, at least 1, and large enough for the number of marks", () => {
  assert.equal(roundStep(3, 10), 1);
  assert.equal(roundStep(100, 10), 10);
  assert.equal(roundStep(101, 10), 20);
  assert.equal(roundStep(4_100, 10), 500);
  assert.equal(roundStep(7_000, 0), 10_000);
});

test("ticks are round numbers in the range", () => {
  assert.deepEqual(ticks(0, 100, 5), [0, 20, 40, 60, 80, 100]);
  assert.deepEqual(ticks(130, 990, 4), [500]);
  assert.deepEqual(ticks(0, 3, 10), [0, 1, 2, 3]);
});
