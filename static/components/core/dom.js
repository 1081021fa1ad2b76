// Elements, icons, and views that follow the payload of their model.

import { listen } from "./patch.js";

/**
 * The model of a component: Panel's on the page, the widget's in a notebook (jupyter/host.js). Its parameters are properties.
 * @typedef {object} Model
 * @property {(event: string, listener: (message?: any) => void) => void} on Events: the name of a parameter, "msg:custom", "remove".
 * @property {(message: Message) => void} send_msg Send a message to the server.
 */

/** @typedef {{ kind: string, [field: string]: unknown }} Message */

/** @typedef {(message: Message) => void} Send */

/**
 * A model that draws a JSON value.
 * @typedef {Model & { payload: string }} PayloadModel
 */

/** @typedef {{ left: number, top: number, right: number, bottom: number }} Rect In CSS pixels of the viewport. */

/** @typedef {string | number | boolean | null | undefined} AttributeValue null, undefined and false omit the attribute. */

/** @typedef {{ [K in keyof HTMLElementEventMap as `on${K}`]?: ((event: HTMLElementEventMap[K]) => unknown) | null }} Listeners */

/** @typedef {Listeners & { [name: string]: any }} Attributes `on…` are listeners; `value` sets the property. */

/** @typedef {Node | string | number | null | undefined | false | Child[]} Child Empty values are omitted; lists are flattened. */

/**
 * An element with attributes and children.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Attributes} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  /** @type {import("./patch.js").ListenersByEvent} */
  const listeners = {};
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) listeners[name.slice(2)] = value;
    else if (name === "value") /** @type {HTMLInputElement} */ (element).value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  listen(/** @type {HTMLElement} */ (element), listeners);
  element.append(...nodes(children));
  return element;
}

/**
 * The nodes and texts among `children`, without lists in lists and empty values.
 * @param {Child[]} children
 * @returns {(Node | string)[]}
 */
export function nodes(children) {
  return children.flatMap((child) => {
    if (Array.isArray(child)) return nodes(child);
    if (child === null || child === undefined || child === false || child === "") return [];
    return [typeof child === "number" ? String(child) : child];
  });
}

const ICON_PATHS = {
  undo: "M9 14 4 9l5-5M4 9h10a6 6 0 0 1 0 12h-3",
  redo: "m15 14 5-5-5-5M20 9H10a6 6 0 0 0 0 12h3",
  export: "M12 3v12m0 0 4-4m-4 4-4-4M4 17v3h16v-3",
  back: "M15 5l-7 7 7 7",
  moon: "M20 14a8 8 0 1 1-9-10 6.500 6.500 0 0 0 9 10z",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2m0 16v2M2 12h2m16 0h2M5 5l1.500 1.500m11 11L19 19M5 19l1.500-1.500m11-11L19 5",
  edit: "M4 20h4L19 9l-4-4L4 16z",
  remove: "M6 6l12 12M18 6 6 18",
  save: "M5 4h11l3 3v13H5zM8 4v5h7V4M8 20v-6h8v6",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  compare: "M4 5h7v14H4zM13 5h7v14h-7zM6 9h3M15 9h3M6 13h3M15 13h3",
  swap: "M7 7h12l-3-3M17 17H5l3 3",
  up: "m6 15 6-6 6 6",
  down: "m6 9 6 6 6-6",
  power: "M12 3v9M6.500 7a8 8 0 1 0 11 0",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  add: "M12 5v14M5 12h14",
  pin: "M9 4h6l-1 6 4 4H6l4-4zM12 14v6",
  enlarge: "M14 4h6v6M20 4l-7 7M10 20H4v-6M4 20l7-7",
  restore: "M20 10h-6V4M14 10l6-6M4 14h6v6M10 14l-6 6",
  branch: "M6 4v16M6 14c0-4 12-2 12-7M18 4a2 2 0 1 0 0 4 2 2 0 0 0 0-4",
};

/**
 * A line icon in the colour of the text; hidden from screen readers, so its button needs a label.
 * @param {keyof typeof ICON_PATHS} name
 */
export function icon(name) {
  return lineIcon(ICON_PATHS[name]);
}

/**
 * An icon of 24 × 24 units from the data of an SVG path.
 * @param {string} data
 * @param {string} [className]
 */
export function lineIcon(data, className = "icon") {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", className);
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", data);
  svg.append(path);
  return svg;
}

/**
 * The element with the keyboard focus, through shadow roots.
 * @returns {Element | null}
 */
export function focusedElement() {
  let element = document.activeElement;
  while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
  return element;
}

/**
 * The element with the keyboard focus in the document or shadow root of `node`.
 * @param {Node} node
 * @returns {HTMLElement | null}
 */
export function focusIn(node) {
  const root = node.getRootNode();
  const active = root instanceof Document || root instanceof ShadowRoot ? root.activeElement : null;
  return active instanceof HTMLElement ? active : null;
}

/**
 * The button that the mouse holds down, in any component.
 * @param {Document | ShadowRoot} root
 * @returns {Element | null}
 */
function heldButton(root = document) {
  const active = [...root.querySelectorAll(":active")].at(-1);
  return active?.shadowRoot ? heldButton(active.shadowRoot) : (active?.closest("button, a, summary") ?? null);
}

/**
 * Call `draw(data)` with the payload now and after each change. A change waits while a button is held down: its click would be lost.
 * @template T
 * @param {PayloadModel} model
 * @param {(data: T) => void} draw
 */
export function follow(model, draw) {
  /** @type {string | null} */
  let last = null;
  const update = () => {
    if (model.payload === last) return;
    if (heldButton()) {
      requestAnimationFrame(update);
      return;
    }
    last = model.payload;
    draw(JSON.parse(last));
  };
  model.on("payload", update);
  update();
}

/**
 * Draw, and keep the scroll position of `element`. The browser does so itself unless it searches for an anchor or lays the page out in
 * between, as it does when the focused element is removed; a query of the position would lay the page out too.
 * @param {HTMLElement} element
 * @param {() => void} draw
 */
export function keepScroll(element, draw) {
  element.style.overflowAnchor = "none";
  if (!element.contains(focusIn(element))) {
    draw();
    return;
  }
  const { scrollTop, scrollLeft } = element;
  draw();
  element.scrollTop = scrollTop;
  element.scrollLeft = scrollLeft;
}

/**
 * Scroll `box`, and no element around it, so that `element` is visible; a hidden one moves to the middle.
 * @param {Element} box
 * @param {Element} element
 */
export function bringIntoView(box, element) {
  const [frame, spot] = [box.getBoundingClientRect(), element.getBoundingClientRect()];
  if (spot.top < frame.top || spot.bottom > frame.bottom)
    box.scrollTop += (spot.top + spot.bottom - frame.top - frame.bottom) / 2;
}

const MOST_OF_A_FILE = 10_000_004;

/** The first bytes of a zip archive. */
const ZIP = "PK\u0003\u0004";

/**
 * The text of a chosen file, cut off just above the server's limit: the server names the limit, and a longer message would close the page.
 * A zip archive is a data: address, whose files the server lists.
 * @param {File} file
 * @returns {Promise<string>}
 */
export async function textOf(file) {
  if ((await file.slice(0, 4).text()) !== ZIP) return file.slice(0, MOST_OF_A_FILE).text();
  const archive = new Blob([file.slice(0, (MOST_OF_A_FILE * 3) / 4)], { type: "application/zip" });
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(archive);
  });
}

/**
 * Give the browser a file to save.
 * @param {string} name
 * @param {string} text The content, or a data: address.
 */
export function download(name, text) {
  const url = text.startsWith("data:") ? text : URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
