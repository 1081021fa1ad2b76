// The problems of rows: a sign at the edge of each, for its most severe problem. A click on it, or "!", shows it in the Problems pane.

import { publish } from "../core/bus.js";
import { h } from "../core/dom.js";
import { part } from "./rows.js";

/** @import { RowElement } from "./tree.js" */
/** @import { RowMark as Mark } from "../views.js" */

const PROBLEM_SIGNS = { error: "✘", warning: "!", info: "i" };
const PROBLEM_WORDS = { error: "error", warning: "warning", info: "note" };

/**
 * Show or hide the sign of a row.
 * @param {RowElement} element
 * @param {Mark | undefined} mark
 * @param {string} label The label of the row without its problems.
 */
export function showMark(element, mark, label) {
  const key = mark ? JSON.stringify(mark) : "";
  if ((element.decorated.mark ?? "") === key) return;
  element.decorated.mark = key;
  const place = part(element, "problem-mark");
  place.hidden = !mark;
  place.textContent = mark ? PROBLEM_SIGNS[mark.severity] : "";
  if (mark) place.dataset.severity = mark.severity;
  const problems = mark?.messages.map((message) => `${PROBLEM_WORDS[message.severity]}: ${message.text}`) ?? [];
  element.setAttribute("aria-label", [label, ...problems].join(", "));
}

/**
 * The problems of a row, for its tooltip.
 * @param {Mark | undefined} mark
 */
export function markTip(mark) {
  if (!mark) return [];
  return [
    ...mark.messages.map(({ severity, text }) =>
      h(
        "div",
        { class: "tip-problem", "data-severity": severity },
        h("span", { class: "tip-sign" }, PROBLEM_SIGNS[severity]),
        h("span", {}, text),
      ),
    ),
    h(
      "div",
      { class: "tip-how" },
      "Click the sign or press ",
      h("span", { class: "tw-kbd" }, "!"),
      " to see the fixes",
    ),
  ];
}

/**
 * Show the problems of a row in the Problems pane.
 * @param {string} row
 * @param {() => void} back Called on Escape there.
 */
export function goToProblem(row, back) {
  publish("problem", { row, back });
}
