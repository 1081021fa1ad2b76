// Forms for the arguments of a primitive: controls for the fields of a menu entry, and their values.

import { h } from "../core/dom.js";
import { reasonBody } from "./offers.js";
import { effectElement } from "./trials.js";

/** @import { Menu } from "../core/menu.js" */
/** @import { Effect, TextType, TreeNotice, Value, Values } from "./tree.js" */
/** @import { Entry as MenuEntry, Field } from "../views.js" */

/** @typedef {HTMLInputElement | HTMLSelectElement} FieldControl */

/** @typedef {{ id: string, control: FieldControl, extra?: HTMLElement }} ControlParts `extra`: the suggestions of a text field. */

/** @typedef {{ field: Field } & ControlParts} FormField */

/**
 * After `refuse` it stays open for corrections. `trials` are the values that are worth predicting, the present ones first; `showEffect` shows
 * one of them.
 * @typedef {Menu & {
 *   refused: boolean, refuse: (notice: TreeNotice) => void,
 *   trials: () => Values[], showEffect: (index: number, effect: Effect) => void, onedit?: () => void,
 * }} CallForm
 */

/** @typedef {{ values: Values } | { problem: string, control: FieldControl }} Reading */

const NAME = /^[A-Za-z_][A-Za-z_0-9]*$/;

/**
 * The value of a text by the type of its field; throws an Error whose message the form shows.
 * @type {Record<TextType, (text: string) => Value>}
 */
const READERS = {
  text: (text) => text.trim(),
  index_map: (text) => text.trim(),
  int: (text) => whole(text.trim()),
  ints: (text) => list(text).map((item) => (item === "None" ? null : whole(item))),
  names: (text) =>
    list(text).map((item) => {
      if (!NAME.test(item)) throw new Error(`"${item}" is not a name`);
      return item;
    }),
  words: (text) => list(text).map((item) => (/^\d+$/.test(item) ? whole(item) : item.replace(/^(["'])(.*)\1$/, "$2"))),
  literal: (text) => {
    const value = text.trim();
    return /^-?\d+$/.test(value) && Number.isSafeInteger(Number(value)) ? Number(value) : value;
  },
};

/** @param {string} text */
function whole(text) {
  if (!/^-?\d+$/.test(text) || !Number.isSafeInteger(Number(text))) throw new Error(`"${text}" is not a whole number`);
  return Number(text);
}

/** @param {string} text */
function list(text) {
  const inner = text.trim().replace(/^[[(]|[\])]$/g, "");
  return inner
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

/**
 * The value of a field; undefined leaves the argument out. Throws an Error whose message the form shows.
 * @param {Field} field
 * @param {{ value: string, selectedIndex?: number }} control
 * @returns {Value | undefined}
 */
export function readField(field, control) {
  if (field.type === "choice") return field.choices[control.selectedIndex ?? -1]?.value;
  const text = control.value;
  if (text.trim() === "") {
    if (field.optional) return undefined;
    if (field.empty) return [];
    throw new Error(`${field.label} is required`);
  }
  return READERS[field.type](text);
}

/**
 * The values of an entry's fields by argument. Throws an Error if one of them cannot be read.
 * @param {MenuEntry} entry
 * @param {(field: Field) => Value | undefined} read
 */
function valuesOf(entry, read) {
  /** @type {Values} */
  const values = {};
  for (const field of entry.fields) {
    const value = read(field);
    if (field.spread && Array.isArray(value)) {
      for (const [n, name] of field.spread.entries()) values[name] = value[n];
    } else if (value !== undefined) values[field.name] = value;
  }
  return values;
}

/**
 * The values of an entry's form before it is edited; null if they are not complete.
 * @param {MenuEntry} entry
 */
export function defaultValues(entry) {
  try {
    return valuesOf(entry, (field) =>
      field.type === "choice" ? field.default : readField(field, { value: String(field.default ?? "") }),
    );
  } catch {
    return null;
  }
}

let serial = 0;

/**
 * @param {Field} field
 * @returns {ControlParts}
 */
function controlFor(field) {
  const id = `tw-field-${++serial}`;
  if (field.type === "choice") {
    const wanted = JSON.stringify(field.default);
    const options = field.choices.map((choice) =>
      h("option", { selected: JSON.stringify(choice.value) === wanted }, choice.label),
    );
    return { id, control: h("select", { id, name: field.name, class: "field-control" }, ...options) };
  }
  const control = h("input", {
    id,
    name: field.name,
    class: `field-control field-${field.type}`,
    type: "text",
    value: String(field.default ?? ""),
    autocomplete: "off",
    spellcheck: "false",
    placeholder: field.placeholder,
    inputmode: field.type === "int" ? "numeric" : undefined,
  });
  if (!field.choices?.length) return { id, control };
  const options = h(
    "datalist",
    { id: `${id}-list` },
    ...field.choices.map((choice) => h("option", { value: choice.value })),
  );
  control.setAttribute("list", options.id);
  return { id, control, extra: options };
}

/**
 * A value to choose with a press, with a place for its effect.
 * @param {{ label: string, value: string }} chip
 * @param {Field} field
 * @param {FieldControl} control
 */
function chipOf({ label, value }, field, control) {
  const effect = h("span", { class: "chip-effect" });
  const choose = () => {
    control.value = value;
    control.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const element = h("button", { class: "chip", type: "button", onclick: choose }, h("b", {}, label), effect);
  const chosen = readField(field, { value }) ?? null;
  return { control, element, effect, sets: { [field.name]: chosen } };
}

/**
 * @param {Value} value
 * @returns {string}
 */
function pythonText(value) {
  if (value === null) return "None";
  if (Array.isArray(value)) return `[${value.map(pythonText).join(", ")}]`;
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

/**
 * Whether an entry edits the text of a TileLang kernel, in place of a schedule call.
 * @param {MenuEntry} entry
 */
const editsText = (entry) => entry.method.startsWith("kernel_");

/** @param {MenuEntry} entry */
const titleOf = (entry) => (editsText(entry) ? entry.label.replace("…", "") : entry.method);

/**
 * The text of the call; loops are names, and an index map is its source.
 * @param {MenuEntry} entry
 * @param {string} target
 * @param {Values} values
 */
function preview(entry, target, values) {
  const named = entry.fields.flatMap((field) => (field.spread ?? [field.name]).map((name) => ({ field, name })));
  const parts = named
    .filter(({ name }) => values[name] !== undefined)
    .map(({ field, name }) => {
      const value = values[name];
      if (name === "loops" && Array.isArray(value)) return value.join(", ");
      if (name === "loop" || field.type === "index_map" || String(value).startsWith("lambda "))
        return `${name}=${value}`;
      if (name === "buffer" && Array.isArray(value)) return `${name}=(${value.map(pythonText).join(", ")})`;
      return `${name}=${pythonText(value)}`;
    });
  if (entry.revises || editsText(entry)) return parts.join(", ");
  const first = entry.fields.some((f) => f.name === "loops") ? [] : [target];
  return `sch.${entry.method}(${[...first, ...parts].join(", ")})`;
}

/**
 * The form of a menu entry.
 * @param {MenuEntry} entry
 * @param {string} target The name of the row, or of several.
 * @param {(values: Values) => void} submit Receives the values by argument.
 * @param {() => void} cancel
 * @returns {CallForm}
 */
export function formBody(entry, target, submit, cancel) {
  /** @type {FormField[]} */
  const controls = entry.fields.map((field) => ({ field, ...controlFor(field) }));
  const named = (/** @type {string} */ name) => controls.find(({ field }) => field.name === name);
  const code = h("code", { class: "form-code" });
  const error = h("div", { class: "form-error", role: "alert" });
  const apply = h("button", { class: "tw-button tw-button--primary", type: "submit" }, "Apply");
  const prediction = h("div", { class: "form-effect", "aria-live": "polite" });
  const chips = controls.flatMap(({ field, control }) =>
    (field.chips ?? []).map((chip) => chipOf(chip, field, control)),
  );

  /** @returns {Reading} */
  function read() {
    /** @type {Values} */
    const values = {};
    for (const { field, control } of controls) {
      control.removeAttribute("aria-invalid");
      try {
        const value = readField(field, control);
        if (field.spread && Array.isArray(value)) {
          for (const [n, name] of field.spread.entries()) values[name] = value[n];
        } else if (value !== undefined) values[field.name] = value;
      } catch (problem) {
        control.setAttribute("aria-invalid", "true");
        return { problem: problem instanceof Error ? problem.message : String(problem), control };
      }
    }
    const { names, factors } = values;
    const control = named("names")?.control;
    if (control && Array.isArray(names) && Array.isArray(factors) && names.length !== factors.length)
      return { problem: `${factors.length} factors, ${names.length} names`, control };
    return { values };
  }

  /**
   * Set the other fields that depend on a choice and that the user has not edited.
   * @param {EventTarget | null} from
   */
  function followChoice(from) {
    const chosen = controls.find(({ control }) => control === from);
    if (chosen?.field.type !== "choice" || !(chosen.control instanceof HTMLSelectElement)) return;
    const sets = chosen.field.choices[chosen.control.selectedIndex]?.sets ?? {};
    for (const { field, control } of controls) {
      const value = sets[field.name];
      if (value === undefined || control.dataset.touched) continue;
      if (control instanceof HTMLSelectElement)
        control.selectedIndex = field.choices.findIndex((choice) => choice.value === value);
      else control.value = String(value);
    }
  }

  /** Names that the user has not edited follow the number of factors. */
  function followFactors() {
    const factors = named("factors");
    for (const { field, control } of controls) {
      if (field.stem === undefined || !factors || control.dataset.touched) continue;
      control.value = list(factors.control.value)
        .map((_, n) => `${field.stem}_${n}`)
        .join(", ");
    }
  }

  function refresh() {
    const reading = read();
    error.replaceChildren("problem" in reading ? reading.problem : "");
    if ("values" in reading) code.textContent = preview(entry, target, reading.values);
    apply.disabled = "problem" in reading;
  }

  const form = h(
    "form",
    { class: "form" },
    h("div", { class: "form-head" }, h("strong", {}, titleOf(entry)), h("span", { class: "tw-mono" }, target)),
    h("div", { class: "form-help" }, entry.help),
    ...controls.map(({ field, id, control, extra }) =>
      h(
        "div",
        { class: "field" },
        h("label", { for: id }, field.label),
        control,
        extra,
        field.chips?.length
          ? h(
              "div",
              { class: "chips", role: "group", "aria-label": "Suggested values" },
              ...chips.filter((chip) => chip.control === control).map((chip) => chip.element),
            )
          : null,
        field.help ? h("small", {}, field.help) : null,
      ),
    ),
    error,
    code,
    prediction,
    h(
      "div",
      { class: "form-foot" },
      h("button", { class: "tw-button tw-button--quiet", type: "button", onclick: cancel }, "Cancel"),
      apply,
    ),
  );
  form.addEventListener("input", (event) => {
    if (event.target instanceof HTMLElement) event.target.dataset.touched = "yes";
    followChoice(event.target);
    followFactors();
    refresh();
    prediction.replaceChildren();
    body.onedit?.();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const reading = read();
    if ("problem" in reading) {
      error.replaceChildren(reading.problem);
      reading.control.focus();
    } else {
      body.refused = false;
      error.replaceChildren();
      apply.disabled = true;
      submit(reading.values);
    }
  });
  form.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Escape") {
      event.preventDefault();
      cancel();
    }
  });
  refresh();
  const first = controls[0]?.control ?? apply;
  // A form cannot be a dialog itself.
  const dialog = h("div", { role: "dialog", "aria-label": `${titleOf(entry)} ${target}` }, form);
  /** @type {CallForm} */
  const body = {
    element: dialog,
    refused: false,
    focus() {
      first.focus();
      if (first instanceof HTMLInputElement) first.select();
    },
    trials() {
      const reading = read();
      if ("problem" in reading) return [];
      const { names: _, ...values } = reading.values;
      return [values, ...chips.map(({ sets }) => ({ ...values, ...sets }))];
    },
    showEffect(index, effect) {
      const place = index ? chips[index - 1]?.effect : prediction;
      place?.replaceChildren(effectElement(effect));
      body.onresize?.();
    },
    refuse({ text, reasons = [], more = null }) {
      body.refused = true;
      apply.disabled = false;
      error.replaceChildren(
        h("div", { class: "form-refusal" }, text),
        ...reasons.map((reason) => reasonBody(reason, "illegal", "")),
        more ?? "",
      );
      first.focus();
      body.onresize?.();
    },
  };
  return body;
}
