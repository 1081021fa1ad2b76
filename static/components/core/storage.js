// Small values that outlive a page. A sandboxed frame of a notebook has no storage: nothing is kept there.

/** @typedef {"localStorage" | "sessionStorage"} Area Of the browser, or of the tab. */

/** @param {Area} area */
function storage(area) {
  try {
    return window[area];
  } catch {
    return null;
  }
}

/**
 * The kept value; null for none.
 * @param {Area} area
 * @param {string} key
 */
export function kept(area, key) {
  return JSON.parse(storage(area)?.getItem(key) ?? "null");
}

/**
 * @param {Area} area
 * @param {string} key
 * @param {unknown} value null removes it.
 */
export function keep(area, key, value) {
  if (value === null) storage(area)?.removeItem(key);
  else storage(area)?.setItem(key, JSON.stringify(value));
}
