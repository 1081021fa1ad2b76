// The page of a replay: the timeline as in the app, and beside it the tree and the program with what runs at the playhead.

import { bringIntoView, h } from "../core/dom.js";
import { followMoment, presentMoment } from "../core/playhead.js";
import { highlighted } from "../core/python_text.js";
import { Recorded } from "./source.js";
import { render } from "../timeline/timeline.js";

const SVG_NAMES = "http://www.w3.org/2000/svg";

/** The page's data: deflated, in base 64. */
async function recordedData() {
  const packed = Uint8Array.from(atob(document.getElementById("data").textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return JSON.parse(await new Response(stream).text());
}

function chooseTheme(theme) {
  document.documentElement.dataset.theme = theme;
  const button = document.getElementById("theme");
  const other = theme === "dark" ? "Light" : "Dark";
  button.textContent = other;
  button.setAttribute("aria-label", `${other} theme`);
}

/** Rows of the drawn trees by their ids: each theme has its own drawing. */
function rowsOfTrees() {
  const found = new Map();
  for (const group of document.querySelectorAll(".trees g[data-row]")) {
    found.set(group.dataset.row, [...(found.get(group.dataset.row) ?? []), group]);
  }
  return found;
}

/** A box behind a row, and behind it in words what it does: an iteration or an engine. */
function light(group, text) {
  const before = group.querySelector(".lit");
  if (text === undefined) {
    before?.remove();
    group.querySelector(".index")?.remove();
    return;
  }
  if (!before) {
    const own = group.getBBox();
    if (!own.width) return; // of the theme that is not shown
    const box = document.createElementNS(SVG_NAMES, "rect");
    for (const [name, value] of Object.entries({
      class: "lit",
      x: own.x - 4,
      y: own.y - 3,
      width: own.width + 8,
      height: own.height + 6,
      rx: 5,
      "fill-opacity": group.dataset.kind === "block" ? 0 : 1,
    }))
      box.setAttribute(name, value);
    group.prepend(box);
  }
  let index = group.querySelector(".index");
  if (!index && group.dataset.kind === "loop") {
    const [name, ...others] = group.querySelectorAll("tspan");
    const last = others.at(-1) ?? name;
    index = document.createElementNS(SVG_NAMES, "tspan");
    index.setAttribute("class", "index");
    index.setAttribute("dx", "10");
    last.after(index);
  }
  if (index) index.textContent = `= ${text}`;
}

function follower(rows, lines) {
  let lit = [];
  return (moment) => {
    const now = moment?.rows ?? {};
    for (const id of lit) if (!(id in now)) rows.get(id)?.forEach((group) => light(group, undefined));
    lit = Object.keys(now);
    for (const id of lit) rows.get(id)?.forEach((group) => light(group, now[id]));
    const here = new Set(moment?.lines ?? []);
    lines.forEach((line, n) => line.classList.toggle("is-lit", here.has(n + 1)));
    const first = lines.find((line) => line.classList.contains("is-lit"));
    if (first) bringIntoView(document.querySelector(".script"), first);
  };
}

function choose(rows, id) {
  for (const groups of rows.values()) groups.forEach((group) => group.classList.remove("is-chosen"));
  for (const group of rows.get(id) ?? []) {
    group.classList.add("is-chosen");
    group.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
}

async function start() {
  chooseTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  document
    .getElementById("theme")
    .addEventListener("click", () => chooseTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  const data = await recordedData();
  const list = document.querySelector(".script ol");
  const lines = data.script.map((line) => h("li", {}, h("code", {}, highlighted(line))));
  list.replaceChildren(...lines);
  const rows = rowsOfTrees();
  const place = document.querySelector(".timeline-place");
  const root = place.attachShadow({ mode: "open" });
  root.append(
    document.getElementById("timeline-style").content.cloneNode(true),
    h("style", {}, ":host { display: block; height: 100%; }"),
  );
  root.append(render({ model: new Recorded(data, (id) => choose(rows, id)) }));
  const follows = follower(rows, lines);
  followMoment(follows);
  // The other theme's drawing is measured when it is shown.
  new MutationObserver(() => follows(presentMoment())).observe(document.documentElement, {
    attributes: true,
    attributeFilter: ["data-theme"],
  });
  document.documentElement.dataset.ready = "true";
}

start();
