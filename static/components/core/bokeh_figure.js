// Bokeh figures of the server in a component. The page has BokehJS; a notebook's widget receives it from the kernel when it draws the first figure.

import { h } from "./dom.js";

/** @import { Model } from "./dom.js" */
/** @import { Figure as FigureItem } from "../views.js" */

/** @typedef {{ [light: string]: string }} DarkColors The dark colour of each light one. */
/** @typedef {{ [column: string]: unknown[] }} Columns */
/** @typedef {{ connect: (listener: (args?: any) => void) => void }} Signal */

/**
 * A ColumnDataSource.
 * @typedef {object} Source
 * @property {Columns} data
 * @property {{ indices: number[], properties: { indices: { change: Signal } } }} selected
 * @property {{ indices: number[] }} inspected
 * @property {Signal} inspect
 */

/**
 * A Range1d.
 * @typedef {object} Range
 * @property {number} start
 * @property {number} end
 * @property {number | null} reset_start
 * @property {number | null} reset_end
 * @property {{ start: { change: Signal }, end: { change: Signal } }} properties
 * @property {(values: Partial<Omit<Range, "properties" | "setv">>) => void} setv
 */

/** @typedef {{ type: string, ticker: Part, formatter?: Formatter, setv: (values: object) => void }} Part A scale, an axis or an annotation. */
/** @typedef {{ type: string, doFormat: (ticks: number[], options: unknown) => string[] }} Formatter */
/** @typedef {{ x: number, y: number, sx: number, sy: number }} PlotEvent Data coordinates, and pixels of the figure. */

/**
 * A figure of BokehJS.
 * @typedef {object} Plot
 * @property {Range} x_range
 * @property {Range} y_range
 * @property {Part} x_scale
 * @property {Part} y_scale
 * @property {Part[]} below
 * @property {Part[]} left
 * @property {any[]} tags
 * @property {{ gestures: { pan: { active: object | null } } }} toolbar
 * @property {{ inner_width: { change: Signal } }} properties
 * @property {(event: string, listener: (event: PlotEvent) => void) => void} on_event
 * @property {(name: string) => any[]} select The models with a name.
 */

/** @typedef {{ x_scale: { compute: (x: number) => number }, bbox: { left: number, right: number } }} Frame In pixels of the figure. */
/** @typedef {{ model: Plot, frame: Frame }} PlotView */
/** @typedef {{ clear: () => void, roots: PlotView[] }} Views */
/** @typedef {{ embed: { embed_item: (item: FigureItem, target: HTMLElement) => Promise<Views> } }} BokehJS */

/** @type {Promise<BokehJS> | null} */
let loading = null;

/** @param {Model} model */
function bokehOf(model) {
  const { Bokeh } = /** @type {{ Bokeh?: BokehJS }} */ (globalThis);
  if (Bokeh) return Promise.resolve(Bokeh);
  loading ??= new Promise((loaded, failed) => {
    model.on("msg:custom", (message) => {
      if (message.kind === "bokeh") importScript(message.script).then(loaded, failed);
    });
    model.send_msg({ kind: "bokeh" });
  });
  return loading;
}

/**
 * @param {string} text
 * @returns {Promise<BokehJS>}
 */
async function importScript(text) {
  const module = new Blob([`(function(){${text}\n}).call(globalThis);`], { type: "text/javascript" });
  await import(URL.createObjectURL(module));
  return /** @type {any} */ (globalThis).Bokeh;
}

/** @type {{ [key: string]: number }} */
const STEPS = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1, Home: -Infinity, End: Infinity };

export class BokehFigure {
  /**
   * @param {Model} model
   * @param {(plot: Plot) => void} [drawn] Called with each new figure.
   */
  constructor(model, drawn) {
    this.model = model;
    this.element = h("div", { class: "bokeh-figure", role: "application", tabindex: "0" });
    this.drawn = drawn;
    this.key = "";
    /** @type {Plot | null} */
    this.plot = null;
    /** @type {PlotView | null} */
    this.view = null;
    /** @type {Views | null} */
    this.views = null;
  }

  /**
   * Draw a figure; a figure that is drawn already stays. The old figure is visible until the new one is drawn.
   * @param {FigureItem} item
   * @param {DarkColors} darkColors
   * @param {string} label A description for screen readers.
   */
  async draw(item, darkColors, label) {
    const isDark = getComputedStyle(this.element).colorScheme === "dark";
    const text = JSON.stringify(item);
    const key = `${isDark} ${text}`;
    this.element.ariaLabel = label;
    if (key === this.key) return;
    this.key = key;
    this.element.ariaBusy = "true";
    const Bokeh = await bokehOf(this.model);
    if (key !== this.key) return;
    const themed = isDark
      ? text.replace(/"#[0-9a-f]{6}"/g, (color) => `"${darkColors[color.slice(1, -1)] ?? color.slice(1, -1)}"`)
      : text;
    const target = h("div", { class: "bokeh-target" });
    this.element.append(target);
    const views = await Bokeh.embed.embed_item(JSON.parse(themed), target);
    if (key !== this.key) {
      views.clear();
      target.remove();
      return;
    }
    this.views?.clear();
    this.views = views;
    this.view = views.roots[0];
    this.plot = this.view.model;
    for (const axis of [...this.plot.below, ...this.plot.left]) useUnits(axis.formatter);
    this.element.replaceChildren(target);
    this.element.ariaBusy = null;
    this.drawn?.(this.plot);
  }

  /**
   * Select rows of a source with the arrow keys, Home and End; Escape selects none. Call it once.
   * @param {string} source
   */
  selectByKeys(source) {
    this.element.addEventListener("keydown", (event) => {
      const rows = this.plot && sourceOf(this.plot, source);
      const step = STEPS[event.key];
      if (!rows || !(step || (event.key === "Escape" && rows.selected.indices.length))) return;
      const last = Object.values(rows.data)[0].length - 1;
      const at = rows.selected.indices[0] ?? (step > 0 ? -1 : last + 1);
      rows.selected.indices = step ? [Math.max(0, Math.min(last, at + step))] : [];
      event.preventDefault();
      event.stopPropagation();
    });
  }
}

/** @type {{ [letter: string]: string }} */
const PREFIXES = { m: "M", b: "G", t: "T" };

/**
 * Write amounts with the prefixes of the SI: BokehJS abbreviates a million as "m".
 * @param {Formatter | undefined} formatter
 */
function useUnits(formatter) {
  if (formatter?.type !== "NumeralTickFormatter") return;
  const plain = formatter.doFormat.bind(formatter);
  formatter.doFormat = (ticks, options) =>
    plain(ticks, options).map((text) => text.replace(/(?<=\d)[mbt]$/, (letter) => PREFIXES[letter]));
}

/**
 * The data sources of a figure by their names.
 * @param {Plot} plot
 * @param {string[]} names
 * @returns {Record<string, Source>}
 */
export const sourcesOf = (plot, names) => Object.fromEntries(names.map((name) => [name, sourceOf(plot, name)]));

/**
 * Give a range new ends, to which the figure's *Reset* returns; a range that the user has zoomed stays.
 * @param {Range} range
 * @param {number} start
 * @param {number} end
 * @param {boolean} isNew Whether a zoom ends.
 */
export function setRange(range, start, end, isNew) {
  const isUsual = range.start === (range.reset_start ?? range.start) && range.end === (range.reset_end ?? range.end);
  range.setv({ reset_start: start, reset_end: end, ...(isUsual || isNew ? { start, end } : {}) });
}

/**
 * The data source of a figure with a name.
 * @param {Plot} plot
 * @param {string} name
 * @returns {Source}
 */
export const sourceOf = (plot, name) => plot.select(name).find((one) => one.type === "ColumnDataSource");
