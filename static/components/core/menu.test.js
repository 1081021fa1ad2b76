import assert from "node:assert/strict";
import { test } from "node:test";
import { rank } from "./menu.js";

const run = () => {};
const item = { label: "Move to a loop", method: "compute_at", key: "a", help: "below one of its loops", run };

test("a letter ranks before a name, a name before a word, a word before a part", () => {
  assert.deepEqual(
    ["a", "move", "loop", "pute", "at compute", "below", "vectorize"].map((text) => rank(item, text)),
    [6, 5, 4, 3, 3, 2, 0],
  );
});

test("the letter of a disabled entry does not run it", () => {
  assert.notEqual(rank({ ...item, disabled: "it is a reduction" }, "a"), 6);
});
