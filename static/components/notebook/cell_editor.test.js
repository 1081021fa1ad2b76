import assert from "node:assert/strict";
import { test } from "node:test";
import { matching, rangeOf } from "./cell_editor.js";

test("the bracket beside the caret has its partner", () => {
  assert.deepEqual(matching("f(a[0])", 2), [1, 6]);
  assert.deepEqual(matching("f(a[0])", 6), [5, 3]);
  assert.deepEqual(matching("f(a", 3), []);
});

test("the range of a problem has at least one character", () => {
  const at = { line: 2, column: 1, end_line: 2, end_column: 1 };
  assert.deepEqual(rangeOf("ab\ncd", at), [3, 4]);
});
