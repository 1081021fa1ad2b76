// A run as all its events in compressed time, from which every window is cut: on the page, in Jupyter and in a replay.

import { TimeMap, copiesOf, lastAtMost } from "./time_map.js";

/** @import { ExactWindow as SentExactWindow, Intervals, MemoryLine, TaskColumns, Timeline as TimelineData } from "../views.js" */
/** @import { Copies, TimeInterval } from "./time_map.js" */

/** @typedef {{ start: number, end: number, folded: boolean }} Range A range of drawn time. */

const INTERVALS_PER_TASK = 4; // the most intervals of compressed time that a window is cut from

/** Events by start, and the last end of each and of those before it. @template {Events} E */
class Track {
  /** @param {E} events */
  constructor(events) {
    this.events = events;
    let last = 0;
    this.reach = events.start.map((start, n) => (last = Math.max(last, start + events.length[n])));
  }

  /** The first event that may last after a time. @param {number} time */
  firstAfter(time) {
    return lastAtMost(this.reach, time) + 1;
  }
}

/** @typedef {{ start: number[], length: number[] }} Events */

export class Scene {
  /** @param {Pick<TimelineData, "run" | "cycles" | "repeats" | "length" | "drawn" | "kinds">} data */
  constructor(data) {
    this.data = data;
    this.timeMap = new TimeMap(data.repeats, data.length);
    // Beyond the integers that a browser adds exactly, the server cuts the windows.
    this.run = data.run && Number.isSafeInteger(data.cycles) ? tracksOf(data.run) : null;
  }

  /**
   * A window with all events; null if it has more tasks than are drawn, or if the run is not known.
   * @param {Range} range
   * @returns {SentExactWindow | null}
   */
  window({ start, end, folded }) {
    const { run } = this;
    if (!run) return null;
    const { drawn } = this.data;
    /** @type {TimeInterval[]} */
    const intervals = [];
    /** @type {TaskColumns} */
    const tasks = { kind: [], start: [], length: [], place: [], row: [] };
    for (const interval of folded ? [{ start, end, later: 0 }] : this.timeMap.intervals(start, end)) {
      this.addTasks(tasks, run.tasks, interval, intervals.length === 0, start, folded);
      intervals.push(interval);
      if (tasks.start.length > drawn || intervals.length > INTERVALS_PER_TASK * drawn) return null;
    }
    return {
      folded,
      start,
      end,
      exact: true,
      tasks,
      waits: cutEvents(run.waits, intervals, start),
      overlaps: cutEvents(run.overlaps, intervals, start),
      fills: cutEvents(run.fills, intervals, start),
      lives: cutEvents(run.lives, intervals, start),
      bytes: run.bytes.map((line) => cutLine(line, intervals, start)),
    };
  }

  /**
   * Add the tasks of an interval of compressed time. One that continues from an interval into the next one is found in the former.
   * @param {TaskColumns} found
   * @param {Track<TaskColumns>} track
   * @param {TimeInterval} interval
   * @param {boolean} isFirst
   * @param {number} origin
   * @param {boolean} folded
   */
  addTasks(found, track, { start, end, later }, isFirst, origin, folded) {
    const { events: tasks } = track;
    const first = isFirst ? track.firstAfter(start) : lastAtMost(tasks.start, start - 1) + 1;
    for (let n = first; n < tasks.start.length && tasks.start[n] < end; n++) {
      const begin = tasks.start[n];
      if (begin < start && begin + tasks.length[n] <= start) continue;
      found.kind.push(tasks.kind[n]);
      found.start.push(begin + later - origin);
      found.length.push(tasks.length[n]);
      found.row.push(folded ? tasks.row[n] : 0);
      found.place.push(folded ? tasks.place[n] : this.placeAt(tasks, n, Math.max(begin, start), later));
    }
  }

  /**
   * The iterations of a task at a compressed time that is `later` in real time.
   * @param {TaskColumns} tasks
   * @param {number} n
   * @param {number} time
   * @param {number} later
   */
  placeAt({ place, row }, n, time, later) {
    return this.timeMap.iterationsAt(place[n], row[n], time, this.timeMap.at(time + later).copies);
  }

  /**
   * The task of a template at given iterations, in real time; null if that is unknown.
   * @param {number} template
   * @param {number[]} place On the first core.
   * @param {number} [held] The place of the block on the core.
   * @returns {{ start: number, end: number } | null}
   */
  task(template, place, held = 0) {
    if (!this.run) return null;
    const { kinds, repeats } = this.data;
    const { kind, start, length, row, place: places } = this.run.tasks.events;
    for (let n = 0; n < start.length; n++) {
      if (kinds[kind[n]].template !== template || kinds[kind[n]].place !== held) continue;
      const copies = copiesAt(repeats, start[n], row[n], places[n], place);
      const found = copies && this.timeMap.iterationsAt(places[n], row[n], start[n], copies);
      if (!found?.every((index, k) => index === place[k])) continue;
      const begin = this.timeMap.real(start[n], copies ?? {});
      return { start: begin, end: begin + length[n] };
    }
    return null;
  }
}

/** @param {SentExactWindow} run */
function tracksOf({ tasks, waits, overlaps, fills, lives, bytes }) {
  return {
    tasks: new Track(tasks),
    waits: new Track(waits),
    overlaps: new Track(overlaps),
    fills: new Track(fills),
    lives: new Track(lives),
    bytes,
  };
}

/**
 * The copies of the repeats around a time in which iterations `base` of a row become `place`; null if there are none.
 * @param {TimelineData["repeats"]} repeats
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
 * The parts of events in intervals of compressed time, in real time; parts that continue are joined.
 * @param {Track<Intervals>} track
 * @param {TimeInterval[]} intervals
 * @param {number} origin
 * @returns {Intervals}
 */
function cutEvents(track, intervals, origin) {
  const { events } = track;
  /** @type {Intervals} */
  const found = { start: [], length: [], of: [] };
  /** @type {Map<number, number>} */
  const last = new Map();
  for (const { start, end, later } of intervals) {
    for (let n = track.firstAfter(start); n < events.start.length && events.start[n] < end; n++) {
      const from = Math.max(events.start[n], start) + later - origin;
      const to = Math.min(events.start[n] + events.length[n], end) + later - origin;
      if (to <= from) continue;
      const of = events.of[n];
      const before = last.get(of);
      if (before !== undefined && events.start[n] < start && found.start[before] + found.length[before] === from) {
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
 * The corners of a line in intervals of compressed time, in real time.
 * @param {MemoryLine} line
 * @param {TimeInterval[]} intervals
 * @param {number} origin
 * @returns {MemoryLine}
 */
function cutLine(line, intervals, origin) {
  /** @type {MemoryLine} */
  const found = { at: [], live: [], allocated: [], least: [] };
  for (const { start, end, later } of intervals) {
    for (let n = Math.max(0, lastAtMost(line.at, start)); n < line.at.length && line.at[n] < end; n++) {
      found.at.push(Math.max(line.at[n], start) + later - origin);
      found.live.push(line.live[n]);
      found.allocated.push(line.allocated[n]);
      if (line.least.length) found.least.push(line.least[n]);
    }
  }
  return found;
}
