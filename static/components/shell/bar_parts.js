// What the top bars of the notebook, of a model and of the start screen share: the bar itself, its figures, and the buttons of the page.

import { publish } from "../core/bus.js";
import { h, icon } from "../core/dom.js";
import { chooseTheme } from "./theme.js";

/** @import { Child } from "../core/dom.js" */
/** @import { Theme } from "./theme.js" */

/**
 * A bar with a title, a line under it, figures and tools; `before` is in front of the title.
 * @param {"header" | "div"} tag
 * @param {HTMLElement[]} before
 */
export function topBar(tag, before) {
  const title = h("h1", { class: "title" });
  const under = h("div", { class: "under" });
  const figures = h("div", { class: "figures" });
  const tools = h("div", { class: "tools" });
  const row = h(
    "div",
    { class: "headline-row" },
    ...before,
    h("div", { class: "about" }, title, under),
    figures,
    tools,
  );
  fitRow(row);
  return { bar: h(tag, { class: "headline" }, row), title, under, figures, tools };
}

const FORMS = ["is-short", "has-two-lines"];

/**
 * Keep all of a row in sight: where its content is wider than the window, its figures are shortened, then get a line of their own.
 * @param {HTMLElement} row
 */
function fitRow(row) {
  const isTooWide = () => {
    const inner = row.getBoundingClientRect().right - parseFloat(getComputedStyle(row).paddingRight);
    return row.scrollWidth > row.clientWidth || (row.lastElementChild?.getBoundingClientRect().right ?? 0) > inner + 1;
  };
  const fit = () => {
    row.classList.remove(...FORMS);
    for (const form of FORMS) if (isTooWide()) row.classList.add(form);
  };
  new ResizeObserver(fit).observe(row);
  new MutationObserver(fit).observe(row, { childList: true, characterData: true, subtree: true });
}

/**
 * A figure with what is beside its value.
 * @param {{ label: string, value: string, hint: string, level?: string | null }} figure
 * @param {Child} [detail]
 */
export function figureOf({ label, value, hint, level }, detail = null) {
  return h(
    "div",
    { class: `figure ${level ?? ""}`, title: hint, "data-figure": label },
    h("span", { class: "figure-label" }, label),
    h("span", { class: "figure-value" }, h("b", {}, value), detail),
  );
}

/** @param {() => void} leave */
export function backButton(leave) {
  const labels = { "aria-label": "Gallery", title: "Back to the gallery" };
  return h("button", { class: "tool of-page", type: "button", ...labels, onclick: leave }, icon("back"));
}

export function helpButton() {
  const labels = { "data-help": true, "aria-label": "Help", title: "Help: tour, calls, keys (?)" };
  const ask = (/** @type {Event} */ event) => publish("help", /** @type {HTMLElement} */ (event.currentTarget));
  return h("button", { class: "tool of-page", type: "button", ...labels, onclick: ask }, "?");
}

/**
 * The button that changes to the other theme.
 * @param {Theme} theme The present one.
 */
export function themeButton(theme) {
  const dark = theme === "dark";
  const label = dark ? "Light theme" : "Dark theme";
  return h(
    "button",
    {
      class: "tool of-page",
      type: "button",
      "aria-label": label,
      title: label,
      onclick: () => chooseTheme(dark ? "light" : "dark"),
    },
    icon(dark ? "sun" : "moon"),
  );
}
