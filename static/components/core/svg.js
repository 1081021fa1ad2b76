// SVG elements, and views that follow their width.

import { nodes } from "./dom.js";

export const SVG = "http://www.w3.org/2000/svg";

/**
 * An SVG element with attributes and children.
 * @template {keyof SVGElementTagNameMap} K
 * @param {K} tag
 * @param {import("./dom.js").Attributes} [attributes]
 * @param {...import("./dom.js").Child} children
 * @returns {SVGElementTagNameMap[K]}
 */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value);
  }
  element.append(...nodes(children));
  return element;
}

/**
 * Call `draw` whenever the width of `view` changes.
 * @param {Element} view
 * @param {() => void} draw
 */
export function followWidth(view, draw) {
  let width = 0;
  new ResizeObserver(() => {
    if (view.clientWidth && Math.abs(view.clientWidth - width) > 1) {
      width = view.clientWidth;
      draw();
    }
  }).observe(view);
}
