// The lanes of the timeline on a canvas: tasks, what is waited for below them, where engines overlap, tiles in the banks, bytes and capacity.

import { sharp } from "../core/canvas.js";
import { CAUSES, hatch, waitText } from "../core/colors.js";
import { grouped, roundStep } from "./clock.js";
import { GUTTER, paintGutter, shortened } from "./gutter.js";

export const RIGHT = 10;
const LANE = [29, 42];
const STALL = 7;
const AXIS = 18;
const ROW = [20, 150];

const FONT_SIZE = 10.5;

/** Rows of ×N marks: repeats in repeats stand below those around them. */
export const MARK = 14;
export const LEVELS = 3;
const WORTH_SAYING = 9;

const within = ([least, most], value) => Math.max(least, Math.min(most, value));

/** Where everything stands for a size of the stage: lanes and rows {top, height}, the height of bars, and what is needed in all. */
export function layoutOf(data, width, height, folded) {
  const levels = folded ? Math.max(0, ...data.repeats.map((repeat) => Math.min(repeat.level, LEVELS - 1) + 1)) : 0;
  const top = levels ? levels * MARK + 2 : 4;
  const lane = within(LANE, ((height - AXIS - top) * 0.45) / Math.max(1, data.engines.length));
  const lanes = data.engines.map((_, n) => ({ top: top + n * lane, height: lane }));
  const below = top + lanes.length * lane + 2;
  const each = data.rows.length ? within(ROW, (height - AXIS - below) / data.rows.length) : 0;
  const rows = data.rows.map((_, n) => ({ top: below + n * each + 2, height: each - 7 }));
  const bottom = below + each * rows.length;
  return {
    width,
    height: Math.max(bottom, height - AXIS) + AXIS,
    lanes,
    rows,
    axis: bottom,
    lanesEnd: below - 2,
    top,
    bottom,
    bar: lane - 11,
  };
}

/** A task's words: its block, and the innermost index where there is room for both. */
function taskText(model, found, n, width) {
  const { template, place } = model.task(found, n);
  const last = template.loops.length - 1;
  const text = last < 0 ? template.block : `${template.block} ${template.loops[last].name}=${place[last]}`;
  return shortened(text, width) === text ? text : shortened(template.block, width);
}

export class Painter {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
  }

  /** Draw the model's view; `inks` are the colours, `now` what runs at the playhead. */
  paint(model, layout, inks, now) {
    const { canvas, context } = this;
    canvas.style.height = `${layout.height}px`;
    Object.assign(this, { model, layout, inks, now, per: (layout.width - GUTTER - RIGHT) / model.span });
    sharp(canvas, layout.width, layout.height);
    context.font = `${FONT_SIZE}px ${inks.font}`;
    context.textBaseline = "middle";
    this.grounds();
    this.clipped(GUTTER, layout.width - RIGHT, () => this.repeats());
    const windows = model.windows();
    const [base, fine] = windows.length > 1 ? windows : [windows[0], null];
    if (base) {
      const cut = fine ? [this.x(fine.start), this.x(fine.end)] : [0, 0];
      if (!fine || cut[0] > GUTTER) this.clipped(GUTTER, fine ? cut[0] : layout.width - RIGHT, () => this.window(base));
      if (fine) {
        this.clipped(Math.max(GUTTER, cut[0]), Math.min(layout.width - RIGHT, cut[1]), () => this.window(fine));
        if (cut[1] < layout.width - RIGHT)
          this.clipped(Math.max(GUTTER, cut[1]), layout.width - RIGHT, () => this.window(base));
      }
    }
    this.axis();
    paintGutter(this);
  }

  x(time) {
    return GUTTER + (time - this.model.view.start) * this.per;
  }

  clipped(from, to, draw) {
    if (to <= from) return;
    const { context } = this;
    context.save();
    context.beginPath();
    context.rect(from, 0, to - from, this.layout.height);
    context.clip();
    Object.assign(this, { left: from, right: to });
    draw();
    context.restore();
  }

  rect(from, to, top, height, fill, alpha = 1) {
    const x0 = Math.max(from, this.left - 2);
    const x1 = Math.min(to, this.right + 2);
    if (x1 <= x0) return;
    this.context.globalAlpha = alpha;
    this.context.fillStyle = fill;
    this.context.fillRect(x0, top, x1 - x0, height);
    this.context.globalAlpha = 1;
  }

  text(text, x, y, ink, { align = "left", bold = false, size = FONT_SIZE } = {}) {
    const { context } = this;
    context.font = `${bold ? "600 " : ""}${size}px ${this.inks.font}`;
    context.fillStyle = ink;
    context.textAlign = align;
    context.fillText(text, x, y);
  }

  // ---- What lies under everything.

  grounds() {
    const { layout, inks, context } = this;
    Object.assign(this, { left: 0, right: layout.width });
    const right = layout.width - RIGHT;
    for (const row of layout.rows) {
      this.rect(GUTTER, right, row.top, row.height, inks.sunken, 0.55);
    }
    context.strokeStyle = inks.line;
    context.lineWidth = 1;
    for (const { at } of this.ticks()) {
      context.beginPath();
      context.moveTo(Math.round(this.x(at)) + 0.5, layout.top);
      context.lineTo(Math.round(this.x(at)) + 0.5, layout.bottom);
      context.stroke();
    }
  }

  ticks() {
    const { model, layout } = this;
    const step = roundStep(model.span, (layout.width - GUTTER) / 95);
    const marks = [];
    for (let at = Math.ceil(model.view.start / step) * step; at <= model.view.end; at += step) marks.push({ at, step });
    return marks;
  }

  repeats() {
    if (!this.model.folded) return;
    const { context, inks, layout } = this;
    for (const repeat of this.model.data.repeats) {
      const [from, to] = [this.x(repeat.start), this.x(repeat.end)];
      if (to < this.left || from > this.right) continue;
      this.rect(from, to, 0, layout.bottom, inks.accent, 0.06);
      context.strokeStyle = inks.accent;
      context.setLineDash([2, 3]);
      for (const x of [from, to]) {
        context.beginPath();
        context.moveTo(Math.round(x) + 0.5, 0);
        context.lineTo(Math.round(x) + 0.5, layout.bottom);
        context.stroke();
      }
      context.setLineDash([]);
    }
  }

  // ---- A window.

  window(found) {
    if (found.exact) {
      this.overlaps(found);
      this.tasks(found);
      this.waits(found);
      this.tiles(found);
    } else {
      this.bins(found);
    }
    found.bytes.forEach((bytes, row) => this.bytes(found, bytes, row));
  }

  seen(found, start, length) {
    const from = this.x(found.start + start);
    const to = from + length * this.per;
    return to < this.left || from > this.right ? null : [from, to];
  }

  /** Cycles with at least two engines busy: a quiet ground and a line under the lanes. */
  overlaps(found) {
    found.both ??= overlapping(found.tasks);
    for (const [start, end] of found.both) this.overlap(this.x(found.start + start), this.x(found.start + end), 1);
  }

  overlap(from, to, share) {
    const { top, lanesEnd } = this.layout;
    this.rect(from, to, top, lanesEnd - top, this.inks.accent, 0.09 * share);
    this.rect(from, Math.max(to, from + 0.4), lanesEnd - 1, 2, this.inks.accent, 0.75 * share);
  }

  tasks(found) {
    const { data } = this.model;
    const { tasks } = found;
    for (let n = 0; n < tasks.start.length; n++) {
      const seen = this.seen(found, tasks.start[n], tasks.length[n]);
      if (!seen) continue;
      const [from, to] = seen;
      const template = data.templates[data.kinds[tasks.kind[n]].template];
      const { top } = this.layout.lanes[template.lane];
      const wide = to - from;
      this.rect(
        from,
        wide > 3 ? to - 0.8 : Math.max(to, from + 0.5),
        top,
        this.layout.bar,
        this.inks.buffers[template.colour],
        0.92,
      );
      if (wide < 26) continue;
      const x = Math.max(from, this.left) + 4;
      const text = taskText(this.model, found, n, Math.min(to, this.right) - x - 3);
      if (text) this.text(text, x, top + this.layout.bar / 2 + 0.5, this.inks.surface);
    }
  }

  waits(found) {
    const { data } = this.model;
    const { waits } = found;
    for (let n = 0; n < waits.start.length; n++) {
      const seen = this.seen(found, waits.start[n], waits.length[n]);
      if (!seen) continue;
      const wait = data.waits[waits.of[n]];
      const { top } = this.layout.lanes[wait.lane];
      const [from, to] = seen;
      this.stall(wait.cause, from, to, top, 1);
      // In the gap there is room to say what for; a port is waited for while the task runs.
      const x = Math.max(from, this.left) + 4;
      const text = wait.cause === "port" ? "" : shortened(waitText(wait), Math.min(to, this.right) - x - 2);
      if (text && (text.length >= WORTH_SAYING || !text.endsWith("…")))
        this.text(
          text,
          x,
          top + this.layout.bar / 2 + 0.5,
          wait.cause === "idle" ? this.inks.muted : this.inks.causes[wait.cause],
        );
    }
  }

  stall(cause, from, to, top, alpha) {
    const fill = hatch(this.context, this.inks, this.inks.causes[cause], CAUSES[cause].hatch);
    this.rect(from, Math.max(to, from + 0.5), top + this.layout.bar + 1, STALL, fill, alpha);
  }

  tiles(found) {
    const { data } = this.model;
    for (const [pieces, filling] of [
      [found.fills, true],
      [found.lives, false],
    ]) {
      for (let n = 0; n < pieces.start.length; n++) {
        const seen = this.seen(found, pieces.start[n], pieces.length[n]);
        if (!seen) continue;
        const cell = data.cells[pieces.of[n]];
        const [from, to] = seen;
        const band = this.band(cell);
        const colour = this.inks.buffers[cell.colour];
        const fill = filling ? hatch(this.context, this.inks, colour, "forward", 0.12) : colour;
        this.rect(
          from,
          to - from > 3 && !filling ? to - 0.8 : Math.max(to, from + 0.5),
          band.top,
          band.height,
          fill,
          filling ? 0.8 : 0.88,
        );
        if (filling || to - from < 30 || band.height < 11) continue;
        const x = Math.max(from, this.left) + 4;
        this.text(
          shortened(cell.label, Math.min(to, this.right) - x - 3),
          x,
          band.top + band.height / 2 + 0.5,
          this.inks.surface,
        );
      }
    }
  }

  band(cell) {
    const row = this.layout.rows[cell.row];
    const top = row.top + row.height * (1 - Math.min(1, cell.high));
    return { top, height: Math.max(1.5, row.height * (Math.min(1, cell.high) - cell.low) - 0.7) };
  }

  /** What there is too much of to draw one by one: how much of each bin it takes, as height or as strength. */
  bins(found) {
    const { data } = this.model;
    const { bins } = found;
    const step = (found.end - found.start) / bins.count;
    const each = (levels, draw) => {
      for (let n = 0; n < bins.count; n++) {
        if (!levels[n]) continue;
        const from = this.x(found.start + n * step);
        if (from > this.right || from + step * this.per < this.left) continue;
        draw(from, from + step * this.per + 0.35, levels[n] / 255, n);
      }
    };
    for (const [, levels] of bins.overlap) each(levels, (from, to, share) => this.overlap(from, to, share));
    const heights = data.engines.map(() => new Float32Array(bins.count));
    for (const [number, levels] of bins.task) {
      const template = data.templates[number];
      const { top } = this.layout.lanes[template.lane];
      const ink = this.inks.buffers[template.colour];
      each(levels, (from, to, share, n) => {
        const low = heights[template.lane][n];
        heights[template.lane][n] = Math.min(1, low + share);
        const { bar } = this.layout;
        this.rect(from, to, top, bar, ink, 0.12);
        this.rect(
          from,
          to,
          top + bar * (1 - heights[template.lane][n]),
          bar * (heights[template.lane][n] - low),
          ink,
          0.92,
        );
      });
    }
    for (const [number, levels] of bins.wait) {
      const { lane, cause } = data.waits[number];
      each(levels, (from, to, share) => this.stall(cause, from, to, this.layout.lanes[lane].top, Math.sqrt(share)));
    }
    for (const [what, filling] of [
      ["fill", true],
      ["live", false],
    ]) {
      for (const [number, levels] of bins[what]) {
        const cell = data.cells[number];
        const band = this.band(cell);
        const colour = this.inks.buffers[cell.colour];
        const fill = filling ? hatch(this.context, this.inks, colour, "forward", 0.12) : colour;
        each(levels, (from, to, share) => this.rect(from, to, band.top, band.height, fill, 0.88 * Math.sqrt(share)));
      }
    }
  }

  /** The line of live bytes, the line of capacity, and what is above it, hatched. */
  bytes(found, bytes, number) {
    const { context, inks } = this;
    const row = this.layout.rows[number];
    const { scale, capacity, limit, over } = this.model.data.rows[number];
    const y = (value) => row.top + row.height * (1 - Math.min(1, value / scale));
    const ends = [...bytes.at.slice(1), found.end - found.start];
    const line = (values) => {
      context.beginPath();
      values.forEach((value, n) => {
        context.lineTo(this.x(found.start + bytes.at[n]), y(value));
        context.lineTo(this.x(found.start + ends[n]), y(value));
      });
      context.stroke();
    };
    context.strokeStyle = inks.text;
    context.lineWidth = 1;
    context.globalAlpha = 0.6;
    line(bytes.live);
    if (bytes.least.length) line(bytes.least);
    context.globalAlpha = 1;
    const fill = over ? hatch(context, inks, inks.bad, "forward", 0.08) : null;
    bytes.allocated.forEach((value, n) => {
      if (value > capacity)
        this.rect(
          this.x(found.start + bytes.at[n]),
          this.x(found.start + ends[n]),
          y(value),
          y(capacity) - y(value),
          fill,
        );
    });
    // A capacity that is out of scale stands at the top, above a break.
    const level = Math.round(limit ? y(capacity) : row.top) + 0.5;
    context.strokeStyle = over ? inks.bad : inks.muted;
    context.setLineDash([4, 3]);
    context.beginPath();
    context.moveTo(this.left, level);
    context.lineTo(this.right, level);
    context.stroke();
    context.setLineDash([]);
  }

  // ---- Around the lanes.

  axis() {
    const { model, layout, inks } = this;
    for (const { at } of this.ticks()) {
      const x = this.x(at);
      if (x > GUTTER - 1 && x < layout.width - 34)
        this.text(grouped(model.clock(at)), x + 3, layout.axis + 10, inks.muted);
    }
    this.text("cycle", GUTTER - 8, layout.axis + 10, inks.faint, { align: "right" });
  }
}

/** Where at least two of the tasks run, as [start, end]. */
export function overlapping(tasks) {
  const edges = tasks.start.flatMap((start, n) => [
    [start, 1],
    [start + tasks.length[n], -1],
  ]);
  edges.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const found = [];
  let busy = 0;
  for (const [at, by] of edges) {
    if (busy > 1 && at > found.at(-1)[0]) found.at(-1)[1] = at;
    busy += by;
    if (by > 0 && busy === 2) {
      if (found.at(-1)?.[1] === at) continue;
      found.push([at, at]);
    }
  }
  return found.filter(([start, end]) => end > start);
}
