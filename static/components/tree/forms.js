// Forms for the arguments of a primitive: fields as the menu describes them, read back into plain values.

import { h } from "../core/dom.js";
import { reasonBody } from "./offers.js";

const NAME = /^[A-Za-z_][A-Za-z_0-9]*$/;

/** Each reads the text of a control; throws an Error whose message is for the person. `undefined` leaves the argument out. */
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

function whole(text) {
  if (!/^-?\d+$/.test(text) || !Number.isSafeInteger(Number(text))) throw new Error(`"${text}" is not a whole number`);
  return Number(text);
}

function list(text) {
  const inner = text.trim().replace(/^[[(]|[\])]$/g, "");
  return inner
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

export function readField(field, control) {
  if (field.type === "choice") return field.choices[control.selectedIndex]?.value;
  const text = control.value;
  if (text.trim() === "") {
    if (field.optional) return undefined;
    if (field.empty) return [];
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

function shown(value) {
  if (value === null) return "None";
  if (Array.isArray(value)) return `[${value.map(shown).join(", ")}]`;
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

/** The call as it will read; loops stand as names, an index map as it is. */
function preview(entry, target, values) {
  const named = entry.fields.flatMap((field) => (field.spread ?? [field.name]).map((name) => ({ field, name })));
  const parts = named
    .filter(({ name }) => values[name] !== undefined)
    .map(({ field, name }) => {
      const value = values[name];
      if (name === "loops") return value.join(", ");
      if (name === "loop" || field.type === "index_map" || String(value).startsWith("lambda "))
        return `${name}=${value}`;
      if (name === "buffer" && Array.isArray(value)) return `${name}=(${value.map(shown).join(", ")})`;
      return `${name}=${shown(value)}`;
    });
  const first = entry.fields.some((f) => f.name === "loops") ? [] : [target];
  return `sch.${entry.method}(${[...first, ...parts].join(", ")})`;
}

/** The form of a menu entry. `submit(arguments)` gets the values by field name; `cancel()` is called for Escape and Cancel. What is
 *  submitted and refused is told by `refuse(notice)`: the form stays, so that it can be mended. */
export function formBody(entry, target, submit, cancel) {
  const controls = entry.fields.map((field) => ({ field, ...controlFor(field) }));
  const code = h("code", { class: "form-code" });
  const error = h("div", { class: "form-error", role: "alert" });
  const apply = h("button", { class: "tw-button tw-button--primary", type: "submit" }, "Apply");

  function read() {
    const values = {};
    for (const { field, control } of controls) {
      control.removeAttribute("aria-invalid");
      try {
        const value = readField(field, control);
        if (field.spread)
          field.spread.forEach((name, n) => {
            values[name] = value[n];
          });
        else if (value !== undefined) values[field.name] = value;
      } catch (problem) {
        control.setAttribute("aria-invalid", "true");
        return { problem: problem.message, control };
      }
    }
    if (values.names && values.factors && values.names.length !== values.factors.length) {
      return {
        problem: `${values.factors.length} factors, ${values.names.length} names`,
        control: controls.find((c) => c.field.name === "names").control,
      };
    }
    return { values };
  }

  /** What goes with a choice follows it, where nobody has touched it. */
  function followChoice(from) {
    const chosen = controls.find(({ control }) => control === from);
    const sets = chosen?.field.type === "choice" ? chosen.field.choices[from.selectedIndex]?.sets : undefined;
    for (const { field, control } of controls) {
      if (sets?.[field.name] !== undefined && !control.dataset.touched) put(field, control, sets[field.name]);
    }
  }

  function put(field, control, value) {
    if (field.type === "choice") control.selectedIndex = field.choices.findIndex((choice) => choice.value === value);
    else control.value = value;
  }

  /** Names that nobody has touched follow the number of factors. */
  function followFactors() {
    const factors = controls.find((c) => c.field.name === "factors");
    for (const { field, control } of controls) {
      if (field.stem === undefined || !factors || control.dataset.touched) continue;
      control.value = list(factors.control.value)
        .map((_, n) => `${field.stem}_${n}`)
        .join(", ");
    }
  }

  function refresh() {
    const { values, problem } = read();
    error.replaceChildren(problem ?? "");
    if (values) code.textContent = preview(entry, target, values);
    apply.disabled = Boolean(problem);
  }

  const form = h(
    "form",
    { class: "form" },
    h("div", { class: "form-head" }, h("strong", {}, entry.method), h("span", { class: "tw-mono" }, target)),
    h("div", { class: "form-help" }, entry.help),
    ...controls.map(({ field, id, control, extra }) =>
      h(
        "div",
        { class: "field" },
        h("label", { for: id }, field.label),
        control,
        extra,
        field.help ? h("small", {}, field.help) : null,
      ),
    ),
    error,
    code,
    h(
      "div",
      { class: "form-foot" },
      h("button", { class: "tw-button tw-button--quiet", type: "button", onclick: cancel }, "Cancel"),
      apply,
    ),
  );
  form.addEventListener("input", (event) => {
    event.target.dataset.touched = "yes";
    followChoice(event.target);
    followFactors();
    refresh();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const { values, problem, control } = read();
    if (problem) {
      error.replaceChildren(problem);
      control.focus();
    } else {
      body.refused = false;
      error.replaceChildren();
      apply.disabled = true;
      submit(values);
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
  const dialog = h("div", { role: "dialog", "aria-label": `${entry.method} ${target}` }, form);
  const body = {
    element: dialog,
    refused: false,
    focus() {
      first.focus();
      first.select?.();
    },
    refuse({ text, reasons }) {
      body.refused = true;
      apply.disabled = false;
      error.replaceChildren(
        h("div", { class: "form-refusal" }, text),
        ...reasons.map((reason) => reasonBody(reason, "illegal", "")),
      );
      first.focus();
      body.onresize?.();
    },
  };
  return body;
}
