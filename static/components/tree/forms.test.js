import assert from "node:assert/strict";
import { test } from "node:test";
import { readField } from "./forms.js";

/** @import { Field } from "../views.js" */
/** @import { TextType } from "./tree.js" */

/**
 * The value of a text in a field.
 * @param {TextType} type
 * @param {string} text
 * @param {Partial<Field>} [more]
 */
function read(type, text, more = {}) {
  const field = { name: "x", label: "Factors", choices: [], default: "", optional: false, help: "" };
  return readField({ ...field, type, ...more }, { value: text });
}

test("a text is read by the type of its field", () => {
  assert.equal(read("int", " -4 "), -4);
  assert.deepEqual(read("ints", "[4, None, 8]"), [4, null, 8]);
  assert.deepEqual(read("names", "(io, ii)"), ["io", "ii"]);
  assert.deepEqual(read("words", "'vtcm', 2"), ["vtcm", 2]);
  assert.equal(read("literal", "12"), 12);
  assert.equal(read("literal", "lambda i: i"), "lambda i: i");
});

test("an empty text is left out, an empty list, or refused", () => {
  assert.equal(read("int", " ", { optional: true }), undefined);
  assert.deepEqual(read("ints", "", { empty: true }), []);
  assert.throws(() => read("int", ""), { message: "Factors is required" });
});

test("a wrong text is refused with its reason", () => {
  assert.throws(() => read("int", "4.5"), { message: '"4.5" is not a whole number' });
  assert.throws(() => read("names", "1o"), { message: '"1o" is not a name' });
});

test("a choice has the value of its option", () => {
  const choices = [{ value: ["read", 0], label: "A" }];
  const field = { name: "b", label: "Buffer", choices, default: 0, optional: false, help: "" };
  assert.deepEqual(readField({ ...field, type: "choice" }, { value: "A", selectedIndex: 0 }), ["read", 0]);
});
