import assert from "node:assert/strict";
import { test } from "node:test";
import { exactWindow, timelineData } from "./example.js";
import { Scene } from "./scene.js";

test("a window in real time has the tasks of every copy, with their iterations", () => {
  const window = new Scene(timelineData()).window({ start: 130, end: 250, folded: false });
  assert.deepEqual(window?.tasks, {
    kind: [0, 1, 0, 1],
    start: [-30, 10, 70, 110],
    length: [40, 50, 40, 50],
    place: [[1], [1], [2], [2]],
    row: [0, 0, 0, 0],
  });
  assert.deepEqual(window?.fills, { start: [0, 70], length: [10, 40], of: [0, 0] });
  assert.deepEqual(window?.bytes[0].at, [0, 60, 70]);
});

test("the whole run in compressed time is as it was sent", () => {
  assert.deepEqual(new Scene(timelineData()).window({ start: 0, end: 100, folded: true }), exactWindow());
});

test("too many tasks, an unknown run and times beyond exact integers have no window", () => {
  const range = { start: 0, end: 100, folded: true };
  for (const fields of [{ drawn: 1 }, { run: null }, { cycles: 2 ** 53 }])
    assert.equal(new Scene(timelineData(fields)).window(range), null);
});

test("a task is found at its iterations, in the copies of the repeats", () => {
  const scene = new Scene(timelineData());
  assert.deepEqual(scene.task(1, [3]), { start: 340, end: 390 });
  assert.equal(scene.task(1, [4]), null);
});
