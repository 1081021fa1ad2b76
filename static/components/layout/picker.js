// The layout of a buffer: the grid of its elements, its accesses, candidate layouts with their figures, a custom map, settings, and facts.

import { focusIn, h } from "../core/dom.js";
import { layoutCard } from "./cards.js";
import { controlRow, MapDraft } from "./controls.js";
import { ElementGrid } from "./grid.js";
import { AccessSteps } from "./steps.js";

/** @import { Child } from "../core/dom.js" */
/** @import { LayoutCall, LayoutCard as Card, LayoutPicker as LayoutValue } from "../views.js" */
/** @import { Model } from "../core/dom.js" */
/** @import { Look } from "../messages.js" */
/** @import { ChoiceControl, NumbersControl } from "../views.js" */

/** @typedef {ChoiceControl | NumbersControl} Control */

/**
 * What the picker shows of the buffer: a window of elements, a slot, an operand, the custom map, and the previewed card.
 * @typedef {Required<Look>} View
 */

/** @typedef {(changes: Partial<View>) => void} Request */
/** @typedef {(call: LayoutCall) => void} Apply */

const PREVIEW_MS = 160;
/** @type {View} */
const FIRST_VIEW = { row: 0, column: 0, across: 0, slot: 0, use: 0, draft: "", preview: "" };
const SIDES = { write: "written by", read: "read by" };

/**
 * @param {string} title
 * @param {...Child} children
 */
function section(title, ...children) {
  return h("section", { class: "facts-section", "aria-label": title }, h("h2", {}, title), ...children);
}

export class LayoutPicker {
  /** @param {Model} model */
  constructor(model) {
    this.model = model;
    /** @type {string | null} The id of the buffer. */
    this.id = null;
    this.view = FIRST_VIEW;
    /** @type {Map<string, string>} The values of the drawn parts. */
    this.drawn = new Map();
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.previewTimer = undefined;
    this.colour = 0;
    this.fixed = "";
    /** @type {Request} */
    const request = (changes) => this.request(changes);
    this.grid = new ElementGrid(request);
    this.steps = new AccessSteps((highlighted, dims) => this.grid.highlight(highlighted, dims), request);
    this.draft = new MapDraft(
      request,
      (call) => this.apply(call),
      (card, apply) => this.drawCard(card, apply),
    );
    this.head = h("div", { class: "picker-head" });
    this.note = h("p", { class: "quiet picker-note", role: "status" });
    this.cards = h("div", { class: "layout-cards" });
    this.call = h("code", { class: "picker-call" });
    this.controls = h("div", { class: "layout-controls" });
    this.facts = h("dl", { class: "facts" });
    this.accesses = h("p", { class: "accesses" });
    const layouts = section("Layouts", this.cards, this.call);
    layouts.classList.add("layouts");
    this.parts = [
      section("Placement", this.grid.element, this.steps.element),
      layouts,
      section("Custom map", this.draft.element),
      section("Settings", this.controls),
    ];
    this.element = h(
      "div",
      { class: "layout-picker" },
      this.head,
      this.note,
      h("div", { class: "picker-parts" }, ...this.parts, section("Facts", this.accesses, this.facts)),
    );
  }

  /** @param {Partial<View>} changes */
  request(changes) {
    this.view = { ...this.view, ...changes };
    this.model.send_msg({ kind: "show_layout", look: this.view });
  }

  /** @param {LayoutCall} call */
  apply(call) {
    clearTimeout(this.previewTimer);
    if (this.view.preview) this.request({ preview: "" });
    this.model.send_msg({ kind: "call", method: call.method, target: call.target, arguments: call.arguments });
  }

  /**
   * @param {Card} card
   * @param {Apply} apply
   */
  drawCard(card, apply) {
    return layoutCard(card, this.colour, this.fixed, apply, (shown) => this.preview(shown));
  }

  /**
   * Show the call of a card, and the elements in its layout after a pause; null ends the preview.
   * @param {Card | null} card
   */
  preview(card) {
    if (card) {
      const { refused, call, note } = card;
      this.call.textContent = refused ? refused.expected || refused.code : (call?.text ?? note);
    }
    clearTimeout(this.previewTimer);
    const preview = card?.call && !card.refused && !card.waiting ? card.key : "";
    this.previewTimer = setTimeout(() => preview !== this.view.preview && this.request({ preview }), PREVIEW_MS);
  }

  /** @param {LayoutValue} value */
  update(value) {
    if (this.id !== value.id) {
      this.id = value.id;
      this.view = FIRST_VIEW;
      this.grid.forgetRequests();
    }
    this.colour = value.colour;
    this.fixed = value.fixed;
    this.head.replaceChildren(
      h("i", { class: "swatch", style: `background:var(--tw-buffer-${value.colour})` }),
      h("b", {}, value.name),
      h("span", { class: "kind" }, `${value.dtype} in ${value.scope}`),
    );
    this.note.textContent = value.note || value.fixed;
    this.note.hidden = !this.note.textContent;
    for (const part of this.parts) part.hidden = !value.grid;
    this.updateLayout(value);
    this.accesses.replaceChildren(...this.blockLinks(value.accesses));
    this.facts.replaceChildren(
      ...value.facts.flatMap(([name, text, hint]) => [h("dt", { title: hint }, name), h("dd", { title: hint }, text)]),
    );
  }

  /** @param {LayoutValue} value */
  updateLayout({ grid, uses, use, cards, controls, draft, colour, fixed }) {
    if (!grid || !draft) return;
    const apply = (/** @type {LayoutCall} */ call) => this.apply(call);
    this.grid.update(grid, colour);
    this.steps.update(uses, use ?? 0, grid, colour);
    this.keepFocus(() => {
      this.drawChanged("cards", [cards, colour, fixed], () =>
        this.cards.replaceChildren(...cards.map((card) => this.drawCard(card, apply))),
      );
      this.drawChanged("controls", [controls, fixed], () =>
        this.controls.replaceChildren(...controls.map((control) => controlRow(control, fixed, apply))),
      );
      this.drawChanged(
        "maps",
        cards.map((card) => [card.title, card.map]),
        () => this.draft.offer(cards),
      );
      this.draft.update(draft, fixed);
    });
  }

  /**
   * Draw a part if its value has changed.
   * @param {string} part
   * @param {unknown} value
   * @param {() => void} draw
   */
  drawChanged(part, value, draw) {
    const text = JSON.stringify(value);
    if (this.drawn.get(part) === text) return;
    this.drawn.set(part, text);
    draw();
  }

  /**
   * Draw, and give the focus to the card or the setting that replaces the focused one.
   * @param {() => void} draw
   */
  keepFocus(draw) {
    /** @type {HTMLElement | null | undefined} */
    const focused = focusIn(this.element)?.closest("[data-card], [data-control]");
    draw();
    if (!focused || focused.isConnected) return;
    const { card, control } = focused.dataset;
    const selector =
      card === undefined ? `[data-control="${control}"] .field-control` : `[data-card="${CSS.escape(card)}"]`;
    const again = this.element.querySelector(selector) ?? this.cards.querySelector("button");
    if (again instanceof HTMLElement) again.focus({ preventScroll: true });
  }

  /** @param {LayoutValue["accesses"]} accesses */
  blockLinks(accesses) {
    const parts = Object.entries(SIDES).flatMap(([side, text]) => {
      const blocks = accesses.filter((one) => one.side === side);
      if (!blocks.length) return [];
      const links = blocks.map(({ block, row }) =>
        h(
          "button",
          { class: "link", type: "button", onclick: () => this.model.send_msg({ kind: "select", id: row }) },
          block,
        ),
      );
      return [h("span", { class: "quiet" }, `${text} `), ...links];
    });
    return parts.length ? parts : [h("span", { class: "quiet" }, "No block reads or writes it.")];
  }
}
