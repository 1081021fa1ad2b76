// Settings of a buffer, each a schedule call; and an index map of one's own, told what is wrong with it while it is typed.

import { h } from "../core/dom.js";

const PAUSE_MS = 140;

let controlSerial = 0;

/** One setting: a choice or a list of whole numbers, applied by a button. */
export function controlRow(control, fixed, apply) {
  const id = `layout-control-${++controlSerial}`;
  const blocked = control.blocked || fixed;
  const note = h("span", { class: "control-note", id: `${id}-note` });
  const button = h(
    "button",
    { class: "tool small", type: "button", disabled: true, "aria-label": `Apply ${control.label}` },
    "Apply",
  );
  const field = control.type === "ints" ? numbers(control, id) : choice(control, id);
  field.setAttribute("aria-describedby", `${id}-note`);
  field.disabled = Boolean(blocked);
  const read =
    control.type === "ints"
      ? () => readNumbers(control, field)
      : () => ({ call: control.options[field.selectedIndex]?.call, note: control.options[field.selectedIndex]?.note });
  const refresh = () => {
    const found = read();
    note.textContent = control.blocked || (fixed ? "" : found.problem || found.note || control.help);
    note.classList.toggle("is-wrong", Boolean(found.problem));
    button.disabled = Boolean(blocked) || !found.call;
    button.title = found.call?.text ?? "";
  };
  field.addEventListener("input", refresh);
  button.addEventListener("click", () => apply(read().call));
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !button.disabled) apply(read().call);
  });
  refresh();
  return h(
    "div",
    { class: "control-row", "data-control": control.id },
    h("label", { for: id, title: control.help }, control.label),
    field,
    button,
    note,
  );
}

function choice(control, id) {
  return h(
    "select",
    { id, class: "field-control" },
    control.options.map((option) =>
      h("option", { value: option.value, selected: option.value === control.value }, option.label),
    ),
  );
}

function numbers(control, id) {
  return h("input", {
    id,
    class: "field-control",
    type: "text",
    value: control.value,
    placeholder: control.placeholder,
    autocomplete: "off",
    spellcheck: "false",
  });
}

function readNumbers(control, field) {
  const parts = field.value
    .replace(/[[\]()]/g, "")
    .split(",")
    .map((part) => part.trim())
    .filter(Boolean);
  if (!parts.length || parts.join(", ") === control.value) return {};
  if (!parts.every((part) => /^\d+$/.test(part))) return { problem: "whole numbers, with commas between" };
  if (parts.length !== control.count)
    return { problem: `${control.count} numbers: ${control.placeholder || "one an axis"}` };
  const values = parts.map(Number);
  const [first, ...others] = control.fields;
  const added = others.length
    ? Object.fromEntries(control.fields.map((name, n) => [name, values[n]]))
    : { [first]: values };
  const text = control.call.text.replace(/\)$/, `, ${others.length ? values.join(", ") : `[${values.join(", ")}]`})`);
  return { call: { ...control.call, arguments: { ...control.call.arguments, ...added }, text } };
}

/** The part of a text that a column is in, with a caret below the column. */
function around(text, at) {
  const start = Math.max(0, at - 22);
  const before = start ? "…" : "";
  return `${before}${text.slice(start, at + 8)}\n${" ".repeat(before.length + at - start)}^`;
}

export class MapDraft {
  /** `look(changes)` sends what is typed, `card(value)` makes the card of its trial. */
  constructor(look, apply, card) {
    this.look = look;
    this.apply = apply;
    this.card = card;
    this.input = h("input", {
      class: "field-control draft-input",
      type: "text",
      autocomplete: "off",
      spellcheck: "false",
      "aria-label": "Index map of your own",
      "aria-describedby": "draft-state",
      oninput: () => this.typed(),
      onkeydown: (event) => this.key(event),
    });
    this.mark = h("pre", { class: "draft-mark", "aria-hidden": "true", hidden: true });
    this.state = h("div", { class: "draft-state", id: "draft-state", role: "status" });
    this.place = h("div", { class: "draft-place" });
    this.element = h("div", { class: "map-draft" }, this.input, this.mark, this.state, this.place);
  }

  typed() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.look({ draft: this.input.value.slice(0, 2000) }), PAUSE_MS);
  }

  key(event) {
    if (event.key !== "Enter") return;
    event.preventDefault();
    const call = this.draft?.card?.call;
    if (this.draft?.status === "right" && call && this.draft.text === this.input.value) this.used(call);
  }

  used(call) {
    this.apply(call);
    this.input.value = "";
    this.look({ draft: "" });
  }

  update(draft, colour, fixed) {
    this.draft = draft;
    this.input.disabled = Boolean(fixed);
    this.input.placeholder = draft.example;
    if (this.input.getRootNode().activeElement !== this.input && this.input.value !== draft.text)
      this.input.value = draft.text;
    const wrong = draft.status === "wrong";
    this.input.setAttribute("aria-invalid", String(wrong));
    this.mark.hidden = !(wrong && draft.column);
    if (draft.column) this.mark.textContent = around(draft.text, draft.column - 1);
    this.state.classList.toggle("is-wrong", wrong);
    this.state.replaceChildren(...this.words(draft));
    this.place.replaceChildren(
      ...(draft.card && draft.status !== "wrong"
        ? [this.card({ ...draft.card, title: "your map" }, (call) => this.used(call))]
        : []),
    );
  }

  words(draft) {
    if (draft.status === "empty") return ["Where each element goes; AXIS_SEPARATOR keeps groups of axes apart."];
    if (draft.status === "checking") return ["Trying it out…"];
    if (draft.status === "right") return ["One place for each element. Enter applies it."];
    const { message, found, expected, code } = draft.error;
    const parts = [
      h("b", {}, message),
      found ? h("div", {}, h("span", { class: "quiet" }, "found "), found) : "",
      expected ? h("div", {}, h("span", { class: "quiet" }, "expected "), expected) : "",
      h("span", { class: "quiet code" }, code),
    ];
    if (draft.padded)
      parts.push(
        h(
          "button",
          { class: "tool small", type: "button", onclick: () => this.used(draft.padded) },
          "Apply with zeros there",
        ),
      );
    return parts.filter(Boolean);
  }
}
