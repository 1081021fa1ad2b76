// The page of a replay: the timeline, and beside it the loop tree and the program, which mark the state at the playhead.

import { bringIntoView, h } from "../core/dom.js";
import { latest } from "../core/bus.js";
import { followMoment } from "../core/playhead.js";
import { highlighted } from "../core/python_text.js";
import { svg } from "../core/svg.js";
import { render } from "../timeline/timeline.js";
import { RecordedModel } from "./source.js";

/** @import { Moment } from "../core/playhead.js" */
/** @import { Recording } from "../views.js" */

/** @typedef {Map<string, SVGGElement[]>} Rows The rows of the drawn trees by their ids: each theme has its own drawing. */

/**
 * An element that app/export/replay.py writes.
 * @template {Element} E
 * @param {string} selector
 * @param {new () => E} type
 * @returns {E}
 */
function part(selector, type) {
  const found = document.querySelector(selector);
  if (!(found instanceof type)) throw new Error(`The page has no ${selector}`);
  return found;
}

/**
 * The recording: JSON, deflated, in base 64.
 * @returns {Promise<Recording>}
 */
async function readRecording() {
  const packed = Uint8Array.from(atob(part("#data", HTMLElement).textContent ?? ""), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).json();
}

/** @param {"light" | "dark"} theme */
function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  const button = part("#theme", HTMLElement);
  const other = theme === "dark" ? "Light" : "Dark";
  button.textContent = other;
  button.setAttribute("aria-label", `${other} theme`);
}

/** @returns {Rows} */
function rowsOfTrees() {
  const groups = [...document.querySelectorAll(".trees g[data-row]")].filter((group) => group instanceof SVGGElement);
  return Map.groupBy(groups, (group) => group.dataset.row ?? "");
}

/**
 * Mark a row with a box behind it, a loop also with its iteration.
 * @param {SVGGElement} group
 * @param {string} text An iteration or an engine.
 */
function mark(group, text) {
  if (!group.querySelector(".lit")) {
    const { x, y, width, height } = group.getBBox();
    if (!width) return; // the drawing of the other theme
    group.prepend(
      svg("rect", {
        class: "lit",
        x: x - 4,
        y: y - 3,
        width: width + 8,
        height: height + 6,
        rx: 5,
        "fill-opacity": group.dataset.kind === "block" ? 0 : 1,
      }),
    );
  }
  if (group.dataset.kind !== "loop") return;
  let index = group.querySelector(".index");
  if (!index) {
    index = svg("tspan", { class: "index", dx: 10 });
    [...group.querySelectorAll("tspan")].at(-1)?.after(index);
  }
  index.textContent = `= ${text}`;
}

/** @param {SVGGElement} group */
function unmark(group) {
  for (const added of group.querySelectorAll(".lit, .index")) added.remove();
}

/**
 * A function that marks the rows and lines of a moment.
 * @param {Rows} rows
 * @param {HTMLElement[]} lines
 */
function marker(rows, lines) {
  const script = part(".script", HTMLElement);
  /** @type {string[]} */
  let marked = [];
  return (/** @type {Moment | null} */ moment) => {
    const running = moment?.rows ?? {};
    for (const id of marked) if (!(id in running)) rows.get(id)?.forEach(unmark);
    marked = Object.keys(running);
    for (const id of marked) rows.get(id)?.forEach((group) => mark(group, running[id]));
    lines.forEach((line, n) => line.classList.toggle("is-lit", moment?.lines.includes(n + 1) ?? false));
    const first = lines.find((line) => line.classList.contains("is-lit"));
    if (first) bringIntoView(script, first);
  };
}

/**
 * Show a row as selected.
 * @param {Rows} rows
 * @param {string} id
 */
function select(rows, id) {
  for (const group of [...rows.values()].flat()) group.classList.remove("is-chosen");
  for (const group of rows.get(id) ?? []) {
    group.classList.add("is-chosen");
    group.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
}

async function start() {
  const page = document.documentElement;
  setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  part("#theme", HTMLElement).onclick = () => setTheme(page.dataset.theme === "dark" ? "light" : "dark");
  const recording = await readRecording();
  const lines = recording.script.map((line) => h("li", {}, h("code", {}, highlighted(line))));
  part(".script ol", HTMLElement).replaceChildren(...lines);
  const rows = rowsOfTrees();
  const root = part(".timeline-place", HTMLElement).attachShadow({ mode: "open" });
  root.append(
    part("#timeline-style", HTMLTemplateElement).content.cloneNode(true),
    h("style", {}, ":host { display: block; height: 100%; }"),
    render({ model: new RecordedModel(recording, (id) => select(rows, id)) }),
  );
  const markMoment = marker(rows, lines);
  followMoment(markMoment);
  // The drawing of the other theme has a size once it is shown.
  new MutationObserver(() => markMoment(latest("moment") ?? null)).observe(page, {
    attributes: true,
    attributeFilter: ["data-theme"],
  });
  page.dataset.ready = "true";
}

start();
