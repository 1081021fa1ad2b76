import assert from "node:assert/strict";
import { test } from "node:test";

import { caretText, readNumbers } from "./controls.js";

/** @type {import("../views.js").NumbersControl} */
const STEP = {
  type: "ints",
  id: "align",
  label: "Row step",
  value: "32, 1",
  blocked: "",
  help: "",
  count: 2,
  placeholder: "factor, offset",
  fields: ["factor", "offset"],
  call: { method: "storage_align", target: "B", arguments: { axis: 0 }, text: "sch.storage_align(A, 0, 0)" },
};
/** @type {import("../views.js").NumbersControl} */
const STRIDES = {
  ...STEP,
  fields: ["order_or_strides"],
  placeholder: "",
  value: "8, 1",
  call: { method: "set_layout", target: "B", arguments: {}, text: 'sch.set_layout(B, "A")' },
};

test("several fields are separate arguments", () => {
  const { call } = readNumbers(STEP, "[64, 2]");
  assert.deepEqual(call?.arguments, { axis: 0, factor: 64, offset: 2 });
  assert.equal(call?.text, "sch.storage_align(A, 0, 0, 64, 2)");
});

test("one field takes the list of numbers", () => {
  const { call } = readNumbers(STRIDES, "1, 8");
  assert.deepEqual(call?.arguments, { order_or_strides: [1, 8] });
  assert.equal(call?.text, 'sch.set_layout(B, "A", [1, 8])');
});

test("an unchanged or empty value has no call", () => {
  assert.deepEqual(readNumbers(STEP, "32,1"), {});
  assert.deepEqual(readNumbers(STEP, " "), {});
});

test("other texts have a problem instead of a call", () => {
  assert.match(readNumbers(STEP, "x, 1").problem ?? "", /whole numbers/);
  assert.match(readNumbers(STEP, "1").problem ?? "", /2 numbers: factor, offset/);
  assert.match(readNumbers(STRIDES, "1").problem ?? "", /one for each axis/);
});

test("the caret is below the column, also in a long text", () => {
  assert.equal(caretText("lambda i: [i", 12), "lambda i: [i\n            ^");
  const [line, caret] = caretText(`${"x".repeat(40)}!${"y".repeat(20)}`, 40).split("\n");
  assert.equal(line[caret.length - 1], "!");
});
