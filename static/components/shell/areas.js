// The areas of the notebook's screen: F6 goes round them, and a button or Alt+Enter enlarges one of them.

import { subscribe } from "../core/bus.js";
import { enlarge, enlarged, followEnlarged } from "../core/enlarged.js";
import { h, icon } from "../core/dom.js";

/** @import { AreaName } from "../core/enlarged.js" */
/** @import { MenuItem } from "../core/menu.js" */

/** @type {Record<AreaName, string>} In the order of F6. */
const AREAS = {
  tree: "loop nest",
  inspector: "inspector",
  timeline: "timeline",
  panes: "code and problems",
  notebook: "notebook",
};
const NAMES = /** @type {AreaName[]} */ (Object.keys(AREAS));
const FOCUSABLE = 'button:not([disabled], [tabindex="-1"]), select, input, textarea, a[href], [tabindex="0"]';

/** @param {AreaName} name */
const elementOf = (name) => document.getElementById(`area-${name}`);

/** @param {AreaName} name */
const isShown = (name) => elementOf(name)?.checkVisibility({ visibilityProperty: true }) ?? false;

/**
 * The element of an area that takes the focus: the current row, the selected tab, else the first control.
 * @param {Element | ShadowRoot} root
 * @returns {HTMLElement | null}
 */
function firstControl(root) {
  const current = root.querySelector('[role="treeitem"][tabindex="0"], [role="tab"][aria-selected="true"]');
  if (current instanceof HTMLElement) return current;
  for (const element of root.querySelectorAll("*")) {
    const inner = element.shadowRoot && firstControl(element.shadowRoot);
    if (inner) return inner;
    if (element instanceof HTMLElement && element.matches(FOCUSABLE) && element.checkVisibility()) return element;
  }
  return null;
}

/** @param {AreaName} name */
function goTo(name) {
  const area = elementOf(name);
  if (area) firstControl(area)?.focus();
}

/**
 * The area of an event.
 * @param {Event} event
 */
function areaOf(event) {
  const path = event.composedPath();
  return NAMES.find((name) => path.includes(elementOf(name) ?? window));
}

/**
 * Focus the next or the previous area; the tree from outside of all.
 * @param {KeyboardEvent} event
 */
function goRound(event) {
  const shown = NAMES.filter(isShown);
  const here = areaOf(event);
  const at = here ? shown.indexOf(here) : event.shiftKey ? 0 : -1;
  const next = shown[(at + (event.shiftKey ? -1 : 1) + shown.length) % shown.length];
  if (next) goTo(next);
}

/** @param {KeyboardEvent} event */
function key(event) {
  const { screen, mode } = document.documentElement.dataset;
  if (event.defaultPrevented || screen !== "notebook") return;
  const plain = !event.ctrlKey && !event.metaKey;
  if (event.key === "F6" && plain && !event.altKey) goRound(event);
  else if (event.key === "Enter" && plain && event.altKey) toggle(areaOf(event) ?? "tree");
  else if (event.key === "Escape" && enlarged() && mode !== "compare") enlarge(null);
  else return;
  event.preventDefault();
}

/** @param {AreaName} name */
function toggle(name) {
  enlarge(enlarged() === name ? null : name);
}

/**
 * Commands of the palette.
 * @returns {MenuItem[]}
 */
function commands() {
  return NAMES.filter(isShown).flatMap((name) => [
    { label: `Go to: ${AREAS[name]}`, group: "Views", help: "F6 goes round all", run: () => goTo(name) },
    {
      label: `${enlarged() === name ? "Restore" : "Enlarge"}: ${AREAS[name]}`,
      group: "Views",
      help: "Alt+Enter",
      run: () => toggle(name),
    },
  ]);
}

/** Add the buttons and the keys. */
export function areas() {
  const draws = NAMES.map((name) => {
    const button = h("button", { class: "enlarge", type: "button", onclick: () => toggle(name) });
    elementOf(name)?.append(button);
    return () => {
      const isLarge = enlarged() === name;
      button.replaceChildren(icon(isLarge ? "restore" : "enlarge"));
      button.title = `${isLarge ? "Restore the screen" : `Enlarge the ${AREAS[name]}`} (Alt+Enter)`;
      button.setAttribute("aria-label", isLarge ? "Restore the screen" : `Enlarge: ${AREAS[name]}`);
      button.setAttribute("aria-pressed", String(isLarge));
    };
  });
  const draw = () => draws.forEach((one) => one());
  draw();
  followEnlarged(draw);
  const restore = () => document.documentElement.dataset.screen !== "notebook" && enlarged() && enlarge(null);
  new MutationObserver(restore).observe(document.documentElement, { attributeFilter: ["data-screen"] });
  document.addEventListener("keydown", key);
  subscribe("commands", (list) => {
    if (document.documentElement.dataset.screen === "notebook") list.push(...commands());
  });
}
