// Forms for lines of settings, `sizes` and `data`, and panes that are empty until such a line exists.

import { publish } from "./bus.js";
import { h } from "./dom.js";

/** @import { Send } from "./dom.js" */
/** @import { Blank, SettingField } from "../views.js" */

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
 * @param {Send} send
 * @param {{ setting: string, fields: readonly SettingField[] }} line
 */
export function settingForm(send, { setting, fields }) {
  const what = setting === "sizes" ? WHAT.sizes : WHAT.data;
  const inputs = fields.map((field) =>
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
    send({ kind: "fix", calls: [`${setting} = {${entries.join(", ")}}`], replaces: "" });
  };
  return h(
    "form",
    { class: "program-choice setting", onsubmit: submit },
    fields.map((field, n) =>
      h("label", {}, `${field.name} `, setting === "data" ? h("span", { class: "quiet" }, "(mean) ") : null, inputs[n]),
    ),
    h("button", { class: "tool primary small", type: "submit" }, "Use these values"),
  );
}

/**
 * An empty pane: what it will show, why it cannot now, and the next thing to do.
 * @param {Send} send
 * @param {Blank} blank
 */
export function blankState(send, blank) {
  return h(
    "div",
    { class: "blank", role: "status" },
    h("p", { class: "quiet" }, blank.shows),
    h("p", { class: "blank-why" }, h("span", { class: "blank-sign", "aria-hidden": "true" }, "✘ "), blank.why),
    blank.expected ? h("p", { class: "quiet" }, "Expected: ", blank.expected, ".") : null,
    remedy(send, blank),
  );
}

/**
 * @param {Send} send
 * @param {Blank} blank
 */
function remedy(send, blank) {
  if (blank.fields.length) return settingForm(send, blank);
  if (blank.calls.length) {
    const write = () => send({ kind: "fix", calls: blank.calls, replaces: "" });
    return h(
      "button",
      { class: "tool small framed", type: "button", onclick: write, title: "Writes this line into the notebook" },
      "Write ",
      h("code", {}, blank.calls.join("; ")),
    );
  }
  const toProblems = () => publish("problem", {});
  return (
    document.querySelector('[data-pane-tab="problems"]') &&
    h("button", { class: "tool small framed", type: "button", onclick: toProblems }, "Show the problem and its fixes")
  );
}
