// A fix or a next step: its calls, a button that applies them, and their effect.

import { h } from "../core/dom.js";
import { highlighted } from "../core/python_text.js";

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
  return [h("span", { class: "quiet" }, word, h("s", {}, h("code", {}, fix.replaces))), calls];
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
 * A value as Python: a number, a list of numbers, or text.
 * @param {string} text
 */
export function pythonValue(text) {
  const trimmed = text.trim();
  if (/^-?\d+(\.\d+)?$/.test(trimmed)) return trimmed;
  return /^-?\d+(\s*,\s*-?\d+)+$/.test(trimmed) ? `[${trimmed}]` : JSON.stringify(trimmed);
}

const WHAT = {
  sizes: "a number",
  data: 'a mean trip count such as 12, the elements such as 0, 3, 7, the name of a .npy file beside the notebook, or facts such as "sorted"',
};

/**
 * The form of a line of settings: a field for each value.
 * @param {PayloadModel} model
 * @param {Fix} fix
 */
function settingForm(model, fix) {
  const what = fix.setting === "sizes" ? WHAT.sizes : WHAT.data;
  const inputs = fix.fields.map((field) =>
    h("input", {
      type: "text",
      name: field.name,
      value: field.example,
      title: what,
      autocomplete: "off",
      spellcheck: "false",
      required: true,
    }),
  );
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    const entries = inputs.map((input) => `${JSON.stringify(input.name)}: ${pythonValue(input.value)}`);
    model.send_msg({ kind: "fix", calls: [`${fix.setting} = {${entries.join(", ")}}`], replaces: "" });
  };
  return h(
    "form",
    { class: "program-choice setting", onsubmit: submit },
    fix.fields.map((field, n) =>
      h(
        "label",
        {},
        `${field.name} `,
        fix.setting === "data" ? h("span", { class: "quiet" }, "(mean) ") : null,
        inputs[n],
      ),
    ),
    h("button", { class: "tool primary small", type: "submit" }, "Use these values"),
  );
}

/**
 * @param {PayloadModel} model
 * @param {Fix} fix
 * @param {boolean} first
 */
export function fixBox(model, fix, first) {
  const apply = () => model.send_msg({ kind: "fix", calls: fix.calls, replaces: fix.replaces });
  const what = fix.replaces
    ? "Replaces this line of the schedule; undo reverts it"
    : "Appends to the schedule; undo reverts it";
  if (fix.fields.length) return settingForm(model, fix);
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
