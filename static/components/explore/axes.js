// Parallel coordinates: an axis for each hole and figure, a line for each candidate. What is marked on an axis by dragging leaves the others out,
// here and in the scatter. Marks are moved, widened and narrowed by keys too.

import { h } from "../core/dom.js";
import { makeScale, pen, shortAmount, valueOn } from "./model.js";
import { inkOf } from "./scatter.js";

const ROOM = { top: 40, bottom: 14, side: 46 };
const LEAST_GAP = 64;
const HASTY = 900; // so many lines are drawn while a hand moves, all of them when it rests
const SPREAD = 0.3; // of the room of a value, so that many lines through one are seen to be many

export class ParallelAxes {
  /** `shared` as for the scatter, and brushed(). */
  constructor(shared) {
    this.shared = shared;
    this.canvas = h("canvas", { class: "xp-canvas", "aria-hidden": "true" });
    this.heads = h("div", { class: "xp-heads" });
    this.inner = h("div", { class: "xp-axes-inner" }, this.canvas, this.heads);
    this.element = h(
      "div",
      { class: "xp-axes", role: "group", "aria-label": "Axes: drag along one to leave out what lies elsewhere" },
      this.inner,
    );
    this.canvas.addEventListener("pointerdown", (event) => this.press(event));
    this.canvas.addEventListener("pointermove", (event) => this.hover(event));
    this.canvas.addEventListener("pointerleave", () => this.shared.hover(null));
    this.columns = [];
    this.isHasty = false;
  }

  draw() {
    const data = this.shared.data();
    if (!data) return;
    // Cycles, peak, traffic, energy; the rows of memory only where there is room.
    const axes = this.shared.axes();
    const wide = this.element.clientWidth;
    const holes = axes.filter((axis) => axis.kind === "hole").length;
    const shown = axes.slice(0, Math.max(holes + 4, Math.min(axes.length, Math.floor(wide / 105))));
    this.inner.style.width = `${Math.max(wide, 2 * ROOM.side + (shown.length - 1) * LEAST_GAP)}px`;
    const found = pen(this.canvas);
    if (!found) return;
    const { context, width, height } = found;
    const inks = this.shared.inks();
    const all = this.shared.candidates.rows;
    const every = this.isHasty ? Math.ceil(all.length / HASTY) : 1;
    const front = new Set(data.front);
    const rows = every > 1 ? all.filter((row, n) => n % every === 0 || front.has(row.number)) : all;
    const [top, bottom] = [ROOM.top, height - ROOM.bottom];
    this.columns = shown.map((axis, n) => ({
      axis,
      x: ROOM.side + (n * (width - 2 * ROOM.side)) / Math.max(1, shown.length - 1),
      ...this.scaleOf(axis, all, top, bottom),
    }));
    const sight = new Set(this.shared.candidates.inSight(axes));
    this.lines(context, rows, sight, data, inks);
    this.axesLines(context, inks, top, bottom);
    this.drawHeads(width);
  }

  scaleOf(axis, rows, top, bottom) {
    if (axis.kind === "figure") {
      const values = rows.filter((row) => row.figures).map((row) => row.figures[axis.index]);
      const scale = makeScale(values, bottom, top, axis.unit);
      return {
        at: scale.at,
        back: scale.back,
        scale,
        texts: scale.ticks.map((tick) => [scale.at(tick), shortAmount(axis.unit, tick)]),
      };
    }
    const count = axis.texts.length;
    const room = (bottom - top) / count;
    const at = (place) => bottom - (place + 0.5) * room;
    return {
      at,
      back: (y) => (bottom - y) / room - 0.5,
      room,
      texts: axis.texts.map((text, place) => [at(place), text]),
    };
  }

  /** A line of one candidate. Through a value that many have they lie beside each other, each always at its place. */
  trace(context, row) {
    let begun = false;
    context.beginPath();
    for (const column of this.columns) {
      const value = valueOn(column.axis, row);
      if (value === null) break; // what was refused has choices, and no figures
      const y = this.heightOf(column, row, value);
      if (begun) context.lineTo(column.x, y);
      else context.moveTo(column.x, y);
      begun = true;
    }
    context.stroke();
  }

  heightOf(column, row, value) {
    const shift = column.room ? (((row.number * 0.618034) % 1) - 0.5) * 2 * SPREAD * Math.min(column.room, 60) : 0;
    return column.at(value) + shift;
  }

  lines(context, rows, sight, data, inks) {
    const front = new Set(data.front);
    const many = rows.length > 800;
    context.lineWidth = 1;
    const filtered = this.shared.candidates.brushes.size > 0;
    if (filtered) {
      context.strokeStyle = inks.line;
      context.globalAlpha = many ? 0.25 : 0.5;
      for (const row of rows)
        if (!sight.has(row) && !this.shared.candidates.hidden.has(row.status)) this.trace(context, row);
    }
    for (const status of ["refused", "failed", "pruned", "over", "fits"]) {
      context.strokeStyle = inkOf(status, inks);
      context.setLineDash({ over: [5, 3], pruned: [1.5, 3], refused: [2, 5], failed: [2, 5] }[status] ?? []);
      const share = Math.min(1, 160 / Math.max(1, sight.size));
      context.globalAlpha = status === "fits" ? Math.max(0.05, 0.7 * share) : Math.max(0.03, 0.22 * share);
      for (const row of rows)
        if (row.status === status && sight.has(row) && !front.has(row.number)) this.trace(context, row);
    }
    context.setLineDash([]);
    context.globalAlpha = 1;
    const chosen = this.shared.candidates.byNumber.get(data.card?.trial);
    for (const row of rows)
      if (front.has(row.number) && sight.has(row) && row !== chosen) this.strong(context, row, inks.accent, 2, inks);
    if (chosen) this.strong(context, chosen, inks.text, 2.4, inks);
  }

  strong(context, row, ink, wide, inks) {
    context.lineWidth = wide + 2;
    context.strokeStyle = inks.surface;
    this.trace(context, row);
    context.lineWidth = wide;
    context.strokeStyle = ink;
    this.trace(context, row);
  }

  axesLines(context, inks, top, bottom) {
    context.font = `10.5px ${inks.font}`;
    context.textBaseline = "middle";
    this.columns.forEach(({ axis, x, at, texts, room }, n) => {
      const brush = this.shared.candidates.brushes.get(axis.id);
      context.strokeStyle = inks.strong;
      context.lineWidth = 1;
      context.beginPath();
      context.moveTo(x, top - 4);
      context.lineTo(x, bottom + 4);
      context.stroke();
      if (brush) {
        const half = room ? room / 2 - 1 : 2;
        const [low, high] = [Math.min(bottom + 4, at(brush.low) + half), Math.max(top - 4, at(brush.high) - half)];
        context.fillStyle = inks.soft;
        context.strokeStyle = inks.accent;
        context.globalAlpha = 0.75;
        context.fillRect(x - 7, high, 14, low - high);
        context.globalAlpha = 1;
        context.lineWidth = 1.5;
        context.strokeRect(x - 7, high, 14, low - high);
      }
      const last = n === this.columns.length - 1;
      context.textAlign = last ? "right" : "left";
      for (const [y, text] of texts) {
        const words = text.length > 13 ? `${text.slice(0, 12)}…` : text;
        context.strokeStyle = inks.surface;
        context.lineWidth = 4;
        context.lineJoin = "round";
        context.strokeText(words, x + (last ? -6 : 6), y);
        context.fillStyle = inks.text;
        context.fillText(words, x + (last ? -6 : 6), y);
      }
    });
  }

  // Names of the axes, which keys move the marks by.

  drawHeads(width) {
    const gap = this.columns.length > 1 ? this.columns[1].x - this.columns[0].x : width;
    const wanted = this.columns.map(({ axis }) => axis.id).join();
    if (this.heads.dataset.axes !== wanted) {
      this.heads.dataset.axes = wanted;
      this.heads.replaceChildren(...this.columns.map(({ axis }) => this.head(axis)));
    }
    this.columns.forEach((column, n) => {
      const head = this.heads.children[n];
      const words = this.brushText(column.axis);
      Object.assign(head.style, { left: `${column.x - gap / 2 + 2}px`, width: `${gap - 4}px` });
      head.classList.toggle("is-marked", Boolean(this.shared.candidates.brushes.get(column.axis.id)));
      head.setAttribute("aria-valuetext", words || "all");
      head.querySelector("small").textContent = words;
    });
  }

  head(axis) {
    return h(
      "div",
      {
        class: `xp-head is-${axis.kind}`,
        role: "slider",
        tabindex: "0",
        "aria-label": axis.name,
        "aria-valuemin": "0",
        "aria-valuemax": "1",
        "aria-valuenow": "0",
        "data-axis": axis.id,
        title: `${axis.name}: drag along the axis to leave out the others; arrow keys move the mark, Shift+arrows widen and narrow it, Delete takes it away`,
        "aria-orientation": "vertical",
        onkeydown: (event) => this.key(event, axis),
      },
      h("span", {}, axis.name),
      h("small", {}, ""),
    );
  }

  brushText(axis) {
    const brush = this.shared.candidates.brushes.get(axis.id);
    if (!brush) return "";
    if (axis.kind === "figure") return `${shortAmount(axis.unit, brush.low)} – ${shortAmount(axis.unit, brush.high)}`;
    return axis.texts.filter((_, place) => place >= brush.low && place <= brush.high).join(", ");
  }

  key(event, axis) {
    const by = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1 }[event.key];
    const clears = ["Delete", "Backspace"].includes(event.key);
    if (!by && !clears) return;
    event.preventDefault();
    event.stopPropagation();
    this.mark(axis, clears ? null : this.moved(axis, by, event.shiftKey));
  }

  /** The mark a step further, or a step wider or narrower: of a hole by its values, of a figure by twelfths. */
  moved(axis, by, widens) {
    const brush = this.shared.candidates.brushes.get(axis.id);
    const column = this.columns.find((it) => it.axis === axis);
    if (axis.kind === "hole") {
      const last = axis.texts.length - 1;
      if (!brush) return by > 0 ? { low: 0, high: 0 } : { low: last, high: last };
      if (widens) return { low: brush.low, high: Math.max(brush.low, Math.min(last, brush.high + by)) };
      const low = Math.max(0, Math.min(last - (brush.high - brush.low), brush.low + by));
      return { low, high: low + brush.high - brush.low };
    }
    const { scale, at, back } = column;
    const step = Math.abs(at(scale.high) - at(scale.low)) / 12;
    if (!brush) return { low: scale.low, high: back((at(scale.low) + at(scale.high)) / 2) };
    const moved = (value) => back(at(value) - by * step);
    const high = Math.min(scale.high, moved(brush.high));
    return widens
      ? { low: brush.low, high: Math.max(brush.low, high) }
      : { low: Math.max(scale.low, moved(brush.low)), high };
  }

  mark(axis, brush) {
    if (brush) this.shared.candidates.brushes.set(axis.id, brush);
    else this.shared.candidates.brushes.delete(axis.id);
    this.shared.brushed();
  }

  // The mouse.

  columnAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left;
    const near = this.columns.reduce(
      (best, column) => (Math.abs(column.x - x) < Math.abs(best.x - x) ? column : best),
      this.columns[0],
    );
    return near && Math.abs(near.x - x) < 24 ? { column: near, y: event.clientY - box.top } : null;
  }

  press(event) {
    if (event.button) return;
    const grabbed = this.columnAt(event);
    if (!grabbed) return this.choose(event);
    const { column, y: from } = grabbed;
    this.canvas.setPointerCapture(event.pointerId);
    let dragged = false;
    const move = (at) => {
      const y = at.clientY - this.canvas.getBoundingClientRect().top;
      if (!dragged && Math.abs(y - from) < 4) return;
      dragged = true;
      this.mark(column.axis, this.between(column, from, y));
    };
    const end = () => {
      this.canvas.removeEventListener("pointermove", move);
      if (!dragged) this.mark(column.axis, this.clicked(column, from));
    };
    this.canvas.addEventListener("pointermove", move);
    this.canvas.addEventListener("lostpointercapture", end, { once: true });
  }

  between(column, from, to) {
    const [low, high] = [column.back(Math.max(from, to)), column.back(Math.min(from, to))];
    if (column.axis.kind === "figure") return { low, high };
    const last = column.axis.texts.length - 1;
    const clamp = (place) => Math.max(0, Math.min(last, Math.round(place)));
    return { low: clamp(low), high: clamp(high) };
  }

  /** A press on a value marks it alone; on a mark, or beside all values, it takes the mark away. */
  clicked(column, y) {
    const brush = this.shared.candidates.brushes.get(column.axis.id);
    if (brush || column.axis.kind === "figure") return null;
    return this.between(column, y, y);
  }

  near(event) {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const n = this.columns.findIndex((column, at) => column.x <= x && this.columns[at + 1]?.x >= x);
    if (n < 0) return null;
    const [a, b] = [this.columns[n], this.columns[n + 1]];
    const share = (x - a.x) / (b.x - a.x);
    let [best, least] = [null, 6];
    for (const row of this.shared.candidates.inSight(this.shared.axes())) {
      const [va, vb] = [valueOn(a.axis, row), valueOn(b.axis, row)];
      if (va === null || vb === null) continue;
      const far = Math.abs(this.heightOf(a, row, va) * (1 - share) + this.heightOf(b, row, vb) * share - y);
      if (far < least) [best, least] = [row, far];
    }
    return best;
  }

  hover(event) {
    if (event.buttons) return;
    const column = this.columnAt(event);
    const row = column ? null : this.near(event);
    this.canvas.style.cursor = column ? "ns-resize" : row ? "pointer" : "default";
    this.shared.hover(
      row,
      row && { left: event.clientX - 6, right: event.clientX + 6, top: event.clientY - 6, bottom: event.clientY + 6 },
    );
  }

  choose(event) {
    const row = this.near(event);
    if (row) this.shared.choose(row);
  }
}
