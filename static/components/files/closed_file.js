import { h } from "../core/dom.js";

/** @import { ExampleCard as Card } from "../views.js" */

/**
 * A file that cannot be opened: its name and the reason.
 * @param {Card} example
 */
export function closedFile(example) {
  return h(
    "div",
    { class: "file card is-closed", "data-closed": example.name },
    h(
      "span",
      { class: "card-words" },
      h("span", { class: "card-title" }, example.name),
      h("span", { class: "quiet" }, `Cannot be opened: ${example.obstacle}`),
    ),
  );
}
