// The mouse on the timeline: the wheel zooms about the pointer, a drag moves the visible range or the playhead, with Shift it selects an area, a
// click selects, and a tip describes what is under the pointer.

import { hitAt, stallStripAt } from "./hit.js";
import { GUTTER, plotWidth, timeAt } from "./layout.js";
import { tipText } from "./texts.js";
import { Fingers } from "./touch.js";

/** @import { Hit } from "./hit.js" */
/** @import { Touchable } from "./touch.js" */

/** @typedef {{ x: number, y: number, shown: number, time: number }} Point In the plot; `shown` is y in the stage, `time` is drawn time. */

/**
 * `select` receives what was clicked, and the lane whose strip of stalls it is on; `tip` shows a text at a point, "" hides it.
 * @typedef {Touchable & {
 *   head: HTMLElement,
 *   seekDrawn: (time: number) => void,
 *   select: (hit: Hit | null, point: Point, lane: number) => void,
 *   fit: () => void,
 *   selectArea: (one: number, other: number) => void,
 *   tip: (text: string, point?: Point) => void,
 * }} Host
 */

/** Pixels after which a press is a drag. */
const DRAG = { mouse: 4, touch: 10 };
const ZOOM_PER_PIXEL = 0.0022;
const MAX_WHEEL = 120;
/** Pixels of the wheel that pan by the visible range. */
const PAN_PIXELS = 800;

export class TimelinePointer {
  /** @param {Host} host */
  constructor(host) {
    this.host = host;
    this.fingers = new Fingers(host);
    const { stage } = host;
    stage.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    stage.addEventListener("pointerdown", (event) => this.down(event));
    stage.addEventListener("pointermove", (event) => this.hover(event));
    stage.addEventListener("pointerleave", () => host.tip(""));
    stage.addEventListener("dblclick", (event) => {
      if (!isWithin(event, "button, .timeline-card, .area-totals")) host.fit();
    });
  }

  /**
   * @param {MouseEvent} event
   * @returns {Point}
   */
  point(event) {
    const { plot, stage, model, layout } = this.host;
    const { left, top } = plot.getBoundingClientRect();
    const x = event.clientX - left;
    const shown = event.clientY - top - stage.scrollTop;
    const isPinned = layout.pinnedEnd > layout.top && shown < layout.pinnedEnd;
    return { x, y: isPinned ? shown : shown + stage.scrollTop, shown, time: timeAt(model.view, layout, x) };
  }

  /** @param {MouseEvent} event */
  isOnPlot(event) {
    return this.host.model.data.cycles > 0 && !isWithin(event, "button, .timeline-card, .area-totals, .table-view");
  }

  /** @param {WheelEvent} event */
  wheel(event) {
    const { model } = this.host;
    if (!this.isOnPlot(event)) return;
    const { x, time } = this.point(event);
    if (x < GUTTER) return; // over the names the wheel scrolls the rows
    event.preventDefault();
    const [sideways, upright] = event.shiftKey ? [event.deltaY, 0] : [event.deltaX, event.deltaY];
    if (Math.abs(sideways) > Math.abs(upright)) model.pan((sideways * model.span) / PAN_PIXELS);
    else model.zoom(Math.exp(Math.max(-MAX_WHEEL, Math.min(MAX_WHEEL, event.deltaY)) * ZOOM_PER_PIXEL), time);
    this.host.moved();
  }

  /** @param {PointerEvent} event */
  down(event) {
    const { host } = this;
    const { stage, model, layout } = host;
    if (event.button !== 0 || !this.isOnPlot(event)) return;
    if (this.fingers.down(event)) {
      endDrag(stage); // the first finger is part of a pinch
      return;
    }
    const from = this.point(event);
    if (from.x < GUTTER) return;
    event.preventDefault();
    host.head.focus({ preventScroll: true });
    host.tip("");
    const isOnAxis = from.y > layout.bottom;
    const isSeeking = isOnAxis || isWithin(event, ".playhead");
    const isArea = event.shiftKey && !isOnAxis;
    const isTouch = event.pointerType === "touch";
    const { start, end } = model.view;
    const { scrollTop } = stage;
    let isDrag = false;
    stage.setPointerCapture(event.pointerId);
    if (isOnAxis) host.seekDrawn(from.time);
    stage.onpointermove = (move) => {
      const [right, down] = [move.clientX - event.clientX, move.clientY - event.clientY];
      isDrag ||= isTouch ? Math.hypot(right, down) > DRAG.touch : Math.abs(right) > DRAG.mouse;
      if (!isDrag || move.pointerId !== event.pointerId) return;
      if (isArea) return host.selectArea(from.time, this.point(move).time);
      if (isSeeking) return host.seekDrawn(this.point(move).time);
      if (isTouch) stage.scrollTop = scrollTop - down; // to rows that do not fit
      model.view = { start, end };
      model.pan((-right * (end - start)) / plotWidth(layout));
      host.moved();
    };
    stage.onpointerup = stage.onpointercancel = (up) => {
      endDrag(stage);
      if (isDrag || isOnAxis || up.type !== "pointerup") return;
      host.select(hitAt(model, layout, from), from, stallStripAt(layout, from.y));
    };
  }

  /** @param {PointerEvent} event */
  hover(event) {
    const { host } = this;
    if (event.buttons || !this.isOnPlot(event)) return host.tip("");
    const point = this.point(event);
    if (point.x < GUTTER) return host.tip("");
    const hit = hitAt(host.model, host.layout, point);
    host.stage.style.cursor = hit && hit.kind !== "bin" ? "pointer" : "";
    host.tip(hit ? tipText(host.model, hit) : "", point);
  }
}

/** @param {HTMLElement} stage */
function endDrag(stage) {
  stage.onpointermove = stage.onpointerup = stage.onpointercancel = null;
}

/**
 * Whether the target of an event is in an element that matches `selector`.
 * @param {Event} event
 * @param {string} selector
 */
export function isWithin(event, selector) {
  return event.target instanceof Element && event.target.closest(selector) !== null;
}
