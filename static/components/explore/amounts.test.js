import assert from "node:assert/strict";
import { test } from "node:test";

import { fullAmount, readAmount, shortAmount } from "./amounts.js";

test("an axis shows three digits and a prefix", () => {
  assert.equal(shortAmount("cycles", 148_836), "149\u202fk");
  assert.equal(shortAmount("cycles", 9_999), "10000");
  assert.equal(shortAmount("bytes", 65_536), "64\u202fKiB");
  assert.equal(shortAmount("bytes", 0), "0\u202fB");
  assert.equal(shortAmount("pJ", 1.7e8), "170\u202fµJ");
});

test("a table shows all digits of cycles", () => {
  assert.equal(fullAmount("cycles", 148_836), "148\u202f836");
  assert.equal(fullAmount("bytes", 65_536), "64\u202fKiB");
});

test("typed amounts have the size of their prefix", () => {
  assert.equal(readAmount("cycles", "150k"), 150_000);
  assert.equal(readAmount("cycles", " 1 200 "), 1200);
  assert.equal(readAmount("bytes", "64 KiB"), 65_536);
  assert.equal(readAmount("bytes", "64k"), 65_536);
  assert.equal(readAmount("pJ", "20 µJ"), 20e6);
  assert.equal(readAmount("pJ", "20 μJ"), 20e6);
});

test("other texts are no amounts", () => {
  for (const text of ["much", "", "12 apples", "-3", "KiB"]) assert.equal(readAmount("bytes", text), null, text);
});
