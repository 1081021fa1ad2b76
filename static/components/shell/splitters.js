// The bars between the panes: dragged, moved with arrow keys, folded with Enter, a double click or their small button. Sizes are CSS
// variables of the page, so they last as long as the page does, and the style sheet says what is sensible in a small window.

import { h, icon } from "../core/dom.js";

const STEP = 16;

/** `data-gutter`: the variable, the axis, +1 where the pane is before the bar, the least size, the largest part of
 *  the window, as the style sheet has it; `data-fold`: the pane's short name. */
class Splitter {
  constructor(bar) {
    const [variable, axis, direction, least, part] = bar.dataset.gutter.split(" ");
    Object.assign(this, {
      bar,
      variable,
      axis,
      direction: Number(direction),
      least: Number(least),
      part: Number(part),
      fold: bar.dataset.fold,
    });
    this.panes = bar
      .getAttribute("aria-controls")
      .split(" ")
      .map((id) => document.getElementById(id));
    this.name = bar.getAttribute("aria-label");
    bar.tabIndex = 0;
    bar.addEventListener("pointerdown", (event) => this.grab(event));
    bar.addEventListener("keydown", (event) => this.key(event));
    bar.addEventListener("dblclick", () => this.toggle());
    // Beside the bar, not in it: what is inside of a separator is nothing to a screen reader.
    this.button = h(
      "button",
      { class: "fold", type: "button", "data-fold-button": this.fold, onclick: () => this.toggle() },
      icon("back"),
    );
    bar.after(this.button);
    this.tell();
  }

  get folded() {
    return (document.documentElement.dataset.folded ?? "").split(" ").includes(this.fold);
  }

  get size() {
    const box = this.panes[0].getBoundingClientRect();
    return Math.round(this.axis === "x" ? box.width : box.height);
  }

  get most() {
    return Math.round((this.axis === "x" ? innerWidth : innerHeight) * this.part);
  }

  grab(event) {
    if (event.button !== 0) return;
    this.bar.setPointerCapture(event.pointerId);
    const at = (e) => (this.axis === "x" ? e.clientX : e.clientY);
    const from = at(event);
    const size = this.folded ? 0 : this.size;
    const move = (e) => {
      this.resize(size + (at(e) - from) * this.direction);
      // Folded, it keeps the size it had, not those that it was pulled through.
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

  key(event) {
    const grow = { x: { ArrowRight: 1, ArrowLeft: -1 }, y: { ArrowDown: 1, ArrowUp: -1 } }[this.axis][event.key];
    if (grow) this.resize((this.folded ? 0 : this.size) + grow * this.direction * STEP * (event.shiftKey ? 4 : 1));
    else if (event.key === "Home") this.resize(this.least);
    else if (event.key === "End") this.resize(this.most);
    else if (event.key === "Enter") this.toggle();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Pulled to less than half of its least size, a pane is folded; pulled out again, it opens. */
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
    this.tell();
  }

  toggle() {
    const root = document.documentElement;
    const others = (root.dataset.folded ?? "").split(" ").filter((name) => name && name !== this.fold);
    root.dataset.folded = (this.folded ? others : [...others, this.fold]).join(" ");
    this.tell();
    window.dispatchEvent(new Event("resize")); // Bokeh's figures measure themselves
  }

  /** What a screen reader hears of it. */
  tell() {
    const now = this.folded ? 0 : this.size;
    this.bar.setAttribute("aria-valuemin", 0);
    this.bar.setAttribute("aria-valuemax", Math.max(this.most, now));
    this.bar.setAttribute("aria-valuenow", now);
    this.bar.setAttribute("aria-valuetext", this.folded ? "folded" : `${now} pixels`);
    const label = `${this.folded ? "Show" : "Fold"} ${this.name.toLowerCase()}`;
    this.button.setAttribute("aria-label", label);
    this.button.setAttribute("aria-expanded", String(!this.folded));
    this.button.title = label;
  }
}

/** Open panes by their short names: something in them is to be seen. */
export function unfold(...names) {
  for (const name of names) document.querySelector(`[data-fold-button="${name}"][aria-expanded="false"]`)?.click();
}

/** Every bar of the page. They are told of a new window size, and when the page changes screens. */
export function splitters() {
  const all = [...document.querySelectorAll("[data-gutter]")].map((bar) => new Splitter(bar));
  window.addEventListener("resize", () => requestAnimationFrame(() => all.forEach((splitter) => splitter.tell())));
}
