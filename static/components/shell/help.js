// Help: the menu of the "?" button, and the reference of all primitives with a search field.

import { publish, subscribe } from "../core/bus.js";
import { h, icon, nodes } from "../core/dom.js";
import { menuBody } from "../core/menu.js";
import { Popup } from "../core/popup.js";
import { allPages, primitivePage } from "../core/primitive_card.js";

/** @import { MenuItem } from "../core/menu.js" */
/** @import { Tour } from "./tour.js" */
/** @import { PrimitiveDoc as PrimitivePage } from "../views.js" */

/** The help menu. The event "help" opens it below a button. */
export class Help {
  /**
   * @param {Element} host
   * @param {Tour} tour
   */
  constructor(host, tour) {
    this.tour = tour;
    /** @type {HTMLElement | null} */
    this.anchor = null;
    this.popup = new Popup(host, "sheet", { role: "dialog", "aria-label": "Help" });
    this.reference = new Reference(host);
    subscribe("reference", (name) => this.reference.open(name));
    subscribe("help", (button) => (this.popup.shown ? this.close(true) : this.open(button)));
    window.addEventListener(
      "pointerdown",
      (event) => this.popup.shown && !event.composedPath().includes(this.popup.element) && this.close(false),
      true,
    );
  }

  /** @param {HTMLElement} anchor */
  open(anchor) {
    this.anchor = anchor;
    const body = menuBody("Help", this.items(), (back) => this.close(back));
    this.popup.show(anchor.getBoundingClientRect(), "below", body.element);
    body.focus();
  }

  /** @returns {MenuItem[]} */
  items() {
    const notebook = document.documentElement.dataset.screen === "notebook";
    return [
      {
        label: "Guided tour, two minutes",
        key: "t",
        help: "compute_at, set_scope and cache_read, once each",
        run: () => this.tour.start(),
      },
      {
        label: "Reference of primitives",
        key: "p",
        help: "all primitives, with drawings",
        run: () => this.reference.open(),
      },
      {
        label: "Find any action",
        key: "a",
        help: "Ctrl+Shift+P",
        disabled: notebook ? undefined : "no notebook is open",
        run: () => pressKey({ key: "P", ctrlKey: true, shiftKey: true }),
      },
      {
        label: "Keys of the loop tree",
        key: "k",
        help: "all keys",
        disabled: notebook ? undefined : "no notebook is open",
        run: () => this.keys(),
      },
    ];
  }

  keys() {
    /** @type {MenuItem[]} */
    const commands = [];
    publish("commands", commands);
    commands.find((command) => command.label === "Keys of the tree")?.run();
  }

  /** @param {boolean} back Whether the focus returns. */
  close(back) {
    this.popup.hide();
    if (back) this.anchor?.focus();
  }
}

/** @param {KeyboardEventInit} key */
function pressKey(key) {
  window.dispatchEvent(new KeyboardEvent("keydown", { bubbles: true, cancelable: true, ...key }));
}

/** The reference: names of primitives on the left, the documentation of one on the right. */
class Reference {
  /** @param {Element} host */
  constructor(host) {
    /** @type {PrimitivePage[]} */
    this.pages = [];
    this.shown = "";
    this.field = h("input", {
      class: "menu-filter",
      type: "search",
      placeholder: "Find a call",
      "aria-label": "Find a call",
      autocomplete: "off",
      spellcheck: "false",
      oninput: () => this.narrow(),
    });
    this.names = h("nav", { class: "reference-names", "aria-label": "Calls" });
    this.page = h("article", { class: "reference-page", tabindex: 0, "aria-live": "polite", "aria-label": "The call" });
    /** @type {HTMLDialogElement} */
    this.dialog = h(
      "dialog",
      { class: "reference", "aria-label": "Reference of primitives" },
      h("div", { class: "reference-side" }, this.field, this.names),
      this.page,
      h(
        "button",
        {
          class: "tool small reference-close",
          type: "button",
          "aria-label": "Close",
          onclick: () => this.dialog.close(),
        },
        icon("remove"),
      ),
    );
    this.names.addEventListener("keydown", (event) => this.navigate(event));
    this.field.addEventListener(
      "keydown",
      (event) => event.key === "ArrowDown" && this.names.querySelector("button")?.focus(),
    );
    host.append(this.dialog);
  }

  /** @param {string} [name] The primitive to begin with. */
  open(name) {
    allPages((pages) => {
      this.pages = pages;
      this.field.value = "";
      this.narrow();
      this.choose(name ?? pages[0].name);
      this.dialog.showModal();
      this.field.focus();
    });
  }

  narrow() {
    const words = this.field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (/** @type {PrimitivePage} */ page) =>
      words.every((word) => `${page.name} ${page.summary}`.toLowerCase().includes(word));
    const named = (/** @type {PrimitivePage} */ page) =>
      h(
        "button",
        {
          type: "button",
          "data-call": page.name,
          onclick: () => this.choose(page.name),
          onfocus: () => this.choose(page.name),
        },
        page.name,
      );
    const found = this.pages.filter(fits);
    this.names.replaceChildren(...(found.length ? found.map(named) : [h("p", { class: "quiet" }, "No call matches")]));
    if (found.length) this.choose(found[0].name);
  }

  /** @param {string} name */
  choose(name) {
    if (this.shown === name && this.page.childElementCount) return this.mark(name);
    this.shown = name;
    const page = this.pages.find((candidate) => candidate.name === name);
    if (page) this.page.replaceChildren(h("h2", {}, page.name), ...nodes(primitivePage(page, true)));
    this.page.scrollTop = 0;
    this.mark(name);
  }

  /** @param {string} name */
  mark(name) {
    for (const button of this.names.querySelectorAll("button"))
      button.setAttribute("aria-current", String(button.dataset.call === name));
  }

  /** @param {KeyboardEvent} event */
  navigate(event) {
    const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (!by) return;
    event.preventDefault();
    const all = [...this.names.querySelectorAll("button")];
    const next = all[all.findIndex((button) => button === event.target) + by];
    (next ?? (by < 0 ? this.field : null))?.focus();
  }
}
