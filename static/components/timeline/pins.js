// Pinned rows: engines and memories that are drawn first and stay at the top while the others scroll. The names beside the rows are the buttons.
// The browser keeps the choice by the address of the page.

import { sharp } from "../core/canvas.js";
import { h, lineIcon } from "../core/dom.js";
import { keep, kept } from "../core/storage.js";

/** @import { Layout, Pinned } from "./layout.js" */
/** @import { Timeline as TimelineData } from "../views.js" */

const PIN = "M12 17v5M8 3h8l-1 7 3 4H6l3-4z";
const BUTTON = { width: 104, height: 26 };

/** @typedef {{ kind: "lanes" | "rows", n: number, name: string }} Row */

/** The key of the present page. */
function key() {
  return `tilewright-pinned ${window.location.pathname}`;
}

/**
 * The engines and memories of a timeline, in the order of the data.
 * @param {TimelineData} data
 * @returns {Row[]}
 */
export function rowsOf(data) {
  /** @type {Row[]} */
  const lanes = data.engines.map(({ name }, n) => ({ kind: "lanes", n, name }));
  /** @type {Row[]} */
  const memories = data.rows.map(({ name }, n) => ({ kind: "rows", n, name }));
  return [...lanes, ...memories];
}

export class Pins {
  /**
   * @param {(said: string) => void} changed Is called after a row was pinned or unpinned, with what was done.
   * @param {() => void} left Is called when the keyboard leaves the names.
   */
  constructor(changed, left) {
    this.changed = changed;
    this.left = left;
    this.canvas = h("canvas", { class: "pinned-plot", "aria-hidden": "true" });
    this.fixed = h("div", { class: "pinned-rows" });
    this.element = h("div", {
      class: "pins",
      role: "toolbar",
      "aria-label": "Pinned rows",
      "aria-orientation": "vertical",
      onkeydown: (event) => this.key(event),
    });
    /** @type {Row[]} */
    this.rows = [];
    this.current = 0;
    this.drawn = "";
  }

  /** @returns {string[]} The names of the pinned rows. */
  get names() {
    const found = kept("localStorage", key());
    return Array.isArray(found) ? found.filter((name) => typeof name === "string") : [];
  }

  /**
   * @param {TimelineData} data
   * @returns {Pinned}
   */
  of(data) {
    const { names } = this;
    const numbers = (/** @type {{ name: string }[]} */ rows) =>
      rows.flatMap(({ name }, n) => (names.includes(name) ? [n] : []));
    return names.length ? { lanes: numbers(data.engines), rows: numbers(data.rows) } : { lanes: [], rows: [] };
  }

  /** @param {Row} row */
  toggle({ name }) {
    const { names } = this;
    const isPinned = names.includes(name);
    const others = names.filter((other) => other !== name);
    keep("localStorage", key(), isPinned ? (others.length ? others : null) : [...names, name]);
    this.drawn = "";
    this.changed(`${name} ${isPinned ? "unpinned" : "pinned"}`);
  }

  /** Focus the button of the current row. */
  focus() {
    this.buttons[this.current]?.focus({ preventScroll: false });
  }

  /** @returns {HTMLElement[]} */
  get buttons() {
    return /** @type {HTMLElement[]} */ ([...this.element.children]);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.key === "Escape") {
      event.stopPropagation();
      this.left();
      return;
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    this.current = Math.max(0, Math.min(this.rows.length - 1, this.current + step));
    this.buttons.forEach((button, n) => (button.tabIndex = n === this.current ? 0 : -1));
    this.focus();
  }

  /**
   * Draw the buttons, and above the scrolled rows a copy of the pinned ones.
   * @param {TimelineData} data
   * @param {Layout} layout
   * @param {HTMLCanvasElement} plot
   * @param {number} scrolled
   * @param {string} background
   */
  draw(data, layout, plot, scrolled, background) {
    const { names } = this;
    this.rows = rowsOf(data);
    this.current = Math.min(this.current, Math.max(0, this.rows.length - 1));
    const drawn = JSON.stringify([this.rows.map(({ name }) => [name, names.includes(name)])]);
    if (drawn !== this.drawn) this.replaceButtons(names);
    this.drawn = drawn;
    this.rows.forEach(({ kind, n, name }, place) => {
      const { top, height } = layout[kind][n];
      const shift = names.includes(name) ? scrolled : 0;
      const size = `height:${Math.min(BUTTON.height, height)}px;width:${BUTTON.width}px`;
      this.buttons[place].style.cssText = `top:${top + shift}px;${size}`;
    });
    const isShown = scrolled > 0 && layout.pinnedEnd > layout.top;
    if (!isShown) this.canvas.remove();
    else if (!this.canvas.isConnected) this.fixed.append(this.canvas);
    if (isShown) this.copy(layout, plot, background);
  }

  /** @param {string[]} names */
  replaceButtons(names) {
    const isFocused = this.element.contains(/** @type {ShadowRoot} */ (this.element.getRootNode()).activeElement);
    this.element.replaceChildren(
      ...this.rows.map((row, n) => {
        const isPinned = names.includes(row.name);
        const text = isPinned ? "Unpin: the row scrolls with the others" : "Pin: the row stays at the top";
        return h(
          "button",
          {
            class: "pin",
            type: "button",
            tabindex: n === this.current ? "0" : "-1",
            "aria-pressed": String(isPinned),
            "aria-label": `Pin ${row.name}`,
            title: text,
            onclick: () => {
              this.current = n;
              this.toggle(row);
            },
          },
          lineIcon(PIN),
        );
      }),
    );
    if (isFocused) this.focus();
  }

  /**
   * @param {Layout} layout
   * @param {HTMLCanvasElement} plot
   * @param {string} background
   */
  copy({ width, pinnedEnd }, plot, background) {
    const context = sharp(this.canvas, width, pinnedEnd);
    this.canvas.style.height = `${pinnedEnd}px`;
    const scale = plot.width / width;
    context.fillStyle = background;
    context.fillRect(0, 0, width, pinnedEnd);
    context.drawImage(plot, 0, 0, plot.width, pinnedEnd * scale, 0, 0, width, pinnedEnd);
  }
}
