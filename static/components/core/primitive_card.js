// The documentation of a primitive beside a menu: a drawing of its rewrite, its requirements and results. A card opens a moment after an entry
// gets the focus, or at once with `?`. The page's component requests the documentation from the server.

import { publish } from "./bus.js";
import { h, nodes } from "./dom.js";
import { highlighted } from "./python_text.js";

/** @import { Drawing as RewriteDrawing, PrimitiveDoc as PrimitivePage } from "../views.js" */

/** @typedef {{ element: HTMLElement, about: HTMLElement }} CardOwner The menu, and the description of its focused entry. */

const CARD_DELAY = 450; // ms
const CARD_MARGIN = 8;
const CARD_WIDTH = 460;

/**
 * Call `found(page)` with the documentation of a primitive when it is known; never for other names.
 * @param {string} method
 * @param {(page: PrimitivePage) => void} found
 */
export function explain(method, found) {
  allPages((pages) => {
    const page = pages.find((candidate) => candidate.name === method);
    if (page) found(page);
  });
}

/**
 * Call `found(pages)` with the documentation of all primitives when it is known.
 * @param {(pages: PrimitivePage[]) => void} found
 */
export function allPages(found) {
  publish("explain", found);
}

/**
 * A page as elements: summary, drawing, requirements and results; with `full`, also the signature, the whole text, errors and source.
 * @param {PrimitivePage} page
 */
export function primitivePage(page, full = false) {
  const label = (/** @type {string} */ name, /** @type {string} */ text) =>
    text ? h("p", { class: "prim-fact" }, h("b", {}, name), " ", ...withCode(text)) : null;
  return [
    h("p", { class: "prim-summary" }, ...withCode(page.summary)),
    rewriteDrawing(page.drawing, full ? 92 : 58),
    ...page.drawing.notes.map((text) => h("p", { class: "prim-note" }, ...withCode(text))),
    full ? h("code", { class: "prim-call" }, ...highlighted(`sch.${page.call}`)) : null,
    ...(full ? page.about.map((text) => h("p", {}, ...withCode(text))) : []),
    label("Requires", page.requires),
    label("Returns", page.returns),
    full ? label("Errors", page.errors) : null,
    full ? label("Source", page.source) : null,
  ];
}

/**
 * Text with `code` in it.
 * @param {string} text
 */
export function withCode(text) {
  return text
    .split(/(`[^`]+`)/)
    .map((part) => (part.startsWith("`") && part.length > 2 ? h("code", {}, part.slice(1, -1)) : part));
}

/**
 * @param {RewriteDrawing} drawing
 * @param {number} room The largest number of characters side by side.
 */
function rewriteDrawing({ before, after }, room) {
  const column = (/** @type {string} */ name, /** @type {string[]} */ lines) =>
    h(
      "figure",
      {},
      h("figcaption", {}, name),
      h("pre", { tabindex: 0, "aria-label": name }, ...lines.flatMap((line) => [...highlighted(line), "\n"])),
    );
  const wide =
    Math.max(...before.map((line) => line.length), 0) + Math.max(...after.map((line) => line.length), 0) > room;
  return h(
    "div",
    { class: `prim-drawing${wide ? " is-tall" : ""}` },
    column("before", before),
    h("span", { class: "prim-arrow", "aria-hidden": "true" }, wide ? "⇓" : "⇒"),
    column("after", after),
  );
}

let primitiveCards = 0;

/** The card of one menu. It is inside of the menu's element, so that a click on it does not close the menu. */
export class PrimitiveCard {
  /** @param {CardOwner} menu */
  constructor(menu) {
    this.menu = menu;
    this.element = h("div", { class: "prim-card", role: "tooltip", id: `tw-prim-${++primitiveCards}`, hidden: true });
    /** @type {string | undefined} */
    this.wanted = undefined;
    /** @type {HTMLElement | undefined} */
    this.button = undefined;
    /** @type {number | undefined} */
    this.timer = undefined;
    this.resizing = new AbortController();
  }

  /**
   * Open the card of the entry that got the focus after a delay, and close the card of another entry.
   * @param {string | undefined} method
   * @param {HTMLElement} button
   */
  reach(method, button) {
    if (method === this.wanted && button === this.button) return;
    clearTimeout(this.timer);
    const open = !this.element.hidden;
    this.hide();
    this.wanted = method;
    this.button = button;
    if (method) this.timer = window.setTimeout(() => this.show(), open ? CARD_DELAY / 4 : CARD_DELAY);
  }

  /** Open or close the card at once. */
  toggle() {
    clearTimeout(this.timer);
    if (this.element.hidden) this.show(true);
    else this.hide();
  }

  hide() {
    this.element.hidden = true;
    this.resizing.abort();
    this.button?.setAttribute("aria-describedby", this.menu.about.id);
  }

  show(asked = false) {
    const { wanted } = this;
    if (!wanted) return;
    explain(wanted, (page) => {
      if (wanted !== this.wanted || !this.menu.element.isConnected) return;
      this.element.replaceChildren(
        h("div", { class: "prim-name" }, page.name),
        ...nodes(primitivePage(page)),
        h("div", { class: "prim-foot" }, h("span", { class: "tw-kbd" }, "?"), " shows and hides this"),
      );
      this.resizing.abort();
      this.resizing = new AbortController();
      window.addEventListener("resize", () => this.place(asked), { signal: this.resizing.signal });
      this.place(asked);
    });
  }

  /**
   * Place the card right or left of the menu. Without room on both sides it covers the page if the user requested it, else it stays closed.
   * @param {boolean} asked
   */
  place(asked) {
    const around = this.menu.element.getBoundingClientRect();
    const room = { right: innerWidth - around.right - 2 * CARD_MARGIN, left: around.left - 2 * CARD_MARGIN };
    const side = room.right >= room.left ? "right" : "left";
    const width = Math.min(CARD_WIDTH, room[side]);
    if (width < 260 && !asked) return this.hide();
    const over = width < 260;
    const card = this.element;
    card.hidden = false;
    card.style.width = `${over ? Math.min(CARD_WIDTH, innerWidth - 2 * CARD_MARGIN) : width}px`;
    const left = over ? CARD_MARGIN : side === "right" ? around.right + CARD_MARGIN : around.left - CARD_MARGIN - width;
    card.style.left = `${Math.round(left)}px`;
    const line = this.button?.getBoundingClientRect().top ?? around.top;
    const top = over
      ? innerHeight - card.offsetHeight - CARD_MARGIN
      : Math.min(Math.max(around.top, line - 40), innerHeight - card.offsetHeight - CARD_MARGIN);
    card.style.top = `${Math.round(Math.max(CARD_MARGIN, top))}px`;
    this.button?.setAttribute("aria-describedby", `${this.menu.about.id} ${card.id}`);
  }
}
