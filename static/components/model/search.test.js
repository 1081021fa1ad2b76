import assert from "node:assert/strict";
import { test } from "node:test";

import { clock, wordsOf } from "./search.js";

const line = { done: 3, total: 14, cycles: "9 000", seconds_left: 0, can_resume: true, reasons: [], error: "" };

test("a time is written in minutes and seconds", () => {
  assert.equal(clock(0), "0:00");
  assert.equal(clock(65.8), "1:05");
  assert.equal(clock(3725), "1:02:05");
});

test("a search says how far it is", () => {
  const running = wordsOf({ ...line, status: "running" }, 71);
  assert.equal(running, "Searching · 3 of 14 kernels · 9 000 cycles · 1:11 left");
  const ended = { ...line, status: /** @type {const} */ ("ended"), can_resume: false, reasons: ["softmax: no rule"] };
  assert.match(wordsOf(ended, 0), /^Search complete .* 1 without a schedule$/);
});
