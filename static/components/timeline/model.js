// What the timeline knows: the tables, the windows that came from the server, what is in sight, the playhead, and what runs at it.

import { Folding } from "./clock.js";

const MARGIN = 0.6;
const COARSE = 2.6;
const ENOUGH = 4000;

function unpacked(text) {
  return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
}

/** A window with its bins as bytes. */
function opened(found) {
  if (found.bins) {
    for (const what of ["task", "wait", "overlap", "fill", "live"]) {
      found.bins[what] = found.bins[what].map(([number, text]) => [number, unpacked(text)]);
    }
  }
  return found;
}

export class TimelineModel {
  /** `ask(message)` sends to the server; `changed()` is called when something new can be drawn. */
  constructor(ask, changed) {
    Object.assign(this, {
      ask,
      changed,
      data: null,
      folded: true,
      view: { start: 0, end: 1 },
      cycle: 0,
      chosen: {},
      tickets: 0,
    });
    this.forget();
  }

  forget() {
    Object.assign(this, { base: { true: null, false: null }, current: null, moment: null, waiting: {}, key: "" });
  }

  /** A new value; the zoom stays where the run is as long as before. */
  show(data) {
    const before = this.data;
    this.data = data;
    this.forget();
    this.folding = new Folding(data.repeats ?? [], data.length);
    if (!data.cycles) return;
    this.base.true = opened(data.window);
    if (!data.repeats.length) this.folded = true;
    const same = before && before.cycles === data.cycles && before.length === data.length;
    if (!same) this.fit();
    this.cycle = Math.min(this.cycle, data.cycles - 1);
    if (!same) this.chosen = {};
    this.seek(this.cycle);
  }

  /** Cycles from one end to the other, as they are drawn. */
  get length() {
    return Math.max(1, this.folded ? this.data.length : this.data.cycles);
  }

  get span() {
    return this.view.end - this.view.start;
  }

  /** Where a cycle of the clock is drawn. */
  drawn(cycle) {
    return this.folded ? this.folding.at(cycle).played : cycle;
  }

  /** The clock at what is drawn at `x`. */
  clock(x) {
    return this.folded ? this.folding.clock(x, this.chosen) : x;
  }

  seek(cycle) {
    this.cycle = Math.min(Math.max(0, cycle), Math.max(0, this.data.cycles - 1));
    for (const [number, copy] of this.folding.at(this.cycle).copies) this.chosen[number] = copy;
  }

  fit() {
    this.view = { start: 0, end: this.length };
  }

  look(start, end) {
    const least = Math.min(this.length, 8);
    const span = Math.min(Math.max(end - start, least), this.length);
    const from = Math.min(Math.max(0, (start + end - span) / 2), this.length - span);
    this.view = { start: from, end: from + span };
  }

  zoom(factor, about) {
    this.look(about - (about - this.view.start) * factor, about + (this.view.end - about) * factor);
  }

  pan(by) {
    const start = Math.min(Math.max(0, this.view.start + by), this.length - this.span);
    this.view = { start, end: start + this.span };
  }

  /** Folded or by the clock; what is in the middle stays there. */
  setFolded(folded) {
    if (folded === this.folded) return;
    const [start, end] = [this.clock(this.view.start), this.clock(this.view.end)];
    const whole = this.view.start <= 0 && this.view.end >= this.length;
    this.folded = folded;
    this.current = null;
    if (whole) this.fit();
    else if (folded) this.look(this.folding.at(start).played, this.folding.at(end).played);
    else this.look(start, end);
  }

  // ---- Windows.

  covers(found, start, end) {
    return found && found.folded === this.folded && found.start <= start && found.end >= end;
  }

  /** Whether a window is as fine as what is in sight needs. */
  suffices(found) {
    const { start, end } = this.view;
    return (
      this.covers(found, Math.floor(start), Math.min(Math.ceil(end), this.length)) &&
      (found.exact || found.end - found.start <= this.span * COARSE)
    );
  }

  /** The windows to draw, the coarse one first. */
  windows() {
    const base = this.base[this.folded];
    if (this.suffices(base)) return [base];
    return [base, this.current?.folded === this.folded ? this.current : null].filter(Boolean);
  }

  /** Ask for what is in sight where it is not there yet: one question at a time, the newest. */
  require() {
    if (!this.data.cycles || this.waiting.window) return;
    const base = this.base[this.folded];
    if (!base) return this.request("window", { start: 0, end: this.length, folded: this.folded, whole: true });
    if (this.suffices(base) || this.suffices(this.current)) return;
    const margin = this.span * MARGIN;
    const start = Math.max(0, Math.floor(this.view.start - margin));
    this.request("window", {
      start,
      end: Math.min(this.length, Math.ceil(this.view.end + margin)),
      folded: this.folded,
    });
  }

  request(slot, message) {
    this.waiting[slot] = { ticket: ++this.tickets, message };
    this.ask({ kind: "window", ticket: this.tickets, ...message });
  }

  /** An answer of the server; what is about another report is passed over. */
  receive(message) {
    if (message.report !== this.data.report) return;
    const slot = Object.keys(this.waiting).find((name) => this.waiting[name]?.ticket === message.ticket);
    if (!slot) return;
    const { message: asked } = this.waiting[slot];
    this.waiting[slot] = null;
    const found = opened(message.window);
    if (slot === "moment") this.moment = found;
    else if (asked.whole) this.base[found.folded] = found;
    else this.current = found;
    this.changed();
  }

  // ---- What runs at the playhead.

  /** The window that knows exactly what is at the playhead, and where in it that is; asked for where there is none. */
  exactly() {
    const played = this.folding.at(this.cycle).played;
    for (const found of [this.base.true, this.base.false, this.current, this.moment]) {
      if (!found?.exact) continue;
      const at = found.folded ? played : this.cycle;
      if (found.start <= at && at < found.end) return { found, at: at - found.start };
    }
    if (!this.waiting.moment) {
      const start = Math.floor(this.cycle);
      this.request("moment", { start, end: start + 1, folded: false });
    }
    return null;
  }

  /** {tasks: [{template, kind, place}], waits: [number], cells: {cell: "filling" | "live"}}, or null until that is known. */
  now() {
    const known = this.exactly();
    if (!known) return null;
    const { found, at } = known;
    const { tasks } = found;
    const running = [];
    tasks.start.forEach((start, n) => {
      if (start <= at && at < start + tasks.length[n]) running.push(this.task(found, n, found.start + at));
    });
    const inside = (pieces) =>
      pieces.start.flatMap((start, n) => (start <= at && at < start + pieces.length[n] ? [pieces.of[n]] : []));
    const cells = {};
    for (const cell of inside(found.lives)) cells[cell] = "live";
    for (const cell of inside(found.fills)) cells[cell] = "filling";
    return { tasks: running, waits: inside(found.waits), cells };
  }

  /** Task `n` of a window with its indices, in the chosen iteration of what repeats; looked at at `at`, else where it begins. */
  task(found, n, at = tasksStart(found, n)) {
    const { tasks } = found;
    const kind = this.data.kinds[tasks.kind[n]];
    const template = this.data.templates[kind.template];
    const place = found.folded ? this.folding.place(tasks.place[n], tasks.row[n], at, this.chosen) : tasks.place[n];
    const start = found.start + tasks.start[n];
    return { kind, template, number: kind.template, place, start, end: start + tasks.length[n], folded: found.folded };
  }

  /** The last task of a template that has begun by the playhead, where that is known. */
  latest(number) {
    const known = this.exactly();
    if (!known) return null;
    const { tasks } = known.found;
    let last = -1;
    for (let n = 0; n < tasks.start.length && tasks.start[n] <= known.at; n++) {
      if (this.data.kinds[tasks.kind[n]].template === number) last = n;
    }
    return last < 0 ? null : this.task(known.found, last, known.found.start + known.at);
  }

  /** The next moment (`way` 1, or the one before: -1) at which a task begins or ends; by a bin where tasks are not known. */
  edge(way) {
    const known = this.exactly();
    if (known && known.found.tasks.start.length < ENOUGH) {
      const { found } = known;
      const edges = found.tasks.start
        .flatMap((start, n) => [start, start + found.tasks.length[n]])
        .map((x) => x + found.start);
      const here = found.folded ? this.drawn(this.cycle) : this.cycle;
      const ahead = edges.filter(
        (x) => (way > 0 ? x > here : x < here) && x < (found.folded ? this.data.length : this.data.cycles),
      );
      if (ahead.length) {
        const next = way > 0 ? Math.min(...ahead) : Math.max(...ahead);
        return found.folded ? this.folding.clock(next, this.chosen) : next;
      }
    }
    return this.cycle + way * Math.max(1, this.span / 360);
  }
}

function tasksStart(found, n) {
  return found.start + found.tasks.start[n];
}

/** "mo = 1, ko = 3" */
export function indicesText(template, place) {
  return template.loops.map((loop, n) => `${loop.name} = ${place[n]}`).join(", ");
}
