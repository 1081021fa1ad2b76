// Parallel coordinates: an axis for each hole and figure, a line for each candidate. A mark on an axis, set by dragging or by keys, filters the
// candidates of all plots. The Bokeh figure is that of app/plots/search.py; each drawing replaces the columns of its sources.

import { BokehFigure, setRange, sourcesOf } from "../core/bokeh_figure.js";
import { h } from "../core/dom.js";
import { shortAmount } from "./amounts.js";
import { BACK_TO_FRONT, isMeasured, jitter, valueOn } from "./model.js";
import { followPointer } from "./pointer.js";
import { makeScale } from "./scale.js";

/** @import { Plot, PlotEvent, Source } from "../core/bokeh_figure.js" */
/** @import { Model } from "../core/dom.js" */
/** @import { Axis, Brush, HoleAxis, FigureAxis, Outcome, Pane, Row } from "./model.js" */
/** @import { Search } from "../views.js" */

/**
 * An axis in the plot. Heights are from 0 to 1.
 * @typedef {object} Column
 * @property {Axis} axis
 * @property {number} low The least value.
 * @property {number} high
 * @property {number} room The height of one value of a hole; 0 for a figure.
 * @property {(value: number) => number} at The height of a value.
 * @property {(height: number) => number} back The value at a height.
 * @property {[height: number, text: string][]} labels
 */

const SOURCES = ["hidden", "candidates", "front", "selected", "marks", "axes", "ticks"];
const ENDS = { left: 0.4, right: 0.6 }; // the room beside the first and the last axis, in axes
const LEAST_GAP = 64;
const USUAL_GAP = 105;
const TICK_GAP = 42;
const ALWAYS_SHOWN = 4; // figures that are shown even if there is no room: cycles, peak, traffic, energy
const DRAFT_LINES = 900; // so many lines are drawn during a drag
const SPREAD = 0.3; // of the room of a value: lines through the same value are beside each other
const MOST_SPREAD = 0.3;
const NEAR_PX = 24;
const LABEL_LENGTH = 13;
/** @type {Record<Outcome, string>} */
const DASHES = { fits: "solid", over: "dashed", pruned: "dotted", refused: "dotdash", failed: "dotdash" };
/** @type {{ [key: string]: number }} */
const STEPS = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1 };

export class ParallelAxes {
  /**
   * @param {Pane} pane
   * @param {Model} model
   */
  constructor(pane, model) {
    this.pane = pane;
    this.figure = new BokehFigure(model, (plot) => this.begin(plot));
    this.figure.element.removeAttribute("tabindex"); // the heads take the keys
    this.heads = h("div", { class: "xp-heads" });
    this.inner = h("div", { class: "xp-axes-inner" }, this.figure.element, this.heads);
    this.element = h(
      "div",
      { class: "xp-axes", role: "group", "aria-label": "Axes: drag along an axis to filter the candidates" },
      this.inner,
    );
    /** @type {Column[]} */
    this.columns = [];
    this.isDraft = false;
    /** @type {Record<string, Source>} */
    this.sources = {};
    /** @type {{ column: Column, from: number } | null} */
    this.drag = null;
  }

  /** @param {Plot} plot */
  begin(plot) {
    this.sources = sourcesOf(plot, SOURCES);
    const lines = ["selected", "front", "candidates"].map((name) => this.sources[name]);
    followPointer(this.figure, plot, lines, this.pane, (event) => this.columnNear(event) !== null);
    plot.on_event("panstart", (event) => this.press(plot, event));
    plot.on_event("pan", (event) => this.dragTo(event));
    plot.on_event("panend", () => (this.drag = null));
    plot.on_event("tap", (event) => this.click(event));
    for (const changed of [plot.properties.inner_width, plot.x_range.properties.start, plot.x_range.properties.end])
      changed.change.connect(() => this.placeHeads());
    this.draw();
  }

  draw() {
    const search = this.pane.search();
    if (!search) return;
    const axes = this.shownAxes();
    const gaps = axes.length - 1 + ENDS.left + ENDS.right;
    this.inner.style.width = `${Math.max(this.element.clientWidth, gaps * LEAST_GAP)}px`;
    const { rows } = this.pane.candidates;
    const most = Math.floor(this.element.clientHeight / TICK_GAP);
    this.columns = axes.map((axis) => ({
      axis,
      ...(axis.kind === "hole" ? holePart(axis) : figurePart(axis, rows, most)),
    }));
    const { plot } = this.figure;
    if (plot) {
      setRange(plot.x_range, -ENDS.left, axes.length - 1 + ENDS.right, false);
      this.drawLines(plot, search);
      this.drawAxes();
    }
    this.drawHeads();
  }

  /** The holes and the first figures; those of single memories only if there is room. */
  shownAxes() {
    const axes = this.pane.axes();
    const holes = axes.filter((axis) => axis.kind === "hole").length;
    const fitting = Math.min(axes.length, Math.floor(this.element.clientWidth / USUAL_GAP));
    return axes.slice(0, Math.max(holes + ALWAYS_SHOWN, fitting));
  }

  // Sources.

  /**
   * All candidates, or a sample with the front during a drag.
   * @param {Search} search
   */
  drawnRows({ front }) {
    const { rows } = this.pane.candidates;
    const every = this.isDraft ? Math.ceil(rows.length / DRAFT_LINES) : 1;
    return every > 1 ? rows.filter((row, n) => n % every === 0 || front.includes(row.number)) : rows;
  }

  /**
   * @param {Plot} plot
   * @param {Search} search
   */
  drawLines(plot, search) {
    const { candidates } = this.pane;
    const [colors] = plot.tags;
    const rows = this.drawnRows(search);
    const visible = new Set(candidates.visible(this.pane.axes()));
    const front = new Set(search.front);
    const selected = candidates.selected(search);
    const hidden = rows.filter((row) => !visible.has(row) && !candidates.hidden.has(row.status));
    const own = rows.filter((row) => visible.has(row) && !front.has(row.number) && row !== selected);
    own.sort((a, b) => BACK_TO_FRONT.indexOf(a.status) - BACK_TO_FRONT.indexOf(b.status));
    const share = Math.min(1, 160 / Math.max(1, visible.size));
    const opacity = (/** @type {Row} */ { status }) => Math.max(0.05, (status === "fits" ? 0.7 : 0.3) * share);
    const isSelectedVisible = selected && visible.has(selected);
    this.fill(
      "hidden",
      candidates.brushes.size ? hidden : [],
      () => colors.hidden,
      () => 0.25,
    );
    this.fill("candidates", own, ({ status }) => colors[status], opacity);
    this.fill(
      "front",
      rows.filter((row) => front.has(row.number) && visible.has(row) && row !== selected),
      ({ status }) => colors[status],
      () => 1,
    );
    this.fill(
      "selected",
      isSelectedVisible ? [selected] : [],
      () => colors.selected,
      () => 1,
    );
  }

  /**
   * @param {string} name
   * @param {Row[]} rows
   * @param {(row: Row) => string} color
   * @param {(row: Row) => number} opacity
   */
  fill(name, rows, color, opacity) {
    const ys = rows.map((row) => this.lineOf(row));
    this.sources[name].data = {
      xs: ys.map((line) => line.map((_, n) => n)),
      ys,
      color: rows.map(color),
      alpha: rows.map(opacity),
      dash: rows.map(({ status }) => DASHES[status]),
      number: rows.map((row) => row.number),
    };
  }

  /**
   * The heights of a candidate's line. A refused one has no figures: its line ends after the holes.
   * @param {Row} row
   */
  lineOf(row) {
    const heights = [];
    for (const column of this.columns) {
      const value = valueOn(column.axis, row);
      if (value === null) break;
      heights.push(heightOf(column, row, value));
    }
    return heights;
  }

  drawAxes() {
    const { columns } = this;
    this.sources.axes.data = { x: columns.map((_, n) => n) };
    const ticks = columns.flatMap(({ labels }, n) => labels.map(([y, text]) => ({ x: n, y, text: shortened(text) })));
    this.sources.ticks.data = {
      x: ticks.map(({ x }) => x),
      y: ticks.map(({ y }) => y),
      text: ticks.map(({ text }) => text),
    };
    const marks = columns.flatMap((column, n) => {
      const brush = this.pane.candidates.brushes.get(column.axis.id);
      const half = column.room / 2;
      return brush ? [{ x: n, low: column.at(brush.low) - half, high: column.at(brush.high) + half }] : [];
    });
    this.sources.marks.data = {
      x: marks.map(({ x }) => x),
      low: marks.map(({ low }) => Math.max(-0.01, low)),
      high: marks.map(({ high }) => Math.min(1.01, high)),
    };
  }

  // Names of the axes; they take the keys that move a mark.

  drawHeads() {
    const key = this.columns.map(({ axis }) => axis.id).join();
    if (this.heads.dataset.axes !== key) {
      this.heads.dataset.axes = key;
      this.heads.replaceChildren(...this.columns.map(({ axis }) => this.head(axis)));
    }
    this.columns.forEach(({ axis }, n) => {
      const head = this.heads.children[n];
      const text = this.brushText(axis);
      head.classList.toggle("is-marked", this.pane.candidates.brushes.has(axis.id));
      head.setAttribute("aria-valuetext", text || "all");
      head.children[1].textContent = text;
    });
    this.placeHeads();
  }

  /** Each name stands above its axis, also after a zoom. */
  placeHeads() {
    const frame = this.figure.view?.frame;
    const gap = frame ? frame.x_scale.compute(1) - frame.x_scale.compute(0) : 0;
    [...this.heads.children].forEach((head, n) => {
      if (!(head instanceof HTMLElement) || !frame) return;
      const x = frame.x_scale.compute(n);
      head.hidden = x < frame.bbox.left || x > frame.bbox.right;
      Object.assign(head.style, { left: `${x - gap / 2 + 2}px`, width: `${Math.max(0, gap - 4)}px` });
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
   * The axis near the pointer.
   * @param {PlotEvent} event
   */
  columnNear({ sx }) {
    const frame = this.figure.view?.frame;
    if (!frame) return null;
    const near = this.columns.findIndex((_, n) => Math.abs(frame.x_scale.compute(n) - sx) < NEAR_PX);
    return this.columns[near] ?? null;
  }

  /**
   * @param {Plot} plot
   * @param {PlotEvent} event
   */
  press(plot, event) {
    const column = this.columnNear(event);
    const zooms = plot.toolbar.gestures.pan.active !== null;
    this.drag = column && !zooms ? { column, from: event.y } : null;
  }

  /** @param {PlotEvent} event */
  dragTo({ y }) {
    if (this.drag) this.mark(this.drag.column.axis, between(this.drag.column, this.drag.from, y));
  }

  /**
   * A click on a value of a hole marks it; another one removes the mark of the axis.
   * @param {PlotEvent} event
   */
  click(event) {
    const column = this.columnNear(event);
    if (!column) return;
    const isMarked = this.pane.candidates.brushes.has(column.axis.id);
    this.mark(column.axis, isMarked || !column.room ? null : between(column, event.y, event.y));
  }
}

/** @param {string} text */
const shortened = (text) => (text.length > LABEL_LENGTH ? `${text.slice(0, LABEL_LENGTH - 1)}…` : text);

/** @param {HoleAxis} axis */
function holePart({ texts }) {
  const room = 1 / texts.length;
  const at = (/** @type {number} */ place) => (place + 0.5) * room;
  return {
    room,
    low: 0,
    high: texts.length - 1,
    at,
    back: (/** @type {number} */ height) => height / room - 0.5,
    labels: texts.map((text, place) => /** @type {[number, string]} */ ([at(place), text])),
  };
}

/**
 * @param {FigureAxis} axis
 * @param {Row[]} rows
 * @param {number} most The number of ticks.
 */
function figurePart({ index, unit }, rows, most) {
  const values = rows.filter(isMeasured).map((row) => row.figures[index]);
  const { low, high, at, back, ticks } = makeScale(values, unit, most);
  const labels = ticks.map((tick) => /** @type {[number, string]} */ ([at(tick), shortAmount(unit, tick)]));
  return { room: 0, low, high, at, back, labels };
}

/**
 * @param {Column} column
 * @param {Row} row
 * @param {number} value
 */
function heightOf({ at, room }, row, value) {
  return at(value) + (room ? (jitter(row) - 0.5) * 2 * SPREAD * Math.min(room, MOST_SPREAD) : 0);
}

/**
 * The mark between two heights; of a hole, it contains whole values.
 * @param {Column} column
 * @param {number} from
 * @param {number} to
 * @returns {Brush}
 */
function between({ room, low, high, back }, from, to) {
  const value = (/** @type {number} */ height) =>
    Math.max(low, Math.min(high, room ? Math.round(back(height)) : back(height)));
  return { low: value(Math.min(from, to)), high: value(Math.max(from, to)) };
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
