// The layout of one buffer: where its elements lie, who takes them, other layouts with their figures, settings, a map of one's own, facts.

import { h } from "../core/dom.js";
import { ElementGrid } from "./grid.js";
import { AccessSteps } from "./steps.js";
import { layoutCard } from "./cards.js";
import { MapDraft, controlRow } from "./controls.js";

const PREVIEW_MS = 160;

export class LayoutPicker {
  constructor(model) {
    this.model = model;
    const look = (changes) => this.look(changes);
    const apply = (call) => this.apply(call);
    this.grid = new ElementGrid(look);
    this.steps = new AccessSteps((lit, dims) => this.grid.light(lit, dims), look);
    this.draft = new MapDraft(look, apply, (card, use) => this.card(card, use));
    this.head = h("div", { class: "picker-head" });
    this.note = h("p", { class: "quiet picker-note", role: "status" });
    this.cards = h("div", { class: "layout-cards" });
    this.call = h("code", { class: "picker-call" });
    this.controls = h("div", { class: "layout-controls" });
    this.facts = h("dl", { class: "facts" });
    this.people = h("p", { class: "people" });
    const part = (title, ...children) =>
      h("section", { class: "facts-section", "aria-label": title }, h("h2", {}, title), ...children);
    this.parts = [
      part("Where it lies", this.grid.element, this.steps.element),
      h(
        "section",
        { class: "facts-section layouts", "aria-label": "Layouts" },
        h("h2", {}, "Layouts"),
        this.cards,
        this.call,
      ),
      part("Map of your own", this.draft.element),
      part("Settings", this.controls),
    ];
    this.element = h(
      "div",
      { class: "layout-picker" },
      this.head,
      this.note,
      h("div", { class: "picker-parts" }, ...this.parts, part("Facts", this.people, this.facts)),
    );
  }

  look(changes) {
    this.looked = { ...this.looked, ...changes };
    this.model.send_msg({ kind: "look", look: this.looked });
  }

  apply(call) {
    clearTimeout(this.pointing);
    if (this.looked.preview) this.look({ preview: "" });
    this.model.send_msg({ kind: "call", method: call.method, target: call.target, arguments: call.arguments });
  }

  card(card, use = (call) => this.apply(call)) {
    return layoutCard(card, this.value.colour, this.value.fixed, use, (shown) => this.point(shown));
  }

  /** Tell the call of the card that is pointed at (null: none is), and show the elements as if they lay so. */
  point(card) {
    if (card)
      this.call.textContent = card.refused
        ? card.refused.expected || card.refused.code
        : (card.call?.text ?? card.note);
    clearTimeout(this.pointing);
    const preview = card && card.call && !card.refused && !card.waiting ? card.key : "";
    this.pointing = setTimeout(() => preview !== this.looked.preview && this.look({ preview }), PREVIEW_MS);
  }

  update(value) {
    const other = this.value?.id !== value.id;
    this.value = value;
    if (other) this.grid.wanted = null;
    if (other) this.looked = { row: 0, column: 0, across: 0, slot: 0, use: 0, draft: "", preview: "" };
    this.head.replaceChildren(
      h("i", { class: "swatch", style: `background:var(--tw-buffer-${value.colour})` }),
      h("b", {}, value.name),
      h("span", { class: "kind" }, `${value.dtype} in ${value.scope}`),
    );
    this.note.textContent = value.note || value.fixed;
    this.note.hidden = !this.note.textContent;
    for (const section of this.parts) section.hidden = !value.grid;
    if (value.grid) this.updateLayout(value);
    this.people.replaceChildren(...this.peopleLinks(value.people));
    this.facts.replaceChildren(
      ...value.facts
        .map(([name, text, hint]) => [h("dt", { title: hint }, name), h("dd", { title: hint }, text)])
        .flat(),
    );
  }

  updateLayout(value) {
    this.grid.update(value.grid, value.colour);
    this.steps.update(value.uses, value.use, value.grid, value.colour);
    this.keepingFocus(() => {
      this.changed("cards", [value.cards, value.colour, value.fixed], () =>
        this.cards.replaceChildren(...value.cards.map((card) => this.card(card))),
      );
      this.changed("controls", [value.controls, value.fixed], () =>
        this.controls.replaceChildren(
          ...value.controls.map((control) => controlRow(control, value.fixed, (call) => this.apply(call))),
        ),
      );
      this.draft.update(value.draft, value.colour, value.fixed);
    });
  }

  /** `draw` where `value` is another than it was. */
  changed(name, value, draw) {
    this.was ??= {};
    const text = JSON.stringify(value);
    if (this.was[name] === text) return;
    this.was[name] = text;
    draw();
  }

  /** A card or a setting that is drawn anew keeps the keyboard. */
  keepingFocus(draw) {
    const root = this.element.getRootNode();
    const held = root.activeElement?.closest?.("[data-card], [data-control]");
    const key =
      held &&
      (held.dataset.card !== undefined
        ? `[data-card="${CSS.escape(held.dataset.card)}"]`
        : `[data-control="${held.dataset.control}"] .field-control`);
    draw();
    if (key && !held.isConnected)
      (this.element.querySelector(key) ?? this.cards.querySelector("button"))?.focus({ preventScroll: true });
  }

  peopleLinks(people) {
    const groups = { write: "written by", read: "read by" };
    const parts = [];
    for (const [side, word] of Object.entries(groups)) {
      const blocks = people.filter((one) => one.side === side);
      if (!blocks.length) continue;
      parts.push(
        h("span", { class: "quiet" }, `${word} `),
        ...blocks.map((one) =>
          h(
            "button",
            { class: "link", type: "button", onclick: () => this.model.send_msg({ kind: "select", id: one.row }) },
            one.block,
          ),
        ),
      );
    }
    return parts.length ? parts : [h("span", { class: "quiet" }, "No block reads or writes it.")];
  }
}
