// The form of a text that did not open: its programs, and fields for the values that one of them needs.

import { h } from "../core/dom.js";

/** @import { ProgramChoice } from "../views.js" */

/** @type {Record<string, string>} */
const WORDS = {
  size: "a number",
  dtype: "a data type or a word",
  flag: "0 or 1",
  scope: "a memory scope",
  list: "numbers, such as 16x64",
  tensor: "shape and data type, such as 16x64xfloat16",
};

/**
 * @param {ProgramChoice} choice
 * @param {(number: number, values: Record<string, string>) => void} open
 */
export function programChoice(choice, open) {
  const fields = choice.fields.map((field) =>
    h("input", {
      type: "text",
      name: field.name,
      placeholder: field.example,
      title: WORDS[field.what] ?? field.what,
      autocomplete: "off",
      spellcheck: "false",
      required: true,
    }),
  );
  /** @type {HTMLSelectElement} */
  const programs = h(
    "select",
    { class: "tool small", "aria-label": "Program", onchange: () => open(Number(programs.value), {}) },
    choice.programs.map((label, at) =>
      h("option", { value: String(at + 1), selected: at + 1 === choice.number }, `${at + 1}  ${label}`),
    ),
  );
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    open(choice.number, Object.fromEntries(fields.map((field) => [field.name, field.value.trim()])));
  };
  return h(
    "form",
    { class: "program-choice", onsubmit: submit },
    choice.programs.length > 1 ? h("label", {}, "Program ", programs) : null,
    choice.fields.map((field, at) =>
      h("label", {}, `${field.name} `, h("span", { class: "quiet" }, `(${field.what}) `), fields[at]),
    ),
    choice.fields.length
      ? h("button", { class: "tool primary small", type: "submit" }, "Open with these values")
      : null,
  );
}
