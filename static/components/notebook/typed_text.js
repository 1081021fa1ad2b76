// Text that was typed while the connection was lost: kept in the browser's tab, and restored into its editor after the reload.

import { keep, kept } from "../core/storage.js";

const KEY = "tilewright-typed";

/** @typedef {{ cell: number, item?: number, text: string }} TypedText */

/** @param {TypedText | null} typed */
export function keepTyped(typed) {
  if (typed) keep("sessionStorage", KEY, { ...typed, path: location.pathname });
}

/**
 * Remove and return the text of this page.
 * @returns {TypedText | null}
 */
export function takeTyped() {
  const typed = kept("sessionStorage", KEY);
  keep("sessionStorage", KEY, null);
  return typed?.path === location.pathname ? typed : null;
}
