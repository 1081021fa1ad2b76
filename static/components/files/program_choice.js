// The form of a text that did not open: its programs, and fields for the values that one of them needs.

import { h } from "../core/dom.js";

/** @import { Child } from "../core/dom.js" */
/** @import { ProgramChoice, ValueField } from "../views.js" */

/** @type {Record<string, string>} */
const WORDS = {
  size: "a number",
  dtype: "a data type or a word",
  flag: "0 or 1",
  scope: "a memory scope",
  list: "numbers, such as 16x64",
  dict: 'a dict, such as {"kind": "yarn"}',
  target: "a target, such as cuda",
  tensor: "shape and data type, such as 16x64xfloat16",
};

/**
 * @param {ProgramChoice} choice
 * @param {(number: number, values: Record<string, string>) => void} open
 */
export function programChoice(choice, open) {
  const choose = () => {
    const number = Number(programs.value);
    if (!choice.number) programs.selectedIndex = 0; // the same program can be chosen again after a return
    open(number, {});
  };
  /** @type {HTMLSelectElement} */
  const programs = h(
    "select",
    { class: "tool small", "aria-label": "Program", onchange: choose },
    choice.number === 0 && h("option", { value: "", selected: true, disabled: true }, "Choose…"),
    choice.programs.map((label, at) =>
      h("option", { value: String(at + 1), selected: at + 1 === choice.number }, `${at + 1}  ${label}`),
    ),
  );
  const chooser = choice.programs.length > 1 ? h("label", {}, "Program ", programs) : null;
  const receive = (/** @type {Record<string, string>} */ values) => open(choice.number, values);
  return valuesForm(choice.fields, "Open with these values", receive, chooser, choice.is_model);
}

/**
 * The input of a value: a list to choose from for a flag; other values that the code knows are offered while one types.
 * @param {ValueField} field
 * @param {boolean} isModel
 * @returns {HTMLInputElement | HTMLSelectElement}
 */
function valueInput(field, isModel) {
  const title = isModel ? "a positive integer" : (WORDS[field.what] ?? field.what);
  if (field.what === "flag") {
    const choices = field.choices.map((value) => h("option", { value }, value));
    return h("select", { name: field.name, class: "tool small", title }, choices);
  }
  return h("input", {
    type: "text",
    name: field.name,
    placeholder: field.example,
    title,
    pattern: isModel ? "[1-9][0-9]{0,8}" : undefined,
    list: field.choices.length ? listOf(field) : undefined,
    autocomplete: "off",
    spellcheck: "false",
    required: isModel || undefined,
  });
}

/**
 * The id of the list with the values that the code knows.
 * @param {ValueField} field
 */
const listOf = (field) => `choices-of-${field.name.replaceAll(/\W+/g, "-")}`;

/**
 * A form with a field for each value. An empty field of a program means its example.
 * @param {ValueField[]} fields
 * @param {string} action
 * @param {(values: Record<string, string>) => void} receive
 * @param {Child} [before]
 * @param {boolean} [isModel] Sizes of a model are positive integers.
 */
export function valuesForm(fields, action, receive, before = null, isModel = false) {
  const inputs = fields.map((field) => valueInput(field, isModel));
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    const example = (/** @type {number} */ at) => (isModel ? "" : fields[at].example);
    receive(Object.fromEntries(inputs.map((input, at) => [input.name, input.value.trim() || example(at)])));
  };
  return h(
    "form",
    { class: "program-choice", onsubmit: submit },
    before,
    fields.map((field, at) =>
      h(
        "label",
        {},
        `${field.name} `,
        h("span", { class: "quiet" }, `(${field.what}) `),
        inputs[at],
        field.what !== "flag" && field.choices.length
          ? h(
              "datalist",
              { id: listOf(field) },
              field.choices.map((value) => h("option", { value })),
            )
          : null,
      ),
    ),
    fields.length ? h("button", { class: "tool primary small", type: "submit" }, action) : null,
  );
}
