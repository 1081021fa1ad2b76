// The roofline: the bound of the machine for each arithmetic intensity, and the program's points below it, on logarithmic axes.

import { h } from "../core/dom.js";
import { logScale, svg, tickText } from "../core/svg.js";

/** @import { LogScale } from "../core/svg.js" */

/** @typedef {{ name: string, peak: number, used: boolean }} Roof `peak` in operations per cycle. */

/**
 * A version of the program: operations per byte (x) and per cycle (y).
 * @typedef {object} Point
 * @property {"now" | "start" | string} key
 * @property {string} label
 * @property {number} x
 * @property {number} y
 * @property {number} roof
 * @property {number} share
 * @property {string} operations
 * @property {string} bytes
 * @property {string} cycles
 */

/**
 * @typedef {object} RooflineData
 * @property {Roof[]} roofs
 * @property {{ name: string, bytes_per_cycle: number } | null} slope The far memory.
 * @property {Point[]} points
 * @property {number | null} ridge
 * @property {number} clock_hz
 * @property {string} note
 * @property {string} words
 */

/** @typedef {{ left: number, right: number, top: number, bottom: number }} Box */
/** @typedef {[low: number, high: number]} Range */

const MARGIN = { left: 46, right: 12, top: 10, bottom: 34 };
const LABEL_HEIGHT = 13; // px

/** @param {number} value */
function count(value) {
  if (value >= 1000) return Math.round(value).toLocaleString("en").replaceAll(",", "\u202f");
  return String(Number(value.toPrecision(3)));
}

/**
 * The range of an axis: all positive `values` with factors of margin, rounded to half decades.
 * @param {number[]} values
 * @param {number} below
 * @param {number} above
 * @returns {Range}
 */
export function range(values, below, above) {
  const positive = values.filter((value) => value > 0);
  const low = Math.floor(2 * Math.log10(Math.min(...positive) / below)) / 2;
  const high = Math.ceil(2 * Math.log10(Math.max(...positive) * above)) / 2;
  return [10 ** low, 10 ** Math.max(high, low + 1)];
}

/**
 * @param {LogScale} x
 * @param {LogScale} y
 * @param {Box} box
 */
function grid(x, y, box) {
  return [
    ...x.ticks.map((tick) => svg("line", { class: "grid", x1: x(tick), x2: x(tick), y1: box.top, y2: box.bottom })),
    ...x.ticks.map((tick) =>
      svg("text", { class: "tick", x: x(tick), y: box.bottom + 13, "text-anchor": "middle" }, tickText(tick)),
    ),
    ...y.ticks.map((tick) => svg("line", { class: "grid", x1: box.left, x2: box.right, y1: y(tick), y2: y(tick) })),
    ...y.ticks.map((tick) =>
      svg("text", { class: "tick", x: box.left - 5, y: y(tick) + 3.5, "text-anchor": "end" }, tickText(tick)),
    ),
    svg(
      "text",
      { class: "axis", x: (box.left + box.right) / 2, y: box.bottom + 28, "text-anchor": "middle" },
      "operations per byte of the far memory",
    ),
    svg(
      "text",
      { class: "axis", transform: `translate(11 ${(box.top + box.bottom) / 2}) rotate(-90)`, "text-anchor": "middle" },
      "operations per cycle",
    ),
  ];
}

/**
 * The slope of the memory's bandwidth up to the fastest used engine, and a flat roof for each engine.
 * @param {RooflineData} data
 * @param {LogScale} x
 * @param {LogScale} y
 * @param {Box} box
 * @param {Range} xs
 * @param {Range} ys
 */
function roofs(data, x, y, box, [lowX, highX], [lowY, highY]) {
  const { bytes_per_cycle: width, name } = data.slope ?? { bytes_per_cycle: 1, name: "" };
  const used = data.roofs.filter((roof) => roof.used);
  const peak = Math.max(...(used.length ? used : data.roofs).map((roof) => roof.peak));
  const from = Math.max(lowX, lowY / width);
  const to = Math.min(highX, peak / width);
  const parts = data.roofs
    .filter((roof) => roof.peak > lowY && roof.peak < highY)
    .flatMap((roof) => {
      const start = Math.min(Math.max(lowX, roof.peak / width), highX);
      return [
        svg("line", {
          class: `roof ${roof.used ? "used" : ""}`,
          x1: x(start),
          x2: box.right,
          y1: y(roof.peak),
          y2: y(roof.peak),
        }),
        svg(
          "text",
          { class: "roof-label", x: box.right - 2, y: y(roof.peak) - 4, "text-anchor": "end" },
          `${roof.name} ${count(roof.peak)}${roof.used ? "" : " (no work)"}`,
        ),
      ];
    });
  if (to <= from) return parts;
  const [x1, y1, x2, y2] = [x(from), y(from * width), x(to), y(to * width)];
  const angle = (Math.atan2(y2 - y1, x2 - x1) * 180) / Math.PI;
  const at = 0.5;
  const [mx, my] = [x1 + (x2 - x1) * at, y1 + (y2 - y1) * at];
  return [
    ...parts,
    svg("line", { class: "roof used slope", x1, y1, x2, y2 }),
    svg(
      "text",
      {
        class: "roof-label",
        "text-anchor": "middle",
        transform: `translate(${mx} ${my}) rotate(${angle}) translate(0 -5)`,
      },
      `${name} ${width} B/cycle`,
    ),
  ];
}

/**
 * @param {string} key
 * @param {number} cx
 * @param {number} cy
 */
function mark(key, cx, cy) {
  if (key === "now") return svg("circle", { class: "mark now", cx, cy, r: 5.5 });
  if (key === "start") return svg("circle", { class: "mark", cx, cy, r: 4.5 });
  return svg("path", { class: "mark", d: `M${cx} ${cy - 6}l6 6l-6 6l-6 -6z` });
}

/**
 * @param {Point} point
 * @param {number} clock In hertz.
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
 * The heights of labels: a label that would cover one beside it moves down.
 * @param {{ cx: number, cy: number }[]} spots
 * @returns {number[]}
 */
export function labelHeights(spots) {
  /** @type {number[]} */
  const heights = [];
  /** @type {{ cx: number, label: number }[]} */
  const placed = [];
  let last = -Infinity;
  for (const [n, { cx, cy }] of [...spots.entries()].sort(([, a], [, b]) => a.cy - b.cy)) {
    const isBeside = placed.some((other) => Math.abs(other.cx - cx) < 110);
    const label = isBeside ? Math.max(cy + 3.5, last + LABEL_HEIGHT) : cy + 3.5;
    heights[n] = label;
    placed.push({ cx, label });
    last = isBeside ? label : Math.max(last, label);
  }
  return heights;
}

/**
 * @param {RooflineData} data
 * @param {LogScale} x
 * @param {LogScale} y
 * @param {Box} box
 * @param {(text: string | null) => void} show
 */
function points(data, x, y, box, show) {
  const spots = data.points.map((point) => ({ point, cx: x(point.x), cy: y(point.y) }));
  const labels = labelHeights(spots);
  const path =
    spots.length > 1
      ? svg("polyline", { class: "way", points: spots.map(({ cx, cy }) => `${cx},${cy}`).join(" ") })
      : null;
  const marks = spots.map(({ point, cx, cy }, n) => {
    const right = cx < box.right - 120;
    const group = svg(
      "g",
      {
        class: "point",
        tabindex: "0",
        role: "img",
        "aria-label": pointText(point, data.clock_hz),
        "data-point": point.key,
      },
      svg("circle", { class: "halo", cx, cy, r: 10 }),
      mark(point.key, cx, cy),
      svg(
        "text",
        { class: "point-label", x: cx + (right ? 10 : -10), y: labels[n], "text-anchor": right ? "start" : "end" },
        point.label,
      ),
    );
    for (const event of ["pointerenter", "focus"])
      group.addEventListener(event, () => show(pointText(point, data.clock_hz)));
    for (const event of ["pointerleave", "blur"]) group.addEventListener(event, () => show(null));
    return group;
  });
  return [path, ...marks];
}

/**
 * The section with the picture.
 * @param {RooflineData} data
 * @param {number} width In pixels.
 */
export function rooflineSection(data, width) {
  const readout = h("p", { class: "picture-readout", "aria-live": "polite" }, data.words || data.note);
  const head = h("h3", {}, "Roofline");
  if (!data.points.length || !data.slope) return h("section", { class: "picture roofline" }, head, readout);
  const height = Math.round(Math.min(300, Math.max(190, width * 0.5)));
  const box = { left: MARGIN.left, right: width - MARGIN.right, top: MARGIN.top, bottom: height - MARGIN.bottom };
  const peaks = data.roofs.filter((roof) => roof.used).map((roof) => roof.peak);
  const xs = range([...data.points.map((p) => p.x), ...(data.ridge ? [data.ridge] : [])], 3, 3);
  const ys = range([...data.points.map((p) => p.y), ...peaks], 3, 2);
  const x = logScale(...xs, box.left, box.right);
  const y = logScale(...ys, box.bottom, box.top);
  const show = (/** @type {string | null} */ text) => (readout.textContent = text ?? data.words);
  return h(
    "section",
    { class: "picture roofline" },
    head,
    svg(
      "svg",
      { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `Roofline. ${data.words}` },
      grid(x, y, box),
      roofs(data, x, y, box, xs, ys),
      points(data, x, y, box, show),
    ),
    readout,
  );
}
