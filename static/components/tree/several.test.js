import assert from "node:assert/strict";
import { test } from "node:test";
import { sharedEntries } from "./several.js";

/** @import { Entry as MenuEntry, Field } from "../views.js" */

/** @type {Field} */
const SCOPE = { name: "scope", label: "Scope", type: "text", choices: [], default: "", optional: false, help: "" };

/**
 * @param {string} method
 * @param {Field[]} fields
 * @param {string} [disabled]
 * @returns {MenuEntry}
 */
function entry(method, fields = [], disabled = "") {
  return { method, label: method, key: "", help: "", group: "", rare: false, disabled, fields };
}

test("entries that every menu has are shared", () => {
  const shared = sharedEntries([
    [entry("unroll"), entry("split"), entry("bind")],
    [entry("unroll"), entry("bind", [], "no")],
  ]);
  assert.deepEqual(
    shared.map(({ method, group }) => [method, group]),
    [["unroll", "Each row"]],
  );
});

test("equal fields are shared, optional ones of one row are left out", () => {
  const names = { ...SCOPE, name: "names", optional: true, stem: "i" };
  const other = { ...SCOPE, choices: [{ value: "local", label: "local" }] };
  const [shared] = sharedEntries([[entry("cache", [SCOPE, names])], [entry("cache", [SCOPE, names])]]);
  assert.deepEqual(shared.fields, [SCOPE]);
  assert.deepEqual(sharedEntries([[entry("cache", [SCOPE])], [entry("cache", [other])]]), []);
});
