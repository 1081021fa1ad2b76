import assert from "node:assert/strict";
import { test } from "node:test";
import { cuteSwizzle, xorOfBits } from "./swizzle.js";

const AXES = { names: ["i", "j"], extents: [8, 16] };

/** The new offset of each element, by the text of an index map of two axes. */
function offsetsOf(/** @type {{ text?: string, problem?: string }} */ { text = "" }) {
  const body = text.slice(text.indexOf("[") + 1, -1).replace(/(\w+) \/\/ (\d+)/g, "Math.floor($1 / $2)");
  const map = new Function("i", "j", `return [${body}]`);
  return Array.from({ length: 128 }, (_, n) => map(n >> 4, n % 16)).map(([i, j]) => i * 16 + j);
}

test("Swizzle<B, M, S> within two indices is CuTe's", () => {
  const made = cuteSwizzle(AXES, { bits: 2, base: 1, shift: 4 });
  assert.deepEqual(made, { text: "lambda i, j: [i, j ^ i // 2 % 4 * 2]" });
  const expected = Array.from({ length: 128 }, (_, n) => n ^ (((n >> 5) & 3) << 1));
  assert.deepEqual(offsetsOf(made), expected);
});

test("other bits are those of the offset", () => {
  const made = cuteSwizzle(AXES, { bits: 2, base: 0, shift: 2 });
  assert.ok("text" in made);
  assert.equal(
    made.text,
    "lambda i, j: [((i * 16 + j) ^ (i * 16 + j) // 4 % 4) // 16 % 8, ((i * 16 + j) ^ (i * 16 + j) // 4 % 4) % 16]",
  );
});

test("a swizzle that is none is refused with a reason", () => {
  assert.deepEqual(cuteSwizzle(AXES, { bits: 3, base: 0, shift: 2 }), {
    problem: "S is at least B: a bit would be combined with itself",
  });
  assert.deepEqual(cuteSwizzle(AXES, { bits: 3, base: 2, shift: 4 }), { problem: "B + M + S is at most 7" });
  assert.deepEqual(cuteSwizzle({ names: ["i"], extents: [12] }, { bits: 1, base: 0, shift: 1 }), {
    problem: "the extents are powers of two",
  });
});

test("chosen bits are combined one by one", () => {
  const made = xorOfBits(AXES, [{ axis: 0, bit: 1 }, null, { axis: 0, bit: 0 }, null]);
  assert.deepEqual(made, { text: "lambda i, j: [i, j ^ i // 2 % 2 ^ i % 2 * 4]" });
  assert.deepEqual(xorOfBits(AXES, [null]), { problem: "no bit is chosen" });
});
