// The whole run by the clock, all repeats counted, with the part in sight as a window: drag it, its ends, or a new one.

import { sharp } from "../core/canvas.js";
import { h } from "../core/dom.js";
import { GUTTER } from "./gutter.js";
import { RIGHT } from "./paint.js";
import { grouped } from "./clock.js";

const HEIGHT = 34;

/** `look(start, end)` shows a part of the run, in cycles of the clock; `seek(cycle)` moves the playhead. */
export class Overview {
  constructor({ look, seek }) {
    Object.assign(this, { look, seek, levels: [], data: null, range: [0, 1] });
    this.canvas = h("canvas", { "aria-hidden": "true" });
    const slider = (name, label) =>
      h("div", { class: `range-${name}`, role: "slider", tabindex: "0", "aria-label": label, "data-part": name });
    this.start = slider("start", "Start of what is in sight");
    this.end = slider("end", "End of what is in sight");
    this.body = slider("body", "What is in sight");
    this.range_ = h("div", { class: "range" }, this.body, this.start, this.end);
    this.head = h("div", { class: "overview-head", "aria-hidden": "true" });
    this.element = h(
      "div",
      { class: "overview", role: "group", "aria-label": "The whole run" },
      this.canvas,
      this.range_,
      this.head,
    );
    this.element.addEventListener("pointerdown", (event) => this.grab(event));
    this.element.addEventListener("keydown", (event) => this.key(event));
  }

  show(data) {
    this.data = data;
    this.levels = data.cycles
      ? data.overview.lanes.map((text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0)))
      : [];
    this.painted = "";
  }

  get width() {
    return Math.max(1, this.canvas.clientWidth);
  }

  /** The heat of the lanes; only when the run, the size or the theme is another. */
  paint(inks, theme) {
    const wide = this.width;
    const key = `${this.data?.report} ${wide} ${theme}`;
    if (key === this.painted) return;
    this.painted = key;
    const scale = window.devicePixelRatio || 1;
    const pen = sharp(this.canvas, wide, HEIGHT);
    const each = (HEIGHT - 6) / Math.max(1, this.levels.length);
    this.levels.forEach((levels, lane) => {
      const edge = (n) => Math.round((n * wide * scale) / levels.length) / scale;
      pen.fillStyle = inks.text;
      levels.forEach((level, n) => {
        pen.globalAlpha = 0.08 + (0.72 * level) / 255;
        pen.fillRect(edge(n), 3 + lane * each, edge(n + 1) - edge(n), Math.max(1, each - 1));
      });
    });
  }

  /** Where the window and the playhead are, in cycles of the clock. */
  place(start, end, cycle) {
    const { cycles } = this.data;
    this.range = [start, end];
    const part = (at) => `${(100 * at) / Math.max(1, cycles)}%`;
    this.range_.style.left = part(start);
    this.range_.style.width = `max(${part(end - start)}, 3px)`;
    this.head.style.left = part(cycle);
    const tell = (element, now, text) => {
      element.setAttribute("aria-valuemin", 0);
      element.setAttribute("aria-valuemax", cycles);
      element.setAttribute("aria-valuenow", Math.round(now));
      element.setAttribute("aria-valuetext", text);
    };
    tell(this.start, start, `cycle ${grouped(start)}`);
    tell(this.end, end, `cycle ${grouped(end)}`);
    tell(this.body, start, `cycles ${grouped(start)} to ${grouped(end)} of ${grouped(cycles)}`);
  }

  cycleAt(event) {
    const box = this.canvas.getBoundingClientRect();
    return Math.min(Math.max(0, (event.clientX - box.left) / box.width), 1) * this.data.cycles;
  }

  grab(event) {
    if (event.button !== 0 || !this.data?.cycles) return;
    event.preventDefault();
    const part = event.target.dataset?.part;
    if (part) event.target.focus({ preventScroll: true });
    const from = this.cycleAt(event);
    const [start, end] = this.range;
    this.element.setPointerCapture(event.pointerId);
    this.element.onpointermove = (move) => {
      const at = this.cycleAt(move);
      if (part === "body") this.look(start + at - from, end + at - from, true);
      else if (part === "start") this.look(Math.min(at, end - 1), end);
      else if (part === "end") this.look(start, Math.max(at, start + 1));
      else if (Math.abs(at - from) * this.width > 3 * this.data.cycles)
        this.look(Math.min(at, from), Math.max(at, from));
    };
    this.element.onpointerup = this.element.onpointercancel = (up) => {
      this.element.onpointermove = this.element.onpointerup = this.element.onpointercancel = null;
      if (up.type === "pointerup" && !part && Math.abs(this.cycleAt(up) - from) * this.width <= 3 * this.data.cycles)
        this.seek(from);
    };
  }

  /** Arrows move an end or the window by a fiftieth of what is in sight; with shift by a fifth. */
  key(event) {
    const part = event.target.dataset?.part;
    const way = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (!part || !way) return;
    event.preventDefault();
    event.stopPropagation();
    const [start, end] = this.range;
    const by = way * (end - start) * (event.shiftKey ? 0.2 : 0.02);
    if (part === "body") this.look(start + by, end + by, true);
    else if (part === "start") this.look(Math.min(start + by, end - 1), end);
    else this.look(start, Math.max(end + by, start + 1));
  }
}

export const OVERVIEW_INSET = `margin-left:${GUTTER}px;margin-right:${RIGHT}px`;
