// The bars between panes: the pointer and arrow keys move them; Enter, a double click or their small button folds a pane. Sizes are CSS variables
// of the page, and the style sheet limits them in a small window.

import { h, icon } from "../core/dom.js";

const STEP = 16;

/** @type {Record<string, number>} */
const HORIZONTAL = { ArrowRight: 1, ArrowLeft: -1 };
/** @type {Record<string, number>} */
const VERTICAL = { ArrowDown: 1, ArrowUp: -1 };

/**
 * A bar. `data-gutter` has the CSS variable, the axis, +1 if the pane is before the bar, the least size in pixels, and the largest share of the
 * window, as in the style sheet; `data-fold` has the pane's short name.
 */
class Splitter {
  /** @param {HTMLElement} bar */
  constructor(bar) {
    const [variable, axis, direction, least, part] = (bar.dataset.gutter ?? "").split(" ");
    this.bar = bar;
    this.variable = variable;
    this.axis = axis;
    this.direction = Number(direction);
    this.least = Number(least);
    this.part = Number(part);
    this.fold = bar.dataset.fold ?? "";
    this.pane = document.getElementById((bar.getAttribute("aria-controls") ?? "").split(" ")[0]);
    this.name = bar.getAttribute("aria-label") ?? "";
    bar.tabIndex = 0;
    bar.addEventListener("pointerdown", (event) => this.grab(event));
    bar.addEventListener("keydown", (event) => this.key(event));
    bar.addEventListener("dblclick", () => this.toggle());
    // Beside the bar: screen readers ignore the content of a separator.
    this.button = h(
      "button",
      { class: "fold", type: "button", "data-fold-button": this.fold, onclick: () => this.toggle() },
      icon("back"),
    );
    bar.after(this.button);
    this.updateAria();
  }

  get folded() {
    return (document.documentElement.dataset.folded ?? "").split(" ").includes(this.fold);
  }

  get size() {
    const box = this.pane?.getBoundingClientRect() ?? new DOMRect();
    return Math.round(this.axis === "x" ? box.width : box.height);
  }

  get most() {
    return Math.round((this.axis === "x" ? innerWidth : innerHeight) * this.part);
  }

  /** @param {PointerEvent} event */
  grab(event) {
    if (event.button !== 0) return;
    this.bar.setPointerCapture(event.pointerId);
    const at = (/** @type {PointerEvent} */ e) => (this.axis === "x" ? e.clientX : e.clientY);
    const from = at(event);
    const size = this.folded ? 0 : this.size;
    const move = (/** @type {PointerEvent} */ e) => {
      this.resize(size + (at(e) - from) * this.direction);
      // A folded pane keeps its former size, not the last one of the drag.
      if (this.folded && size) document.documentElement.style.setProperty(this.variable, `${size}px`);
    };
    const stop = () => {
      this.bar.removeEventListener("pointermove", move);
      document.documentElement.classList.remove("is-resizing");
    };
    document.documentElement.classList.add("is-resizing");
    this.bar.addEventListener("pointermove", move);
    this.bar.addEventListener("lostpointercapture", stop, { once: true });
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const grow = (this.axis === "x" ? HORIZONTAL : VERTICAL)[event.key];
    if (grow) this.resize((this.folded ? 0 : this.size) + grow * this.direction * STEP * (event.shiftKey ? 4 : 1));
    else if (event.key === "Home") this.resize(this.least);
    else if (event.key === "End") this.resize(this.most);
    else if (event.key === "Enter") this.toggle();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /**
   * Resize the pane. Below half of its least size it folds; a folded one opens.
   * @param {number} wanted
   */
  resize(wanted) {
    if (wanted < this.least / 2) {
      if (!this.folded) this.toggle();
      return;
    }
    if (this.folded) this.toggle();
    document.documentElement.style.setProperty(
      this.variable,
      `${Math.round(Math.min(this.most, Math.max(this.least, wanted)))}px`,
    );
    this.updateAria();
  }

  toggle() {
    const root = document.documentElement;
    const others = (root.dataset.folded ?? "").split(" ").filter((name) => name && name !== this.fold);
    root.dataset.folded = (this.folded ? others : [...others, this.fold]).join(" ");
    this.updateAria();
    window.dispatchEvent(new Event("resize")); // Bokeh's figures measure their size again
  }

  /** Update the state for screen readers. */
  updateAria() {
    const now = this.folded ? 0 : this.size;
    this.bar.setAttribute("aria-valuemin", "0");
    this.bar.setAttribute("aria-valuemax", String(Math.max(this.most, now)));
    this.bar.setAttribute("aria-valuenow", String(now));
    this.bar.setAttribute("aria-valuetext", this.folded ? "folded" : `${now} pixels`);
    const label = `${this.folded ? "Show" : "Fold"} ${this.name.toLowerCase()}`;
    this.button.setAttribute("aria-label", label);
    this.button.setAttribute("aria-expanded", String(!this.folded));
    this.button.title = label;
  }
}

/**
 * Open panes by their short names.
 * @param {...string} names
 */
export function unfold(...names) {
  for (const name of names) {
    const button = document.querySelector(`[data-fold-button="${name}"][aria-expanded="false"]`);
    if (button instanceof HTMLElement) button.click();
  }
}

/** Activate every bar of the page. */
export function splitters() {
  const all = [...document.querySelectorAll("[data-gutter]")].map(
    (bar) => new Splitter(/** @type {HTMLElement} */ (bar)),
  );
  window.addEventListener("resize", () =>
    requestAnimationFrame(() => all.forEach((splitter) => splitter.updateAria())),
  );
}
