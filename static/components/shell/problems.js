// The problems pane: errors and findings with their places, and a button for each fix with its effect.

import { subscribe } from "../core/bus.js";
import { bringIntoView, focusIn, follow, h, keepScroll } from "../core/dom.js";
import { reconcile } from "../core/reconcile.js";
import { groupAlike } from "./alike.js";
import { fixBox } from "./fix.js";

/** @import { PayloadModel } from "../core/dom.js" */
/** @import { Problem, Problems as ProblemsData } from "../views.js" */

const SIGNS = { error: "✘", warning: "!", info: "i" };
const WORDS = { error: ["error", "errors"], warning: ["warning", "warnings"], info: ["note", "notes"] };

/**
 * @param {PayloadModel} model
 * @param {string[]} rows
 */
function places(model, rows) {
  return rows.map((row) =>
    h(
      "button",
      {
        class: "tool small place",
        title: `Select ${row} in the tree`,
        onclick: () => model.send_msg({ kind: "select", id: row }),
      },
      row,
    ),
  );
}

/**
 * @param {PayloadModel} model
 * @param {Problem} item
 */
function problem(model, item) {
  return h(
    "li",
    { class: `problem is-${item.severity}`, "data-code": item.code, tabindex: "-1" },
    h("span", { class: "sign", role: "img", "aria-label": WORDS[item.severity][0] }, SIGNS[item.severity]),
    h(
      "div",
      { class: "problem-text" },
      h("b", {}, item.message),
      h(
        "span",
        { class: "quiet code" },
        [item.code, item.place].filter(Boolean).join(" · "),
        item.rows.length ? " · " : "",
        places(model, item.rows),
      ),
      item.found ? h("div", {}, h("span", { class: "quiet" }, "found "), item.found) : null,
      item.expected ? h("div", {}, h("span", { class: "quiet" }, "expected "), item.expected) : null,
      item.fixes.map((fix, n) => fixBox(model, fix, n === 0)),
      item.no_fix ? h("div", { class: "quiet no-fix" }, "No fix. ", item.no_fix) : null,
    ),
  );
}

/**
 * The entry of alike problems: the first one, and the others folded.
 * @param {PayloadModel} model
 * @param {Problem[]} group
 */
function entry(model, [first, ...others]) {
  if (!others.length) return problem(model, first);
  const more = h(
    "details",
    { class: "alike" },
    h("summary", {}, `${others.length} more like this`),
    h("ul", {}, ...others.map((item) => problem(model, item))),
  );
  const item = problem(model, first);
  item.querySelector(".problem-text")?.append(more);
  return item;
}

/** @param {ProblemsData} data */
function summary(data) {
  const counts = Object.entries(WORDS).flatMap(([severity, [one, many]]) => {
    const count = data.problems.filter((item) => item.severity === severity).length;
    return count ? [`${count} ${count === 1 ? one : many}`] : [];
  });
  const searching = data.looking ? ["searching for fixes…"] : [];
  if (!counts.length && !data.looking)
    return "No problems. Every line of the notebook applies, the machine can run the program, and no lint has a finding. Problems appear here with calls that fix them.";
  return [...(counts.length ? [counts.join(", ")] : []), ...searching].join(" · ");
}

/**
 * Show and focus the problems of a row of the tree, or all problems.
 * @param {Element} view
 * @param {ProblemsData} drawn
 * @param {string | undefined} row
 */
function showProblemsOf(view, drawn, row) {
  const items = /** @type {HTMLElement[]} */ ([...view.querySelectorAll(".problem")]);
  const shown = groupAlike(drawn.problems).flat();
  const about = items.filter((_, n) => row === undefined || shown[n].rows.includes(row));
  if (!about.length) return;
  for (const folded of row === undefined ? [] : about) folded.closest("details")?.setAttribute("open", "");
  bringIntoView(view, about[0]);
  about[0].focus({ preventScroll: true });
  for (const item of about)
    item.animate([{ backgroundColor: "var(--tw-accent-soft)" }, { backgroundColor: "transparent" }], {
      duration: 1600,
      easing: "ease-in",
    });
}

/**
 * Draw the list, and keep the focus on the same button of the same problem.
 * @param {HTMLElement} list
 * @param {() => void} draw
 */
function keepProblemFocus(list, draw) {
  const focused = focusIn(list);
  const before = focused?.closest(".problem");
  const code = before instanceof HTMLElement ? before.dataset.code : undefined;
  const place = before ? stops(before).findIndex((element) => element === focused) : -1;
  draw();
  if (!code) return;
  const item = list.querySelector(`.problem[data-code="${CSS.escape(code)}"]`);
  if (item) (stops(item)[place] ?? stops(item)[0]).focus({ preventScroll: true });
}

/**
 * The focusable elements of a problem.
 * @param {Element} item
 */
function stops(item) {
  return /** @type {HTMLElement[]} */ ([item, ...item.querySelectorAll("button")]);
}

/** @param {{ model: PayloadModel }} options */
export function render({ model }) {
  const view = h("section", { class: "problems", tabindex: "0", "aria-label": "Problems" });
  const head = h("p", { class: "quiet problems-head", role: "status" });
  const list = h("ul", {});
  view.append(head, list);
  /** @type {ProblemsData} */
  let drawn = { problems: [], looking: false };
  /** @type {(() => void) | null} */
  let back = null;
  subscribe("problem", (asked) => {
    back = asked.back ?? null;
    requestAnimationFrame(() => showProblemsOf(view, drawn, asked.row));
  });
  list.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !back) return;
    event.stopPropagation();
    back();
  });
  follow(model, (/** @type {ProblemsData} */ data) => {
    drawn = data;
    const text = summary(data);
    if (head.textContent !== text) head.textContent = text;
    keepScroll(view, () => {
      list.hidden = !data.problems.length;
      keepProblemFocus(list, () =>
        reconcile(
          list,
          groupAlike(data.problems),
          (group) => JSON.stringify(group),
          (group) => entry(model, group),
        ),
      );
    });
  });
  return view;
}
