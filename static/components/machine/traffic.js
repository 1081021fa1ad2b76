// Traffic between memories: memories and engines as vertical bars, the bytes of a buffer as a band between two of them. The width of a band is
// the number of bytes; its filled part is the lower bound. A round trip turns at the far memory. The roofline is below.

import { blankState, follow, h, keepScroll } from "../core/dom.js";
import { followWidth, svg } from "../core/svg.js";
import { rooflineSection } from "./roofline.js";

/** @import { Blank, PayloadModel } from "../core/types.js" */
/** @import { RooflineData } from "./roofline.js" */

/**
 * Bytes of a buffer from one memory to another, or between a memory and an engine.
 * @typedef {object} Flow
 * @property {string} kind
 * @property {string} buffer
 * @property {number} colour
 * @property {string} source
 * @property {string} destination
 * @property {number} bytes
 * @property {string} text
 * @property {string} exact
 * @property {number | null} least The lower bound in bytes.
 * @property {string} least_text
 * @property {string} times
 * @property {boolean} round_trip
 */

/** @typedef {{ name: string, short: string, kind: string, hint: string }} Column */
/** @typedef {{ buffer: string, scope: string, bytes: string, text: string }} Trip */
/** @typedef {{ name: string, size: string, asked: string, missed: string, share: string, prefetched: string, worst: string }} Cache */
/** @typedef {{ columns: Column[], flows: Flow[], trips: Trip[], caches: Cache[], total: string, note: string }} TrafficData */
/** @typedef {{ traffic: TrafficData, roofline: RooflineData, blank: Blank | null }} PicturesData */
/** @typedef {{ flow: Flow, from: number, to: number, middle: number, thick: number, top: number }} Row */
/** @typedef {(text: string | null) => void} Show */

const ROW = { head: 34, gap: 9, trip: 4, least: 13, thickest: 20 };
const LABEL = { left: 112, right: 104 };
const ARROW = 7;

const fill = (/** @type {Flow} */ flow) => `var(--tw-buffer-${flow.colour})`;

/** @param {Flow} flow */
function words(flow) {
  const least =
    flow.least === null
      ? ""
      : flow.round_trip
        ? ", none of it necessary: a round trip"
        : `, at least ${flow.least_text}`;
  return `${flow.buffer}: ${flow.text} from ${flow.source} to ${flow.destination}${least}${flow.times ? `, ${flow.times}` : ""}`;
}

/**
 * The place of each band, in rows from the top.
 * @param {TrafficData} data
 * @param {number} width
 */
function layOut(data, width) {
  const left = LABEL.left;
  const right = width - LABEL.right;
  const step = (right - left) / Math.max(1, data.columns.length - 1);
  const at = new Map(data.columns.map((column, n) => [column.name, left + n * step]));
  const most = Math.max(...data.flows.map((flow) => flow.bytes));
  let y = ROW.head;
  let kind = "copy";
  const x = (/** @type {string} */ name) => at.get(name) ?? left;
  const rows = data.flows.map((flow) => {
    if (flow.kind !== kind) y += kind === flow.kind || y === ROW.head ? 0 : 18;
    kind = flow.kind;
    const thick = Math.max(2, (flow.bytes / most) * ROW.thickest);
    const tall = Math.max(ROW.least, thick);
    const row = { flow, from: x(flow.source), to: x(flow.destination), middle: y + tall / 2, thick, top: y };
    y += tall + ROW.gap + (flow.round_trip ? ROW.trip : 0);
    return row;
  });
  return { x, rows, height: y + 2 };
}

/** @param {Row} row */
function band({ flow, from, to, middle, thick }) {
  const way = Math.sign(to - from);
  const [start, end] = [from + 4 * way, to - (4 + ARROW) * way];
  const half = thick / 2;
  const head = Math.max(half + 2.5, 4);
  const body = `M${start} ${middle - half}H${end}V${middle - head}L${end + ARROW * way} ${middle}L${end} ${middle + head}V${middle + half}H${start}Z`;
  const least = flow.least === null ? thick : Math.max(flow.least ? 1.5 : 0, (thick * flow.least) / flow.bytes);
  return [
    svg("path", { class: "band", d: body, fill: fill(flow), stroke: fill(flow) }),
    least
      ? svg("rect", {
          class: "least",
          x: Math.min(start, end),
          width: Math.abs(end - start),
          y: middle - least / 2,
          height: least,
          fill: fill(flow),
        })
      : null,
  ];
}

/**
 * The turn of a round trip, left of the far memory's bar.
 * @param {Row} first
 * @param {Row} second
 */
function turn(first, second) {
  const [out, back] = first.from > first.to ? [first, second] : [second, first];
  const x = out.to;
  const down = Math.sign(back.middle - out.middle);
  return [
    svg("path", {
      class: "turn",
      d: `M${x - 4} ${out.middle}h-6q-8 0 -8 ${8 * down}V${back.middle - 8 * down}q0 ${8 * down} 8 ${8 * down}h6`,
      stroke: fill(out.flow),
    }),
    svg(
      "text",
      {
        class: "turn-label",
        x: (out.from + out.to) / 2,
        y: (out.middle + back.middle) / 2 + 3.5,
        "text-anchor": "middle",
      },
      "⟲ round trip",
    ),
  ];
}

/**
 * @param {Row} row
 * @param {number} width
 * @param {Show} show
 */
function rowParts(row, width, show) {
  const { flow, middle } = row;
  const isTrip = flow.round_trip;
  const group = svg(
    "g",
    {
      class: `flow ${flow.kind} ${isTrip ? "is-trip" : ""}`,
      tabindex: "0",
      role: "img",
      "aria-label": words(flow),
      "data-flow": `${flow.buffer} ${flow.source} ${flow.destination}`,
    },
    svg("rect", {
      class: "reach",
      x: 0,
      y: row.top - ROW.gap / 2,
      width,
      height: Math.max(ROW.least, row.thick) + ROW.gap,
    }),
    band(row),
    svg("rect", { x: 0, y: middle - 4, width: 8, height: 8, rx: 2, fill: fill(flow) }),
    svg("text", { class: "flow-name", x: 13, y: middle + 3.5 }, shortened(flow.buffer, isTrip ? 11 : 14)),
    svg("text", { class: "flow-bytes", x: width, y: middle + 3.5, "text-anchor": "end" }, amounts(flow)),
  );
  for (const event of ["pointerenter", "focus"])
    group.addEventListener(event, () => show(`${words(flow)} (${flow.exact})`));
  for (const event of ["pointerleave", "blur"]) group.addEventListener(event, () => show(null));
  return group;
}

/** @param {Flow} flow */
function amounts(flow) {
  const beside =
    flow.least === null ? "" : flow.round_trip ? " of 0" : flow.times ? ` of ${flow.least_text}` : " least";
  return [svg("tspan", { class: "amount" }, flow.text), beside ? svg("tspan", { class: "beside" }, beside) : null];
}

/**
 * @param {string} name
 * @param {number} most
 */
function shortened(name, most) {
  return name.length > most + 2 ? `${name.slice(0, most)}…` : name;
}

/**
 * @param {TrafficData} data
 * @param {number} width
 * @param {Show} show
 */
function picture(data, width, show) {
  const { x: columnX, rows, height } = layOut(data, width);
  const bars = data.columns.flatMap((column) => {
    const x = columnX(column.name);
    return [
      svg("rect", {
        class: `bar ${column.kind}`,
        x: x - 4,
        y: ROW.head - 6,
        width: 8,
        height: height - ROW.head + 4,
        rx: 2,
      }),
      svg("text", { class: "bar-name", x, y: 11, "text-anchor": "middle" }, column.short),
      svg("text", { class: "bar-hint", x, y: 23, "text-anchor": "middle" }, column.hint),
    ];
  });
  const turns = data.trips.flatMap((trip) => {
    const [first, second] = rows.filter(
      ({ flow }) =>
        flow.round_trip && flow.buffer === trip.buffer && [flow.source, flow.destination].includes(trip.scope),
    );
    return first && second ? turn(first, second) : [];
  });
  return svg(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `Traffic. ${data.total}` },
    bars,
    rows.map((row) => rowParts(row, width, show)),
    turns,
  );
}

/** @param {TrafficData} data */
function table(data) {
  const cells = (/** @type {Flow} */ flow) => [
    flow.buffer,
    flow.source,
    flow.destination,
    flow.exact,
    flow.least === null ? "" : flow.least_text,
    flow.round_trip ? "round trip" : flow.times,
  ];
  return h(
    "details",
    { class: "picture-table" },
    h("summary", {}, "As a table"),
    h(
      "table",
      { class: "flow-table" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ["buffer", "from", "to", "bytes", "at least", "times"].map((name) => h("th", { scope: "col" }, name)),
        ),
      ),
      h(
        "tbody",
        {},
        data.flows.map((flow) =>
          h(
            "tr",
            {},
            cells(flow).map((text, n) =>
              h(n ? "td" : "th", n ? { class: n === 3 || n === 4 ? "number" : null } : { scope: "row" }, text),
            ),
          ),
        ),
      ),
    ),
  );
}

/**
 * Accesses and misses of each cache, the nearest first, and the lines that it prefetched, if one does.
 * @param {Cache[]} caches
 */
function cacheTable(caches) {
  const prefetches = caches.some((cache) => cache.prefetched);
  const names = [
    "cache",
    "size",
    "accesses",
    "misses",
    "miss rate",
    ...(prefetches ? ["prefetched lines"] : []),
    "most misses",
  ];
  const cells = (/** @type {Cache} */ cache) => [
    cache.name,
    cache.size,
    cache.asked,
    cache.missed,
    cache.share,
    ...(prefetches ? [cache.prefetched] : []),
    cache.worst,
  ];
  return h(
    "table",
    { class: "flow-table cache-table", "aria-label": "Caches" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        names.map((name) => h("th", { scope: "col" }, name)),
      ),
    ),
    h(
      "tbody",
      {},
      caches.map((cache) =>
        h(
          "tr",
          {},
          cells(cache).map((text, n) => h(n ? "td" : "th", n ? {} : { scope: "row" }, text)),
        ),
      ),
    ),
  );
}

/**
 * @param {TrafficData} data
 * @param {number} width
 * @param {boolean} open Whether the table is open.
 */
function trafficSection(data, width, open) {
  const usual = data.trips[0]?.text ?? data.total;
  const readout = h(
    "p",
    { class: `picture-readout ${data.trips.length ? "is-warning" : ""}`, "aria-live": "polite" },
    data.note || usual,
  );
  const show = (/** @type {string | null} */ text) => (readout.textContent = text ?? usual);
  const drawn = data.flows.length ? [picture(data, width, show), readout, table(data)] : [readout];
  const made = h(
    "section",
    { class: "picture traffic-flow" },
    h("h3", {}, "Traffic", h("span", { class: "quiet" }, data.flows.length && data.trips.length ? data.total : "")),
    ...drawn,
  );
  if (data.caches.length) made.append(cacheTable(data.caches));
  const details = made.querySelector("details");
  if (details) details.open = open;
  return made;
}

/** @param {{ model: PayloadModel }} options */
export function render({ model }) {
  const view = h("div", { class: "pictures", tabindex: "0", role: "group", "aria-label": "Traffic and roofline" });
  /** @type {PicturesData | null} */
  let data = null;
  const draw = () => {
    if (!data || !view.clientWidth) return;
    const { blank, traffic, roofline } = data;
    const open = view.querySelector("details")?.open ?? false;
    const wide = view.clientWidth >= 900;
    const room = view.clientWidth - 24;
    const width = Math.max(300, wide ? room / 2 - 12 : room);
    keepScroll(view, () =>
      view.replaceChildren(
        ...(blank
          ? [blankState((message) => model.send_msg(message), blank)]
          : [trafficSection(traffic, width, open), rooflineSection(roofline, width)]),
      ),
    );
  };
  followWidth(view, draw);
  follow(model, (/** @type {PicturesData} */ fresh) => {
    data = fresh;
    draw();
  });
  return view;
}
