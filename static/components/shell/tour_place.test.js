import assert from "node:assert/strict";
import { test } from "node:test";

import { boxPlace } from "./tour_place.js";

/** @param {number[]} sides Left, top, right, bottom. */
const rect = ([left, top, right, bottom]) => ({ left, top, right, bottom });
const covers = (/** @type {[number, number]} */ [x, y], /** @type {number[]} */ [left, top, right, bottom]) =>
  x < right && left < x + 360 && y < bottom && top < y + 300;

test("the box covers no anchor while the window has room", () => {
  for (const sides of [
    [[334, 101, 1006, 136]],
    [[334, 101, 1006, 390]],
    [[0, 450, 1280, 720]],
    [[0, 56, 330, 720]],
    [
      [334, 60, 1006, 95],
      [334, 400, 1006, 440],
    ],
    [[400, 0, 1280, 420]],
  ]) {
    const at = boxPlace(sides.map(rect), 360, 300, 1280, 720);
    for (const side of sides) assert.ok(!covers(at, side), `${at} covers ${side}`);
    assert.ok(at[0] >= 0 && at[1] >= 0 && at[0] + 360 <= 1280 && at[1] + 300 <= 720);
  }
});

test("without anchors the box is in the corner", () => {
  assert.deepEqual(boxPlace([], 360, 300, 1280, 720), [906, 406]);
});
