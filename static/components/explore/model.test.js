import assert from "node:assert/strict";
import { test } from "node:test";

import { axesOf, Candidates, framesOf, valueOn } from "./model.js";

/** @type {Pick<import("../views.js").Search, "holes" | "figures">} */
const SEARCH = {
  holes: [{ name: "tile", values: ["64", "16", "32"], order: [1, 2, 0], rule: "" }],
  figures: [
    { key: "cycles", label: "Cycles", unit: "cycles" },
    { key: "peak", label: "Peak on chip", unit: "bytes" },
  ],
};
const AXES = axesOf(SEARCH);

/** @type {import("./model.js").RowValue[]} */
const ROWS = [
  [0, "fits", true, [0], [900, 64], 0.1, ""],
  [2, "refused", false, [1], null, 0.2, "too many axes"],
  [1, "fits", true, [2], [700, 32], 0.3, ""],
  [3, "over", true, [0], [100, 512], 0.4, "too large"],
];

function candidates() {
  const made = new Candidates();
  made.begin(7);
  made.take({ kind: "trials", search: 7, from: 0, rows: ROWS });
  return made;
}

test("the values of a hole are in ascending order on its axis", () => {
  const [tile] = AXES;
  assert.deepEqual(tile.kind === "hole" && tile.texts, ["16", "32", "64"]);
  assert.deepEqual(
    candidates().rows.map((row) => valueOn(tile, row)),
    [2, 0, 1, 2],
  );
});

test("a refused candidate has no place on the axis of a figure", () => {
  assert.deepEqual(
    candidates().rows.map((row) => valueOn(AXES[1], row)),
    [900, null, 700, 100],
  );
});

test("rows of another search and rows out of order are dropped", () => {
  const made = candidates();
  assert.equal(made.take({ kind: "trials", search: 8, from: 4, rows: ROWS }), false);
  assert.equal(made.take({ kind: "trials", search: 7, from: 0, rows: ROWS }), false);
  assert.equal(made.rows.length, 4);
});

test("hidden outcomes and marks on axes filter the candidates", () => {
  const made = candidates();
  made.hidden.add("refused");
  assert.equal(made.visible(AXES).length, 3);
  made.brushes.set("hole 0", { low: 1, high: 2 });
  made.brushes.set("figure 0", { low: 500, high: 1000 });
  assert.deepEqual(
    made.visible(AXES).map((row) => row.number),
    [0, 1],
  );
});

test("a new search begins without filters and rows", () => {
  const made = candidates();
  made.hidden.add("fits");
  made.begin(9);
  assert.deepEqual([made.key, made.rows.length, made.byNumber.size, made.isFiltered], [9, 0, 0, false]);
});

/** @param {Partial<import("../views.js").Search>} [more] */
const framesWith = (more) =>
  framesOf({ ...SEARCH, objectives: ["cycles"], checked: {}, ...more }, candidates().rows).map((frame) => [
    frame.row.number,
    frame.count,
    frame.row.seconds,
    frame.changes.map(({ name, from, to }) => `${name} ${from} → ${to}`).join(),
  ]);

test("the film has the feasible candidates that were the best so far, each with what changed", () => {
  assert.deepEqual(framesWith(), [
    [0, 1, 0.1, ""],
    [1, 3, 0.3, "tile 64 → 32"],
  ]);
});

test("the film leaves out a candidate that computes something else", () => {
  assert.deepEqual(framesWith({ checked: { 1: "failed" } }), [[0, 1, 0.1, ""]]);
});

test("the film follows the first objective", () => {
  assert.deepEqual(framesWith({ objectives: ["peak", "cycles"] }).at(-1), [1, 3, 0.3, "tile 64 → 32"]);
  assert.deepEqual(framesWith({ objectives: ["unknown"] }), []);
});
