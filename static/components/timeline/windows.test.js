import assert from "node:assert/strict";
import { test } from "node:test";
import { decodedLevels } from "./windows.js";

test("levels are bytes in base 64", () => {
  assert.deepEqual([...decodedLevels("AAH/")], [0, 1, 255]);
});
