import assert from "node:assert/strict";
import { test } from "node:test";
import { offersOf, predictionKey } from "./offers.js";
import { indexRows } from "./rows.js";

/** @import { DropTarget as Target, Row } from "../views.js" */
/** @import { Predictions } from "./tree.js" */

/** @type {Row} */
const LOOP = { id: "i", parent: "", depth: 0, kind: "loop", name: "i", detail: "", badges: [], tooltip: "" };
const ROWS = indexRows([LOOP, { ...LOOP, id: "j", parent: "i" }, { ...LOOP, id: "B", parent: "j", kind: "block" }]);

/** @type {Target} */
const TARGET = {
  loop: "i",
  legal: true,
  costly: false,
  primitive: "compute_at",
  note: "×4",
  reason: "",
  code: "",
  fix: [],
};

test("every loop has an offer", () => {
  const offers = offersOf(ROWS, [TARGET], "", new Map());
  assert.deepEqual(
    [...offers].map(([id, { state, label }]) => [id, state, label]),
    [
      ["i", "legal", "compute_at  ×4"],
      ["j", "illegal", ""],
    ],
  );
});

test("a target of several loops is an offer on each; `only` restricts the primitive", () => {
  const shared = { ...TARGET, loop: undefined, loops: ["i", "j"] };
  const both = offersOf(ROWS, [shared, { ...TARGET, primitive: "reverse_compute_at" }], "", new Map());
  assert.equal(both.get("i")?.label, "compute_at / reverse_compute_at");
  assert.equal(both.get("j")?.state, "legal");
  assert.equal(offersOf(ROWS, [shared], "reverse_compute_at", new Map()).get("i")?.state, "illegal");
});

test("a prediction decides whether a drop is costly or refused", () => {
  const key = predictionKey("i", "compute_at");
  /** @type {Predictions} */
  const costly = new Map([
    [key, { costly: true, trend: "worse", label: "+9 % cycles", lines: [], why: ["+9 % cycles"] }],
  ]);
  const offer = offersOf(ROWS, [TARGET], "", costly).get("i");
  assert.deepEqual([offer?.state, offer?.label], ["costly", "compute_at  +9 % cycles"]);
  const refused = offersOf(ROWS, [TARGET], "", new Map([[key, { refused: "no memory", code: "capacity" }]])).get("i");
  assert.deepEqual([refused?.state, refused?.reasons[0].text], ["illegal", "no memory"]);
});
