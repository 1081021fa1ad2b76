// Help: the menu of the "?" button, and the reference of all primitives and the guide, with a search field.

import { publish, subscribe } from "../core/bus.js";
import { h, icon, nodes } from "../core/dom.js";
import { prose } from "../core/markdown.js";
import { menuBody } from "../core/menu.js";
import { Popup } from "../core/popup.js";
import { allPages, primitivePage } from "../core/primitive_card.js";

/** @import { MenuItem } from "../core/menu.js" */
/** @import { Tour } from "./tour.js" */
/** @import { GuidePage, PrimitiveDoc } from "../views.js" */

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
        run: () => this.tour.start("tour"),
      },
      {
        label: "TileLang tour, two minutes",
        key: "l",
        help: "stages and swizzles of a GEMM",
        run: () => this.tour.start("tile_tour"),
      },
      {
        label: "Reference of primitives",
        key: "p",
        help: "all primitives, with drawings",
        run: () => this.reference.open(),
      },
      { label: "Guide", key: "g", help: "how to use each view", run: () => this.reference.open("start") },
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

/**
 * @param {PrimitiveDoc} page
 * @returns {ReferencePage}
 */
function callPage(page) {
  const { name, summary } = page;
  const body = () => nodes(primitivePage(page, true));
  return { name, label: name, words: `${name} ${summary}`.toLowerCase(), isGuide: false, body };
}

/** @param {KeyboardEventInit} key */
function pressKey(key) {
  window.dispatchEvent(new KeyboardEvent("keydown", { bubbles: true, cancelable: true, ...key }));
}

/**
 * A page of the reference: of a primitive, or of the guide.
 * @typedef {{ name: string, label: string, words: string, isGuide: boolean, body: () => (Node | string)[] }} ReferencePage
 */

/** The reference: names of primitives and pages of the guide on the left, one page on the right. */
class Reference {
  /** @param {Element} host */
  constructor(host) {
    /** @type {ReferencePage[]} */
    this.pages = [];
    this.shown = "";
    this.field = h("input", {
      class: "menu-filter",
      type: "search",
      placeholder: "Find a call or a page",
      "aria-label": "Find a call or a page",
      autocomplete: "off",
      spellcheck: "false",
      oninput: () => this.narrow(),
    });
    this.names = h("nav", { class: "reference-names", "aria-label": "Calls and pages" });
    this.page = h("article", { class: "reference-page", tabindex: 0, "aria-live": "polite", "aria-label": "The page" });
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

  /** @param {string} [name] The primitive or the page of the guide to begin with. */
  open(name) {
    allPages((calls) =>
      publish("guide", (guide) => {
        this.pages = [...calls.map(callPage), ...guide.map((page) => this.guidePage(page))];
        this.field.value = "";
        this.narrow();
        this.choose(name ?? calls[0].name);
        this.dialog.showModal();
        this.field.focus();
        this.names.querySelector('[aria-current="true"]')?.scrollIntoView({ block: "nearest" });
      }),
    );
  }

  /**
   * @param {GuidePage} page
   * @returns {ReferencePage}
   */
  guidePage({ name, title, text }) {
    const body = () => prose(text, (other) => this.choose(other));
    return { name, label: title, words: `${title} ${text}`.toLowerCase(), isGuide: true, body };
  }

  narrow() {
    const words = this.field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = this.pages.filter((page) => words.every((word) => page.words.includes(word)));
    const named = (/** @type {ReferencePage} */ { name, label, isGuide }) =>
      h(
        "button",
        {
          type: "button",
          class: isGuide ? "is-guide" : undefined,
          "data-call": name,
          onclick: () => this.choose(name),
          onfocus: () => this.choose(name),
        },
        label,
      );
    const group = (/** @type {string} */ title, /** @type {ReferencePage[]} */ pages) =>
      pages.length ? [h("h3", {}, title), ...pages.map(named)] : [];
    this.names.replaceChildren(
      ...(found.length ? [] : [h("p", { class: "quiet" }, "Nothing matches")]),
      ...group(
        "Calls",
        found.filter((page) => !page.isGuide),
      ),
      ...group(
        "Guide",
        found.filter((page) => page.isGuide),
      ),
    );
    if (found.length) this.choose(found[0].name);
  }

  /** @param {string} name */
  choose(name) {
    if (this.shown === name && this.page.childElementCount) return this.mark(name);
    this.shown = name;
    const page = this.pages.find((candidate) => candidate.name === name);
    this.page.classList.toggle("is-guide", page?.isGuide ?? false);
    if (page) this.page.replaceChildren(h("h2", {}, page.label), ...page.body());
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
