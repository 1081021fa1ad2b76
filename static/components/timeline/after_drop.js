// The run after the drop that the tree's drag hovers over, drawn faintly over the timeline on the same axis: the tasks in the lower half of each
// lane, a line of live bytes in each memory, and the end of the run.

import { dropKey } from "../core/hovered_drop.js";
import { grouped } from "../core/numbers.js";

/** @import { HoveredDrop, PredictedDrop } from "../core/hovered_drop.js" */
/** @import { EngineWork as LaneAfter, MemoryLine, TimelineAfter } from "../views.js" */
/** @import { Send } from "../core/dom.js" */
/** @import { TimelineModel } from "./model.js" */
/** @import { Pen } from "./pen.js" */

const SHARE = 0.5; // of the height of a lane's tasks
const FAINT = 0.62;

export class AfterDrop {
  /** @type {HoveredDrop | null} */
  hovered = null;
  /** @type {Map<string, TimelineAfter>} By drop and visible range. */
  known = new Map();
  /** @type {Map<string, string>} The requested drops and ranges, by drop. */
  pending = new Map();

  /**
   * @param {Send} send
   * @param {TimelineModel} model
   * @param {() => void} onChange
   */
  constructor(send, model, onChange) {
    this.send = send;
    this.model = model;
    this.onChange = onChange;
  }

  /** Forget all answers, which are about an earlier program. */
  reset() {
    this.hovered = null;
    this.known.clear();
    this.pending.clear();
  }

  /** @param {HoveredDrop | null} hovered */
  hover(hovered) {
    const wasShown = this.shown;
    this.hovered = hovered;
    if (hovered) this.pending.delete(dropKey(hovered.drop)); // a request before its prediction has no answer
    this.requestMissing();
    if (wasShown || this.shown) this.onChange();
  }

  /** The run after the hovered drop, in the visible range; null until it is known. */
  get shown() {
    return (this.hovered && this.known.get(this.keyOf(this.hovered.drop))) ?? null;
  }

  /** The visible range in whole cycles. */
  get range() {
    const { model } = this;
    const { start, end } = model.folded ? { start: 0, end: model.data.cycles } : model.view;
    return { start: Math.floor(start), end: Math.ceil(end) };
  }

  /** @param {PredictedDrop} drop */
  keyOf(drop) {
    const { start, end } = this.range;
    return `${dropKey(drop)} ${start} ${end}`;
  }

  /** Request the hovered drop in the visible range, then those near it. */
  requestMissing() {
    const { hovered, model } = this;
    if (!hovered || !model.data.cycles) return;
    for (const drop of this.shown ? hovered.near : [hovered.drop]) {
      const key = this.keyOf(drop);
      if (this.known.has(key) || this.pending.has(dropKey(drop))) continue;
      this.pending.set(dropKey(drop), key);
      this.send({ kind: "timeline_after", ...drop, ...this.range });
    }
  }

  /** @param {TimelineAfter} answer */
  receive(answer) {
    const key = this.pending.get(dropKey(answer));
    this.pending.delete(dropKey(answer));
    if (key) this.known.set(key, answer);
    this.requestMissing();
    if (this.shown) this.onChange();
  }

  /** The cycles after the drop beside the present ones; "" without a hovered drop. */
  get note() {
    const { shown, model } = this;
    return shown ? `After the drop: ${grouped(shown.cycles)} cycles, now ${grouped(model.data.cycles)}` : "";
  }

  /** @param {Pen} pen */
  paint(pen) {
    const { shown, model } = this;
    if (!shown || model.folded) return;
    model.data.engines.forEach(({ name }, lane) => this.paintLane(pen, shown, shown.lanes[name], lane));
    model.data.rows.forEach(({ scope, scale }, row) => {
      if (shown.bytes[scope]) this.paintBytes(pen, shown, shown.bytes[scope], scale, row);
    });
    const end = pen.x(shown.cycles);
    pen.line([end, pen.layout.top], [end, pen.layout.bottom], pen.colors.accent, [5, 3]);
  }

  /**
   * @param {Pen} pen
   * @param {TimelineAfter} shown
   * @param {LaneAfter | undefined} content Undefined for an engine without tasks.
   * @param {number} lane
   */
  paintLane(pen, { start, end }, content, lane) {
    const { layout, colors } = pen;
    const height = layout.bar * SHARE;
    const top = layout.lanes[lane].top + layout.bar - height;
    pen.rect(pen.left, pen.right, top, height, colors.surface, 0.86);
    pen.line([pen.left, top], [pen.right, top], colors.accent, [2, 3]);
    for (const [from, to, colour] of content?.bars ?? []) {
      const visible = pen.visible(from, to);
      if (visible)
        pen.rect(
          visible[0],
          Math.max(visible[1] - 0.6, visible[0] + 0.5),
          top + 1,
          height - 1,
          colors.buffers[colour],
          FAINT,
        );
    }
    for (const [colour, shares] of content?.stretches ?? []) {
      const width = (end - start) / shares.length;
      shares.forEach((share, n) => {
        const visible = share ? pen.visible(start + n * width, start + (n + 1) * width) : null;
        if (visible)
          pen.rect(
            visible[0],
            visible[1] + 0.35,
            top + 1,
            height - 1,
            colors.buffers[colour],
            FAINT * Math.sqrt(share),
          );
      });
    }
  }

  /**
   * @param {Pen} pen
   * @param {TimelineAfter} shown
   * @param {MemoryLine} bytes
   * @param {number} scale The bytes that the height of the row represents.
   * @param {number} row
   */
  paintBytes(pen, { start, end }, bytes, scale, row) {
    const { context, layout } = pen;
    const { top, height } = layout.rows[row];
    const edges = [...bytes.at, end - start].map((time) => pen.x(start + time));
    context.save();
    context.strokeStyle = pen.colors.accent;
    context.lineWidth = 1.5;
    context.setLineDash([3, 2]);
    context.beginPath();
    bytes.live.forEach((value, n) => {
      const y = top + height * (1 - Math.min(1, value / scale));
      context.lineTo(edges[n], y);
      context.lineTo(edges[n + 1], y);
    });
    context.stroke();
    context.restore();
  }
}
