// The model of a recorded timeline: it answers the queries of the timeline from the recording instead of the server.

import { cutLine } from "../timeline/scene.js";
import { decodedLevels } from "../timeline/windows.js";

/** @import { Message } from "../core/dom.js" */
/** @import { FindPath, FindTask, FindWindow, SelectRow, SelectStall } from "../messages.js" */
/** @import { Band, BinnedWindowOf } from "../timeline/windows.js" */
/** @import { FoundAnswer, PathAnswer, Recording, StepToBlame, WindowAnswer } from "../views.js" */

/** @typedef {(answer: WindowAnswer | FoundAnswer | StepToBlame | PathAnswer) => void} AnswerListener */

const MAX_BINS = 240;

export class RecordedModel {
  /** @type {Map<string, AnswerListener>} */
  listeners = new Map();

  /**
   * @param {Recording} recording
   * @param {(row: string) => void} select Show a row of the tree.
   */
  constructor(recording, select) {
    this.recording = recording;
    this.select = select;
    this.payload = JSON.stringify(recording.value);
  }

  /**
   * @param {string} event
   * @param {AnswerListener} listener
   */
  on(event, listener) {
    this.listeners.set(event, listener);
  }

  /** @param {Message} message */
  send_msg(message) {
    const answer = this.answer(/** @type {FindWindow | FindPath | FindTask | SelectStall | SelectRow} */ (message));
    if (answer) queueMicrotask(() => this.listeners.get("msg:custom")?.(answer));
  }

  /**
   * @param {FindWindow | FindPath | FindTask | SelectStall | SelectRow} query
   * @returns {WindowAnswer | FoundAnswer | StepToBlame | PathAnswer | null}
   */
  answer(query) {
    const { steps, value } = this.recording;
    const { report } = value;
    if (query.kind === "window") return this.window(query);
    if (query.kind === "path") return { ...this.recording.path, ticket: query.ticket, report };
    if (query.kind === "find") return { kind: "found", ticket: query.ticket, report, cycle: null };
    if (query.kind === "select_stall")
      return steps[`${query.buffer} ${query.block}`] ?? { kind: "blamed", step: 0, text: "" };
    if (query.kind === "select" && query.id) this.select(query.id);
    return null;
  }

  /**
   * A part of the bins of the whole run: the timeline cuts finer windows itself.
   * @param {FindWindow} query
   * @returns {WindowAnswer | null}
   */
  window({ ticket, start, end, folded }) {
    const { folded: compressed, value } = this.recording;
    const whole = folded ? compressed : value.bins;
    return whole ? { kind: "window", ticket, report: value.report, window: coarseWindow(whole, start, end) } : null;
  }
}

/**
 * A part of a window of bins, at no finer resolution than that has.
 * @param {BinnedWindowOf<string>} whole
 * @param {number} start
 * @param {number} end
 * @returns {BinnedWindowOf<string>}
 */
function coarseWindow(whole, start, end) {
  const count = Math.min(MAX_BINS, end - start);
  const places = Array.from({ length: count }, (_, n) => {
    const part = (start - whole.start + ((n + 0.5) * (end - start)) / count) / (whole.end - whole.start);
    return Math.min(whole.bins.count - 1, Math.floor(part * whole.bins.count));
  });
  /** @returns {Band<string>} */
  const cut = (/** @type {Band<string>} */ [number, levels]) => {
    const bytes = decodedLevels(levels);
    return [number, btoa(String.fromCharCode(...places.map((place) => bytes[place])))];
  };
  const { task, wait, overlap, fill, live } = whole.bins;
  const range = { start: start - whole.start, end: end - whole.start, later: 0 };
  return {
    folded: whole.folded,
    start,
    end,
    exact: false,
    bins: {
      count,
      task: task.map(cut),
      wait: wait.map(cut),
      overlap: overlap.map(cut),
      fill: fill.map(cut),
      live: live.map(cut),
    },
    bytes: whole.bytes.map((line) => cutLine(line, [range], range.start)),
  };
}
