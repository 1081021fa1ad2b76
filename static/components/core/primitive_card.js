// What a primitive does, beside a menu: its rewrite drawn, what it requires and returns. It comes a moment after an entry is reached, or at
// once with `?`. The pages are the server's; the page's component is asked for them by the event "tilewright:explain".

import { make } from "./popup.js";
import { highlighted } from "./python_text.js";

const CARD_DELAY = 450;

const CARD_MARGIN = 8;

const CARD_WIDTH = 460;

/** `found(page)` is called with the page of `method`, now or when it is known; never where there is none. */
export function explain(method, found) {
  allPages((pages) => {
    const page = pages.find((candidate) => candidate.name === method);
    if (page) found(page);
  });
}

/** The pages of all primitives, now or when they are there. */
export function allPages(found) {
  window.dispatchEvent(new CustomEvent("tilewright:explain", { detail: found }));
}

/** A page as elements: summary, drawing, what is required and returned; with `full`, all that is said of it. */
export function primitivePage(page, full = false) {
  const label = (name, text) =>
    text ? make("p", { class: "prim-fact" }, make("b", {}, name), " ", ...withCode(text)) : null;
  return [
    make("p", { class: "prim-summary" }, ...withCode(page.summary)),
    rewriteDrawing(page.drawing, full ? 92 : 58),
    ...page.drawing.notes.map((text) => make("p", { class: "prim-note" }, ...withCode(text))),
    full ? make("code", { class: "prim-call" }, ...highlighted(`sch.${page.call}`)) : null,
    ...(full ? page.about.map((text) => make("p", {}, ...withCode(text))) : []),
    label("Requires", page.requires),
    label("Returns", page.returns),
    full ? label("Errors", page.errors) : null,
    full ? label("Source", page.source) : null,
  ];
}

/** Text with `code` in it. */
export function withCode(text) {
  return text
    .split(/(`[^`]+`)/)
    .map((part) => (part.startsWith("`") && part.length > 2 ? make("code", {}, part.slice(1, -1)) : part));
}

function rewriteDrawing({ before, after }, room) {
  const column = (name, lines) =>
    make(
      "figure",
      {},
      make("figcaption", {}, name),
      make("pre", { tabindex: 0, "aria-label": name }, ...lines.flatMap((line) => [...highlighted(line), "\n"])),
    );
  const wide =
    Math.max(...before.map((line) => line.length), 0) + Math.max(...after.map((line) => line.length), 0) > room;
  return make(
    "div",
    { class: `prim-drawing${wide ? " is-tall" : ""}` },
    column("before", before),
    make("span", { class: "prim-arrow", "aria-hidden": "true" }, wide ? "⇓" : "⇒"),
    column("after", after),
  );
}

let primitiveCards = 0;

/** The card of one menu. It is a part of the menu's element, so that a click on it is not one elsewhere. */
export class PrimitiveCard {
  constructor(menu) {
    this.menu = menu;
    this.element = make("div", {
      class: "prim-card",
      role: "tooltip",
      id: `tw-prim-${++primitiveCards}`,
      hidden: true,
    });
    this.wanted = null;
    this.asked = false;
  }

  /** An entry was reached: its card comes after a moment; the one of another entry goes at once. */
  reach(method, button) {
    if (method === this.wanted && button === this.button) return;
    clearTimeout(this.timer);
    const open = !this.element.hidden;
    this.hide();
    this.wanted = method;
    this.button = button;
    if (method) this.timer = setTimeout(() => this.show(), open ? CARD_DELAY / 4 : CARD_DELAY);
  }

  /** `?`: there at once, or gone. */
  toggle() {
    clearTimeout(this.timer);
    if (this.element.hidden) this.show(true);
    else this.hide();
  }

  hide() {
    this.element.hidden = true;
    this.button?.setAttribute("aria-describedby", this.menu.about.id);
  }

  show(asked = false) {
    const { wanted } = this;
    if (!wanted) return;
    explain(wanted, (page) => {
      if (wanted !== this.wanted || !this.menu.element.isConnected) return;
      this.element.replaceChildren(
        make("div", { class: "prim-name" }, page.name),
        ...primitivePage(page).filter(Boolean),
        make("div", { class: "prim-foot" }, make("span", { class: "tw-kbd" }, "?"), " shows and hides this"),
      );
      this.place(asked);
    });
  }

  /** Right of the menu, else left of it. Where there is room on neither side: over the page when it was asked for, else not at all. */
  place(asked) {
    const around = this.menu.element.getBoundingClientRect();
    const room = { right: innerWidth - around.right - 2 * CARD_MARGIN, left: around.left - 2 * CARD_MARGIN };
    const side = room.right >= room.left ? "right" : "left";
    const width = Math.min(CARD_WIDTH, room[side]);
    if (width < 260 && !asked) return;
    const over = width < 260;
    const card = this.element;
    card.hidden = false;
    card.style.width = `${over ? Math.min(CARD_WIDTH, innerWidth - 2 * CARD_MARGIN) : width}px`;
    const left = over ? CARD_MARGIN : side === "right" ? around.right + CARD_MARGIN : around.left - CARD_MARGIN - width;
    card.style.left = `${Math.round(left)}px`;
    const line = this.button.getBoundingClientRect().top;
    const top = over
      ? innerHeight - card.offsetHeight - CARD_MARGIN
      : Math.min(Math.max(around.top, line - 40), innerHeight - card.offsetHeight - CARD_MARGIN);
    card.style.top = `${Math.round(Math.max(CARD_MARGIN, top))}px`;
    this.button.setAttribute("aria-describedby", `${this.menu.about.id} ${card.id}`);
  }
}
