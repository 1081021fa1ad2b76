// A fix or a next step: its calls, a button that applies them, and their effect.

import { h } from "../core/dom.js";
import { highlighted } from "../core/python_text.js";
import { settingForm } from "../core/settings.js";

/** @import { PayloadModel } from "../core/dom.js" */
/** @import { ProposedFix as Fix } from "../views.js" */

/** @type {Record<NonNullable<Fix["change"]>["trend"], string>} */
const TRENDS = { better: "fewer cycles", worse: "more cycles", same: "equal cycles", "": "" };

/** A fix with more calls shows them on demand. */
const MOST_CALLS = 4;

/** @param {Fix} fix */
function lines(fix) {
  const calls = fix.calls.map((call) => h("code", {}, highlighted(call)));
  if (calls.length > MOST_CALLS)
    return [h("details", {}, h("summary", {}, `${calls.length} lines`), h("div", { class: "fix-calls" }, calls))];
  if (!fix.replaces) return calls;
  const word = fix.calls.length ? "in place of " : "without ";
  const old = fix.replaces
    .split("\n")
    .map((line, n) => h("span", { class: "quiet" }, n ? null : word, h("s", {}, h("code", {}, line))));
  return [...old, ...calls];
}

/** @param {Fix} fix */
function gain(fix) {
  if (!fix.change) return null;
  return h(
    "span",
    { class: `change ${fix.change.trend}`, title: `${fix.detail}: ${TRENDS[fix.change.trend]}` },
    fix.change.text,
  );
}

/**
 * @param {PayloadModel} model
 * @param {Fix} fix
 * @param {boolean} first
 */
export function fixBox(model, fix, first) {
  const apply = () => model.send_msg({ kind: "fix", calls: fix.calls, replaces: fix.replaces });
  const what = fix.replaces ? "Replaces this text; undo reverts it" : "Adds these lines; undo reverts it";
  if (fix.fields.length) return settingForm((message) => model.send_msg(message), fix);
  return h(
    "div",
    { class: "fix" },
    h("div", { class: "fix-calls" }, lines(fix)),
    fix.applicable
      ? h("button", { class: `tool small${first ? " primary" : ""}`, title: what, onclick: apply }, "Apply")
      : null,
    fix.detail ? h("div", { class: "fix-detail" }, gain(fix), h("span", { class: "quiet" }, fix.detail)) : null,
  );
}
