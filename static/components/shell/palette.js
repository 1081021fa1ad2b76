// The command palette (Ctrl+Shift+P): every action by its name. Views that have actions of their own add them when they are asked by the
// event "tilewright:commands", whose detail is the list to add to.

import { h } from "../core/dom.js";
import { Popup, pointRect } from "../core/popup.js";
import { menuBody } from "../core/menu.js";

const WIDTH_OF_PALETTE = 560;

export function render({ model }) {
  const host = h("div", { class: "tw-palette" });
  const palette = new Palette(model, host);
  model.on("payload", () => palette.drawAgain());
  model.on("remove", () => palette.remove());
  return host;
}

class Palette {
  constructor(model, host) {
    this.model = model;
    this.popup = new Popup(host, "sheet palette", {
      role: "dialog",
      "aria-modal": "true",
      "aria-label": "Find any action",
    });
    this.anywhere = {
      keydown: (event) => this.key(event),
      pointerdown: (event) => this.elsewhere(event),
      "tilewright:commands-changed": () => this.drawAgain(),
    };
    for (const [name, handler] of Object.entries(this.anywhere)) window.addEventListener(name, handler, true);
  }

  remove() {
    for (const [name, handler] of Object.entries(this.anywhere)) window.removeEventListener(name, handler, true);
    this.popup.hide();
  }

  key(event) {
    if (!(event.ctrlKey || event.metaKey) || !event.shiftKey || event.key.toLowerCase() !== "p") return;
    event.preventDefault();
    event.stopPropagation();
    if (this.popup.shown) this.close(true);
    else this.open();
  }

  elsewhere(event) {
    if (this.popup.shown && !event.composedPath().includes(this.popup.element)) this.close(false);
  }

  open() {
    this.before = focusedElement();
    const left = Math.max(8, (window.innerWidth - WIDTH_OF_PALETTE) / 2);
    this.anchor = pointRect(left, Math.min(80, window.innerHeight * 0.1));
    this.draw("");
    this.model.send_msg({ kind: "commands" });
  }

  /** What is typed stays when actions come later than the palette. */
  drawAgain() {
    if (this.popup.shown) this.draw(this.filter.value);
  }

  draw(text) {
    const body = menuBody("Find any action", this.items(), (back) => this.close(back));
    this.popup.show(this.anchor, "below", body.element);
    this.filter = body.filter;
    body.filter.setAttribute("aria-label", "Find any action");
    if (text) body.write(text);
    else body.filter.focus();
  }

  items() {
    const collected = [];
    window.dispatchEvent(new CustomEvent("tilewright:commands", { detail: collected }));
    const here = new Set(collected.map((item) => item.method).filter(Boolean));
    const own = JSON.parse(this.model.payload).filter((command) => !here.has(command.method));
    const panes = [...document.querySelectorAll("[data-pane-tab]")]
      .filter((tab) => tab.checkVisibility())
      .map((tab) => ({
        label: `Show: ${tab.firstChild.textContent}`,
        group: "Views",
        help: "the pane at the bottom right",
        run: () => tab.click(),
      }));
    return [
      ...collected,
      ...panes,
      ...own.map((command) => ({ ...command, run: () => this.model.send_msg(command.message) })),
    ];
  }

  close(back) {
    this.popup.hide();
    if (back) this.before?.focus?.();
  }
}

function focusedElement() {
  let element = document.activeElement;
  while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
  return element;
}
