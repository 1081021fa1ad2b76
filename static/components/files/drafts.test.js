import assert from "node:assert/strict";
import { test } from "node:test";

import { found } from "./drafts.js";
import { droppedFiles, isModel, isWanted } from "./upload.js";

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

test("a dropped folder is read to the end, without hidden and foreign files", async () => {
  /** @typedef {{ name: string }} Entry */
  /** @returns {Entry} */
  const file = (/** @type {string} */ name) =>
    /** @type {any} */ ({
      name,
      isFile: true,
      isDirectory: false,
      file: (/** @type {Function} */ done) => done({ name }),
    });
  const folder = (/** @type {string} */ name, /** @type {Entry[][]} */ ...parts) =>
    /** @type {any} */ ({
      name,
      isFile: false,
      isDirectory: true,
      createReader: () => ({ readEntries: (/** @type {Function} */ done) => done(parts.shift() ?? []) }),
    });
  const root = folder(
    "mine",
    [file("a.py"), file("b.bin"), folder(".git", [file("c.py")])],
    [folder("sub", [file("d.onnx")]), folder("node_modules", [file("e.py")])],
  );
  const data = /** @type {any} */ ({ items: [{ webkitGetAsEntry: () => root }], files: [] });
  const found = await droppedFiles(data);
  assert.deepEqual(
    found.map(({ name }) => name),
    ["mine/a.py", "mine/sub/d.onnx"],
  );
});
