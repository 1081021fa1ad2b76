// The line above the timeline: figures, the colours of buffers, the hatchings of stalls, and tools.

import { CAUSES } from "../core/stalls.js";
import { h } from "../core/dom.js";
import { patchChildren } from "../core/patch.js";

/** @import { Cause } from "../core/colors.js" */
/** @import { Timeline as TimelineData } from "../views.js" */

/** @typedef {{ selectBuffer: (name: string) => void, togglePath: () => void, toggleTables: () => void, fit: () => void, zoomToLoop: () => void }} HeaderActions */

/**
 * @param {HTMLElement} element
 * @param {TimelineData} data
 * @param {{ path: boolean, tables: boolean, loop?: string }} shown `loop` is the selected one.
 * @param {HeaderActions} actions
 */
export function drawHeader(element, data, shown, actions) {
  const causes = /** @type {Cause[]} */ (Object.keys(CAUSES)).filter((cause) =>
    data.waits.some((wait) => wait.cause === cause),
  );
  patchChildren(
    element,
    ...data.figures.map(([name, value]) => h("span", {}, `${name} `, h("b", {}, value))),
    h(
      "span",
      { class: "legend" },
      data.buffers.map(({ name, colour }) => bufferButton(name, colour, () => actions.selectBuffer(name))),
    ),
    ...(data.note && !data.blank ? [h("span", { class: "note", role: "status", title: data.note }, data.note)] : []),
    ...(causes.length ? [stallLegend(causes)] : []),
    h(
      "span",
      { class: "head-tools" },
      shown.loop &&
        h(
          "button",
          {
            class: "tool small zoom-loop",
            type: "button",
            title: `Show the iterations of ${shown.loop} at the playhead; again: one of them (Z)`,
            onclick: actions.zoomToLoop,
          },
          `Zoom to ${shown.loop}`,
        ),
      h(
        "button",
        {
          class: "tool small path-button",
          type: "button",
          "aria-pressed": String(shown.path),
          title: "Draw the chain of tasks that determines the cycles (C)",
          onclick: actions.togglePath,
        },
        "Critical path",
      ),
      h(
        "button",
        {
          class: "tool small table-button",
          type: "button",
          "aria-pressed": String(shown.tables),
          title: "Show the timeline as tables (T)",
          onclick: actions.toggleTables,
        },
        "Table",
      ),
      h(
        "button",
        { class: "tool small", type: "button", title: "Show all cycles (0, double click)", onclick: actions.fit },
        "Fit",
      ),
    ),
  );
}

/**
 * @param {string} name
 * @param {number} colour
 * @param {() => void} select
 */
function bufferButton(name, colour, select) {
  return h(
    "button",
    { class: "legend-buffer", type: "button", title: `Layout of ${name}`, onclick: select },
    h("i", { class: "swatch", style: `background:var(--tw-buffer-${colour})` }),
    h("span", {}, name),
  );
}

/** @param {Cause[]} causes */
function stallLegend(causes) {
  return h(
    "span",
    { class: "legend causes", title: "Causes of stalls" },
    causes.map((cause) => {
      const { word } = CAUSES[cause];
      return h(
        "span",
        { title: `Stalls: ${word}` },
        h("i", { class: `stall-swatch is-${cause}` }),
        h("span", {}, word),
      );
    }),
  );
}
