// One inference over time: the calls one after another, and below them the load of the engines and of the on-chip memories during each. The
// Bokeh figure is that of app/plots/inference.py.

import { BokehFigure, setRange, sourcesOf } from "../core/bokeh_figure.js";
import { h } from "../core/dom.js";
import { Popup } from "../core/popup.js";
import { barsOf, labelsOf, rowsOf } from "./bars.js";
import { facts } from "./status.js";

/** @import { DarkColors, Plot, PlotEvent, Source } from "../core/bokeh_figure.js" */
/** @import { Figure as FigureItem, Inference, KernelRow as Kernel } from "../views.js" */
/** @import { Model } from "../core/dom.js" */
/** @import { Page } from "./model.js" */
/** @import { Bars } from "./bars.js" */

/** @typedef {{ figure: FigureItem, dark: DarkColors }} Template */

const NAMES = ["rows", "loads", "calls", "labels"];

export class InferenceView {
  /**
   * @param {Model} model
   * @param {Page} page
   */
  constructor(model, page) {
    this.page = page;
    /** @type {Inference | null} */
    this.inference = null;
    /** @type {Kernel[]} */
    this.kernels = [];
    /** @type {Bars | null} */
    this.bars = null;
    /** @type {Record<string, Source>} */
    this.sources = {};
    this.pointed = /** @type {string | null} */ (null);
    this.drawnFor = "";
    this.figure = new BokehFigure(model, (plot) => this.begin(plot));
    this.element = h("section", { class: "inference", "aria-label": "One inference over time" }, this.figure.element);
    this.card = new Popup(this.element, "tip model-tip");
    this.figure.element.addEventListener("keydown", (event) => this.key(event));
  }

  /**
   * @param {Inference} inference
   * @param {Kernel[]} kernels
   * @param {Template} template
   */
  draw(inference, kernels, template) {
    this.inference = inference;
    this.kernels = kernels;
    if (!inference.cycles) return;
    const words = `${inference.calls.length} calls over ${inference.cycles} cycles. Arrow keys select a call, Enter opens its kernel`;
    this.figure.draw(template.figure, template.dark, words);
    this.fill();
  }

  /** @param {Plot} plot */
  begin(plot) {
    this.sources = sourcesOf(plot, NAMES);
    this.drawnFor = "";
    plot.on_event("mousemove", (event) => this.hover(event));
    plot.on_event("mouseleave", () => {
      this.card.hide();
      this.page.point(null);
    });
    plot.on_event("tap", () => {
      const at = this.sources.calls.selected.indices[0];
      this.sources.calls.selected.indices = [];
      if (at !== undefined && this.inference) this.page.open(this.inference.keys[at]);
    });
    for (const end of /** @type {const} */ (["start", "end"]))
      plot.x_range.properties[end].change.connect(() => this.write());
    plot.properties.inner_width.change.connect(() => this.write());
    this.fill();
  }

  /** Fill the sources with the bars of the inference; a range that was zoomed stays. */
  fill() {
    const { plot } = this.figure;
    if (!plot || !this.inference) return;
    const rows = rowsOf(this.inference);
    const top = rows[0].top;
    this.bars = barsOf(this.inference, rows, new Map(this.kernels.map((k) => [k.key, k])), plot.tags[0]);
    this.sources.rows.data = this.bars.rows;
    this.sources.loads.data = this.bars.loads;
    this.shade();
    setRange(plot.x_range, 0, Math.max(1, this.inference.cycles), this.drawnFor === "");
    setRange(plot.y_range, 0, top + 0.1, true);
    const places = rows.map((row) => (row.top + row.bottom) / 2);
    plot.left[0].ticker.setv({ ticks: places });
    plot.left[0].setv({ major_label_overrides: new Map(rows.map((row, n) => [places[n], row.label])) });
    this.drawnFor = "filled";
    this.write();
  }

  /** The calls, those of other kernels faint while one is pointed at or searched. */
  shade() {
    if (!this.bars || !this.inference || !this.sources.calls) return;
    const { keys } = this.inference;
    const alpha = keys.map((key) => {
      if (this.pointed !== null) return key === this.pointed ? 0.95 : 0.25;
      return this.page.fits(key) ? 0.75 : 0.15;
    });
    this.sources.calls.data = { ...this.bars.calls, alpha };
  }

  /** Labels of the calls that are wide enough in the visible range. */
  write() {
    const { plot, view } = this.figure;
    if (!plot || !this.bars || !this.inference || !view) return;
    const width = view.frame.bbox.right - view.frame.bbox.left;
    const { start, end } = plot.x_range;
    const labels = this.inference.keys.map((key) => this.page.kernel(key)?.label ?? key);
    this.sources.labels.data = labelsOf(this.bars.calls, labels, start, end, width);
  }

  /** @param {string | null} key */
  highlight(key) {
    if (this.pointed === key) return;
    this.pointed = key;
    this.shade();
  }

  /** @param {PlotEvent} event */
  hover(event) {
    const at = this.sources.calls.inspected.indices[0];
    const kernel = at === undefined || !this.inference ? undefined : this.page.kernel(this.inference.keys[at]);
    this.page.point(kernel?.key ?? null);
    if (!kernel) return this.card.hide();
    const box = this.figure.element.getBoundingClientRect();
    const [x, y] = [box.left + event.sx, box.top + event.sy];
    this.card.show({ left: x - 8, right: x + 8, top: y - 8, bottom: y + 8 }, "beside", ...cardOf(kernel));
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const rows = this.sources.calls;
    if (!rows || !this.inference) return;
    const last = this.inference.calls.length - 1;
    /** @type {{ [key: string]: number }} */
    const steps = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity };
    const at = this.selected ?? (event.key === "ArrowLeft" ? last + 1 : -1);
    if (steps[event.key]) {
      this.selected = Math.max(0, Math.min(last, at + steps[event.key]));
      this.page.point(this.inference.keys[this.selected]);
      this.figure.element.ariaDescription = this.page.kernel(this.inference.keys[this.selected])?.name ?? "";
    } else if (event.key === "Enter" && this.selected !== undefined) this.page.open(this.inference.keys[this.selected]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @type {number | undefined} The call that the keys selected. */
  selected = undefined;
}

/** @param {Kernel} kernel */
function cardOf(kernel) {
  return [
    h("b", {}, kernel.key),
    h(
      "dl",
      {},
      facts(kernel).flatMap(([label, text]) => [h("dt", {}, label), h("dd", {}, text)]),
    ),
  ];
}
