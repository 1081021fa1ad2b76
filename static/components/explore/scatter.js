// A scatter plot of two figures: a mark for each candidate, the Pareto front, the schedule of the notebook, and the lower bound. Candidates
// without figures are below the axis.

import { h } from "../core/dom.js";
import { grouped } from "../core/numbers.js";
import { shortAmount } from "./amounts.js";
import { boxContext, haloText, outcomeColor, paintMark, strokeLine } from "./drawing.js";
import { BACK_TO_FRONT, isMeasured, jitter } from "./model.js";
import { makeScale } from "./scale.js";

/** @import { Colors } from "../core/colors.js" */
/** @import { Rect } from "../core/types.js" */
/** @import { FigureAxis, MeasuredRow, Pane, Row, Search } from "./model.js" */
/** @import { Scale } from "./scale.js" */

/** @typedef {{ row: Row, x: number, y: number }} Spot */

/**
 * What one drawing needs: the context, the box of the plot, and both axes with their scales.
 * @typedef {object} Frame
 * @property {CanvasRenderingContext2D} context
 * @property {Colors} colors
 * @property {Search} search
 * @property {Rect} box
 * @property {Scale} x
 * @property {Scale} y
 * @property {FigureAxis} xAxis
 * @property {FigureAxis} yAxis
 */

const EDGES = { left: 62, right: 14, top: 12, bottom: 34 };
const STRIP = 16;
const NEAR_PX = 12;
const MANY = 1500;
/** @type {{ [key: string]: number }} */
const STEPS = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1 };

export class Scatter {
  /** @param {Pane} pane */
  constructor(pane) {
    this.pane = pane;
    this.canvas = h("canvas", { class: "xp-canvas", tabindex: "0", role: "img", "aria-label": "Candidates" });
    /** @type {Spot[]} */
    this.spots = [];
    this.keys = { x: "peak", y: "cycles" };
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerleave", () => pane.hover(null));
    this.canvas.addEventListener("click", (event) => this.withNearest(event, pane.choose));
    this.canvas.addEventListener("dblclick", (event) => this.withNearest(event, pane.open));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
  }

  draw() {
    const sized = boxContext(this.canvas);
    const search = this.pane.search();
    if (!sized || !search) return;
    const { context, width, height } = sized;
    const axes = this.pane.axes();
    const figures = axes.filter((axis) => axis.kind === "figure");
    const xAxis = figures.find((axis) => axis.key === this.keys.x) ?? figures[1];
    const yAxis = figures.find((axis) => axis.key === this.keys.y) ?? figures[0];
    if (!xAxis || !yAxis) return;
    const rows = this.pane.candidates.visible(axes);
    const box = { left: EDGES.left, right: width - EDGES.right, top: EDGES.top, bottom: height - EDGES.bottom - STRIP };
    const points = rows.filter(isMeasured).map((row) => row.figures);
    if (search.now) points.push(search.now);
    const xs = points.map((point) => point[xAxis.index]);
    const ys = points.map((point) => point[yAxis.index]);
    if (yAxis.key === "cycles" && search.bound) ys.push(search.bound.cycles);
    const x = makeScale(xs, box.left, box.right, xAxis.unit);
    const y = makeScale(ys, box.bottom, box.top, yAxis.unit);
    const colors = this.pane.colors();
    context.font = `10.5px ${colors.font}`;
    const frame = { context, colors, search, box, x, y, xAxis, yAxis };
    drawGrid(frame);
    drawBound(frame);
    this.spots = rows.map((row) => spotOf(frame, row));
    drawMarks(frame, this.spots);
    this.drawFront(frame);
    drawNow(frame);
    this.drawSelection(frame);
    this.canvas.ariaLabel = `${yAxis.name} against ${xAxis.name} of ${rows.length} candidates; arrow keys move along the front, Enter opens a candidate`;
  }

  /** @param {Frame} frame */
  drawFront(frame) {
    const { context, colors, search, x, y, xAxis, yAxis } = frame;
    const { candidates } = this.pane;
    const axes = this.pane.axes();
    const spots = candidates
      .front(search)
      .map((row) => ({
        x: x.at(row.figures[xAxis.index]),
        y: y.at(row.figures[yAxis.index]),
        isVisible: candidates.shows(row, axes),
      }))
      .sort((a, b) => a.x - b.x || a.y - b.y);
    context.strokeStyle = colors.text;
    context.lineWidth = 1.6;
    // The front is a line only in the plane of the objectives.
    if (xAxis !== yAxis && [xAxis.key, yAxis.key].every((key) => search.objectives.includes(key))) {
      context.beginPath();
      spots.forEach((spot, n) => {
        if (n) context.lineTo(spot.x, spots[n - 1].y);
        context[n ? "lineTo" : "moveTo"](spot.x, spot.y);
      });
      context.stroke();
    }
    for (const spot of spots) {
      context.beginPath();
      context.arc(spot.x, spot.y, 4.5, 0, 7);
      context.fillStyle = spot.isVisible ? colors.accent : colors.surface;
      context.fill();
      context.stroke();
    }
  }

  /** @param {Frame} frame */
  drawSelection({ context, colors, search }) {
    const spot = this.spots.find(({ row }) => row.number === search.card?.trial);
    if (!spot) return;
    context.strokeStyle = colors.text;
    context.lineWidth = 2;
    context.beginPath();
    context.arc(spot.x, spot.y, 9, 0, 7);
    context.stroke();
  }

  /**
   * The candidate near the pointer; of several at the same place a feasible one.
   * @param {MouseEvent} event
   */
  nearest(event) {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    /** @type {Spot | null} */
    let best = null;
    let least = NEAR_PX ** 2;
    for (const spot of this.spots) {
      const distance = (spot.x - x) ** 2 + (spot.y - y) ** 2;
      if (distance < least || (distance === least && spot.row.status === "fits")) [best, least] = [spot, distance];
    }
    return best;
  }

  /**
   * @param {MouseEvent} event
   * @param {(row: Row) => void} act
   */
  withNearest(event, act) {
    const spot = this.nearest(event);
    if (spot) act(spot.row);
  }

  /** @param {PointerEvent} event */
  point(event) {
    const spot = this.nearest(event);
    this.canvas.style.cursor = spot ? "pointer" : "default";
    if (!spot) return this.pane.hover(null);
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [box.left + spot.x, box.top + spot.y];
    return this.pane.hover(spot.row, { left: x - 8, right: x + 8, top: y - 8, bottom: y + 8 });
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const step = STEPS[event.key];
    const search = this.pane.search();
    if (!search) return;
    const selected = this.pane.candidates.selected(search);
    if (event.key === "Enter" && selected) this.pane.open(selected);
    else if (step) {
      const rows = this.keyOrder(search);
      const at = rows.findIndex((row) => row === selected);
      const next = rows[(at + step + rows.length) % Math.max(1, rows.length)];
      if (next) this.pane.choose(next);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /**
   * The candidates in the order of the arrow keys: the front, or all feasible ones if the front is one candidate.
   * @param {Search} search
   * @returns {MeasuredRow[]}
   */
  keyOrder(search) {
    const { candidates } = this.pane;
    const front = candidates.front(search);
    if (front.length > 1) return front;
    return candidates
      .visible(this.pane.axes())
      .filter(isMeasured)
      .filter((row) => row.status === "fits")
      .sort((a, b) => a.figures[0] - b.figures[0]);
  }
}

/**
 * @param {Frame} frame
 * @param {Row} row
 * @returns {Spot}
 */
function spotOf({ box, x, y, xAxis, yAxis }, row) {
  if (row.figures) return { row, x: x.at(row.figures[xAxis.index]), y: y.at(row.figures[yAxis.index]) };
  return { row, x: box.left + 6 + jitter(row) * (box.right - box.left - 12), y: box.bottom + STRIP - 4 };
}

/** @param {Frame} frame */
function drawGrid({ context, colors, box, x, y, xAxis, yAxis }) {
  context.strokeStyle = colors.line;
  context.fillStyle = colors.muted;
  context.lineWidth = 1;
  context.textAlign = "center";
  context.textBaseline = "top";
  for (const tick of x.ticks) {
    const at = Math.round(x.at(tick)) + 0.5;
    strokeLine(context, at, box.top, at, box.bottom);
    context.fillText(shortAmount(xAxis.unit, tick), at, box.bottom + STRIP + 3);
  }
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const tick of y.ticks) {
    const at = Math.round(y.at(tick)) + 0.5;
    strokeLine(context, box.left, at, box.right, at);
    context.fillText(shortAmount(yAxis.unit, tick), box.left - 6, at);
  }
  context.strokeStyle = colors.strong;
  context.strokeRect(box.left + 0.5, box.top + 0.5, box.right - box.left - 1, box.bottom - box.top - 1);
}

/** @param {Frame} frame */
function drawBound({ context, colors, search, box, x, y, xAxis, yAxis }) {
  const isY = yAxis.key === "cycles";
  if (!search.bound || (!isY && xAxis.key !== "cycles")) return;
  context.strokeStyle = colors.text;
  context.setLineDash([5, 3]);
  const { cycles } = search.bound;
  const at = isY ? y.at(cycles) : x.at(cycles);
  if (isY) strokeLine(context, box.left, at, box.right, at);
  else strokeLine(context, at, box.top, at, box.bottom);
  context.setLineDash([]);
  const text = `lower bound ${grouped(cycles)}`;
  if (isY) haloText(context, colors, text, box.right - 6, at - 7, "right");
  else haloText(context, colors, text, at + 4, box.top + 9, "left");
}

/**
 * @param {Frame} frame
 * @param {Spot[]} spots
 */
function drawMarks({ context, colors }, spots) {
  const many = spots.length > MANY;
  for (const status of BACK_TO_FRONT) {
    context.strokeStyle = context.fillStyle = outcomeColor(status, colors);
    context.lineWidth = 1.1;
    for (const { row, x, y } of spots) {
      if (row.status !== status) continue;
      context.globalAlpha = status === "fits" ? (many ? 0.55 : 0.75) : row.exact ? 0.8 : 0.45;
      paintMark(context, status, x, y, many ? 2.4 : 3.1);
    }
  }
  context.globalAlpha = 1;
}

/**
 * A cross for the schedule of the notebook.
 * @param {Frame} frame
 */
function drawNow({ context, colors, search, box, x, y, xAxis, yAxis }) {
  if (!search.now) return;
  const [px, py] = [x.at(search.now[xAxis.index]), y.at(search.now[yAxis.index])];
  for (const [color, width] of /** @type {const} */ ([
    [colors.surface, 5],
    [colors.text, 2],
  ])) {
    context.strokeStyle = color;
    context.lineWidth = width;
    strokeLine(context, px - 7, py, px + 7, py);
    strokeLine(context, px, py - 7, px, py + 7);
  }
  const isRight = px < box.right - 50;
  haloText(context, colors, "now", px + (isRight ? 10 : -10), py - 9, isRight ? "left" : "right");
}
