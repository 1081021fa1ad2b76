// A problem of a cell with its place and its fix.

import { h } from "../core/dom.js";

/** @import { CellProblem } from "./cell_editor.js" */

/**
 * A problem with its place and a button for its fix.
 * @param {CellProblem} problem
 * @param {number} line
 * @param {{ mend?: () => void, go?: () => void }} [actions]
 */
export function problemLine(problem, line, { mend, go } = {}) {
  return h(
    "div",
    { class: "inline-problem cell-error" },
    h("span", { class: "sign", "aria-hidden": "true" }, "✘"),
    h(
      "div",
      {},
      go
        ? h(
            "button",
            { class: "where", type: "button", title: "Go to the line", onclick: go },
            `line ${line}:${problem.column}`,
          )
        : h("span", { class: "where" }, `line ${line}:${problem.column}`),
      " ",
      problem.message,
      problem.found ? h("div", { class: "quiet" }, "found ", h("code", {}, problem.found)) : null,
      problem.expected
        ? h("div", { class: "quiet clamped", title: problem.expected }, "expected ", problem.expected)
        : null,
    ),
    mend && problem.mend
      ? h("button", { class: "tool small primary", type: "button", onclick: mend }, `Write ${problem.mend}`)
      : null,
  );
}
