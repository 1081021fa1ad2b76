// The readers of other pages on the same file, and what they have selected.

import { h } from "./dom.js";

/** @import { Reader } from "../views.js" */

/**
 * Two letters of a name.
 * @param {Reader} reader
 */
export function initialsOf({ name }) {
  const words = name.split(" ");
  const last = words.length > 1 ? [...words[words.length - 1]][0] : "";
  return `${[...words[0]][0] ?? "?"}${last}`.toUpperCase();
}

/** @param {Reader} reader */
export function placeOf({ name, step, row }) {
  const places = [step ? `after step line ${step}` : "", row ? `at ${row}` : ""].filter(Boolean);
  return places.length ? `${name}, ${places.join(", ")}` : name;
}

/**
 * The marks of the readers that have something selected.
 * @param {Reader[]} readers
 */
export function readerMarks(readers) {
  return readers.length
    ? h(
        "span",
        { class: "readers" },
        readers.map((reader) => h("span", { class: "reader", title: placeOf(reader) }, initialsOf(reader))),
      )
    : null;
}
