// Parallel coordinates: an axis for each hole and figure, a line for each candidate. A mark on an axis, set by dragging or by keys, filters the
// candidates of all plots.

import { h } from "../core/dom.js";
import { shortAmount } from "./amounts.js";
import { boxContext, haloText, outcomeColor, strokeLine } from "./drawing.js";
import { BACK_TO_FRONT, isMeasured, jitter, valueOn } from "./model.js";
import { makeScale } from "./scale.js";

/** @import { Colors } from "../core/colors.js" */
/** @import { Axis, Brush, HoleAxis, FigureAxis, Outcome, Pane, Row, Search } from "./model.js" */

/**
 * An axis in the plot.
 * @typedef {object} Column
 * @property {Axis} axis
 * @property {number} x
 * @property {number} low The least value.
 * @property {number} high
 * @property {number} room The height of one value of a hole; 0 for a figure.
 * @property {(value: number) => number} at The pixel of a value.
 * @property {(y: number) => number} back The value of a pixel.
 * @property {[y: number, text: string][]} labels
 */

/** @typedef {{ context: CanvasRenderingContext2D, colors: Colors, search: Search }} Frame */

const EDGES = { top: 40, bottom: 14, side: 46 };
const LEAST_GAP = 64;
const USUAL_GAP = 105;
const ALWAYS_SHOWN = 4; // figures that are shown even if there is no room: cycles, peak, traffic, energy
const DRAFT_LINES = 900; // so many lines are drawn during a drag
const MANY_LINES = 800;
const SPREAD = 0.3; // of the room of a value: lines through the same value are beside each other
const NEAR_PX = { axis: 24, line: 6 };
const LABEL_LENGTH = 13;
/** @type {Record<Outcome, number[]>} */
const DASHES = { fits: [], over: [5, 3], pruned: [1.5, 3], refused: [2, 5], failed: [2, 5] };
/** @type {{ [key: string]: number }} */
const STEPS = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1 };

export class ParallelAxes {
  /** @param {Pane} pane */
  constructor(pane) {
    this.pane = pane;
    this.canvas = h("canvas", { class: "xp-canvas", "aria-hidden": "true" });
    this.heads = h("div", { class: "xp-heads" });
    this.inner = h("div", { class: "xp-axes-inner" }, this.canvas, this.heads);
    this.element = h(
      "div",
      { class: "xp-axes", role: "group", "aria-label": "Axes: drag along an axis to filter the candidates" },
      this.inner,
    );
    this.canvas.addEventListener("pointerdown", (event) => this.press(event));
    this.canvas.addEventListener("pointermove", (event) => this.hover(event));
    this.canvas.addEventListener("pointerleave", () => pane.hover(null));
    /** @type {Column[]} */
    this.columns = [];
    this.isDraft = false;
  }

  draw() {
    const search = this.pane.search();
    if (!search) return;
    const axes = this.shownAxes();
    this.inner.style.width = `${Math.max(this.element.clientWidth, 2 * EDGES.side + (axes.length - 1) * LEAST_GAP)}px`;
    const sized = boxContext(this.canvas);
    if (!sized) return;
    const { context, width, height } = sized;
    const all = this.pane.candidates.rows;
    const [top, bottom] = [EDGES.top, height - EDGES.bottom];
    const step = (width - 2 * EDGES.side) / Math.max(1, axes.length - 1);
    this.columns = axes.map((axis, n) => ({
      axis,
      x: EDGES.side + n * step,
      ...(axis.kind === "hole" ? holePart(axis, top, bottom) : figurePart(axis, all, top, bottom)),
    }));
    const frame = { context, colors: this.pane.colors(), search };
    this.drawLines(frame);
    this.drawAxes(frame, top, bottom);
    this.drawHeads(width);
  }

  /** The holes and the first figures; those of single memories only if there is room. */
  shownAxes() {
    const axes = this.pane.axes();
    const holes = axes.filter((axis) => axis.kind === "hole").length;
    const fitting = Math.min(axes.length, Math.floor(this.element.clientWidth / USUAL_GAP));
    return axes.slice(0, Math.max(holes + ALWAYS_SHOWN, fitting));
  }

  // Lines.

  /**
   * All candidates, or a sample with the front during a drag.
   * @param {Search} search
   */
  drawnRows({ front }) {
    const { rows } = this.pane.candidates;
    const every = this.isDraft ? Math.ceil(rows.length / DRAFT_LINES) : 1;
    return every > 1 ? rows.filter((row, n) => n % every === 0 || front.includes(row.number)) : rows;
  }

  /** @param {Frame} frame */
  drawLines({ context, colors, search }) {
    const { candidates } = this.pane;
    const rows = this.drawnRows(search);
    const visible = new Set(candidates.visible(this.pane.axes()));
    const front = new Set(search.front);
    context.lineWidth = 1;
    if (candidates.brushes.size) {
      context.strokeStyle = colors.line;
      context.globalAlpha = rows.length > MANY_LINES ? 0.25 : 0.5;
      for (const row of rows) if (!visible.has(row) && !candidates.hidden.has(row.status)) this.trace(context, row);
    }
    const share = Math.min(1, 160 / Math.max(1, visible.size));
    for (const status of BACK_TO_FRONT) {
      context.strokeStyle = outcomeColor(status, colors);
      context.setLineDash(DASHES[status]);
      context.globalAlpha = status === "fits" ? Math.max(0.05, 0.7 * share) : Math.max(0.03, 0.22 * share);
      for (const row of rows)
        if (row.status === status && visible.has(row) && !front.has(row.number)) this.trace(context, row);
    }
    context.setLineDash([]);
    context.globalAlpha = 1;
    const selected = candidates.selected(search);
    for (const row of rows)
      if (front.has(row.number) && visible.has(row) && row !== selected)
        this.emphasise(context, colors, row, colors.accent, 2);
    if (selected) this.emphasise(context, colors, selected, colors.text, 2.4);
  }

  /**
   * The line of a candidate. A refused one has no figures: its line ends after the holes.
   * @param {CanvasRenderingContext2D} context
   * @param {Row} row
   */
  trace(context, row) {
    context.beginPath();
    for (const column of this.columns) {
      const value = valueOn(column.axis, row);
      if (value === null) break;
      context.lineTo(column.x, heightOf(column, row, value));
    }
    context.stroke();
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Colors} colors
   * @param {Row} row
   * @param {string} color
   * @param {number} width
   */
  emphasise(context, colors, row, color, width) {
    context.lineWidth = width + 2;
    context.strokeStyle = colors.surface;
    this.trace(context, row);
    context.lineWidth = width;
    context.strokeStyle = color;
    this.trace(context, row);
  }

  // Axes.

  /**
   * @param {Frame} frame
   * @param {number} top
   * @param {number} bottom
   */
  drawAxes({ context, colors }, top, bottom) {
    context.font = `10.5px ${colors.font}`;
    for (const column of this.columns) {
      const { x, labels } = column;
      context.strokeStyle = colors.strong;
      context.lineWidth = 1;
      strokeLine(context, x, top - 4, x, bottom + 4);
      this.drawBrush(context, colors, column, top, bottom);
      const isLast = column === this.columns.at(-1);
      for (const [y, text] of labels) {
        const shown = text.length > LABEL_LENGTH ? `${text.slice(0, LABEL_LENGTH - 1)}…` : text;
        haloText(context, colors, shown, x + (isLast ? -6 : 6), y, isLast ? "right" : "left", 4);
      }
    }
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Colors} colors
   * @param {Column} column
   * @param {number} top
   * @param {number} bottom
   */
  drawBrush(context, colors, { axis, x, at, room }, top, bottom) {
    const brush = this.pane.candidates.brushes.get(axis.id);
    if (!brush) return;
    const half = room ? room / 2 - 1 : 2;
    const [low, high] = [Math.min(bottom + 4, at(brush.low) + half), Math.max(top - 4, at(brush.high) - half)];
    context.fillStyle = colors.soft;
    context.strokeStyle = colors.accent;
    context.globalAlpha = 0.75;
    context.fillRect(x - 7, high, 14, low - high);
    context.globalAlpha = 1;
    context.lineWidth = 1.5;
    context.strokeRect(x - 7, high, 14, low - high);
  }

  // Names of the axes; they take the keys that move a mark.

  /** @param {number} width */
  drawHeads(width) {
    const gap = this.columns.length > 1 ? this.columns[1].x - this.columns[0].x : width;
    const key = this.columns.map(({ axis }) => axis.id).join();
    if (this.heads.dataset.axes !== key) {
      this.heads.dataset.axes = key;
      this.heads.replaceChildren(...this.columns.map(({ axis }) => this.head(axis)));
    }
    this.columns.forEach(({ axis, x }, n) => {
      const head = this.heads.children[n];
      const text = this.brushText(axis);
      if (head instanceof HTMLElement)
        Object.assign(head.style, { left: `${x - gap / 2 + 2}px`, width: `${gap - 4}px` });
      head.classList.toggle("is-marked", this.pane.candidates.brushes.has(axis.id));
      head.setAttribute("aria-valuetext", text || "all");
      head.children[1].textContent = text;
    });
  }

  /** @param {Axis} axis */
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
        title: `${axis.name}: drag along the axis to filter; arrow keys move the mark, Shift+arrows resize it, Delete removes it`,
        "aria-orientation": "vertical",
        onkeydown: (event) => this.key(event, axis),
      },
      h("span", {}, axis.name),
      h("small", {}, ""),
    );
  }

  /** @param {Axis} axis */
  brushText(axis) {
    const brush = this.pane.candidates.brushes.get(axis.id);
    if (!brush) return "";
    if (axis.kind === "figure") return `${shortAmount(axis.unit, brush.low)} – ${shortAmount(axis.unit, brush.high)}`;
    return axis.texts.slice(brush.low, brush.high + 1).join(", ");
  }

  /**
   * @param {KeyboardEvent} event
   * @param {Axis} axis
   */
  key(event, axis) {
    const step = STEPS[event.key];
    const column = this.columns.find((one) => one.axis === axis);
    if (["Delete", "Backspace"].includes(event.key)) this.mark(axis, null);
    else if (step && column) {
      const brush = this.pane.candidates.brushes.get(axis.id);
      this.mark(axis, (column.room ? movedPlaces : movedRange)(column, brush, step, event.shiftKey));
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /**
   * @param {Axis} axis
   * @param {Brush | null} brush
   */
  mark(axis, brush) {
    if (brush) this.pane.candidates.brushes.set(axis.id, brush);
    else this.pane.candidates.brushes.delete(axis.id);
    this.pane.filtered();
  }

  // The mouse.

  /**
   * The pointer's place in the plot, and the axis near it.
   * @param {MouseEvent} event
   */
  placeOf(event) {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const distance = (/** @type {Column} */ column) => Math.abs(column.x - x);
    const column = [...this.columns].sort((a, b) => distance(a) - distance(b))[0];
    return { x, y, column: column && distance(column) < NEAR_PX.axis ? column : null };
  }

  /** @param {PointerEvent} event */
  press(event) {
    if (event.button) return;
    const { column, x, y: from } = this.placeOf(event);
    if (!column) {
      const row = this.nearest(x, from);
      if (row) this.pane.choose(row);
      return;
    }
    this.canvas.setPointerCapture(event.pointerId);
    let dragged = false;
    const move = (/** @type {PointerEvent} */ at) => {
      const { y } = this.placeOf(at);
      if (!dragged && Math.abs(y - from) < 4) return;
      dragged = true;
      this.mark(column.axis, between(column, from, y));
    };
    const end = () => {
      this.canvas.removeEventListener("pointermove", move);
      if (!dragged) this.click(column, from);
    };
    this.canvas.addEventListener("pointermove", move);
    this.canvas.addEventListener("lostpointercapture", end, { once: true });
  }

  /**
   * A click on a value of a hole marks it; another one removes the mark of the axis.
   * @param {Column} column
   * @param {number} y
   */
  click(column, y) {
    const isMarked = this.pane.candidates.brushes.has(column.axis.id);
    this.mark(column.axis, isMarked || !column.room ? null : between(column, y, y));
  }

  /**
   * The visible candidate whose line is near a place between two axes.
   * @param {number} x
   * @param {number} y
   */
  nearest(x, y) {
    const n = this.columns.findIndex((column, at) => column.x <= x && this.columns[at + 1]?.x >= x);
    if (n < 0) return null;
    const [a, b] = [this.columns[n], this.columns[n + 1]];
    const share = (x - a.x) / (b.x - a.x);
    /** @type {Row | null} */
    let best = null;
    let least = NEAR_PX.line;
    for (const row of this.pane.candidates.visible(this.pane.axes())) {
      const [from, to] = [valueOn(a.axis, row), valueOn(b.axis, row)];
      if (from === null || to === null) continue;
      const distance = Math.abs(heightOf(a, row, from) * (1 - share) + heightOf(b, row, to) * share - y);
      if (distance < least) [best, least] = [row, distance];
    }
    return best;
  }

  /** @param {PointerEvent} event */
  hover(event) {
    if (event.buttons) return;
    const { x, y, column } = this.placeOf(event);
    const row = column ? null : this.nearest(x, y);
    this.canvas.style.cursor = column ? "ns-resize" : row ? "pointer" : "default";
    const { clientX, clientY } = event;
    this.pane.hover(row, { left: clientX - 6, right: clientX + 6, top: clientY - 6, bottom: clientY + 6 });
  }
}

/**
 * @param {HoleAxis} axis
 * @param {number} top
 * @param {number} bottom
 * @returns {Omit<Column, "axis" | "x">}
 */
function holePart({ texts }, top, bottom) {
  const room = (bottom - top) / texts.length;
  const at = (/** @type {number} */ place) => bottom - (place + 0.5) * room;
  return {
    room,
    low: 0,
    high: texts.length - 1,
    at,
    back: (y) => (bottom - y) / room - 0.5,
    labels: texts.map((text, place) => [at(place), text]),
  };
}

/**
 * @param {FigureAxis} axis
 * @param {Row[]} rows
 * @param {number} top
 * @param {number} bottom
 * @returns {Omit<Column, "axis" | "x">}
 */
function figurePart({ index, unit }, rows, top, bottom) {
  const values = rows.filter(isMeasured).map((row) => row.figures[index]);
  const { low, high, at, back, ticks } = makeScale(values, bottom, top, unit);
  return { room: 0, low, high, at, back, labels: ticks.map((tick) => [at(tick), shortAmount(unit, tick)]) };
}

/**
 * @param {Column} column
 * @param {Row} row
 * @param {number} value
 */
function heightOf({ at, room }, row, value) {
  return at(value) + (room ? (jitter(row) - 0.5) * 2 * SPREAD * Math.min(room, 60) : 0);
}

/**
 * The mark between two pixels; of a hole, it contains whole values.
 * @param {Column} column
 * @param {number} from
 * @param {number} to
 * @returns {Brush}
 */
function between({ room, low, high, back }, from, to) {
  const value = (/** @type {number} */ y) => (room ? Math.max(low, Math.min(high, Math.round(back(y)))) : back(y));
  return { low: value(Math.max(from, to)), high: value(Math.min(from, to)) };
}

/**
 * The mark of a hole moved or resized by one value.
 * @param {Column} column
 * @param {Brush | undefined} brush
 * @param {number} step
 * @param {boolean} resizes
 * @returns {Brush}
 */
function movedPlaces({ high: last }, brush, step, resizes) {
  if (!brush) return step > 0 ? { low: 0, high: 0 } : { low: last, high: last };
  if (resizes) return { low: brush.low, high: Math.max(brush.low, Math.min(last, brush.high + step)) };
  const low = Math.max(0, Math.min(last - (brush.high - brush.low), brush.low + step));
  return { low, high: low + brush.high - brush.low };
}

/**
 * The mark of a figure moved or resized by a twelfth of the axis; a new one is its lower half.
 * @param {Column} column
 * @param {Brush | undefined} brush
 * @param {number} step
 * @param {boolean} resizes
 * @returns {Brush}
 */
function movedRange({ low, high, at, back }, brush, step, resizes) {
  const [from, to] = [at(low), at(high)];
  if (!brush) return { low, high: back((from + to) / 2) };
  const moved = (/** @type {number} */ value) => back(at(value) + (step * (to - from)) / 12);
  const end = Math.min(high, moved(brush.high));
  return resizes
    ? { low: brush.low, high: Math.max(brush.low, end) }
    : { low: Math.max(low, moved(brush.low)), high: end };
}
