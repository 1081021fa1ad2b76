import assert from "node:assert/strict";
import { test } from "node:test";
import { barsOf, labelsOf, rowsOf } from "./bars.js";

/** @import { Inference, KernelRow as Kernel } from "../views.js" */

/** @type {Inference} */
const INFERENCE = {
  cycles: 100,
  calls: [1, 2],
  keys: ["a", "b"],
  starts: [0, 60],
  ends: [60, 100],
  engines: ["dma", "matrix"],
  memories: [{ name: "vtcm", capacity: "128 KiB" }],
};

const INKS = {
  hues: ["blue"],
  text: "",
  muted: "grey",
  accent: "accent",
  bad: "bad",
  good: "good",
  "line-strong": "line",
};

/** @type {(key: string, part: Partial<Kernel>) => [string, Kernel]} */
const kernel = (key, part) => [key, /** @type {Kernel} */ ({ key, hue: null, loads: {}, peaks: {}, ...part })];

const KERNELS = new Map([
  kernel("a", { hue: 0, loads: { dma: 0.5 }, peaks: { vtcm: [0.25, "32 KiB"] } }),
  kernel("b", { loads: { matrix: 1 }, peaks: { vtcm: [1.5, "192 KiB"] } }),
]);

test("given an inference then its rows lie one below the other without overlap", () => {
  const rows = rowsOf(INFERENCE);
  assert.deepEqual(
    rows.map(({ label }) => label),
    ["kernels", "dma", "matrix", "vtcm, 128 KiB"],
  );
  rows.slice(1).forEach((row, n) => assert.ok(row.top < rows[n].bottom && row.bottom < row.top));
  assert.equal(rows[3].bottom, 0);
});

test("given kernels then calls have their colours, and loads the height of their parts", () => {
  const rows = rowsOf(INFERENCE);
  const { calls, loads } = barsOf(INFERENCE, rows, KERNELS, INKS);
  assert.deepEqual(
    [calls.left, calls.right, calls.color],
    [
      [0, 60],
      [60, 100],
      ["blue", "grey"],
    ],
  );
  const heights = loads.top.map((top, n) => (top - loads.bottom[n]) / 0.84);
  assert.deepEqual(
    heights.map((part) => Math.round(100 * part)),
    [50, 25, 100, 100],
  );
  assert.deepEqual(loads.color, ["accent", "good", "accent", "bad"], "more than the capacity is another colour");
});

test("given a visible range then bars that are wide enough have a label at their visible beginning", () => {
  const { calls } = barsOf(INFERENCE, rowsOf(INFERENCE), KERNELS, INKS);
  const wide = labelsOf(calls, ["conv2d add relu", "pool"], 30, 100, 700);
  assert.deepEqual(
    [wide.x, wide.text],
    [
      [30, 60],
      ["conv2d add relu", "pool"],
    ],
  );
  assert.deepEqual(labelsOf(calls, ["conv2d add relu", "pool"], 0, 100, 100).text, ["conv2d…", "pool"]);
  assert.deepEqual(labelsOf(calls, ["conv2d add relu", "pool"], 60, 100, 20).text, []);
});
