import assert from "node:assert/strict";
import { test } from "node:test";
import { longestRisingRun } from "./patch.js";

/** @param {(number | undefined)[]} numbers */
function run(numbers) {
  return [...longestRisingRun(numbers)].sort((a, b) => a - b).map((n) => numbers[n]);
}

test("sorted places stay, and one moved place leaves the others", () => {
  assert.deepEqual(run([0, 1, 2, 3]), [0, 1, 2, 3]);
  assert.deepEqual(run([1, 2, 3, 0, 4]), [1, 2, 3, 4]);
  assert.deepEqual(run([3, 2, 1]), [1]);
});

test("new elements have no place", () => {
  assert.deepEqual(run([undefined, 0, undefined, 1]), [0, 1]);
  assert.deepEqual(run([]), []);
});
