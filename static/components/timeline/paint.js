// The timeline's canvas: tasks and stalls in the lanes of engines, tiles and live bytes in the rows of memories, the time axis.

import { sharp } from "../core/canvas.js";
import { CAUSES } from "../core/stalls.js";
import { grouped, ticks } from "../core/numbers.js";
import { classOf } from "./cores.js";
import { paintGutter } from "./gutter.js";
import { shortened, taskLabel } from "./labels.js";
import { GUTTER, RIGHT, cellBand } from "./layout.js";
import { Pen } from "./pen.js";
import { waitText } from "./texts.js";

/** @import { Cause, Colors } from "../core/colors.js" */
/** @import { Layout } from "./layout.js" */
/** @import { PlayheadState, TimelineModel } from "./model.js" */
/** @import { BinnedWindow, ExactWindow, Window } from "./windows.js" */
/** @import { MemoryLine } from "../views.js" */

const STALL_HEIGHT = 7;
const TICK_DISTANCE = 95;
/** The height of the hatching on the axis where repeats are folded. */
const FOLD_HEIGHT = 4;
const AXIS_TEXT = 10; // below the rows
/** A cut label of a stall is omitted if it is shorter than this. */
const MIN_STALL_LABEL = 9;
/** The least widths of a gap between two bars, and of bars with a label. */
const MIN_WIDTH = { gap: 3, task: 26, tile: 30 };

/**
 * @param {HTMLCanvasElement} canvas
 * @param {TimelineModel} model
 * @param {Layout} layout
 * @param {Colors} colors
 * @param {PlayheadState | null} state The state at the playhead, which the gutter shows.
 * @param {(pen: Pen) => void} overlay Draws over the tasks.
 */
export function paintTimeline(canvas, model, layout, colors, state, overlay) {
  canvas.style.height = `${layout.height}px`;
  const pen = new Pen(sharp(canvas, layout.width, layout.height), layout, colors, model.view);
  const right = layout.width - RIGHT;
  paintGrid(pen);
  if (model.folded) pen.clipped(GUTTER, right, () => paintRepeats(pen, model));
  const [coarse, fine] = model.windows();
  const paint = (/** @type {Window} */ window, /** @type {number} */ from, /** @type {number} */ to) =>
    pen.clipped(Math.max(GUTTER, from), Math.min(right, to), () => paintWindow(pen, model, window));
  if (fine) {
    paint(coarse, GUTTER, pen.x(fine.start));
    paint(fine, pen.x(fine.start), pen.x(fine.end));
    paint(coarse, pen.x(fine.end), right);
  } else if (coarse) paint(coarse, GUTTER, right);
  pen.clipped(GUTTER, right, () => overlay(pen));
  paintAxis(pen, model);
  paintGutter(pen, model.data, state, model.core);
}

/** @param {Pen} pen */
function paintGrid(pen) {
  const { layout, colors } = pen;
  for (const { top, height } of layout.rows) pen.rect(GUTTER, layout.width - RIGHT, top, height, colors.sunken, 0.55);
  for (const time of timeTicks(pen)) pen.vertical(pen.x(time), layout.top, layout.bottom, colors.line);
  const { top, pinnedEnd } = layout;
  if (pinnedEnd > top) pen.line([0, pinnedEnd - 0.5], [layout.width, pinnedEnd - 0.5], colors.muted);
}

/** @param {Pen} pen */
function timeTicks({ view: { start, end }, layout }) {
  return ticks(start, end, (layout.width - GUTTER) / TICK_DISTANCE);
}

/**
 * @param {Pen} pen
 * @param {TimelineModel} model
 */
function paintAxis(pen, model) {
  const { layout, colors } = pen;
  const y = layout.bottom + AXIS_TEXT;
  for (const time of timeTicks(pen)) {
    const x = pen.x(time);
    const label = grouped(model.toReal(time));
    if (x > GUTTER - 1 && x + 3 + pen.widthOf(label) <= layout.width) pen.text(label, x + 3, y, colors.muted);
  }
  pen.text("cycle", GUTTER - 8, y, colors.faint, { align: "right" });
}

/**
 * @param {Pen} pen
 * @param {TimelineModel} model
 */
function paintRepeats(pen, model) {
  const { bottom } = pen.layout;
  const { accent } = pen.colors;
  for (const { start, end } of model.data.repeats) {
    const visible = pen.visible(start, end);
    if (!visible) continue;
    pen.rect(...visible, 0, bottom, accent, 0.06);
    for (const x of visible) pen.vertical(x, 0, bottom, accent, [2, 3]);
    pen.rect(...visible, bottom, FOLD_HEIGHT, pen.hatch(accent, "forward"));
  }
}

/**
 * @param {Pen} pen
 * @param {TimelineModel} model
 * @param {Window} window
 */
function paintWindow(pen, model, window) {
  if (window.exact) {
    const { start, length } = window.overlaps;
    for (let n = 0; n < start.length; n++)
      paintOverlap(pen, pen.x(window.start + start[n]), pen.x(window.start + start[n] + length[n]), 1);
    paintTasks(pen, model, window);
    paintStalls(pen, model, window);
    paintTiles(pen, model, window);
  } else paintBins(pen, model, window);
  window.bytes.forEach((line, row) => paintBytes(pen, model, window, line, row));
  paintIdle(pen, model);
}

/**
 * Cover the lanes while the shown core has no block that the first core has.
 * @param {Pen} pen
 * @param {TimelineModel} model
 */
function paintIdle(pen, model) {
  const { layout, colors } = pen;
  const { chip } = model.data;
  for (const [start, end] of (chip && classOf(chip, model.core)?.idle) ?? []) {
    const visible = pen.visible(model.fromCompressed(start), model.fromCompressed(end));
    if (!visible || !chip) continue;
    const [from, to] = visible;
    for (const { top, height } of layout.lanes) pen.rect(from, to, top, height, colors.surface, 0.92);
    const x = Math.max(from, pen.left) + 4;
    const text = shortened(`no block on ${chip.level} ${model.core}`, Math.min(to, pen.right) - x);
    for (const { top } of layout.lanes) pen.text(text, x, top + layout.bar / 2 + 0.5, colors.muted);
  }
}

/**
 * Time with at least two busy engines: a pale background, and a line under the lanes.
 * @param {Pen} pen
 * @param {number} from
 * @param {number} to
 * @param {number} share
 */
function paintOverlap(pen, from, to, share) {
  const { lanesTop, lanesEnd } = pen.layout;
  const { accent } = pen.colors;
  pen.rect(from, to, lanesTop, lanesEnd - lanesTop, accent, 0.09 * share);
  pen.rect(from, Math.max(to, from + 0.4), lanesEnd - 1, 2, accent, 0.75 * share);
}

/**
 * @param {Pen} pen
 * @param {TimelineModel} model
 * @param {ExactWindow} window
 */
function paintTasks(pen, model, window) {
  const { layout, colors } = pen;
  const { data } = model;
  const { tasks } = window;
  for (let n = 0; n < tasks.start.length; n++) {
    const start = window.start + tasks.start[n];
    const visible = pen.visible(start, start + tasks.length[n]);
    if (!visible) continue;
    const [from, to] = visible;
    const template = data.templates[data.kinds[tasks.kind[n]].template];
    const { top } = layout.lanes[template.lane];
    pen.rect(from, barEnd(from, to), top, layout.bar, colors.buffers[template.colour], 0.92);
    if (to - from < MIN_WIDTH.task) continue;
    const x = Math.max(from, pen.left) + 4;
    const text = taskLabel(model.task(window, n), Math.min(to, pen.right) - x - 3);
    if (text) pen.text(text, x, top + layout.bar / 2 + 0.5, colors.surface);
  }
}

/**
 * The end of a bar, with a gap to the next one where it is wide enough.
 * @param {number} from
 * @param {number} to
 */
function barEnd(from, to) {
  return to - from > MIN_WIDTH.gap ? to - 0.8 : Math.max(to, from + 0.5);
}

/**
 * @param {Pen} pen
 * @param {TimelineModel} model
 * @param {ExactWindow} window
 */
function paintStalls(pen, model, { start, waits }) {
  const { layout } = pen;
  for (let n = 0; n < waits.start.length; n++) {
    const visible = pen.visible(start + waits.start[n], start + waits.start[n] + waits.length[n]);
    if (!visible) continue;
    const [from, to] = visible;
    const wait = model.data.waits[waits.of[n]];
    const { top } = layout.lanes[wait.lane];
    paintStall(pen, wait.cause, from, to, top, 1);
    if (wait.cause === "port") continue; // no gap for a label: a task runs during the stall
    const x = Math.max(from, pen.left) + 4;
    const text = shortened(waitText(wait), Math.min(to, pen.right) - x - 2);
    if (text && (text.length >= MIN_STALL_LABEL || !text.endsWith("…")))
      pen.text(text, x, top + layout.bar / 2 + 0.5, pen.stallColor(wait.cause));
  }
}

/**
 * A stall on the strip below the tasks.
 * @param {Pen} pen
 * @param {Cause} cause
 * @param {number} from
 * @param {number} to
 * @param {number} top The top of the lane.
 * @param {number} alpha
 */
function paintStall(pen, cause, from, to, top, alpha) {
  const fill = pen.hatch(pen.colors.causes[cause], CAUSES[cause].hatch);
  pen.rect(from, Math.max(to, from + 0.5), top + pen.layout.bar + 1, STALL_HEIGHT, fill, alpha);
}

/**
 * @param {Pen} pen
 * @param {TimelineModel} model
 * @param {ExactWindow} window
 */
function paintTiles(pen, model, { start, fills, lives }) {
  const { layout, colors } = pen;
  for (const intervals of [fills, lives]) {
    const isFilling = intervals === fills;
    for (let n = 0; n < intervals.start.length; n++) {
      const visible = pen.visible(start + intervals.start[n], start + intervals.start[n] + intervals.length[n]);
      if (!visible) continue;
      const [from, to] = visible;
      const cell = model.data.cells[intervals.of[n]];
      const { top, height } = cellBand(layout, cell);
      const color = colors.buffers[cell.colour];
      if (isFilling) {
        pen.rect(from, Math.max(to, from + 0.5), top, height, pen.fillingHatch(color), 0.8);
        continue;
      }
      pen.rect(from, barEnd(from, to), top, height, color, 0.88);
      if (to - from < MIN_WIDTH.tile || height < 11) continue;
      const x = Math.max(from, pen.left) + 4;
      pen.text(shortened(cell.label, Math.min(to, pen.right) - x - 3), x, top + height / 2 + 0.5, colors.surface);
    }
  }
}

/**
 * Tasks as heights and the rest as opacities, by their share of each bin.
 * @param {Pen} pen
 * @param {TimelineModel} model
 * @param {BinnedWindow} window
 */
function paintBins(pen, { data }, { start, end, bins }) {
  const { layout, colors } = pen;
  const width = (end - start) / bins.count;
  const each = (
    /** @type {Uint8Array} */ levels,
    /** @type {(from: number, to: number, share: number, n: number) => void} */ draw,
  ) => {
    for (let n = 0; n < bins.count; n++) {
      const visible = levels[n] ? pen.visible(start + n * width, start + (n + 1) * width) : null;
      if (visible) draw(visible[0], visible[1] + 0.35, levels[n] / 255, n);
    }
  };
  for (const [, levels] of bins.overlap) each(levels, (from, to, share) => paintOverlap(pen, from, to, share));
  const heights = data.engines.map(() => new Float32Array(bins.count));
  for (const [number, levels] of bins.task) {
    const { lane, colour } = data.templates[number];
    const { top } = layout.lanes[lane];
    const { bar } = layout;
    each(levels, (from, to, share, n) => {
      const low = heights[lane][n];
      const high = (heights[lane][n] = Math.min(1, low + share));
      pen.rect(from, to, top, bar, colors.buffers[colour], 0.12);
      pen.rect(from, to, top + bar * (1 - high), bar * (high - low), colors.buffers[colour], 0.92);
    });
  }
  for (const [number, levels] of bins.wait) {
    const { lane, cause } = data.waits[number];
    each(levels, (from, to, share) => paintStall(pen, cause, from, to, layout.lanes[lane].top, Math.sqrt(share)));
  }
  for (const bands of [bins.fill, bins.live]) {
    for (const [number, levels] of bands) {
      const cell = data.cells[number];
      const { top, height } = cellBand(layout, cell);
      const color = colors.buffers[cell.colour];
      const fill = bands === bins.fill ? pen.fillingHatch(color) : color;
      each(levels, (from, to, share) => pen.rect(from, to, top, height, fill, 0.88 * Math.sqrt(share)));
    }
  }
}

/**
 * The line of live bytes, the allocated bytes above the capacity, and the line of the capacity.
 * @param {Pen} pen
 * @param {TimelineModel} model
 * @param {Window} window
 * @param {MemoryLine} bytes
 * @param {number} row
 */
function paintBytes(pen, model, window, bytes, row) {
  const { context, colors, layout } = pen;
  const { top, height } = layout.rows[row];
  const { scale, capacity, limit, over, kind } = model.data.rows[row];
  const y = (/** @type {number} */ value) => top + height * (1 - Math.min(1, value / scale));
  const edges = [...bytes.at, window.end - window.start].map((time) => pen.x(window.start + time));
  const stroke = (/** @type {number[]} */ values) => {
    context.beginPath();
    values.forEach((value, n) => {
      context.lineTo(edges[n], y(value));
      context.lineTo(edges[n + 1], y(value));
    });
    context.stroke();
  };
  context.strokeStyle = colors.text;
  context.lineWidth = 1;
  if (kind === "port")
    bytes.live.forEach((value, n) => {
      if (value) pen.rect(edges[n], edges[n + 1], y(value), top + height - y(value), colors.accent, 0.45);
    });
  context.globalAlpha = 0.6;
  stroke(bytes.live);
  stroke(bytes.least);
  context.globalAlpha = 1;
  if (over) {
    const fill = pen.hatch(colors.bad, "forward", 0.08);
    bytes.allocated.forEach((value, n) => {
      if (value > capacity) pen.rect(edges[n], edges[n + 1], y(value), y(capacity) - y(value), fill);
    });
  }
  // A capacity beyond the scale is at the top, above a break in the gutter.
  const level = Math.round(limit ? y(capacity) : top) + 0.5;
  pen.line([pen.left, level], [pen.right, level], over ? colors.bad : colors.muted, [4, 3]);
}
