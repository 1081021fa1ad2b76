import assert from "node:assert";
import { test } from "node:test";

import { groupAlike } from "./alike.js";

/** @import { Problem } from "../views.js" */

/**
 * @param {string} message
 * @param {"error" | "warning"} [severity]
 * @returns {Problem}
 */
const problem = (message, severity = "warning") => ({
  severity,
  code: "late",
  message,
  found: "",
  expected: "",
  place: "",
  rows: [],
  fixes: [],
  no_fix: "",
});

test("problems that differ in names and numbers are one group", () => {
  const chain = [1, 2, 3, 4, 5].map((n) => problem(`B_${n} waits ${n * 10} cycles for A_${n}`));
  const other = problem("B_9 waits 10 cycles for A_9", "error");
  assert.deepEqual(groupAlike([...chain, other]), [chain, [other]]);
});

test("a few alike problems stay apart", () => {
  const few = [1, 2, 3].map((n) => problem(`X${n} is late`));
  assert.deepEqual(
    groupAlike(few),
    few.map((one) => [one]),
  );
});
