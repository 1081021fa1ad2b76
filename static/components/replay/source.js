// The model of a recorded timeline: it answers the queries of the timeline from the recording instead of the server.

import { TimeMap, copiesOf } from "../timeline/time_map.js";
import { decodedLevels } from "../timeline/windows.js";

/** @import { Message } from "../core/dom.js" */
/** @import { FindPath, FindTask, FindWindow, SelectRow, SelectStall } from "../messages.js" */
/** @import { Band, BinnedWindowOf, SentWindow } from "../timeline/windows.js" */
/** @import { ExactWindow as SentExactWindow, FoundAnswer, Intervals, MemoryLine, PathAnswer, Recording as SentRecording } from "../views.js" */
/** @import { StepToBlame, TimelineRepeat as Repeat, WindowAnswer } from "../views.js" */
/** @import { Copies } from "../timeline/time_map.js" */

/** @typedef {SentRecording & { value: { window: SentWindow } }} Recording What app/export/replay.py writes. */

/** @typedef {{ start: number, end: number, later: number }} TimeInterval An interval of compressed time, `later` in real time. */

/** @typedef {(message: { data: WindowAnswer | FoundAnswer | StepToBlame | PathAnswer }) => void} AnswerListener */

const MAX_TASKS = 6000;
const MAX_INTERVALS = 4000;
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
    const { value, folded, detail } = recording;
    this.payload = JSON.stringify(value);
    /** All tasks in compressed time; null if there are too many. */
    this.detail = detail ?? (folded.exact ? folded : null);
    this.timeMap = new TimeMap(value.repeats, value.length);
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
    if (answer) queueMicrotask(() => this.listeners.get("msg:custom")?.({ data: answer }));
  }

  /**
   * @param {FindWindow | FindPath | FindTask | SelectStall | SelectRow} query
   * @returns {WindowAnswer | FoundAnswer | StepToBlame | PathAnswer | null}
   */
  answer(query) {
    const { steps, value } = this.recording;
    const { report } = value;
    if (query.kind === "window") return { kind: "window", ticket: query.ticket, report, window: this.window(query) };
    if (query.kind === "path") return { ...this.recording.path, ticket: query.ticket, report };
    if (query.kind === "find")
      return { kind: "found", ticket: query.ticket, report, cycle: this.find(query.template, query.place) };
    if (query.kind === "select_stall")
      return steps[`${query.buffer} ${query.block}`] ?? { kind: "blamed", step: 0, text: "" };
    if (query.kind === "select" && query.id) this.select(query.id);
    return null;
  }

  // ---- Windows.

  /**
   * @param {{ start: number, end: number, folded: boolean }} range
   * @returns {SentWindow}
   */
  window({ start, end, folded }) {
    const whole = folded ? this.recording.folded : this.recording.value.window;
    if (start <= whole.start && end >= whole.end) return whole;
    const intervals = folded ? [{ start, end, later: 0 }] : this.intervals(start, end);
    const exact = this.detail && intervals && this.exactWindow(this.detail, start, end, folded, intervals);
    return exact ?? (whole.exact ? whole : coarseWindow(whole, start, end));
  }

  /**
   * The intervals of compressed time between two real times; null if there are too many.
   * @param {number} start
   * @param {number} end
   */
  intervals(start, end) {
    const { repeats, length } = this.recording.value;
    const edges = [...new Set(repeats.flatMap((repeat) => [repeat.start, repeat.end]))].sort((a, b) => a - b);
    /** @type {TimeInterval[]} */
    const found = [];
    for (let at = start; at < end;) {
      const { compressed } = this.timeMap.at(at);
      const next = edges.find((edge) => edge > compressed) ?? length;
      const duration = Math.max(1, Math.min(next - compressed, end - at));
      found.push({ start: compressed, end: compressed + duration, later: at - compressed });
      if (found.length > MAX_INTERVALS) return null;
      at += duration;
    }
    return found;
  }

  /**
   * The window with all tasks; null if there are too many.
   * @param {SentExactWindow} detail
   * @param {number} start
   * @param {number} end
   * @param {boolean} folded
   * @param {TimeInterval[]} intervals
   * @returns {SentExactWindow | null}
   */
  exactWindow(detail, start, end, folded, intervals) {
    const tasks = this.tasksIn(detail, folded, intervals, start);
    if (!tasks) return null;
    return {
      folded,
      start,
      end,
      exact: true,
      tasks,
      waits: cutIntervals(detail.waits, intervals, start),
      fills: cutIntervals(detail.fills, intervals, start),
      lives: cutIntervals(detail.lives, intervals, start),
      bytes: detail.bytes.map((line) => cutLine(line, intervals, start)),
    };
  }

  /**
   * @param {SentExactWindow} detail
   * @param {boolean} folded
   * @param {TimeInterval[]} intervals
   * @param {number} origin
   */
  tasksIn({ tasks }, folded, intervals, origin) {
    /** @type {SentExactWindow["tasks"]} */
    const found = { kind: [], start: [], length: [], place: [], row: [] };
    /** @type {Set<string>} */
    const seen = new Set();
    for (const [number, interval] of intervals.entries()) {
      const { later } = interval;
      for (let n = 0; n < tasks.start.length; n++) {
        const begin = tasks.start[n];
        // A task that continues from one interval into the next one was found in the former.
        const continues = (folded || number === 0) && begin + tasks.length[n] > interval.start;
        const isIn = begin < interval.end && (begin >= interval.start || continues);
        const key = `${n} ${later}`;
        if (!isIn || seen.has(key)) continue;
        seen.add(key);
        const time = Math.max(begin, interval.start);
        found.kind.push(tasks.kind[n]);
        found.start.push(begin + later - origin);
        found.length.push(tasks.length[n]);
        found.place.push(
          folded ? tasks.place[n] : this.iterationsOf(tasks, n, time, this.timeMap.at(time + later).copies),
        );
        found.row.push(folded ? tasks.row[n] : 0);
      }
      if (found.start.length > MAX_TASKS) return null;
    }
    return found;
  }

  /**
   * @param {SentExactWindow["tasks"]} tasks
   * @param {number} n
   * @param {number} time
   * @param {Copies} copies
   */
  iterationsOf(tasks, n, time, copies) {
    return this.timeMap.iterationsAt(tasks.place[n], tasks.row[n], time, copies);
  }

  // ---- Tasks.

  /**
   * The real time at which the task of a template starts at given iterations; null if that is unknown.
   * @param {number} template
   * @param {number[]} place
   */
  find(template, place) {
    if (!this.detail) return null;
    const { tasks } = this.detail;
    const { kinds, repeats } = this.recording.value;
    for (let n = 0; n < tasks.start.length; n++) {
      if (kinds[tasks.kind[n]].template !== template) continue;
      const begin = tasks.start[n];
      const copies = copiesAt(repeats, begin, tasks.row[n], tasks.place[n], place);
      const found = copies && this.iterationsOf(tasks, n, begin, copies);
      if (found?.every((index, k) => index === place[k])) return this.timeMap.real(begin, copies ?? {});
    }
    return null;
  }
}

/**
 * The copies of the repeats around a time in which iterations `base` of a row become `place`; null if there are none.
 * @param {Repeat[]} repeats
 * @param {number} time
 * @param {number} row
 * @param {number[]} base
 * @param {number[]} place
 */
function copiesAt(repeats, time, row, base, place) {
  /** @type {Copies} */
  const copies = {};
  let first = base;
  // Outer repeats come last. Each of their copies may move the iterations of inner loops.
  for (const [number, repeat] of [...repeats.entries()].reverse()) {
    if (time < repeat.start || time >= repeat.end) continue;
    const { extents, depth, iterations, moves } = repeat;
    const rank = (/** @type {number[]} */ indices) =>
      extents.reduce((sum, extent, k) => sum * extent + indices[depth + k], 0);
    const copy = (rank(place) - rank(first)) / iterations;
    if (!Number.isInteger(copy) || copy < 0 || copy >= copiesOf(repeat, copies)) return null;
    copies[number] = copy;
    const inner = depth + extents.length;
    first = first.map((index, k) => index + copy * (moves[row]?.[k - inner] ?? 0));
  }
  return copies;
}

/**
 * The parts of intervals of compressed time in real time; parts that continue are joined.
 * @param {Intervals} pieces
 * @param {TimeInterval[]} intervals
 * @param {number} origin
 * @returns {Intervals}
 */
function cutIntervals(pieces, intervals, origin) {
  /** @type {Intervals} */
  const found = { start: [], length: [], of: [] };
  /** @type {Map<number, number>} */
  const last = new Map();
  for (const { start, end, later } of intervals) {
    for (let n = 0; n < pieces.start.length; n++) {
      const from = Math.max(pieces.start[n], start) + later - origin;
      const to = Math.min(pieces.start[n] + pieces.length[n], end) + later - origin;
      if (to <= from) continue;
      const of = pieces.of[n];
      const before = last.get(of);
      if (before !== undefined && pieces.start[n] < start && found.start[before] + found.length[before] === from) {
        found.length[before] = to - found.start[before];
        continue;
      }
      last.set(of, found.start.length);
      found.start.push(from);
      found.length.push(to - from);
      found.of.push(of);
    }
  }
  return found;
}

/**
 * @param {MemoryLine} line
 * @param {TimeInterval[]} intervals
 * @param {number} origin
 * @returns {MemoryLine}
 */
function cutLine(line, intervals, origin) {
  /** @type {MemoryLine} */
  const found = { at: [], live: [], allocated: [], least: [] };
  for (const { start, end, later } of intervals) {
    for (let n = 0; n < line.at.length; n++) {
      const until = line.at[n + 1] ?? Infinity;
      if (line.at[n] >= end || until <= start) continue;
      found.at.push(Math.max(line.at[n], start) + later - origin);
      found.live.push(line.live[n]);
      found.allocated.push(line.allocated[n]);
      if (line.least.length) found.least.push(line.least[n]);
    }
  }
  return found;
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
