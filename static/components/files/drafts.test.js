import assert from "node:assert/strict";
import { test } from "node:test";

import { found } from "./drafts.js";
import { isModel, isWanted } from "./upload.js";

const draft = (/** @type {string} */ title, /** @type {number} */ changed, words = "") =>
  /** @type {import("../views.js").ExampleCard} */ ({ title, changed, words });
const drafts = [draft("matmul 10", 3, "split vta"), draft("matmul 9", 1), draft("softmax", 2)];
const titles = (/** @type {string} */ words, /** @type {string} */ order) =>
  found(drafts, words, order).map(({ title }) => title);

test("drafts have each word of a search", () => {
  assert.deepEqual(titles("MATMUL vta", "newest"), ["matmul 10"]);
  assert.deepEqual(titles("nothing", "newest"), []);
});

test("drafts have an order", () => {
  assert.deepEqual(titles("", "newest"), ["matmul 10", "softmax", "matmul 9"]);
  assert.deepEqual(titles("", "oldest"), ["matmul 9", "softmax", "matmul 10"]);
  assert.deepEqual(titles("", "name"), ["matmul 9", "matmul 10", "softmax"]);
});

test("the files of a folder that are sent are texts and models", () => {
  assert.deepEqual(["a.py", "b.ONNX", "c.bin", "d.pt2"].map(isWanted), [true, true, false, true]);
  assert.ok(isModel("net.onnx") && !isModel("net.py"));
});
