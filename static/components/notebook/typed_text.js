// Text that was typed while the connection was lost: kept in the browser's tab, and restored into its editor after the reload.

const KEY = "tilewright-typed";

/** @typedef {{ cell: number, item?: number, text: string }} TypedText */

/** @param {TypedText | null} typed */
export function keepTyped(typed) {
  if (typed) sessionStorage.setItem(KEY, JSON.stringify({ ...typed, path: location.pathname }));
}

/**
 * Remove and return the text of this page.
 * @returns {TypedText | null}
 */
export function takeTyped() {
  const kept = JSON.parse(sessionStorage.getItem(KEY) ?? "null");
  sessionStorage.removeItem(KEY);
  return kept?.path === location.pathname ? kept : null;
}
