import assert from "node:assert/strict";
import { test } from "node:test";
import { classOf, coreOf, placeOn } from "./cores.js";

/** @import { BlockNumbers, ChipCores, TaskKind, TaskTemplate } from "../views.js" */

const CORES = 4;

/**
 * Six blocks of threads, by two for each core at a time, and a loop inside of each.
 * @param {BlockNumbers} numbers
 * @returns {ChipCores}
 */
function chip(numbers) {
  const busy = { row: 0, first: 0, count: 2, idle: [] };
  return { level: "sm", cores: CORES, classes: [busy, { row: 1, first: 2, count: 2, idle: [[0, 9]] }], numbers };
}

/** @type {TaskTemplate} */
const TEMPLATE = {
  lane: 0,
  block: "C",
  rows: [],
  loops: [
    { name: "by", row: "by", extent: 3 },
    { name: "bx", row: "bx", extent: 6 },
    { name: "k", row: "k", extent: 5 },
  ],
  colour: 0,
  grid: [0, 2],
};

/** @param {number} place @returns {TaskKind} */
const kind = (place) => ({ template: 0, reads: [], writes: [], inputs: [], outputs: [], place });

test("blocks that are dealt one by one follow each other over the cores", () => {
  const dealt = chip({ step: 8, stride: 0, is_static: false });
  assert.deepEqual(placeOn(dealt, 0, TEMPLATE, kind(0), [0, 0, 3]), [0, 0, 3]);
  assert.deepEqual(placeOn(dealt, 3, TEMPLATE, kind(1), [1, 2, 3]), [2, 3, 3]); // block 8 + 4 + 3
  assert.deepEqual(coreOf(dealt, TEMPLATE, [2, 3, 3]), { core: 3, held: 1, place: [1, 2, 3] });
});

test("with a stride the first core's tasks have the numbers of its own blocks", () => {
  const own = chip({ step: 8, stride: 4, is_static: false });
  assert.deepEqual(placeOn(own, 3, TEMPLATE, kind(1), [2, 0, 3]), [2, 3, 3]);
  assert.deepEqual(coreOf(own, TEMPLATE, [2, 3, 3]), { core: 3, held: 1, place: [2, 0, 3] });
});

test("static launches give neighbouring blocks to a core", () => {
  const divided = chip({ step: 2, stride: 0, is_static: true }); // 18 blocks, five for each core
  assert.deepEqual(placeOn(divided, 2, TEMPLATE, kind(1), [0, 2, 0]), [2, 1, 0]); // block 10 + 2 + 1
  assert.deepEqual(coreOf(divided, TEMPLATE, [2, 1, 0]), { core: 2, held: 1, place: [0, 2, 0] });
});

test("a core without a further block keeps the first core's iterations", () => {
  const dealt = chip({ step: 8, stride: 0, is_static: false });
  assert.deepEqual(placeOn(dealt, 3, TEMPLATE, kind(1), [2, 4, 0]), [2, 4, 0]);
});

test("a core belongs to the last class that begins before it", () => {
  const dealt = chip({ step: 8, stride: 0, is_static: false });
  assert.equal(classOf(dealt, 1)?.row, 0);
  assert.equal(classOf(dealt, 2)?.row, 1);
});
