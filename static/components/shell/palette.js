// The command palette (Ctrl+Shift+P): every action by its name. Views add their actions when they receive the event "commands", whose
// detail is the list.

import { publish, subscribe } from "../core/bus.js";
import { focusedElement, h } from "../core/dom.js";
import { Popup, pointRect } from "../core/popup.js";
import { GroupedMenu } from "../core/menu.js";

/** @import { Message, PayloadModel, Rect } from "../core/dom.js" */
/** @import { MenuItem } from "../core/menu.js" */

/** @typedef {Omit<MenuItem, "run"> & { message: Message }} Command An action of the server. */

const WIDTH = 560;

/** @param {{ model: PayloadModel }} options */
export function render({ model }) {
  const host = h("div", { class: "tw-palette" });
  const palette = new Palette(model, host);
  model.on("payload", () => palette.drawAgain());
  model.on("remove", () => palette.remove());
  return host;
}

class Palette {
  /**
   * @param {PayloadModel} model
   * @param {Element} host
   */
  constructor(model, host) {
    this.model = model;
    /** @type {Element | null} The element that had the focus before. */
    this.before = null;
    /** @type {GroupedMenu | null} */
    this.menu = null;
    /** @type {Rect} */
    this.anchor = pointRect(0, 0);
    this.popup = new Popup(host, "sheet palette", {
      role: "dialog",
      "aria-modal": "true",
      "aria-label": "Find any action",
    });
    this.listening = new AbortController();
    const options = { capture: true, signal: this.listening.signal };
    window.addEventListener("keydown", (event) => this.key(event), options);
    window.addEventListener("pointerdown", (event) => this.clickOutside(event), options);
    this.end = subscribe("commands-changed", () => this.drawAgain());
  }

  remove() {
    this.listening.abort();
    this.end();
    this.popup.hide();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (!(event.ctrlKey || event.metaKey) || !event.shiftKey || event.key.toLowerCase() !== "p") return;
    event.preventDefault();
    event.stopPropagation();
    if (this.popup.shown) this.close(true);
    else this.open();
  }

  /** @param {PointerEvent} event */
  clickOutside(event) {
    if (this.popup.shown && !event.composedPath().includes(this.popup.element)) this.close(false);
  }

  open() {
    this.before = focusedElement();
    const left = Math.max(8, (window.innerWidth - WIDTH) / 2);
    this.anchor = pointRect(left, Math.min(80, window.innerHeight * 0.1));
    this.draw("");
    this.model.send_msg({ kind: "commands" });
  }

  /** Draw actions that arrive after the palette opened, and keep the typed text. */
  drawAgain() {
    if (this.popup.shown) this.draw(this.menu?.filter.value ?? "");
  }

  /** @param {string} text */
  draw(text) {
    const menu = new GroupedMenu("Find any action", this.items(), (back) => this.close(back));
    this.menu = menu;
    this.popup.show(this.anchor, "below", menu.element);
    menu.filter.setAttribute("aria-label", "Find any action");
    if (text) menu.write(text);
    else menu.filter.focus();
  }

  /** @returns {MenuItem[]} */
  items() {
    /** @type {MenuItem[]} */
    const collected = [];
    publish("commands", collected);
    const here = new Set(collected.map((item) => item.method).filter(Boolean));
    /** @type {Command[]} */
    const commands = JSON.parse(this.model.payload);
    const own = commands.filter((command) => !here.has(command.method));
    const tabs = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("[data-pane-tab]")]);
    const panes = tabs
      .filter((tab) => tab.checkVisibility())
      .map((tab) => ({
        label: `Show: ${tab.firstChild?.textContent}`,
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

  /** @param {boolean} back Whether the focus returns. */
  close(back) {
    this.popup.hide();
    if (back && this.before instanceof HTMLElement) this.before.focus();
  }
}
