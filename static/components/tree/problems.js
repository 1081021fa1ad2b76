// What is said of rows in the Problems pane, as a small sign at the edge of each: the worst of it. A click on it, or "!", goes there.

import { h } from "../core/dom.js";

const PROBLEM_SIGNS = { error: "✘", warning: "!", info: "i" };
const PROBLEM_WORDS = { error: "error", warning: "warning", info: "note" };

/** Put the sign of `mark` ({severity, messages}) on a row, or take it away; `spoken` is what the row says of itself. */
export function showMark(element, mark, spoken) {
  const said = mark ? JSON.stringify(mark) : "";
  if ((element.said.mark ?? "") === said) return;
  element.said.mark = said;
  const place = element.querySelector(".problem-mark");
  place.hidden = !mark;
  place.textContent = mark ? PROBLEM_SIGNS[mark.severity] : "";
  element.setAttribute(
    "aria-label",
    mark ? `${spoken}, ${mark.messages.map((it) => `${PROBLEM_WORDS[it.severity]}: ${it.text}`).join(", ")}` : spoken,
  );
  if (mark) place.dataset.severity = mark.severity;
}

/** The messages of a mark, for the tooltip of its row. */
export function markTip(mark) {
  if (!mark) return [];
  const line = ({ severity, text }) =>
    h(
      "div",
      { class: "tip-problem", "data-severity": severity },
      h("span", { class: "tip-sign" }, PROBLEM_SIGNS[severity]),
      h("span", {}, text),
    );
  return [
    ...mark.messages.map(line),
    h(
      "div",
      { class: "tip-how" },
      "A click on the sign, or ",
      h("span", { class: "tw-kbd" }, "!"),
      ", shows it with its fixes",
    ),
  ];
}

/** Show what is said of row `id`; `back` is called when the person has read it and presses Escape. */
export function goToProblem(id, back) {
  window.dispatchEvent(new CustomEvent("tilewright:problem", { detail: { row: id, back } }));
}
