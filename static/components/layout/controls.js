// Settings of a buffer, each a schedule call, and the field of a custom index map, which shows errors while it is typed.

import { SwizzleForm } from "./swizzle.js";
import { focusIn, h, nodes } from "../core/dom.js";

/** @import { Apply, Control, Request } from "./picker.js" */
/** @import { ChoiceControl, LayoutCall, LayoutCard as Card, LayoutDraft as Draft } from "../views.js" */
/** @import { NumbersControl } from "../views.js" */

/** @typedef {{ call?: LayoutCall | null, note?: string, problem?: string }} Reading What a setting would do. */

const PAUSE_MS = 140;
const MOST_CHARACTERS = 2000;

let controlSerial = 0;

/**
 * A setting with a button that applies it.
 * @param {Control} control
 * @param {string} fixed The reason why no layout can be applied.
 * @param {Apply} apply
 */
export function controlRow(control, fixed, apply) {
  const id = `layout-control-${++controlSerial}`;
  const isBlocked = Boolean(control.blocked || fixed);
  const note = h("span", { class: "control-note", id: `${id}-note` });
  const { field, read } = control.type === "ints" ? numbers(control, id) : choice(control, id);
  const applyRead = () => {
    const { call } = read();
    if (call && !isBlocked) apply(call);
  };
  const button = h(
    "button",
    { class: "tool small", type: "button", "aria-label": `Apply ${control.label}`, onclick: applyRead },
    "Apply",
  );
  field.setAttribute("aria-describedby", `${id}-note`);
  field.disabled = isBlocked;
  const refresh = () => {
    const found = read();
    note.textContent = control.blocked || (fixed ? "" : found.problem || found.note || control.help);
    note.classList.toggle("is-wrong", Boolean(found.problem));
    button.disabled = isBlocked || !found.call;
    button.title = found.call?.text ?? "";
  };
  field.addEventListener("input", refresh);
  field.addEventListener("keydown", (event) => {
    if (event instanceof KeyboardEvent && event.key === "Enter") applyRead();
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

/**
 * @param {ChoiceControl} control
 * @param {string} id
 */
function choice({ options, value }, id) {
  const field = h(
    "select",
    { id, class: "field-control" },
    options.map((option) => h("option", { value: option.value, selected: option.value === value }, option.label)),
  );
  return { field, read: () => /** @type {Reading} */ (options[field.selectedIndex] ?? {}) };
}

/**
 * @param {NumbersControl} control
 * @param {string} id
 */
function numbers(control, id) {
  const field = h("input", {
    id,
    class: "field-control",
    type: "text",
    value: control.value,
    placeholder: control.placeholder,
    autocomplete: "off",
    spellcheck: "false",
  });
  return { field, read: () => readNumbers(control, field.value) };
}

/**
 * The call with the typed numbers. With several fields, each number is an argument; otherwise the list of numbers is the argument.
 * @param {NumbersControl} control
 * @param {string} text
 * @returns {Reading}
 */
export function readNumbers(control, text) {
  const parts = text
    .replace(/[[\]()]/g, "")
    .split(",")
    .map((part) => part.trim())
    .filter(Boolean);
  if (!parts.length || parts.join(", ") === control.value) return {};
  if (!parts.every((part) => /^\d+$/.test(part))) return { problem: "whole numbers, separated by commas" };
  if (parts.length !== control.count)
    return { problem: `${control.count} numbers: ${control.placeholder || "one for each axis"}` };
  const values = parts.map(Number);
  const isSeparate = control.fields.length > 1;
  const added = Object.fromEntries(control.fields.map((name, n) => [name, isSeparate ? values[n] : values]));
  const list = values.join(", ");
  const { call } = control;
  return {
    call: {
      ...call,
      arguments: { ...call.arguments, ...added },
      text: call.text.replace(/\)$/, `, ${isSeparate ? list : `[${list}]`})`),
    },
  };
}

/**
 * The text around a column, and a caret below the column.
 * @param {string} text
 * @param {number} at
 */
export function caretText(text, at) {
  const start = Math.max(0, at - 22);
  const before = start ? "…" : "";
  return `${before}${text.slice(start, at + 8)}\n${" ".repeat(before.length + at - start)}^`;
}

export class MapDraft {
  /**
   * @param {Request} request
   * @param {Apply} apply
   * @param {(card: Card, apply: Apply) => HTMLElement} drawCard Draw the card of the map's trial.
   */
  constructor(request, apply, drawCard) {
    this.request = request;
    this.apply = apply;
    this.drawCard = drawCard;
    /** @type {Draft | null} */
    this.draft = null;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    this.input = h("input", {
      class: "field-control draft-input",
      type: "text",
      autocomplete: "off",
      spellcheck: "false",
      "aria-label": "Custom index map",
      "aria-describedby": "draft-state",
      oninput: () => this.requestCheck(),
      onkeydown: (event) => this.key(event),
    });
    /** @type {HTMLSelectElement} */
    this.start = h("select", {
      class: "field-control draft-start",
      "aria-label": "Start from the map of a layout",
      onchange: () => this.write(this.start.value),
    });
    this.copy = h(
      "button",
      { class: "tool small", type: "button", title: "Copy the text of the index map", onclick: () => this.copyText() },
      "Copy as index map",
    );
    this.swizzle = new SwizzleForm((text) => this.write(text));
    this.mark = h("pre", { class: "draft-mark", "aria-hidden": "true", hidden: true });
    this.state = h("div", { class: "draft-state", id: "draft-state", role: "status" });
    this.place = h("div", { class: "draft-place" });
    this.element = h(
      "div",
      { class: "map-draft" },
      h("div", { class: "draft-bar" }, this.start, this.copy),
      this.input,
      this.mark,
      this.state,
      this.place,
      h("details", { class: "swizzle" }, h("summary", {}, "Compose a swizzle"), this.swizzle.element),
    );
  }

  requestCheck() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.request({ draft: this.input.value.slice(0, MOST_CHARACTERS) }), PAUSE_MS);
  }

  /**
   * Write an index map into the field, and have it checked.
   * @param {string} text
   */
  write(text) {
    if (!text) return;
    this.input.value = text;
    this.requestCheck();
  }

  async copyText() {
    try {
      await navigator.clipboard.writeText(this.input.value);
      this.state.textContent = "Copied.";
    } catch {
      this.input.select(); // without permission, Ctrl+C copies it
    }
  }

  /** @param {Card[]} cards The layouts whose maps can be changed. */
  offer(cards) {
    const options = cards.filter((card) => card.map).map((card) => h("option", { value: card.map }, card.title));
    this.start.replaceChildren(h("option", { value: "" }, "Start from…"), ...options);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.key !== "Enter") return;
    event.preventDefault();
    const call = this.draft?.card?.call;
    if (this.draft?.status === "right" && call && this.draft.text === this.input.value) this.use(call);
  }

  /** @param {LayoutCall} call */
  use(call) {
    this.apply(call);
    this.input.value = "";
    this.request({ draft: "" });
  }

  /**
   * @param {Draft} draft
   * @param {string} fixed
   */
  update(draft, fixed) {
    this.draft = draft;
    this.swizzle.update(draft.extents && { names: draft.names, extents: draft.extents });
    this.input.disabled = Boolean(fixed);
    this.input.placeholder = draft.example;
    if (focusIn(this.input) !== this.input && this.input.value !== draft.text) this.input.value = draft.text;
    const isWrong = draft.status === "wrong";
    this.input.setAttribute("aria-invalid", String(isWrong));
    this.mark.hidden = !(isWrong && draft.column);
    if (draft.column) this.mark.textContent = caretText(draft.text, draft.column - 1);
    this.state.classList.toggle("is-wrong", isWrong);
    this.state.replaceChildren(...nodes([this.stateParts(draft)]));
    this.place.replaceChildren(
      ...(draft.card && !isWrong
        ? [this.drawCard({ ...draft.card, title: "your map" }, (call) => this.use(call))]
        : []),
    );
  }

  /** @param {Draft} draft */
  stateParts({ status, error, padded }) {
    if (status === "empty") return "The new position of each element; AXIS_SEPARATOR separates groups of axes.";
    if (status === "checking") return "Simulating…";
    if (status === "right") return "Each element has its own position. Enter applies it.";
    if (!error) return null;
    return [
      h("b", {}, error.message),
      error.found && h("div", {}, h("span", { class: "quiet" }, "found "), error.found),
      error.expected && h("div", {}, h("span", { class: "quiet" }, "expected "), error.expected),
      h("span", { class: "quiet code" }, error.code),
      padded &&
        h(
          "button",
          { class: "tool small", type: "button", onclick: () => this.use(padded) },
          "Apply with zeros as padding",
        ),
    ];
  }
}
