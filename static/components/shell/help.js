// Help: its small menu at the "?" of the top bar, and the reference of all primitives, with a field that narrows them.

import { h, icon } from "../core/dom.js";
import { menuBody } from "../core/menu.js";
import { Popup } from "../core/popup.js";
import { allPages, primitivePage } from "../core/primitive_card.js";

/** Opened by the event "tilewright:help", whose detail is the element to stand below. */
export class Help {
  constructor(host, tour) {
    this.tour = tour;
    this.popup = new Popup(host, "sheet", { role: "dialog", "aria-label": "Help" });
    this.reference = new Reference(host);
    window.addEventListener("tilewright:help", ({ detail }) =>
      this.popup.shown ? this.close(true) : this.open(detail),
    );
    window.addEventListener(
      "pointerdown",
      (event) => this.popup.shown && !event.composedPath().includes(this.popup.element) && this.close(false),
      true,
    );
  }

  open(anchor) {
    this.anchor = anchor;
    const body = menuBody("Help", this.items(), (back) => this.close(back));
    this.popup.show(anchor.getBoundingClientRect(), "below", body.element);
    body.focus();
  }

  items() {
    const notebook = document.documentElement.dataset.screen === "notebook";
    return [
      {
        label: "Guided tour, two minutes",
        key: "t",
        help: "compute_at, set_scope, cache_read: each done once",
        run: () => this.tour.start(),
      },
      { label: "What each call does", key: "p", help: "all primitives, drawn", run: () => this.reference.open() },
      {
        label: "Find any action",
        key: "a",
        help: "Ctrl+Shift+P",
        disabled: notebook ? undefined : "in a notebook",
        run: () => pressed({ key: "P", ctrlKey: true, shiftKey: true }),
      },
      {
        label: "Keys of the loop tree",
        key: "k",
        help: "all of them",
        disabled: notebook ? undefined : "in a notebook",
        run: () => this.keys(),
      },
    ];
  }

  keys() {
    const asked = [];
    window.dispatchEvent(new CustomEvent("tilewright:commands", { detail: asked }));
    asked.find((command) => command.label === "Keys of the tree")?.run();
  }

  close(back) {
    this.popup.hide();
    if (back) this.anchor?.focus();
  }
}

function pressed(key) {
  window.dispatchEvent(new KeyboardEvent("keydown", { bubbles: true, cancelable: true, ...key }));
}

/** All primitives: names on the left, the page of one on the right. */
class Reference {
  constructor(host) {
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
    this.dialog = h(
      "dialog",
      { class: "reference", "aria-label": "What each call does" },
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
    this.names.addEventListener("keydown", (event) => this.walk(event));
    this.field.addEventListener(
      "keydown",
      (event) => event.key === "ArrowDown" && this.names.querySelector("button")?.focus(),
    );
    host.append(this.dialog);
  }

  open() {
    allPages((pages) => {
      this.pages = pages;
      this.field.value = "";
      this.narrow();
      this.choose(pages[0].name);
      this.dialog.showModal();
      this.field.focus();
    });
  }

  narrow() {
    const words = this.field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (page) => words.every((word) => `${page.name} ${page.summary}`.toLowerCase().includes(word));
    const named = (page) =>
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
    this.names.replaceChildren(
      ...(found.length ? found.map(named) : [h("p", { class: "quiet" }, "No call has this in it")]),
    );
    if (found.length) this.choose(found[0].name);
  }

  choose(name) {
    if (this.shown === name && this.page.childElementCount) return this.mark(name);
    this.shown = name;
    const page = this.pages.find((candidate) => candidate.name === name);
    this.page.replaceChildren(h("h2", {}, page.name), ...primitivePage(page, true).filter(Boolean));
    this.page.scrollTop = 0;
    this.mark(name);
  }

  mark(name) {
    for (const button of this.names.querySelectorAll("button"))
      button.setAttribute("aria-current", String(button.dataset.call === name));
  }

  walk(event) {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const all = [...this.names.querySelectorAll("button")];
    const next = all[all.indexOf(event.target) + by];
    (next ?? (by < 0 ? this.field : null))?.focus();
  }
}
