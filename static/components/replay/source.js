// The model of a recorded timeline: it answers the queries of the timeline from the recording instead of the server.

/** @import { Message } from "../core/dom.js" */
/** @import { FindPath, FindTask, SelectRow, SelectStall } from "../messages.js" */
/** @import { FoundAnswer, PathAnswer, Recording, StepToBlame } from "../views.js" */

/** @typedef {(answer: FoundAnswer | StepToBlame | PathAnswer) => void} AnswerListener */

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
    const answer = this.answer(/** @type {FindPath | FindTask | SelectStall | SelectRow} */ (message));
    if (answer) queueMicrotask(() => this.listeners.get("msg:custom")?.(answer));
  }

  /**
   * @param {FindPath | FindTask | SelectStall | SelectRow} query
   * @returns {FoundAnswer | StepToBlame | PathAnswer | null}
   */
  answer(query) {
    const { steps, value } = this.recording;
    const { report } = value;
    if (query.kind === "path") return { ...this.recording.path, ticket: query.ticket, report };
    if (query.kind === "find") return { kind: "found", ticket: query.ticket, report, cycle: null };
    if (query.kind === "select_stall")
      return steps[`${query.buffer} ${query.block}`] ?? { kind: "blamed", step: 0, text: "" };
    if (query.kind === "select" && query.id) this.select(query.id);
    return null;
  }
}
