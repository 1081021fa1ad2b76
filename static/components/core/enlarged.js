// The enlarged area of the notebook's screen: it covers the others, except the notebook.

const PAGE = document.documentElement;

/** @typedef {"notebook" | "tree" | "inspector" | "timeline" | "panes"} AreaName */

/** The name of the enlarged area, or undefined. */
export function enlarged() {
  return /** @type {AreaName | undefined} */ (PAGE.dataset.large);
}

/**
 * Enlarge an area, or restore the screen.
 * @param {AreaName | null} name
 */
export function enlarge(name) {
  if (name) PAGE.dataset.large = name;
  else delete PAGE.dataset.large;
  window.dispatchEvent(new Event("resize")); // canvases and Bokeh's figures measure their size again
}

/** @param {() => void} draw Called after each change. */
export function followEnlarged(draw) {
  new MutationObserver(draw).observe(PAGE, { attributes: true, attributeFilter: ["data-large"] });
}
