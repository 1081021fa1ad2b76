// Text that was typed while the connection was lost: kept in the browser's tab, and restored into its editor after the reload.

const KEY = "tilewright-typed";

/** @typedef {{ cell: number, item?: number, text: string }} TypedText */

/** The storage of the tab; a sandboxed frame of a notebook has none. */
function storage() {
  try {
    return sessionStorage;
  } catch {
    return null;
  }
}

/** @param {TypedText | null} typed */
export function keepTyped(typed) {
  if (typed) storage()?.setItem(KEY, JSON.stringify({ ...typed, path: location.pathname }));
}

/**
 * Remove and return the text of this page.
 * @returns {TypedText | null}
 */
export function takeTyped() {
  const kept = JSON.parse(storage()?.getItem(KEY) ?? "null");
  storage()?.removeItem(KEY);
  return kept?.path === location.pathname ? kept : null;
}
