import assert from "node:assert/strict";
import { test } from "node:test";
import { plainText } from "./hole_text.js";

test("a list of names loses its brackets and quotes", () => {
  assert.equal(plainText('["mo", "no"]'), "mo no");
  assert.equal(plainText('"global"'), "global");
});

test("other values stay as they are", () => {
  for (const text of ["16", "[4, 8]", "[]", "lambda i, j: (j, i)"]) assert.equal(plainText(text), text);
});
