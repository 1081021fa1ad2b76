// The critical path of the run: requested for the visible range, drawn over the lanes, and described in words.

import { CAUSES } from "../core/stalls.js";
import { grouped } from "../core/numbers.js";
import { decodedLevels } from "./windows.js";

/** @import { Cause } from "../core/colors.js" */
/** @import { PathAnswer, PathPart } from "../views.js" */
/** @import { Send } from "../core/dom.js" */
/** @import { TimelineModel } from "./model.js" */
/** @import { Pen } from "./pen.js" */

const MARGIN = 0.6; // of the visible range, on each side of a request
const LINE = 3; // the height of the path on a lane

export class CriticalPath {
  isShown = false;
  /** @type {PathAnswer | null} */
  known = null;
  pending = 0;

  /**
   * @param {Send} send
   * @param {TimelineModel} model
   */
  constructor(send, model) {
    this.send = send;
    this.model = model;
  }

  /** Another report has another path. */
  forget() {
    this.known = null;
    this.pending = 0;
  }

  /** Request the path where the visible range lacks it; one request at a time. */
  requestMissing() {
    const { model, known } = this;
    if (!this.isShown || this.pending || !model.data.cycles) return;
    const { start, end } = model.view;
    const isCovered = known && known.start <= start && known.end >= Math.min(end, model.length);
    if (isCovered && (known.steps || known.end - known.start <= 2.6 * model.span)) return;
    this.pending = ++model.tickets;
    const margin = MARGIN * model.span;
    const from = Math.max(0, Math.floor(start - margin));
    const until = Math.min(model.length, Math.ceil(end + margin));
    this.send({ kind: "path", ticket: this.pending, start: from, end: until });
  }

  /** @param {PathAnswer} answer */
  receive(answer) {
    if (answer.report !== this.model.data.report || answer.ticket !== this.pending) return;
    this.pending = 0;
    this.known = answer;
  }

  /** @param {Pen} pen */
  paint(pen) {
    const { known, model } = this;
    if (!this.isShown || model.folded || !known) return;
    if (known.steps) this.paintSteps(pen, known.start, known.steps);
    else this.paintBins(pen, known);
  }

  /**
   * A line on the lane of each task, and vertical lines where the path goes to another lane.
   * @param {Pen} pen
   * @param {number} origin
   * @param {NonNullable<PathAnswer["steps"]>} steps
   */
  paintSteps(pen, origin, { lane, start, length }) {
    const { layout, colors } = pen;
    for (let n = 0; n < lane.length; n++) {
      const visible = pen.visible(origin + start[n], origin + start[n] + length[n]);
      const { top } = layout.lanes[lane[n]];
      if (visible) pen.rect(visible[0], Math.max(visible[1], visible[0] + 1), top, LINE, colors.text);
      const before = n + 1 < lane.length ? layout.lanes[lane[n + 1]].top : top; // steps go back in time
      if (before === top) continue;
      const x = pen.x(origin + start[n]);
      if (x < pen.left || x > pen.right) continue;
      pen.rect(x - 0.75, x + 0.75, Math.min(top, before), Math.abs(top - before) + LINE, colors.text);
    }
  }

  /**
   * @param {Pen} pen
   * @param {PathAnswer} known
   */
  paintBins(pen, { start, end, lanes }) {
    lanes.forEach((packed, lane) => {
      const levels = decodedLevels(packed);
      const width = (end - start) / levels.length;
      levels.forEach((level, n) => {
        const visible = level ? pen.visible(start + n * width, start + (n + 1) * width) : null;
        if (visible)
          pen.rect(visible[0], visible[1] + 0.35, pen.layout.lanes[lane].top, LINE, pen.colors.text, level / 255);
      });
    });
  }

  /** The largest part in a sentence. */
  get note() {
    if (!this.isShown || !this.known) return "";
    const { cycles } = this.model.data;
    const [part] = this.known.parts;
    return part
      ? `Critical path: ${Math.round((100 * part.cycles) / cycles)} % ${part.block} (${causeText(part)})`
      : "";
  }

  /** All parts as the rows of a table: task, engine, what the next task waits for, cycles, share. */
  get rows() {
    const { cycles } = this.model.data;
    return (this.known?.parts ?? []).map((part) => [
      part.block,
      part.engine,
      causeText(part),
      grouped(part.cycles),
      `${Math.round((100 * part.cycles) / cycles)} %`,
    ]);
  }
}

/** @param {PathPart} part */
function causeText({ cause, buffer }) {
  if (cause === "engine") return "engine busy";
  if (cause === "end") return "end of the run";
  return `${CAUSES[/** @type {Cause} */ (cause)].word} ${buffer}`.trim();
}
