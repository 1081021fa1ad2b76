import assert from "node:assert/strict";
import { test } from "node:test";

import { isDark, rgb, shade } from "./paint.js";

/** @type {import("./paint.js").Paints} */
const PAINTS = { buffer: [0, 0, 100], surface: [255, 255, 255], text: "", line: "", accent: "", bad: "", muted: "" };

test("colours of browsers are read as parts from 0 to 255", () => {
  assert.deepEqual(rgb("rgb(12, 34, 56)"), [12, 34, 56]);
  assert.deepEqual(rgb("rgba(12, 34, 56, 0.5)"), [12, 34, 56]);
  assert.deepEqual(rgb("color(srgb 1 0.2 0)"), [255, 51, 0]);
});

test("the highest level is the buffer's colour, the lowest one is near the surface", () => {
  assert.equal(shade(PAINTS, 1), "rgb(0,0,100)");
  assert.equal(shade(PAINTS, 0), "rgb(214,214,230)");
});

test("text is light on dark shades only", () => {
  assert.equal(isDark(PAINTS, 1), true);
  assert.equal(isDark(PAINTS, 0), false);
});
