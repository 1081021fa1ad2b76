// The selected task with arrows from the tasks that it waits for and to those that wait for it, and the same in words.

import { grouped } from "../core/numbers.js";
import { linksOf } from "./dependences.js";
import { indicesText } from "./texts.js";

/** @import { Link } from "./dependences.js" */
/** @import { TimelineModel } from "./model.js" */
/** @import { Pen } from "./pen.js" */
/** @import { ExactWindow } from "./windows.js" */

const MOST = 24; // arrows in each direction
const HEAD = 4; // pixels of an arrow's head

const REASONS = { data: "for the data in", slot: "for the slot" };

export class TaskSelection {
  /** @type {{ lane: number, start: number } | null} The lane and the drawn start of the task. */
  at = null;
  /** @type {{ block: string, indices: Map<string, number> }} What the selected task is in the program. */
  task = { block: "", indices: new Map() };

  /** @param {TimelineModel} model */
  constructor(model) {
    this.model = model;
  }

  /**
   * @param {ExactWindow} window
   * @param {number} n
   */
  select(window, n) {
    const { template, place } = this.model.task(window, n);
    const { lane, block, loops } = template;
    this.at = { lane, start: window.start + window.tasks.start[n] };
    this.task = { block, indices: new Map(loops.map(({ name }, k) => [name, place[k]])) };
  }

  /** Select the task of the same block and iterations in another run; new loops are in their first iteration. */
  follow() {
    if (!this.at) return;
    const { block, indices } = this.task;
    const { data, scene } = this.model;
    const number = data.templates.findIndex((template) => template.block === block);
    const place = data.templates[number]?.loops.map(({ name }) => indices.get(name) ?? 0);
    const found = place ? scene.task(number, place) : null;
    this.at = found && { lane: data.templates[number].lane, start: this.model.toDrawn(found.start) };
  }

  clear() {
    this.at = null;
  }

  /**
   * The task in a window that is drawn, with its links; null if it is not there.
   * @returns {{ window: ExactWindow, n: number, before: Link[], after: Link[] } | null}
   */
  find() {
    const { at, model } = this;
    if (!at) return null;
    for (const window of model.windows().reverse()) {
      if (!window.exact) continue;
      const n = window.tasks.start.findIndex(
        (start, task) => window.start + start === at.start && this.laneOf(window, task) === at.lane,
      );
      if (n >= 0) return { window, n, ...linksOf(model.data, window, n) };
    }
    return null;
  }

  /**
   * @param {ExactWindow} window
   * @param {number} task
   */
  laneOf(window, task) {
    const { data } = this.model;
    return data.templates[data.kinds[window.tasks.kind[task]].template].lane;
  }

  /** @param {Pen} pen */
  paint(pen) {
    const found = this.find();
    if (!found) return;
    const { window, n, before, after } = found;
    const { start, length } = window.tasks;
    const { layout, colors } = pen;
    const from = pen.x(window.start + start[n]);
    const to = pen.x(window.start + start[n] + length[n]);
    pen.frame(from, to, layout.lanes[this.laneOf(window, n)].top, layout.bar, colors.text);
    for (const link of [...before.slice(0, MOST), ...after.slice(0, MOST)]) this.paintLink(pen, window, link);
  }

  /**
   * An arrow from the end of one task to the start of another; dashed if it is about a slot.
   * @param {Pen} pen
   * @param {ExactWindow} window
   * @param {Link} link
   */
  paintLink(pen, window, { from, to, cause }) {
    const { start, length } = window.tasks;
    const { lanes, bar } = pen.layout;
    const y = (/** @type {number} */ task) => lanes[this.laneOf(window, task)].top + bar / 2;
    const begin = pen.x(window.start + start[from] + length[from]);
    const end = pen.x(window.start + start[to]);
    pen.arrow([begin, y(from)], [end, y(to)], pen.colors.accent, cause === "slot" ? [4, 3] : [], HEAD);
  }

  /** What the task waits for, and what waits for it, as rows of a table: direction, task, cause, cycle. */
  get rows() {
    const found = this.find();
    if (!found) return [];
    const { window, before, after } = found;
    return [
      ...before.map((link) => this.row("waits for", window, link.from, link)),
      ...after.map((link) => this.row("is awaited by", window, link.to, link)),
    ];
  }

  /**
   * @param {string} direction
   * @param {ExactWindow} window
   * @param {number} task
   * @param {Link} link
   */
  row(direction, window, task, { cause, label }) {
    const start = this.model.toReal(window.start + window.tasks.start[task], window.folded);
    return [direction, this.name(window, task), `${REASONS[cause]} ${label}`, `cycle ${grouped(start)}`];
  }

  /**
   * @param {ExactWindow} window
   * @param {number} task
   */
  name(window, task) {
    const found = this.model.task(window, task);
    return [found.template.block, indicesText(found)].filter(Boolean).join(": ");
  }

  /** The selected task and its links in a sentence; empty without one. */
  get text() {
    const found = this.find();
    if (!found) return "";
    const rows = this.rows.map(([direction, task, why]) => `${direction} ${task} ${why}`);
    return `${this.name(found.window, found.n)} ${rows.join("; ") || "waits for no task"}`;
  }
}
