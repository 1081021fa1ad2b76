// Bokeh figures of the server in a component. The page has BokehJS; a notebook's widget receives it from the kernel when it draws the first figure.

import { h } from "./dom.js";

/** @import { Model } from "./types.js" */

/** @typedef {{ doc: object, root_id: string }} FigureItem The figure as `bokeh.embed.json_item` encodes it. */
/** @typedef {{ [light: string]: string }} DarkColors The dark colour of each light one. */
/** @typedef {{ clear: () => void }} Views */
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

export class BokehFigure {
  /** @param {Model} model */
  constructor(model) {
    this.model = model;
    this.element = h("div", { class: "bokeh-figure", role: "group" });
    this.key = "";
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
    this.element.replaceChildren(target);
  }
}
