// The timelines of A and B on one scale: each engine has a lane for both, and a line marks the end of the shorter run. The wheel zooms, a drag
// pans.

import { follow, h, nodes } from "../core/dom.js";
import { grouped, ticks } from "../core/numbers.js";
import { followWidth, svg } from "../core/svg.js";

/** @import { PayloadModel } from "../core/dom.js" */
/** @import { EngineWork as LaneData, OverlaidMemory as Memory, Overlay as OverlayData } from "../views.js" */

/** @typedef {[start: number, end: number, colour: number, words: string]} Bar In cycles. */
/** @typedef {{ start: number, end: number }} Span */
/** @typedef {(cycle: number) => number} Scale */

const EDGE = { left: 92, right: 16, top: 18, bottom: 22 };
const LANE = { least: 11, most: 34, gap: 3, between: 12 };
const REQUEST_DELAY_MS = 140;
const TALL = 10_000; // higher than any picture

/**
 * @param {LaneData} content
 * @param {OverlayData} data
 * @param {Scale} x
 * @param {number} top
 * @param {number} tall
 * @param {string} side
 */
function lane(content, data, x, top, tall, side) {
  const fill = (/** @type {number} */ colour) => `var(--tw-buffer-${colour})`;
  const bars = content.bars.map(([start, end, colour, words]) =>
    svg(
      "rect",
      {
        class: "task",
        x: x(start),
        width: Math.max(0.75, x(end) - x(start)),
        y: top,
        height: tall,
        fill: fill(colour),
      },
      svg("title", {}, `${side}: ${words}`),
    ),
  );
  const count = content.stretches[0]?.[1].length ?? 0;
  const base = new Array(count).fill(0);
  const wide = (data.end - data.start) / Math.max(1, count);
  const steps = content.stretches.map(([colour, shares]) => {
    let path = "";
    shares.forEach((share, n) => {
      if (!share) return;
      const [left, right] = [x(data.start + n * wide), x(data.start + (n + 1) * wide)];
      const low = top + tall * (1 - base[n]);
      path += `M${left.toFixed(1)} ${low.toFixed(1)}H${right.toFixed(1)}V${(low - tall * share).toFixed(1)}H${left.toFixed(1)}Z`;
      base[n] += share;
    });
    return svg("path", { class: "stretch", d: path, fill: fill(colour) });
  });
  return [...bars, ...steps];
}

/**
 * A lane as long as its run, and the line at the end of the run.
 * @param {number} cycles
 * @param {string} name
 * @param {Scale} x
 * @param {number} y
 * @param {number} tall
 * @param {{ left: number, right: number }} box
 */
function ending(cycles, name, x, y, tall, box) {
  const at = Math.min(x(cycles), box.right + 2);
  return [
    svg("rect", { class: "lane", x: box.left, width: Math.max(0, at - box.left), y, height: tall }),
    svg("line", { class: `end is-${name.toLowerCase()}`, x1: at, x2: at, y1: y, y2: y + tall }),
  ];
}

/**
 * The live bytes of a memory: B as an area, A as a line over it, and the capacity.
 * @param {Memory} item
 * @param {OverlayData} data
 * @param {Scale} x
 * @param {number} top
 * @param {number} tall
 */
function memory(item, data, x, top, tall) {
  const count = Math.max(item.a.length, item.b.length);
  const wide = (data.end - data.start) / Math.max(1, count);
  const height = (/** @type {number} */ level) => (top + tall * (1 - Math.min(1, level))).toFixed(1);
  const steps = (/** @type {number[]} */ levels) =>
    levels
      .map(
        (level, n) =>
          `${n ? "" : `M${x(data.start).toFixed(1)} ${height(level)}`}V${height(level)}H${x(data.start + (n + 1) * wide).toFixed(1)}`,
      )
      .join("");
  const floor = top + tall;
  return [
    item.b.length
      ? svg("path", { class: "held is-b", d: `${steps(item.b)}V${floor}H${x(data.start).toFixed(1)}Z` })
      : null,
    item.a.length ? svg("path", { class: "held is-a", d: steps(item.a) }) : null,
    item.limit
      ? svg("line", {
          class: `capacity ${item.over ? "over" : ""}`,
          x1: x(data.start),
          x2: x(data.end),
          y1: height(item.limit),
          y2: height(item.limit),
        })
      : null,
    svg("line", { class: "tick-line", x1: x(data.start), x2: x(data.end), y1: floor, y2: floor }),
    svg(
      "rect",
      { class: "held-reach", x: x(data.start), width: Math.max(0, x(data.end) - x(data.start)), y: top, height: tall },
      svg("title", {}, item.words),
    ),
  ];
}

/**
 * @param {OverlayData} data
 * @param {Span} span
 * @param {number} width
 * @param {number} height
 */
function picture(data, span, width, height) {
  const box = { left: EDGE.left, right: width - EDGE.right };
  const x = (/** @type {number} */ cycle) =>
    box.left + ((cycle - span.start) / (span.end - span.start)) * (box.right - box.left);
  const lanes = data.engines.length + 0.75 * data.memories.length;
  const room = (height - EDGE.top - EDGE.bottom) / lanes - LANE.between - LANE.gap;
  const tall = Math.max(LANE.least, Math.min(LANE.most, room / 2));
  const wide = Math.max(1, box.right - box.left);
  // A nested picture clips its content.
  const inside = svg("svg", {
    x: box.left,
    y: 0,
    width: wide,
    height: TALL,
    viewBox: `${box.left} 0 ${wide} ${TALL}`,
    overflow: "hidden",
  });
  const labels = [];
  let y = EDGE.top;
  for (const engine of data.engines) {
    labels.push(svg("text", { class: "engine", x: box.left - 26, y: y + tall + 4, "text-anchor": "end" }, engine.name));
    for (const [n, [name, content]] of Object.entries({ A: engine.a, B: engine.b }).entries()) {
      const top = y + n * (tall + LANE.gap);
      labels.push(svg("text", { class: "letter", x: box.left - 8, y: top + tall / 2 + 4, "text-anchor": "end" }, name));
      inside.append(...ending(data.cycles[n], name, x, top, tall, box), ...lane(content, data, x, top, tall, name));
    }
    y += 2 * tall + LANE.gap + LANE.between;
  }
  for (const item of data.memories) {
    const high = 1.4 * tall;
    labels.push(
      svg("text", { class: "memory-name", x: box.left - 26, y: y + high / 2 + 4, "text-anchor": "end" }, item.name),
    );
    inside.append(...nodes(memory(item, data, x, y, high)));
    y += high + LANE.between;
  }
  const bottom = y - LANE.between + 4;
  const [short, long] = data.cycles[0] <= data.cycles[1] ? ["A", "B"] : ["B", "A"];
  const ends = [Math.min(...data.cycles), Math.max(...data.cycles)];
  const at = x(ends[0]);
  const same = ends[0] === ends[1];
  const marks = [
    at >= box.left && at <= box.right + 1
      ? svg("line", { class: "end whole", x1: at, x2: at, y1: EDGE.top - 4, y2: bottom })
      : null,
    at >= box.left && at <= box.right + 1
      ? svg(
          "text",
          {
            class: "end-label",
            x: Math.min(at, box.right - 4),
            y: 11,
            "text-anchor": at > box.left + 170 ? "end" : "start",
          },
          same
            ? `both end at ${grouped(ends[0])}`
            : `${short} ends at ${grouped(ends[0])}, ${grouped(ends[1] - ends[0])} before ${long}`,
        )
      : null,
  ];
  const axis = ticks(span.start, span.end, (box.right - box.left) / 90).flatMap((tick) => [
    svg("line", { class: "tick-line", x1: x(tick), x2: x(tick), y1: EDGE.top, y2: bottom }),
    svg("text", { class: "tick", x: x(tick), y: bottom + 14, "text-anchor": "middle" }, grouped(tick)),
  ]);
  const words = `Timelines of A, ${grouped(data.cycles[0])} cycles, and B, ${grouped(data.cycles[1])} cycles, on one scale: ${[...data.engines.map((engine) => engine.name), ...data.memories.map((item) => item.words)].join(", ")}`;
  return svg(
    "svg",
    { width, height: Math.max(height, bottom + EDGE.bottom), role: "img", "aria-label": words },
    axis,
    inside,
    labels,
    marks,
  );
}

/** @param {{ model: PayloadModel }} options */
export function render({ model }) {
  const canvas = h("div", {
    class: "overlay-canvas",
    tabindex: "0",
    role: "group",
    "aria-label": "Overlaid timelines: plus and minus zoom, arrows pan, 0 shows all",
  });
  const bar = h("div", { class: "overlay-bar" });
  const view = h("div", { class: "overlay" }, bar, canvas);
  /** @type {OverlayData} */
  let data = { cycles: [0, 0], longest: 0, start: 0, end: 0, engines: [], memories: [], note: "" };
  /** @type {Span} */
  let span = { start: 0, end: 0 };
  /** @type {number | undefined} */
  let timer;

  const draw = () => {
    if (!data.engines.length) {
      bar.replaceChildren(h("span", { class: "quiet" }, data.note));
      return canvas.replaceChildren();
    }
    const button = (/** @type {string} */ words, /** @type {string} */ label, /** @type {() => void} */ act) =>
      h("button", { class: "tool small", "aria-label": label, title: label, onclick: act }, words);
    const memoryKey = data.memories.length
      ? h(
          "span",
          { class: "quiet overlay-key" },
          "memory: ",
          h("i", { class: "key is-a" }),
          "A ",
          h("i", { class: "key is-b" }),
          "B",
        )
      : "";
    bar.replaceChildren(
      h("b", {}, "A and B on one scale"),
      h("span", { class: "quiet overlay-span" }, `${grouped(span.start)} to ${grouped(span.end)} cycles`),
      memoryKey,
      h(
        "span",
        { class: "overlay-tools" },
        button("−", "Zoom out (−)", () => zoom(2)),
        button("+", "Zoom in (+)", () => zoom(0.5)),
        button("Fit", "Show all (0)", () => show(0, data.longest)),
      ),
    );
    if (canvas.clientWidth > 150)
      canvas.replaceChildren(picture(data, span, canvas.clientWidth, Math.max(120, canvas.clientHeight - 4)));
  };

  /**
   * Show a range at once, and request its data from the server after a short delay.
   * @param {number} start
   * @param {number} end
   */
  function show(start, end) {
    const wide = Math.min(data.longest, Math.max(20, end - start));
    const from = Math.max(0, Math.min(data.longest - wide, start));
    span = { start: from, end: from + wide };
    draw();
    clearTimeout(timer);
    timer = window.setTimeout(() => {
      const all = span.start <= 0 && span.end >= data.longest;
      model.send_msg({ kind: "show_span", start: all ? null : span.start, end: all ? null : span.end });
    }, REQUEST_DELAY_MS);
  }

  /**
   * @param {number} by
   * @param {number} at The cycle that keeps its place.
   */
  function zoom(by, at = (span.start + span.end) / 2) {
    show(at - (at - span.start) * by, at + (span.end - at) * by);
  }

  const cycleAt = (/** @type {MouseEvent} */ event) => {
    const box = canvas.getBoundingClientRect();
    const [left, right] = [box.left + EDGE.left, box.right - EDGE.right];
    return span.start + ((event.clientX - left) / (right - left)) * (span.end - span.start);
  };
  canvas.addEventListener(
    "wheel",
    (event) => {
      if (!data.engines.length) return;
      event.preventDefault();
      zoom(event.deltaY < 0 ? 0.8 : 1.25, Math.max(span.start, Math.min(span.end, cycleAt(event))));
    },
    { passive: false },
  );
  canvas.addEventListener("pointerdown", (event) => {
    if (!data.engines.length || event.button) return;
    const [grabbed, from] = [cycleAt(event), { ...span }];
    canvas.setPointerCapture(event.pointerId);
    canvas.onpointermove = (move) => {
      const by = grabbed - cycleAt(move);
      if (Math.abs(by) > 1e-9) show(span.start + by, span.start + by + (from.end - from.start));
    };
    canvas.onpointerup = canvas.onpointercancel = () => (canvas.onpointermove = null);
  });
  canvas.addEventListener("keydown", (event) => {
    if (!data.engines.length) return;
    const wide = span.end - span.start;
    /** @type {Record<string, () => void>} */
    const actions = {
      "+": () => zoom(0.5),
      "=": () => zoom(0.5),
      "-": () => zoom(2),
      0: () => show(0, data.longest),
      ArrowLeft: () => show(span.start - wide / 8, span.end - wide / 8),
      ArrowRight: () => show(span.start + wide / 8, span.end + wide / 8),
    };
    const act = actions[event.key];
    if (!act || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    act();
  });
  followWidth(canvas, draw);
  new ResizeObserver(draw).observe(view);
  follow(model, (/** @type {OverlayData} */ fresh) => {
    data = fresh;
    if (data.engines.length) span = { start: data.start, end: data.end };
    draw();
  });
  return view;
}
