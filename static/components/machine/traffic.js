// Traffic between memories and the roofline: Bokeh figures (app/plots/panes.py), each with its data as text.

import { BokehFigure, sourceOf } from "../core/bokeh_figure.js";
import { follow, h, keepScroll } from "../core/dom.js";
import { blankState } from "../core/settings.js";
import { keepFocus } from "../core/reconcile.js";

/** @import { CacheLevel as Cache, Roofline as RooflineData, RooflinePoint as Point, TrafficDiagram as TrafficData, TrafficFlow as Flow, TrafficPane as PicturesData } from "../views.js" */
/** @import { PayloadModel } from "../core/dom.js" */

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
            {
              class: flow.round_trip ? "is-trip" : null,
              title: words(flow),
              "data-flow": `${flow.buffer} ${flow.source} ${flow.destination}`,
            },
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

/** @param {number} value */
function count(value) {
  if (value >= 1000) return Math.round(value).toLocaleString("en").replaceAll(",", "\u202f");
  return String(Number(value.toPrecision(3)));
}

/**
 * @param {Point} point
 * @param {number} clock In Hz.
 */
function pointText(point, clock) {
  const rate = point.y * clock;
  const speed =
    rate >= 1e9 ? `${Number((rate / 1e9).toPrecision(3))} Gop/s` : `${Number((rate / 1e6).toPrecision(3))} Mop/s`;
  return (
    `${point.label}: ${count(point.x)} operations per byte (${point.operations} over ${point.bytes} bytes), ` +
    `${count(point.y)} per cycle in ${point.cycles} cycles (${speed}), ${Number((100 * point.share).toPrecision(2))} % of its roof ${count(point.roof)}`
  );
}

/**
 * @param {TrafficData} data
 * @param {BokehFigure} figure
 * @param {boolean} open Whether the table is open.
 */
function trafficSection(data, figure, open) {
  const usual = data.trips.map((trip) => trip.text).join("; ") || data.total;
  const readout = h(
    "p",
    { class: `picture-readout ${data.trips.length ? "is-warning" : ""}`, "aria-live": "polite" },
    data.note || usual,
  );
  const flows = data.flows.length ? table(data) : null;
  if (flows) flows.open = open;
  return h(
    "section",
    { class: "picture traffic-flow" },
    h("h2", {}, "Traffic", h("span", { class: "quiet" }, data.flows.length && data.trips.length ? data.total : "")),
    flows && figure.element,
    readout,
    flows,
    data.caches.length ? cacheTable(data.caches) : null,
  );
}

/**
 * @param {RooflineData} data
 * @param {BokehFigure} figure
 */
function rooflineSection({ points, words: text, note, clock_hz: clock }, figure) {
  return h(
    "section",
    { class: "picture roofline" },
    h("h2", {}, "Roofline"),
    points.length ? figure.element : null,
    h("p", { class: "picture-readout", "aria-live": "polite" }, text || note),
    h(
      "ul",
      { class: "points" },
      points.map((point) => h("li", { "data-point": point.key }, pointText(point, clock))),
    ),
  );
}

/** @param {{ model: PayloadModel }} options */
export function render({ model }) {
  const view = h("div", { class: "pictures", tabindex: "0", role: "group", "aria-label": "Traffic and roofline" });
  /** @type {PicturesData | null} */
  let data = null;
  const figures = {
    traffic: selectable("flows", () => (data ? data.traffic.flows.map(words) : []), ".traffic-flow"),
    roofline: selectable(
      "points",
      () => (data ? data.roofline.points.map((point) => pointText(point, data?.roofline.clock_hz ?? 0)) : []),
      ".roofline",
    ),
  };

  /**
   * A figure in which clicks and arrow keys select a row; the readout of the section describes it.
   * @param {string} source
   * @param {() => string[]} texts The description of each row.
   * @param {string} section
   */
  function selectable(source, texts, section) {
    const figure = new BokehFigure(model, (plot) => {
      sourceOf(plot, source).selected.properties.indices.change.connect(describe);
      describe();
    });
    const describe = () => {
      const readout = view.querySelector(`${section} .picture-readout`);
      if (!(readout instanceof HTMLElement) || !figure.plot) return;
      readout.dataset.usual ??= readout.textContent ?? "";
      readout.textContent = texts()[sourceOf(figure.plot, source).selected.indices[0]] ?? readout.dataset.usual;
    };
    figure.element.dataset.focus = source;
    figure.selectByKeys(source);
    return { figure, describe };
  }

  const drawFigures = () => {
    if (!data || data.blank || !view.clientWidth) return;
    const { dark, traffic, roofline } = data;
    if (data.figures.traffic)
      figures.traffic.figure.draw(data.figures.traffic, dark, `Traffic. ${traffic.total}. Arrow keys select a flow`);
    if (data.figures.roofline)
      figures.roofline.figure.draw(
        data.figures.roofline,
        dark,
        `Roofline. ${roofline.words}. Arrow keys select a point`,
      );
  };
  const draw = (/** @type {PicturesData} */ fresh) => {
    data = fresh;
    const { blank, traffic, roofline } = fresh;
    const open = view.querySelector("details")?.open ?? false;
    const sections = () =>
      blank
        ? [blankState((message) => model.send_msg(message), blank)]
        : [trafficSection(traffic, figures.traffic.figure, open), rooflineSection(roofline, figures.roofline.figure)];
    keepFocus(view, () => keepScroll(view, () => view.replaceChildren(...sections())));
    figures.traffic.describe();
    figures.roofline.describe();
    drawFigures();
  };
  new ResizeObserver(drawFigures).observe(view); // a figure needs a visible pane
  new MutationObserver(drawFigures).observe(document.documentElement, {
    attributes: true,
    attributeFilter: ["data-theme"],
  });
  follow(model, draw);
  return view;
}
