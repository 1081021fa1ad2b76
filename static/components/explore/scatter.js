// A scatter plot of two figures: a mark for each candidate, the Pareto front, the schedule of the notebook, and the lower bound. The Bokeh
// figure is that of app/plots/search.py; each drawing replaces the columns of its sources.

import { BokehFigure, setRange, sourcesOf } from "../core/bokeh_figure.js";
import { grouped } from "../core/numbers.js";
import { BACK_TO_FRONT, isMeasured, jitter } from "./model.js";
import { followPointer } from "./pointer.js";
import { rangeOf } from "./scale.js";

/** @import { Part, Plot, Source } from "../core/bokeh_figure.js" */
/** @import { Model } from "../core/dom.js" */
/** @import { FigureAxis, MeasuredRow, Pane, Row } from "./model.js" */
/** @import { Search } from "../views.js" */

/** @typedef {{ x: FigureAxis, y: FigureAxis }} Plane */

const MARKS = [...BACK_TO_FRONT, ...BACK_TO_FRONT.map(belowOf)];
const NAMES = [...MARKS, "bound", "bound x", "steps", "front", "now", "selected", "selected below"];
const BELOW = 0.02; // the height of candidates without figures, as a share of the figure's
const MANY = 1500;
const SIZES = { usual: 7, many: 5 };
/** @type {{ [key: string]: number }} */
const STEPS = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity };
/** @type {{ [key: string]: number }} */
const FRONT_STEPS = { ArrowDown: 1, ArrowUp: -1 };

export class Scatter {
  /**
   * @param {Pane} pane
   * @param {Model} model
   */
  constructor(pane, model) {
    this.pane = pane;
    this.figure = new BokehFigure(model, (plot) => this.begin(plot));
    this.element = this.figure.element;
    this.keys = { x: "peak", y: "cycles" };
    this.shownPlane = "";
    /** @type {Record<string, Source>} */
    this.sources = {};
    this.element.addEventListener("keydown", (event) => this.key(event));
  }

  /** @param {Plot} plot */
  begin(plot) {
    this.sources = sourcesOf(plot, NAMES);
    this.shownPlane = "";
    const order = ["front", ...[...MARKS].reverse()];
    followPointer(
      this.figure,
      plot,
      order.map((name) => this.sources[name]),
      this.pane,
    );
    this.draw();
  }

  /** The axes of the plot; null without figures. */
  plane() {
    const figures = this.pane.axes().filter((axis) => axis.kind === "figure");
    const x = figures.find((axis) => axis.key === this.keys.x) ?? figures[1];
    const y = figures.find((axis) => axis.key === this.keys.y) ?? figures[0];
    return x && y ? { x, y } : null;
  }

  draw() {
    const search = this.pane.search();
    const plane = this.plane();
    if (!search || !plane) return;
    const rows = this.pane.candidates.visible(this.pane.axes());
    this.describe(search, plane, rows);
    const { plot } = this.figure;
    if (!plot) return;
    this.drawAxes(plot, search, plane, rows);
    this.drawBound(plot, search, plane);
    this.drawMarks(plane, rows);
    this.drawFront(search, plane);
    this.drawSelection(search, plane, rows);
  }

  /**
   * @param {Search} search
   * @param {Plane} plane
   * @param {Row[]} rows
   */
  describe(search, { x, y }, rows) {
    const selected = this.pane.candidates.selected(search);
    this.element.ariaLabel =
      `${y.name} against ${x.name} of ${rows.length} candidates${selected ? `; candidate ${selected.number} is selected` : ""}; ` +
      "left and right select each candidate, up and down those of the front, Enter opens the selected one";
  }

  // Sources.

  /**
   * @param {string} name
   * @param {[x: number, y: number][]} places
   * @param {Record<string, unknown[]>} [more]
   */
  fill(name, places, more = {}) {
    this.sources[name].data = { x: places.map(([x]) => x), y: places.map(([, y]) => y), ...more };
  }

  /**
   * @param {Plot} plot
   * @param {Search} search
   * @param {Plane} plane
   * @param {Row[]} rows
   */
  drawAxes(plot, search, plane, rows) {
    const points = rows.filter(isMeasured).map((row) => row.figures);
    if (search.now) points.push(search.now);
    const isNew = this.shownPlane !== `${plane.x.key} ${plane.y.key}`;
    this.shownPlane = `${plane.x.key} ${plane.y.key}`;
    for (const side of /** @type {const} */ (["x", "y"])) {
      const axis = plane[side];
      const values = points.map((point) => shown(axis, point[axis.index]));
      if (axis.key === "cycles" && search.bound) values.push(search.bound.cycles);
      const { low, high, isLog } = rangeOf(values);
      const { [isLog ? "log" : "linear"]: scale, tickers, formatters } = plot.tags[0];
      /** @type {[Part, "x_scale" | "y_scale"]} */
      const [lines, scaleName] = side === "x" ? [plot.below[0], "x_scale"] : [plot.left[0], "y_scale"];
      if (isNew || plot[scaleName].type !== scale.type) {
        plot[scaleName] = scale;
        lines.setv({
          ticker: tickers[axis.unit][Number(isLog)],
          formatter: formatters[axis.unit],
          axis_label: axis.unit === "pJ" ? `${axis.name}, µJ` : axis.name,
        });
      }
      setRange(side === "x" ? plot.x_range : plot.y_range, low, high, isNew);
    }
  }

  /**
   * @param {Plot} plot
   * @param {Search} search
   * @param {Plane} plane
   */
  drawBound(plot, { bound }, { x, y }) {
    const [isX, isY] = [x, y].map((axis) => Boolean(bound) && axis.key === "cycles");
    const cycles = bound?.cycles ?? 0;
    this.sources.bound.data = { y: isY ? [cycles] : [] };
    this.sources["bound x"].data = { x: isX && !isY ? [cycles] : [] };
    const [label] = plot.select("bound label");
    const place = isY
      ? { x: 6, x_units: "screen", y: cycles, y_units: "data" }
      : { x: cycles, x_units: "data", y: 6, y_units: "screen" };
    label.setv({ ...place, visible: isX || isY, text: `lower bound ${grouped(cycles)}` });
  }

  /**
   * @param {Plane} plane
   * @param {Row[]} rows
   */
  drawMarks(plane, rows) {
    const size = rows.length > MANY ? SIZES.many : SIZES.usual;
    for (const status of BACK_TO_FRONT) {
      const own = rows.filter((row) => row.status === status);
      const [measured, others] = [own.filter(isMeasured), own.filter((row) => !isMeasured(row))];
      const columns = (/** @type {Row[]} */ some) => ({
        number: some.map((row) => row.number),
        size: some.map(() => size),
      });
      this.fill(
        status,
        measured.map((row) => placeOf(plane, row)),
        columns(measured),
      );
      this.fill(belowOf(status), others.map(below), columns(others));
    }
  }

  /**
   * @param {Search} search
   * @param {Plane} plane
   */
  drawFront(search, plane) {
    const { candidates } = this.pane;
    const axes = this.pane.axes();
    const front = candidates
      .front(search)
      .map((row) => ({ row, place: placeOf(plane, row) }))
      .sort((a, b) => a.place[0] - b.place[0] || a.place[1] - b.place[1]);
    const visible = front.filter(({ row }) => candidates.shows(row, axes));
    this.fill(
      "front",
      visible.map(({ place }) => place),
      { number: visible.map(({ row }) => row.number) },
    );
    // The front is a line only in the plane of the objectives.
    const isLine = plane.x !== plane.y && [plane.x, plane.y].every(({ key }) => search.objectives.includes(key));
    this.fill("steps", isLine ? front.map(({ place }) => place) : []);
  }

  /**
   * The schedule of the notebook, and a ring around the selected candidate.
   * @param {Search} search
   * @param {Plane} plane
   * @param {Row[]} rows
   */
  drawSelection(search, plane, rows) {
    const { now } = search;
    this.fill("now", now ? [[shown(plane.x, now[plane.x.index]), shown(plane.y, now[plane.y.index])]] : [], {
      text: now ? ["now"] : [],
    });
    const selected = this.pane.candidates.selected(search);
    const row = selected && rows.includes(selected) ? selected : undefined;
    this.fill("selected", isMeasured(row) ? [placeOf(plane, row)] : []);
    this.fill("selected below", row && !isMeasured(row) ? [below(row)] : []);
  }

  // Keys.

  /** @param {KeyboardEvent} event */
  key(event) {
    const search = this.pane.search();
    if (!search) return;
    const selected = this.pane.candidates.selected(search);
    const step = STEPS[event.key] ?? FRONT_STEPS[event.key];
    if (event.key === "Enter" && selected) this.pane.open(selected);
    else if (step) this.step(search, step, event.key in FRONT_STEPS);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /**
   * Select the next visible candidate from left to right, or the next one of the front.
   * @param {Search} search
   * @param {number} step
   * @param {boolean} isFront
   */
  step(search, step, isFront) {
    const { candidates } = this.pane;
    const rows = isFront ? candidates.front(search) : this.fromLeftToRight();
    const at = rows.findIndex((row) => row === candidates.selected(search));
    const next = Number.isFinite(step)
      ? rows[(at < 0 && step < 0 ? rows.length - 1 : at + step + rows.length) % Math.max(1, rows.length)]
      : rows.at(step > 0 ? -1 : 0);
    if (next) this.pane.choose(next);
  }

  /** The visible candidates; those without figures are the last ones. */
  fromLeftToRight() {
    const plane = this.plane();
    const rows = this.pane.candidates.visible(this.pane.axes());
    if (!plane) return rows;
    const measured = rows.filter(isMeasured).map((row) => ({ row, place: placeOf(plane, row) }));
    measured.sort((a, b) => a.place[0] - b.place[0] || a.place[1] - b.place[1] || a.row.number - b.row.number);
    return [...measured.map(({ row }) => row), ...rows.filter((row) => !isMeasured(row))];
  }
}

/**
 * The source of the candidates without figures.
 * @param {string} status
 */
function belowOf(status) {
  return `${status} below`;
}

/**
 * A figure in the unit of the axis: energy is in µJ.
 * @param {FigureAxis} axis
 * @param {number} value
 */
const shown = (axis, value) => (axis.unit === "pJ" ? value / 1e6 : value);

/**
 * @param {Plane} plane
 * @param {MeasuredRow} row
 * @returns {[x: number, y: number]}
 */
const placeOf = ({ x, y }, { figures }) => [shown(x, figures[x.index]), shown(y, figures[y.index])];

/**
 * The place of a candidate without figures, at the lower edge.
 * @param {Row} row
 * @returns {[x: number, y: number]}
 */
const below = (row) => [0.01 + 0.98 * jitter(row), BELOW];
