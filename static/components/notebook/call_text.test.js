import assert from "node:assert/strict";
import { test } from "node:test";
import { callAt, contextAt, namedArguments, offersAt } from "./call_text.js";

/** @import { Words } from "../views.js" */

const parameter = { default: null, many: false, named: false, takes: "" };
const split = {
  name: "split",
  summary: "Split a loop.",
  parameters: [
    { ...parameter, name: "loop", takes: "loop" },
    { ...parameter, name: "factors" },
  ],
};

/** @type {Words} */
const WORDS = {
  kind: "words",
  schedule: "sch",
  calls: [split],
  handles: [
    { name: "block", kind: "block", detail: "" },
    { name: "i", kind: "loop", detail: "" },
  ],
  strings: { block: ["C"], loop: ["i", "j"], scope: ["global"], thread: [], intrinsic: [], buffer: [], machine: [] },
};

test("the context is code, a comment or a string", () => {
  assert.equal(contextAt("sch.split(i", 11).inside, "code");
  assert.equal(contextAt("x = 1 # sch.", 12).inside, "comment");
  assert.deepEqual(contextAt('f("abc', 6), {
    inside: "string",
    from: 3,
    open: [{ char: "(", at: 1, commas: 0, from: 2 }],
  });
});

test("the call at the caret has the index of its parameter", () => {
  const calls = new Map([["split", split]]);
  const at = (/** @type {string} */ text) => callAt(text, contextAt(text, text.length), calls)?.parameter;
  assert.equal(at("sch.split("), 0);
  assert.equal(at("sch.split(i, "), 1);
  assert.equal(at("sch.split(factors=[1, "), 1);
  assert.equal(at("other(i"), undefined);
});

test("completions begin with handles of the parameter's kind", () => {
  const items = offersAt("sch.split(", 10, WORDS, true)?.items.map((item) => item.text);
  assert.deepEqual(items, ["i", "loop=", "factors=", "block"]);
  assert.deepEqual(
    offersAt('sch.split("', 11, WORDS, false)?.items.map((item) => item.text),
    ["i", "j"],
  );
  assert.deepEqual(
    offersAt("sch.sp", 6, WORDS, false)?.items.map((item) => item.text),
    ["split"],
  );
});

test("keyword arguments of a call are known", () => {
  assert.deepEqual([...namedArguments("sch.split(loop=i, factors=[2])", 9)], ["loop", "factors"]);
});
