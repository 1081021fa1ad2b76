// The ×N marks over repeats in the folded timeline: buttons, where there is room for one.

import { h } from "../core/dom.js";
import { grouped } from "../core/numbers.js";
import { GUTTER, MARK, RIGHT, markRow, xAt } from "./layout.js";
import { copiesOf } from "./time_map.js";

/** @import { Layout } from "./layout.js" */
/** @import { TimelineModel } from "./model.js" */

const MIN_WIDTH = 19;
/** The least width of a mark that also shows the chosen copy. */
const MIN_WIDTH_WITH_COPY = 80;

export class RepeatMarks {
  element = h("div", { class: "marks" });
  /** The repeats that have marks. */
  key = "";

  /** @param {(repeat: number, mark: HTMLElement) => void} onOpen */
  constructor(onOpen) {
    this.onOpen = onOpen;
  }

  /**
   * @param {TimelineModel} model
   * @param {Layout} layout
   */
  draw(model, layout) {
    const right = layout.width - RIGHT;
    const x = (/** @type {number} */ time) => xAt(model.view, layout, time);
    const shown = (model.folded ? model.data.repeats : [])
      .map((repeat, number) => ({ repeat, number, from: x(repeat.start), to: x(repeat.end) }))
      .filter(({ from, to }) => to - from >= MIN_WIDTH && to > GUTTER + MIN_WIDTH && from < right - MIN_WIDTH);
    const key = `${shown.map(({ number }) => number).join(" ")} of ${model.data.report}`;
    if (key !== this.key) {
      this.key = key;
      this.element.replaceChildren(...shown.map(({ number }) => this.mark(model, number)));
    }
    shown.forEach(({ repeat, number, from, to }, n) => {
      const mark = /** @type {HTMLElement} */ (this.element.children[n]);
      const left = Math.max(from, GUTTER);
      mark.style.cssText = `left:${left}px;width:${Math.min(to, right) - left}px;top:${markRow(repeat.level) * MARK}px`;
      const copy = to - from > MIN_WIDTH_WITH_COPY ? (model.copies[number] ?? 0) : 0;
      const text = `×${grouped(copiesOf(repeat, model.copies))}${copy ? ` · ${grouped(copy + 1)}` : ""}`;
      if (mark.textContent !== text) mark.textContent = text;
    });
  }

  /**
   * @param {TimelineModel} model
   * @param {number} number
   */
  mark({ data }, number) {
    const { extra, names } = data.repeats[number];
    return h("button", {
      class: "mark",
      type: "button",
      "data-repeat": number,
      title: "Drawn once: choose a repetition, or expand it",
      "aria-label": `Repeats ${grouped(extra + 1)} times: ${names.join(", ")}`,
      onclick: (event) => {
        if (event.currentTarget instanceof HTMLElement) this.onOpen(number, event.currentTarget);
      },
    });
  }
}
