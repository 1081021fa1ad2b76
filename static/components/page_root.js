// The module of a page: each component is drawn in its own shadow root, in the element of the page that has its name in `data-root`. One Panel
// component carries the parameters of all components, and their messages (app/components/page_root.py).

import { h } from "./core/dom.js";
import * as roots from "./roots.js";

/** @import { Message, Model } from "./core/dom.js" */

/** @typedef {Record<string, unknown>} Parameters */

/** @typedef {{ name: string, parameters: Parameters } | { name: string, message: Message }} ToRoot */

/** @typedef {{ root: keyof typeof roots, parameters: Parameters }} Mounted */

/**
 * The model of Panel's component.
 * @typedef {object} PageModel
 * @property {Record<string, Mounted>} mounted The components by their names, with their first parameters.
 * @property {(event: "msg:custom", listener: (message: ToRoot) => void) => void} on
 * @property {(message: { name: string, message: Message }) => void} send_msg
 */

/**
 * The model of one component.
 * @implements {Model}
 */
class RootModel {
  /**
   * @param {Parameters} parameters
   * @param {(message: Message) => void} send
   */
  constructor(parameters, send) {
    /** @type {Map<string, ((message?: any) => void)[]>} */
    this.listeners = new Map();
    this.send_msg = send;
    Object.assign(this, parameters);
  }

  /**
   * @param {string} event
   * @param {(message?: any) => void} listener
   */
  on(event, listener) {
    this.listeners.set(event, [...(this.listeners.get(event) ?? []), listener]);
  }

  /** @param {ToRoot} change */
  take(change) {
    if ("message" in change) return this.notify("msg:custom", change.message);
    Object.assign(this, change.parameters);
    for (const name of Object.keys(change.parameters)) this.notify(name);
  }

  /**
   * @param {string} event
   * @param {Message} [message]
   */
  notify(event, message) {
    for (const listener of this.listeners.get(event) ?? []) listener(message);
  }
}

/** @type {Map<string, CSSStyleSheet>} */
const sheets = new Map();

/**
 * A style sheet, parsed once for all shadow roots.
 * @param {string} text
 */
function sheetOf(text) {
  const known = sheets.get(text);
  if (known) return known;
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(text);
  sheets.set(text, sheet);
  return sheet;
}

/** @param {{ model: PageModel }} options */
export function render({ model }) {
  const models = new Map(
    Object.entries(model.mounted).map(([name, { root, parameters }]) => {
      const host = document.querySelector(`[data-root="${name}"]`);
      if (!host) throw new Error(`The page has no element for ${name}`);
      const component = new RootModel(parameters, (message) => model.send_msg({ name, message }));
      const shadow = host.attachShadow({ mode: "open" });
      shadow.adoptedStyleSheets = roots[root].sheets.map(sheetOf);
      shadow.append(roots[root].render({ model: component }));
      return [name, component];
    }),
  );
  model.on("msg:custom", (change) => models.get(change.name)?.take(change));
  return h("div");
}
