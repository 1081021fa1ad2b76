import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { TimeMap, advance, lastAtMost, runsOf } from "./time_map.js";

/** @import { TimelineRepeat as Repeat } from "../views.js" */

/** Made by tests/support/record/time_map.py with the TimeMap of the engine. */
const RECORDED = JSON.parse(
  readFileSync(new URL("../../../tests/app/views/timeline/time_map.json", import.meta.url), "utf-8"),
);

/**
 * @param {Partial<Repeat>} fields
 * @returns {Repeat}
 */
function repeat(fields) {
  const nothing = { start: 0, end: 0, extra: 0, first: 0, last: 0, depth: 0, iterations: 1, level: 0, runs: 1 };
  const cycles = fields.length?.[0][0] ?? 0;
  return { ...nothing, cycles, length: [], extents: [], names: [], base: [], more: {}, moves: {}, ...fields };
}

const NESTED = [
  repeat({ start: 20, end: 25, length: [[5, []]], extra: 2 }), // 15 cycles of each copy of the outer one
  repeat({ start: 10, end: 40, length: [[40, []]], extra: 3 }),
];

test("without repeats both times are equal", () => {
  const map = new TimeMap([], 100);
  for (const time of [0, 37, 99]) {
    assert.deepEqual(map.at(time), { compressed: time, copies: {} });
    assert.equal(map.real(time), time);
  }
});

test("a cycle in a nested repeat has its copies", () => {
  const map = new TimeMap(NESTED, 50);
  assert.deepEqual(map.at(9), { compressed: 9, copies: {} });
  assert.deepEqual(map.at(10 + 40 + 10 + 5 + 3), { compressed: 23, copies: { 1: 1, 0: 1 } });
  assert.deepEqual(map.at(10 + 4 * 40), { compressed: 40, copies: {} });
});

test("every cycle is found again from its compressed time and copies", () => {
  const map = new TimeMap(NESTED, 50);
  for (let cycle = 0; cycle < 180; cycle++) {
    const { compressed, copies } = map.at(cycle);
    assert.equal(map.real(compressed, copies), cycle);
  }
});

// The outer repeat has four copies; the inner one has three, five, seven and nine copies in them.
const GROWING = [
  repeat({ start: 20, end: 25, length: [[5, []]], extra: 2, more: { 1: 2 }, first: 3, last: 5, runs: 24 }),
  repeat({
    start: 10,
    end: 40,
    length: [
      [40, []],
      [10, [[1, 1]]],
    ],
    extra: 3,
    first: 2,
    last: 6,
    runs: 4,
    extents: [9],
    moves: { 5: [2] },
  }),
];

test("every cycle of a growing repeat is found again", () => {
  const map = new TimeMap(GROWING, 50);
  assert.deepEqual(map.at(10 + 40 + 50 + 10 + 6 * 5 + 1), { compressed: 21, copies: { 1: 2, 0: 6 } });
  assert.deepEqual(map.at(10 + 40 + 50 + 60 + 70), { compressed: 40, copies: {} });
  for (let cycle = 0; cycle < 240; cycle++) {
    const { compressed, copies } = map.at(cycle);
    assert.equal(map.real(compressed, copies), cycle);
  }
});

test("a task in a growing repeat runs as often as its copies, at later iterations of inner loops", () => {
  assert.equal(runsOf(GROWING, 3), 3 + 5 + 7 + 9);
  assert.equal(runsOf(GROWING, 2), 4);
  assert.deepEqual(new TimeMap(GROWING, 50).iterationsAt([1, 4], 5, 30, { 1: 2 }), [3, 8]);
});

test("of two repeats with equal extent the later one is outside", () => {
  const map = new TimeMap(
    [
      repeat({ start: 0, end: 10, length: [[10, []]], extra: 1 }),
      repeat({ start: 0, end: 10, length: [[20, []]], extra: 2 }),
    ],
    10,
  );
  assert.deepEqual(map.at(35), { compressed: 5, copies: { 0: 1, 1: 1 } });
});

test("indices advance like an odometer", () => {
  assert.deepEqual(advance([0, 0], [6, 10], 27), [2, 7]);
  assert.deepEqual(advance([1, 3], [2, 4], 1), [0, 0]);
});

test("a task has the iterations of the chosen copy, after the end of the repeat those of the last copy", () => {
  const map = new TimeMap(
    [repeat({ start: 0, end: 10, length: [[10, []]], extra: 3, last: 2, depth: 1, extents: [2, 2], iterations: 1 })],
    20,
  );
  assert.deepEqual(map.iterationsAt([7, 0, 0], 0, 5, {}), [7, 0, 0]);
  assert.deepEqual(map.iterationsAt([7, 0, 0], 0, 5, { 0: 2 }), [7, 1, 0]);
  assert.deepEqual(map.iterationsAt([7, 0, 0], 1, 12, { 0: 2 }), [7, 1, 1]);
  assert.deepEqual(map.iterationsAt([7, 0, 0], 2, 12, { 0: 2 }), [7, 0, 0]);
  assert.deepEqual(map.iterationsAt([7], 0, 5, { 0: 2 }), [7], "a task outside of the repeated loops");
});

test("the last value that is at most another one", () => {
  assert.equal(lastAtMost([1, 3, 3, 8], 3), 2);
  assert.equal(lastAtMost([1, 3], 0), -1);
  assert.equal(lastAtMost([], 5), -1);
});

for (const name of ["nested", "growing"])
  test(`${name} repeats are mapped like in the engine`, () => {
    const { repeats, length, moments, intervals } = RECORDED[name];
    const map = new TimeMap(repeats, length);
    for (const [cycle, compressed, copies] of moments) {
      assert.deepEqual(map.at(cycle), { compressed, copies });
      assert.equal(map.real(compressed, copies), cycle);
    }
    for (const [begin, until, expected] of intervals) {
      const found = [...map.intervals(begin, until)].map(({ start, end, later }) => [start, end, later]);
      assert.deepEqual(found, expected);
    }
  });
