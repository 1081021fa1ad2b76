// The whole run in real time, with the visible range as a frame: drag it, its ends, or a new range.

import { sharp } from "../core/canvas.js";
import { h } from "../core/dom.js";
import { grouped } from "../core/numbers.js";
import { GUTTER, RIGHT } from "./layout.js";
import { decodedLevels } from "./windows.js";

/** @import { Colors } from "../core/colors.js" */
/** @import { Timeline as TimelineData } from "../views.js" */

const HEIGHT = 34;
const MIN_DRAG = 3; // pixels

/**
 * `show` shows a range of real time, with `keepsSpan` at its present width also at the ends of the run; `seek` moves the playhead.
 * @typedef {{ show: (start: number, end: number, keepsSpan?: boolean) => void, seek: (cycle: number) => void }} Actions
 */

/** @typedef {"start" | "end" | "body"} Part */

export class Overview {
  report = 0;
  cycles = 0;
  /** @type {Uint8Array[]} The busy shares of each engine. */
  levels = [];
  range = { start: 0, end: 1 };
  /** What the canvas shows. */
  painted = "";

  /** @param {Actions} actions */
  constructor(actions) {
    this.actions = actions;
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.start = slider("start", "Start of visible range");
    this.end = slider("end", "End of visible range");
    this.body = slider("body", "Visible range");
    this.frame = h("div", { class: "range" }, this.body, this.start, this.end);
    this.head = h("div", { class: "overview-head", "aria-hidden": "true" });
    this.element = h(
      "div",
      {
        class: "overview",
        role: "group",
        "aria-label": "The whole run",
        style: `margin-left:${GUTTER}px;margin-right:${RIGHT}px`,
        onpointerdown: (event) => this.grab(event),
        onkeydown: (event) => this.key(event),
      },
      this.canvas,
      this.frame,
      this.head,
    );
  }

  /** @param {TimelineData} data */
  show(data) {
    this.report = data.report;
    this.cycles = data.cycles;
    this.levels = data.overview?.lanes.map(decodedLevels) ?? [];
    this.painted = "";
  }

  get width() {
    return Math.max(1, this.canvas.clientWidth);
  }

  /**
   * Paint the load of the engines, if the run, the size or the theme changed.
   * @param {Colors} colors
   * @param {string | undefined} theme
   */
  paint(colors, theme) {
    const { width } = this;
    const key = `${this.report} ${width} ${theme}`;
    if (key === this.painted) return;
    this.painted = key;
    const ratio = window.devicePixelRatio || 1;
    const pen = sharp(this.canvas, width, HEIGHT);
    const lane = (HEIGHT - 6) / Math.max(1, this.levels.length);
    pen.fillStyle = colors.text;
    this.levels.forEach((levels, number) => {
      const edge = (/** @type {number} */ n) => Math.round((n * width * ratio) / levels.length) / ratio;
      levels.forEach((level, n) => {
        pen.globalAlpha = 0.08 + (0.72 * level) / 255;
        pen.fillRect(edge(n), 3 + number * lane, edge(n + 1) - edge(n), Math.max(1, lane - 1));
      });
    });
  }

  /**
   * Place the frame and the playhead, in real time.
   * @param {number} start
   * @param {number} end
   * @param {number} cycle
   */
  place(start, end, cycle) {
    const { cycles } = this;
    this.range = { start, end };
    const part = (/** @type {number} */ time) => `${(100 * time) / Math.max(1, cycles)}%`;
    this.frame.style.left = part(start);
    this.frame.style.width = `max(${part(end - start)}, 3px)`;
    this.head.style.left = part(cycle);
    const update = (/** @type {HTMLElement} */ element, /** @type {number} */ now, /** @type {string} */ text) => {
      element.setAttribute("aria-valuemin", "0");
      element.setAttribute("aria-valuemax", String(cycles));
      element.setAttribute("aria-valuenow", String(Math.round(now)));
      element.setAttribute("aria-valuetext", text);
    };
    update(this.start, start, `cycle ${grouped(start)}`);
    update(this.end, end, `cycle ${grouped(end)}`);
    update(this.body, start, `cycles ${grouped(start)} to ${grouped(end)} of ${grouped(cycles)}`);
  }

  /** @param {PointerEvent} event */
  cycleAt(event) {
    const box = this.canvas.getBoundingClientRect();
    return Math.min(Math.max(0, (event.clientX - box.left) / box.width), 1) * this.cycles;
  }

  /** @param {PointerEvent} event */
  grab(event) {
    if (event.button !== 0 || !this.cycles) return;
    event.preventDefault();
    const part = this.partOf(event.target);
    if (part) this[part].focus({ preventScroll: true });
    const { element, actions } = this;
    const from = this.cycleAt(event);
    const { start, end } = this.range;
    const isClick = (/** @type {number} */ at) => Math.abs(at - from) * this.width <= MIN_DRAG * this.cycles;
    element.setPointerCapture(event.pointerId);
    element.onpointermove = (move) => {
      const at = this.cycleAt(move);
      if (part) this.movePart(part, start, end, part === "body" ? at - from : at - (part === "start" ? start : end));
      else if (!isClick(at)) actions.show(Math.min(at, from), Math.max(at, from));
    };
    element.onpointerup = element.onpointercancel = (up) => {
      element.onpointermove = element.onpointerup = element.onpointercancel = null;
      if (up.type === "pointerup" && !part && isClick(this.cycleAt(up))) actions.seek(from);
    };
  }

  /**
   * Arrow keys move an end or the frame by a fiftieth of the visible range, with Shift by a fifth.
   * @param {KeyboardEvent} event
   */
  key(event) {
    const part = this.partOf(event.target);
    const forward = event.key === "ArrowRight" || event.key === "ArrowUp";
    if (!part || !(forward || event.key === "ArrowLeft" || event.key === "ArrowDown")) return;
    event.preventDefault();
    event.stopPropagation();
    const { start, end } = this.range;
    const by = (forward ? 1 : -1) * (end - start) * (event.shiftKey ? 0.2 : 0.02);
    this.movePart(part, start, end, by);
  }

  /**
   * @param {Part} part
   * @param {number} start The range before.
   * @param {number} end
   * @param {number} by
   */
  movePart(part, start, end, by) {
    if (part === "body") this.actions.show(start + by, end + by, true);
    else if (part === "start") this.actions.show(Math.min(start + by, end - 1), end);
    else this.actions.show(start, Math.max(end + by, start + 1));
  }

  /**
   * @param {EventTarget | null} target
   * @returns {Part | undefined}
   */
  partOf(target) {
    return /** @type {Part[]} */ (["start", "end", "body"]).find((part) => this[part] === target);
  }
}

/**
 * @param {Part} part
 * @param {string} label
 */
function slider(part, label) {
  return h("div", { class: `range-${part}`, role: "slider", tabindex: "0", "aria-label": label });
}
