// The state of the timeline: tables, windows, the visible range, the playhead, and the program's state there.

import { coreOf, placeOn } from "./cores.js";
import { Scene } from "./scene.js";
import { decodedWindow } from "./windows.js";

/** @import { ExactWindow, Window } from "./windows.js" */
/** @import { Intervals, TaskKind, TaskTemplate as Template, Timeline as TimelineData } from "../views.js" */
/** @import { Send } from "../core/dom.js" */
/** @import { WindowAnswer } from "../views.js" */
/** @import { Range } from "./scene.js" */
/** @import { Copies } from "./time_map.js" */

/** @typedef {{ start: number, end: number }} View The visible range: real time, or compressed time in the folded timeline. */

/**
 * A task; its times are of the window that it is from.
 * @typedef {object} Task
 * @property {TaskKind} kind
 * @property {Template} template
 * @property {number} number The number of its template.
 * @property {number[]} place The iterations of the loops around.
 */

/**
 * The program's state at the playhead: running tasks, numbers of present stalls, states of cells.
 * @typedef {{ tasks: Task[], waits: number[], cells: Record<number, "filling" | "live"> }} PlayheadState
 */

/** @typedef {Range & { isWhole?: boolean }} Request */

const MARGIN = 0.6; // of the visible range, on each side of a requested window
const MAX_COARSENESS = 2.6; // the width of a window of bins in visible ranges
const MAX_TASKS = 4000; // of a window that is searched for edges
const MIN_SPAN = 8;
const MOMENT = 0.01; // the width of a window at the playhead in visible ranges

/** @type {TimelineData} */
const NOTHING = {
  report: 0,
  cycles: 0,
  length: 0,
  repeats: [],
  engines: [],
  rows: [],
  cells: [],
  templates: [],
  kinds: [],
  waits: [],
  lines: {},
  figures: [],
  buffers: [],
  note: "",
  drawn: 0,
};

export class TimelineModel {
  data = NOTHING;
  /** The events from which windows are cut; the server is asked for the others. */
  scene = new Scene(NOTHING);
  /** Whether repeats are drawn once, if the run has repeats. */
  isFoldChosen = false;
  /** @type {View} */
  view = { start: 0, end: 1 };
  /** The playhead in real time. */
  cycle = 0;
  /** @type {Copies} The copy of each repeat that the folded timeline shows. */
  copies = {};
  /** The core whose tasks are shown. */
  core = 0;
  tickets = 0;
  /** @type {Map<boolean, Window>} The windows of the whole run: folded, expanded. */
  whole = new Map();
  /** @type {Window | null} A window around the visible range. */
  current = null;
  /** @type {Window | null} A window at the playhead. */
  moment = null;
  /** @type {{ window: (Request & { ticket: number }) | null, moment: (Request & { ticket: number }) | null }} */
  pending = { window: null, moment: null };

  /**
   * @param {Send} send
   * @param {() => void} onChange Called after the arrival of a window.
   */
  constructor(send, onChange) {
    this.send = send;
    this.onChange = onChange;
  }

  /**
   * Show other data. A run of the same length keeps the visible range.
   * @param {TimelineData} data
   */
  show(data) {
    const before = this.data;
    this.data = data;
    this.whole.clear();
    this.current = this.moment = null;
    this.pending = { window: null, moment: null };
    this.scene = new Scene(data);
    if (!data.chip?.numbers || data.chip.cores !== before.chip?.cores) this.core = 0;
    if (!data.cycles) return;
    for (const bins of data.bins ?? []) this.whole.set(bins.folded, decodedWindow(bins));
    if (before.cycles !== data.cycles || before.length !== data.length) {
      this.fit();
      this.copies = {};
    }
    if (!this.whole.has(this.folded)) this.cut("window", this.wholeRange);
    this.seek(this.cycle);
  }

  // ---- Time.

  get timeMap() {
    return this.scene.timeMap;
  }

  /** Whether the axis is compressed time. */
  get folded() {
    return this.isFoldChosen && this.data.repeats.length > 0;
  }

  /** The duration of the run as it is drawn. */
  get length() {
    return Math.max(1, this.folded ? this.data.length : this.data.cycles);
  }

  /** @returns {Request} */
  get wholeRange() {
    return { start: 0, end: this.length, folded: this.folded, isWhole: true };
  }

  get span() {
    return this.view.end - this.view.start;
  }

  /**
   * The drawn time of a real cycle.
   * @param {number} cycle
   */
  toDrawn(cycle) {
    return this.folded ? this.timeMap.at(cycle).compressed : cycle;
  }

  /**
   * The drawn time of a compressed time, in the first copies of the repeats around it.
   * @param {number} time
   */
  fromCompressed(time) {
    if (this.folded) return time;
    return time >= this.data.length ? this.data.cycles : this.timeMap.real(time);
  }

  /**
   * The real time of a drawn time, in the chosen copies of the repeats.
   * @param {number} time
   * @param {boolean} [folded]
   */
  toReal(time, folded = this.folded) {
    return folded ? this.timeMap.real(time, this.copies) : time;
  }

  /** @param {number} cycle */
  seek(cycle) {
    this.cycle = Math.min(Math.max(0, cycle), Math.max(0, this.data.cycles - 1));
    Object.assign(this.copies, this.timeMap.at(this.cycle).copies);
  }

  fit() {
    this.view = { start: 0, end: this.length };
  }

  /**
   * Show a range of drawn time, within the run and of a minimum width.
   * @param {number} start
   * @param {number} end
   */
  showRange(start, end) {
    const span = Math.min(Math.max(end - start, Math.min(this.length, MIN_SPAN)), this.length);
    const from = Math.min(Math.max(0, (start + end - span) / 2), this.length - span);
    this.view = { start: from, end: from + span };
  }

  /**
   * @param {number} factor
   * @param {number} about The drawn time that keeps its position.
   */
  zoom(factor, about) {
    this.showRange(about - (about - this.view.start) * factor, about + (this.view.end - about) * factor);
  }

  /** @param {number} by */
  pan(by) {
    const start = Math.min(Math.max(0, this.view.start + by), this.length - this.span);
    this.view = { start, end: start + this.span };
  }

  /**
   * Fold or expand the repeats; the visible range stays.
   * @param {boolean} folded
   */
  setFolded(folded) {
    if (folded === this.folded) return;
    const [start, end] = [this.toReal(this.view.start), this.toReal(this.view.end)];
    const isWhole = this.view.start <= 0 && this.view.end >= this.length;
    this.isFoldChosen = folded;
    this.current = null;
    if (isWhole) this.fit();
    else this.showRange(this.toDrawn(start), this.toDrawn(end));
  }

  // ---- Windows.

  /**
   * Whether a window covers the visible range at a sufficient resolution.
   * @param {Window | null | undefined} window
   */
  isSufficient(window) {
    if (!window || window.folded !== this.folded) return false;
    const { start, end } = this.view;
    const isCovered = window.start <= Math.floor(start) && window.end >= Math.min(Math.ceil(end), this.length);
    return isCovered && (window.exact || window.end - window.start <= this.span * MAX_COARSENESS);
  }

  /**
   * The windows to draw, the coarse one first.
   * @returns {Window[]}
   */
  windows() {
    const whole = this.whole.get(this.folded);
    if (whole && this.isSufficient(whole)) return [whole];
    const current = this.current?.folded === this.folded ? this.current : undefined;
    return [whole, current].filter((window) => window !== undefined);
  }

  /** Cut the window that the visible range lacks, or request it. */
  requestMissing() {
    if (!this.data.cycles) return;
    const { folded, length } = this;
    if (!this.whole.has(folded)) this.request("window", this.wholeRange);
    const whole = this.whole.get(folded);
    if (!whole || this.isSufficient(whole) || this.isSufficient(this.current)) return;
    const margin = this.span * MARGIN;
    const start = Math.max(0, Math.floor(this.view.start - margin));
    this.request("window", { start, end: Math.min(length, Math.ceil(this.view.end + margin)), folded });
  }

  /**
   * Keep a window that is cut from the events, else request it; one request at a time.
   * @param {"window" | "moment"} slot
   * @param {Request} request
   */
  request(slot, request) {
    if (this.cut(slot, request) || this.pending[slot]) return;
    const ticket = ++this.tickets;
    this.pending[slot] = { ...request, ticket };
    const { start, end, folded } = request;
    this.send({ kind: "window", ticket, start, end, folded });
  }

  /**
   * Whether a window could be cut from the events.
   * @param {"window" | "moment"} slot
   * @param {Request} request
   */
  cut(slot, request) {
    const window = this.scene.window(request);
    if (window) this.keep(slot, request, decodedWindow(window));
    return window !== null;
  }

  /**
   * @param {"window" | "moment"} slot
   * @param {Request} request
   * @param {Window} window
   */
  keep(slot, { isWhole }, window) {
    if (slot === "moment") this.moment = window;
    else if (isWhole) this.whole.set(window.folded, window);
    else this.current = window;
  }

  /**
   * Keep a window from the server; answers about another report are ignored.
   * @param {WindowAnswer} answer
   */
  receive(answer) {
    if (answer.report !== this.data.report) return;
    for (const slot of /** @type {const} */ (["window", "moment"])) {
      const request = this.pending[slot];
      if (request?.ticket !== answer.ticket) continue;
      this.pending[slot] = null;
      this.keep(slot, request, decodedWindow(answer.window));
      this.onChange();
    }
  }

  // ---- The playhead.

  /**
   * An exact window around the playhead, and the playhead's time in it. Requests one and returns null if there is none.
   * @returns {{ window: ExactWindow, at: number } | null}
   */
  exactAtPlayhead() {
    const known = this.knownAtPlayhead();
    if (known) return known;
    const start = Math.floor(this.cycle);
    const ahead = Math.max(1, Math.ceil(this.span * MOMENT));
    const narrow = { start, end: start + 1, folded: false };
    const wide = { ...narrow, end: Math.max(start + 1, Math.min(start + ahead, this.data.cycles)) };
    // While the run plays, the playhead is further on when an answer arrives; a window of bins would not help.
    if (!this.cut("moment", wide))
      this.request("moment", this.scene.run || this.moment?.exact === false ? narrow : wide);
    return this.knownAtPlayhead();
  }

  /** @returns {{ window: ExactWindow, at: number } | null} */
  knownAtPlayhead() {
    for (const window of [this.whole.get(this.folded), this.current, this.moment]) {
      if (!window?.exact) continue;
      const time = window.folded ? this.timeMap.at(this.cycle).compressed : this.cycle;
      if (window.start <= time && time < window.end) return { window, at: time - window.start };
    }
    return null;
  }

  /**
   * The program's state at the playhead; null until it is known.
   * @returns {PlayheadState | null}
   */
  stateAtPlayhead() {
    const known = this.exactAtPlayhead();
    if (!known) return null;
    const { window, at } = known;
    const { tasks } = window;
    const running = [...tasks.start.keys()].filter(
      (n) => tasks.start[n] <= at && at < tasks.start[n] + tasks.length[n],
    );
    const present = (/** @type {Intervals} */ { start, length, of }) =>
      of.filter((_, n) => start[n] <= at && at < start[n] + length[n]);
    /** @type {PlayheadState["cells"]} */
    const cells = {};
    for (const cell of present(window.lives)) cells[cell] = "live";
    for (const cell of present(window.fills)) cells[cell] = "filling";
    return { tasks: running.map((n) => this.task(window, n, window.start + at)), waits: present(window.waits), cells };
  }

  /**
   * Task `n` of a window, with its iterations in the chosen copies of the repeats around `time`.
   * @param {ExactWindow} window
   * @param {number} n
   * @param {number} [time] Drawn time; the task's start by default.
   * @returns {Task}
   */
  task({ folded, start, tasks }, n, time = start + tasks.start[n]) {
    const kind = this.data.kinds[tasks.kind[n]];
    const place = folded ? this.timeMap.iterationsAt(tasks.place[n], tasks.row[n], time, this.copies) : tasks.place[n];
    const template = this.data.templates[kind.template];
    const here = placeOn(this.data.chip ?? null, this.core, template, kind, place);
    return { kind, template, number: kind.template, place: here };
  }

  /**
   * Show the core that runs a task at given iterations; returns what the timeline's tasks have: the place of its block, and iterations.
   * @param {number} template
   * @param {number[]} place
   */
  showCoreOf(template, place) {
    const found = coreOf(this.data.chip ?? null, this.data.templates[template], place);
    this.core = found.core;
    return found;
  }

  /**
   * The last task of a template that has begun by the playhead; null if that is unknown.
   * @param {number} template
   */
  latestTask(template) {
    const known = this.exactAtPlayhead();
    if (!known) return null;
    const { window, at } = known;
    const { kind, start } = window.tasks;
    const last = start.findLastIndex((time, n) => time <= at && this.data.kinds[kind[n]].template === template);
    return last < 0 ? null : this.task(window, last, window.start + at);
  }

  /**
   * The next or previous real time at which a task begins or ends; a small step where tasks are unknown.
   * @param {1 | -1} direction
   */
  nextEdge(direction) {
    const known = this.exactAtPlayhead();
    if (known && known.window.tasks.start.length < MAX_TASKS) {
      const { window } = known;
      const { start, length } = window.tasks;
      const edges = start.flatMap((time, n) => [time + window.start, time + length[n] + window.start]);
      const end = window.folded ? this.data.length : this.data.cycles;
      const here = window.folded ? this.toDrawn(this.cycle) : this.cycle;
      const inRun = edges.filter((time) => time < end);
      const next = nearest(inRun, here, direction);
      if (next !== null) return this.toReal(next, window.folded);
    }
    return this.cycle + direction * Math.max(1, this.span / 360);
  }

  /**
   * The real time of the next or previous stall, idle time excluded; null if none is known.
   * @param {1 | -1} direction
   */
  nextStall(direction) {
    const known = this.exactAtPlayhead();
    if (!known) return null;
    const { window, at } = known;
    const { start, of } = window.waits;
    const stalls = start.filter((_, n) => this.data.waits[of[n]].cause !== "idle");
    const next = nearest(stalls, at, direction);
    return next === null ? null : this.toReal(window.start + next, window.folded);
  }
}

/**
 * The first of `times` after `here`, or the last one before it; null if there is none.
 * @param {number[]} times
 * @param {number} here
 * @param {1 | -1} direction
 */
function nearest(times, here, direction) {
  const ahead = times.filter((time) => (time - here) * direction > 0);
  if (!ahead.length) return null;
  return direction > 0 ? Math.min(...ahead) : Math.max(...ahead);
}
