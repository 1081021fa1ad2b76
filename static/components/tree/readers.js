// The readers of other pages who have a row selected.

import { readerMarks } from "../core/readers.js";

/** @import { RowElement } from "./tree.js" */
/** @import { Reader } from "../views.js" */

/**
 * Show or hide the marks of a row.
 * @param {RowElement} element
 * @param {Reader[]} readers
 */
export function showReaders(element, readers) {
  const key = readers.length ? JSON.stringify(readers) : "";
  if ((element.decorated.readers ?? "") === key) return;
  element.decorated.readers = key;
  element.querySelector(":scope > .readers")?.remove();
  const marks = readerMarks(readers);
  if (marks) element.insertBefore(marks, element.querySelector(":scope > .cost"));
}
