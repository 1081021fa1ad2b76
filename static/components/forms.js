// Forms for the arguments of a primitive: fields as the menu describes them, read back into plain values.

import { make } from "./popup.js";

const NAME = /^[A-Za-z_][A-Za-z_0-9]*$/;

/** Each reads the text of a control; throws an Error whose message is for the person. `undefined` leaves the argument out. */
const READERS = {
  text: (text) => text.trim(),
  index_map: (text) => text.trim(),
  int: (text) => whole(text.trim()),
  ints: (text) => list(text).map((item) => (item === "None" ? null : whole(item))),
  names: (text) => list(text).map((item) => {
    if (!NAME.test(item)) throw new Error(`"${item}" is not a name`);
    return item;
  }),
  literal: (text) => {
    const value = text.trim();
    return /^-?\d+$/.test(value) && Number.isSafeInteger(Number(value)) ? Number(value) : value;
  },
};

function whole(text) {
  if (!/^-?\d+$/.test(text) || !Number.isSafeInteger(Number(text))) throw new Error(`"${text}" is not a whole number`);
  return Number(text);
}

function list(text) {
  const inner = text.trim().replace(/^[[(]|[\])]$/g, "");
  return inner.split(",").map((item) => item.trim()).filter((item) => item !== "");
}

export function readField(field, control) {
  if (field.type === "choice") return field.choices[control.selectedIndex]?.value;
  const text = control.value;
  if (text.trim() === "") {
    if (field.optional) return undefined;
    throw new Error(`${field.label} is needed`);
  }
  return READERS[field.type](text);
}

let serial = 0;

function controlFor(field) {
  const id = `tw-field-${++serial}`;
  if (field.type === "choice") {
    const wanted = JSON.stringify(field.default);
    const options = field.choices.map((choice) =>
      make("option", {selected: JSON.stringify(choice.value) === wanted}, choice.label));
    return {id, control: make("select", {id, name: field.name, class: "field-control"}, ...options)};
  }
  const control = make("input", {
    id, name: field.name, class: `field-control field-${field.type}`, type: "text", value: String(field.default ?? ""), autocomplete: "off",
    spellcheck: "false", placeholder: field.placeholder, inputmode: field.type === "int" ? "numeric" : undefined,
  });
  if (!field.choices?.length) return {id, control};
  const options = make("datalist", {id: `${id}-list`}, ...field.choices.map((choice) => make("option", {value: choice.value})));
  control.setAttribute("list", options.id);
  return {id, control, extra: options};
}

function shown(value) {
  if (value === null) return "None";
  if (Array.isArray(value)) return `[${value.map(shown).join(", ")}]`;
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

/** The call as it will read; loops stand as names, an index map as it is. */
function preview(entry, target, values) {
  const parts = entry.fields.filter((f) => values[f.name] !== undefined).map((f) => {
    const value = values[f.name];
    if (f.name === "loops") return value.join(", ");
    if (f.name === "loop" || f.type === "index_map") return `${f.name}=${value}`;
    if (f.name === "buffer" && Array.isArray(value)) return `${f.name}=(${value.map(shown).join(", ")})`;
    return `${f.name}=${shown(value)}`;
  });
  const first = entry.fields.some((f) => f.name === "loops") ? [] : [target];
  return `sch.${entry.method}(${[...first, ...parts].join(", ")})`;
}

/** The form of a menu entry. `submit(arguments)` gets the values by field name; `cancel()` is called for Escape and Cancel. */
export function formBody(entry, target, submit, cancel) {
  const controls = entry.fields.map((field) => ({field, ...controlFor(field)}));
  const code = make("code", {class: "form-code"});
  const error = make("div", {class: "form-error", role: "alert"});
  const apply = make("button", {class: "tw-button tw-button--primary", type: "submit"}, "Apply");

  function read() {
    const values = {};
    for (const {field, control} of controls) {
      control.removeAttribute("aria-invalid");
      try {
        const value = readField(field, control);
        if (value !== undefined) values[field.name] = value;
      } catch (problem) {
        control.setAttribute("aria-invalid", "true");
        return {problem: problem.message, control};
      }
    }
    if (values.names && values.factors && values.names.length !== values.factors.length) {
      return {problem: `${values.factors.length} factors, ${values.names.length} names`, control: controls.find((c) => c.field.name === "names").control};
    }
    return {values};
  }

  /** Names that nobody has touched follow the number of factors. */
  function followFactors() {
    const factors = controls.find((c) => c.field.name === "factors");
    for (const {field, control} of controls) {
      if (field.stem === undefined || !factors || control.dataset.touched) continue;
      control.value = list(factors.control.value).map((_, n) => `${field.stem}_${n}`).join(", ");
    }
  }

  function refresh() {
    const {values, problem} = read();
    error.textContent = problem ?? "";
    if (values) code.textContent = preview(entry, target, values);
    apply.disabled = Boolean(problem);
  }

  const form = make(
    "form",
    {class: "form"},
    make("div", {class: "form-head"}, make("strong", {}, entry.method), make("span", {class: "tw-mono"}, target)),
    make("div", {class: "form-help"}, entry.help),
    ...controls.map(({field, id, control, extra}) =>
      make("div", {class: "field"}, make("label", {for: id}, field.label), control, extra, field.help ? make("small", {}, field.help) : null)),
    error,
    code,
    make("div", {class: "form-foot"}, make("button", {class: "tw-button tw-button--quiet", type: "button", onclick: cancel}, "Cancel"), apply),
  );
  form.addEventListener("input", (event) => {
    event.target.dataset.touched = "yes";
    followFactors();
    refresh();
  });
  form.addEventListener("change", refresh);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const {values, problem, control} = read();
    if (problem) {
      error.textContent = problem;
      control.focus();
    } else submit(values);
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
  const dialog = make("div", {role: "dialog", "aria-label": `${entry.method} ${target}`}, form);
  return {element: dialog, focus: () => {
    first.focus();
    first.select?.();
  }};
}
