import assert from "node:assert";
import { test } from "node:test";

import { pythonValue } from "./settings.js";

test("numbers and lists stay, other text is quoted", () => {
  assert.equal(pythonValue(" 12 "), "12");
  assert.equal(pythonValue("2.5"), "2.5");
  assert.equal(pythonValue("0, 3,7"), "[0, 3,7]");
  assert.equal(pythonValue("sorted, 0..9"), '"sorted, 0..9"');
  assert.equal(pythonValue('x"); import os'), '"x\\"); import os"');
});
