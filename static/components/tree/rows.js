// The rows of the loop tree: their index, their elements, and the costs on them.

import { h } from "../core/dom.js";

/** @import { Badge, BufferChip, Cost, CostPart, Row } from "../views.js" */
/** @import { CostMode, IndexedRow, RowElement, RowIndex } from "./tree.js" */

/** @import { GridRows } from "./grid_rows.js" */

/** @typedef {keyof typeof ICONS} IconName */

const ICONS = {
  caret: "M5 3.5 9.5 8 5 12.5",
  grip: "M6 4h.01M10 4h.01M6 8h.01M10 8h.01M6 12h.01M10 12h.01",
  dots: "M8 3.5h.01M8 8h.01M8 12.5h.01",
  tick: "M3.5 8.5 6.5 11.5 12.5 4.5",
  cross: "M4.5 4.5l7 7M11.5 4.5l-7 7",
  costly: "M3 6.5c1.7-2 3.3-2 5 0s3.3 2 5 0M3 10.5c1.7-2 3.3-2 5 0s3.3 2 5 0",
  parallel: "M5.5 3v10M10.5 3v10",
  vectorized: "M2.5 5h11M2.5 8h11M2.5 11h11",
  unrolled: "M12.5 5.5a5 5 0 1 0 .5 4M13 2.5v3.2H9.8",
  thread_binding: "M8 2.5v4M8 6.5 4 10v3.5M8 6.5l4 3.5v3.5",
  fold: "M4 6.5 8 3l4 3.5M4 9.5 8 13l4-3.5",
  unfold: "M4 3.5 8 7l4-3.5M4 12.5 8 9l4 3.5",
  close: "M4.5 4.5l7 7M11.5 4.5l-7 7",
  find: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.3 10.3l3.2 3.2",
  costs: "M2.5 4h10M2.5 8h6M2.5 12h3.500",
  grid: "M2.5 5.500h4v5h-4zM9.500 5.500h4v5h-4z",
  up: "M4 10l4-4 4 4",
  down: "M4 6l4 4 4-4",
};

/**
 * An icon of 16 × 16 units.
 * @param {IconName} name
 */
export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

/** @type {Record<string, { word: string, icon: IconName }>} Other kinds are shown by their detail. */
const LOOP_KINDS = {
  parallel: { word: "parallel", icon: "parallel" },
  vectorized: { word: "vectorized", icon: "vectorized" },
  unrolled: { word: "unrolled", icon: "unrolled" },
  thread_binding: { word: "", icon: "thread_binding" },
};

/** @type {Record<string, string>} */
const ITERATOR_LETTERS = { spatial: "S", reduce: "R", scan: "C", opaque: "O" };

/**
 * Rows by id, with their children and their places among siblings.
 * @param {Row[]} rows
 * @returns {RowIndex}
 */
export function indexRows(rows) {
  /** @type {RowIndex} */
  const byId = new Map(
    rows.map((row) => [row.id, { ...row, own: row, children: [], last: false, place: 0, siblings: 1 }]),
  );
  /** @type {IndexedRow[]} */
  const tops = [];
  for (const row of byId.values()) {
    const parent = byId.get(row.parent);
    (parent ? parent.children : tops).push(row);
  }
  for (const group of [tops, ...[...byId.values()].map((row) => row.children)]) {
    group.forEach((row, n) => {
      row.place = n + 1;
      row.siblings = group.length;
      row.last = n === group.length - 1;
    });
  }
  return byId;
}

/**
 * The rows around `row`, outermost first.
 * @param {RowIndex} byId
 * @param {Row | undefined} row
 */
export function ancestors(byId, row) {
  /** @type {IndexedRow[]} */
  const found = [];
  for (let at = byId.get(row?.parent ?? ""); at; at = byId.get(at.parent)) found.unshift(at);
  return found;
}

const SCOPED = ["set_scope", "cache_read", "cache_write", "cache_inplace", "read_at", "write_at"];

/**
 * A part of a row that changes an argument of a step.
 * @param {string} method Of the step.
 * @param {string} kind Its class.
 * @param {string} text
 * @param {string} label
 */
export function reviseButton(method, kind, text, label) {
  return h(
    "button",
    {
      class: `revise ${kind}`,
      type: "button",
      tabindex: -1,
      "data-act": "revise",
      "data-method": method,
      title: label,
      "aria-label": label,
    },
    text,
  );
}

/**
 * @param {BufferChip} buffer
 * @param {boolean} written
 * @param {string} [scoped] The call that chose the scope, if a step can change it.
 */
function bufferChip(buffer, written, scoped) {
  // The scope of a read is in its tooltip; the name of a cache contains its scope.
  const scope = scoped
    ? reviseButton(
        scoped,
        "buf-scope",
        buffer.scope.replace(/^local\./, ""),
        `${buffer.scope}: change the scope of ${buffer.name}`,
      )
    : !written || buffer.name.includes(`_${buffer.scope}`)
      ? null
      : h("span", { class: "buf-scope" }, buffer.scope);
  const size = written && buffer.bytes ? h("span", { class: "buf-size" }, buffer.bytes) : null;
  return h(
    "span",
    {
      class: "buf",
      title: `${buffer.name}: ${buffer.scope} ${buffer.bytes}. Click to see its layout`,
      "data-act": "buffer",
      "data-buffer": buffer.id,
      style: `--tw-colour: var(--tw-buffer-${buffer.colour})`,
    },
    h("i", { class: "tw-swatch" }),
    h("span", { class: "buf-name" }, buffer.name),
    scope,
    size,
  );
}

/**
 * @param {Badge} item
 * @param {Row} row
 */
function badge(item, row) {
  const { revises = "" } = item;
  if (revises && row.revises?.includes(revises))
    return reviseButton(
      revises,
      `tw-badge tw-badge--${item.tone}`,
      item.text,
      `${item.tip}; change ${revises.startsWith("kernel_") ? "it in the text" : `the slots of ${row.name}`}`,
    );
  return h("span", { class: `tw-badge ${item.tone ? `tw-badge--${item.tone}` : ""}`, title: item.tip }, item.text);
}

/** @param {Row[]} around The rows around a row, outermost first. */
function guides(around) {
  const lines = around.map((outer) => h("span", { class: "guide", "data-of": outer.id }));
  return h("span", { class: "guides", "aria-hidden": "true" }, ...lines);
}

/**
 * Its name in the notebook, if that is another one.
 * @param {Row} row
 */
function variableOf(row) {
  return row.variable ? h("span", { class: "variable", title: `${row.variable} in the notebook` }, row.variable) : null;
}

/**
 * The extent of a loop; if a split made the loop, it changes the factors.
 * @param {Row} row
 */
export function extentOf(row) {
  return row.revises?.includes("split")
    ? reviseButton(
        "split",
        "loop-extent",
        row.extent ?? "",
        `${row.extent}: change the factors of the split of ${row.name}`,
      )
    : h("span", { class: "loop-extent" }, row.extent);
}

/**
 * @param {Row} row
 * @param {HTMLElement[] | undefined} chips Of all its loops, if there are several.
 */
function loopContent(row, chips) {
  if (chips) return chips;
  const kind = LOOP_KINDS[row.loop_kind ?? ""];
  return [
    h("span", { class: "loop-name" }, row.name),
    extentOf(row),
    variableOf(row),
    row.reduces ? h("span", { class: "loop-sum", title: "drives a reduction" }, "Σ") : null,
    kind && h("span", { class: "loop-kind" }, icon(kind.icon), kind.word || row.detail),
    ...row.badges.map((item) => badge(item, row)),
  ];
}

/** @param {Row} row */
function blockContent(row) {
  const iters = (row.iters ?? []).map((it) =>
    h("span", { class: `iter iter-${it.type}`, title: `${it.name}: ${it.type}` }, ITERATOR_LETTERS[it.type] ?? "?"),
  );
  const scoped = row.revises?.find((method) => SCOPED.includes(method));
  const flow = h(
    "span",
    { class: "flow" },
    ...(row.reads ?? []).map((b) => bufferChip(b, false)),
    h("span", { class: "arrow" }, "→"),
    ...(row.writes ?? []).map((b) => bufferChip(b, true, b.scope === "global" ? undefined : scoped)),
  );
  return h(
    "span",
    { class: "block-body" },
    h(
      "span",
      { class: "block-line" },
      h("span", { class: "block-name", title: row.name }, row.name),
      variableOf(row),
      h("span", { class: "iters" }, ...iters),
      ...row.badges.map((item) => badge(item, row)),
      h("span", { class: "block-detail", title: row.detail }, row.detail),
    ),
    flow,
  );
}

/**
 * The label of a row for screen readers.
 * @param {Row} row
 * @param {Row[]} [loops] All its loops, if there are several.
 */
export function ariaLabel(row, loops) {
  if (loops) return `loops ${loops.map(({ name, extent }) => `${name} extent ${extent}`).join(", ")}`;
  if (row.kind === "loop") return ["loop", row.name, `extent ${row.extent}`, row.detail].filter(Boolean).join(", ");
  const names = (/** @type {BufferChip[]} */ list = []) => list.map((b) => `${b.name} in ${b.scope}`).join(" and ");
  return `block ${row.name}, ${row.detail}, reads ${names(row.reads) || "nothing"}, writes ${names(row.writes) || "nothing"}`;
}

/**
 * The element of a row, without decorations: selection, offers, costs, playhead.
 * @param {RowIndex} byId
 * @param {IndexedRow} row
 * @param {GridRows} grid
 * @returns {RowElement}
 */
export function rowElement(byId, row, grid) {
  const colour = row.writes?.[0] ? `--tw-colour: var(--tw-buffer-${row.writes[0].colour})` : undefined;
  const twist = row.children.length
    ? h("span", { class: "twist", "data-act": "fold", "aria-hidden": "true" }, icon("caret"))
    : h("span", { class: "twist" });
  const head =
    row.kind === "block"
      ? h(
          "span",
          { class: "grip", "data-act": "grip", title: "Drag onto a loop, or click and then click a loop" },
          icon("grip"),
        )
      : null;
  const content = row.kind === "block" ? [head, blockContent(row)] : loopContent(row, grid.chips(row.id));
  const around = ancestors(byId, row).filter((outer) => grid.rowOf(outer.id) === outer.id);
  const element = h(
    "div",
    {
      class: `row row-${row.kind}`,
      role: "treeitem",
      tabindex: -1,
      "data-id": row.id,
      "data-kind": row.kind,
      style: colour,
      "aria-label": ariaLabel(row, grid.loops.get(row.id)),
      "aria-level": around.length + 1,
    },
    h("span", { class: "mark", "aria-hidden": "true" }),
    h("span", { class: "problem-mark", "data-act": "problem", "aria-hidden": "true", hidden: true }),
    guides(around),
    row.kind === "block" && !row.children.length ? null : twist,
    ...content,
    h("span", { class: "cost", hidden: true }),
    h("span", { class: "offer" }),
    h(
      "button",
      { class: "kebab", type: "button", tabindex: -1, "data-act": "menu", "aria-label": `Actions of ${row.name}` },
      icon("dots"),
    ),
  );
  return Object.assign(element, { decorated: {} });
}

/**
 * Set an attribute if its value is new. A browser lays the page out whenever the tabindex of the focused element is set.
 * @param {HTMLElement | undefined} element
 * @param {string} name
 * @param {string | number} value
 */
export function updateAttribute(element, name, value) {
  if (element && element.getAttribute(name) !== String(value)) element.setAttribute(name, String(value));
}

/** @param {number} share */
function shareText(share) {
  return share < 0.005 ? "<1 %" : `${Math.round(100 * share)} %`;
}

/**
 * Show the cost of a row and all rows below it: amount, bar and share in mode "cycles" or "bytes"; without a mode, both texts on a folded row.
 * @param {RowElement} element
 * @param {Cost | undefined} cost
 * @param {CostMode} mode
 * @param {boolean} folded
 */
export function showCost(element, cost, mode, folded) {
  const wanted = !cost ? [] : mode ? [cost[mode]] : folded ? [cost.cycles, cost.bytes] : [];
  const parts = wanted.filter((part) => part.share > 0);
  const key = parts.length ? JSON.stringify([parts, mode]) : "";
  if ((element.decorated.cost ?? "") === key) return;
  element.decorated.cost = key;
  const place = part(element, "cost");
  place.hidden = !parts.length;
  place.title = parts.map((part) => part.tip).join("\n");
  const bar = (/** @type {CostPart} */ { share }) =>
    h("span", { class: "cost-bar", "aria-hidden": "true" }, h("i", { style: `width: ${100 * share}%` }));
  place.replaceChildren(
    ...parts.flatMap((shown) =>
      mode
        ? [
            h("span", { class: "cost-amount" }, shown.text),
            bar(shown),
            h("span", { class: "cost-share" }, shareText(shown.share)),
          ]
        : [h("span", { class: "cost-text" }, shown === cost?.cycles ? `${shown.text} cycles` : shown.text)],
    ),
  );
}

/**
 * The part of a row with a class that every row has.
 * @param {RowElement} element
 * @param {"cost" | "mark" | "offer" | "problem-mark"} name
 */
export function part(element, name) {
  return /** @type {HTMLElement} */ (element.querySelector(`.${name}`));
}

/**
 * The id of the loop or block that a node is about: of a chip in a row of several loops, else of the row; "" for none.
 * @param {EventTarget | null} node
 */
export function rowOf(node) {
  const found = node instanceof Element && node.closest("[data-loop], .row");
  return (found && (found.getAttribute("data-loop") ?? found.getAttribute("data-id"))) || "";
}
