import assert from "node:assert/strict";
import { test } from "node:test";
import { RowPositions } from "./virtual_list.js";

test("rows have the heights of their kinds", () => {
  const rows = new RowPositions();
  rows.setHeights({ loop: 20, block: 30 });
  rows.set(["i", "j", "C", "D"], (id) => (id < "a" ? "block" : "loop"));
  assert.deepEqual(
    ["i", "j", "C", "D", "k"].map((id) => rows.topOf(id)),
    [0, 20, 40, 70, undefined],
  );
  assert.equal(rows.height, 100);
  assert.deepEqual(
    [0, 19, 20, 69, 70, 500].map((y) => rows.rowAt(y)),
    [0, 0, 1, 2, 3, 4],
  );
});

test("a list without rows has no height", () => {
  const rows = new RowPositions();
  assert.equal(rows.height, 0);
  assert.equal(rows.rowAt(10), 0);
});
