import assert from "node:assert/strict";
import { test } from "node:test";
import { rangeOf } from "./cell_editor.js";

test("the range of a problem has at least one character", () => {
  const text = "ab\ncd";
  assert.deepEqual(rangeOf(text, { line: 2, column: 1, end_line: 2, end_column: 1 }), { from: 3, to: 4 });
  assert.deepEqual(rangeOf(text, { line: 1, column: 3, end_line: 1, end_column: 3 }), { from: 1, to: 2 });
  assert.deepEqual(rangeOf(text, { line: 9, column: 1, end_line: 9, end_column: 2 }), { from: 4, to: 5 });
  assert.deepEqual(rangeOf("", { line: 1, column: 1, end_line: 1, end_column: 1 }), { from: 0, to: 0 });
});
