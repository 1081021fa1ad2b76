import assert from "node:assert/strict";
import { test } from "node:test";
import { timeAt } from "./layout.js";
import { gripOf, pinchedView } from "./touch.js";

const LAYOUT = { width: 1186 }; // 1000 pixels of plot

test("fingers that move apart zoom in, and the time between them stays between them", () => {
  const view = { start: 100, end: 1100 };
  const grip = gripOf(view, LAYOUT, [400, 500]);
  const pinched = pinchedView(grip, LAYOUT, [500, 700]);
  assert.equal(pinched.end - pinched.start, 500);
  assert.ok(Math.abs(timeAt(pinched, LAYOUT, 600) - timeAt(view, LAYOUT, 450)) < 1e-9);
});

test("fingers that move together pan", () => {
  const grip = gripOf({ start: 0, end: 1000 }, LAYOUT, [400, 500]);
  assert.deepEqual(pinchedView(grip, LAYOUT, [300, 400]), { start: 100, end: 1100 });
});

test("fingers that are close do not zoom further", () => {
  const grip = gripOf({ start: 0, end: 1000 }, LAYOUT, [400, 448]);
  const { start, end } = pinchedView(grip, LAYOUT, [424, 425]);
  assert.equal(end - start, 2000);
});
