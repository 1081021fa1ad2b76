// What a server answers to the timeline, from a recording: windows of the run, when a task starts, which step is to blame for a wait.

import { Folding } from "../timeline/clock.js";

const MOST_TASKS = 6000;
const MOST_STRETCHES = 4000;
const BINS_SHOWN = 240;
const PIECES = ["waits", "fills", "lives"];

const unpackedLevels = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const packedLevels = (bytes) => btoa(String.fromCharCode(...bytes));

export class Recorded {
  /** `data` is what app/export/replay.py wrote; `choose(row)` shows a row of the tree. A model as components know it. */
  constructor(data, choose) {
    Object.assign(this, { data, choose, listeners: {}, payload: JSON.stringify(data.value) });
    this.detail = data.detail ?? (data.value.window.exact ? data.value.window : null);
    this.folding = new Folding(data.value.repeats, data.value.length);
  }

  on(event, listener) {
    this.listeners[event] = listener;
  }

  send_msg(message) {
    const answer = this.answer(message);
    if (answer) queueMicrotask(() => this.listeners["msg:custom"]?.({ data: answer }));
  }

  answer(message) {
    const about = { ticket: message.ticket, report: this.data.value.report };
    if (message.kind === "window") return { kind: "window", ...about, window: this.window(message) };
    if (message.kind === "find") return { kind: "found", ...about, cycle: this.find(message.template, message.place) };
    if (message.kind === "blame")
      return { kind: "blamed", step: null, text: "", ...this.data.steps[`${message.buffer} ${message.block}`] };
    if (message.kind === "select" && message.id) this.choose(message.id);
    return null;
  }

  // ---- Windows.

  window({ start, end, folded }) {
    const whole = folded ? this.data.value.window : this.data.clock;
    if (start <= whole.start && end >= whole.end) return structuredClone(whole);
    const stretches = folded ? [{ start, end, later: 0 }] : this.stretches(start, end);
    const exact = this.detail && stretches && this.exact(start, end, folded, stretches);
    return exact || coarse(whole, start, end);
  }

  /** The parts of the timeline as played that pass between two moments of the clock; null where they are too many. */
  stretches(start, end) {
    const found = [];
    const edges = [...new Set(this.data.value.repeats.flatMap((repeat) => [repeat.start, repeat.end]))].sort(
      (a, b) => a - b,
    );
    for (let at = start; at < end;) {
      const { played } = this.folding.at(at);
      const next = edges.find((edge) => edge > played) ?? this.data.value.length;
      const length = Math.max(1, Math.min(next - played, end - at));
      found.push({ start: played, end: played + length, later: at - played });
      if (found.length > MOST_STRETCHES) return null;
      at += length;
    }
    return found;
  }

  exact(start, end, folded, stretches) {
    const { detail } = this;
    const tasks = { kind: [], start: [], length: [], place: [], row: [] };
    const seen = new Set();
    for (const [number, x] of stretches.entries()) {
      for (let n = 0; n < detail.tasks.start.length; n++) {
        const begin = detail.tasks.start[n];
        // What runs over from one stretch into the next one was begun in it.
        const isIn =
          begin < x.end && (begin >= x.start || ((folded || number === 0) && begin + detail.tasks.length[n] > x.start));
        const key = `${n} ${x.later}`;
        if (!isIn || seen.has(key)) continue;
        seen.add(key);
        tasks.kind.push(detail.tasks.kind[n]);
        tasks.start.push(begin + x.later - start);
        tasks.length.push(detail.tasks.length[n]);
        tasks.place.push(folded ? detail.tasks.place[n] : this.placed(n, Math.max(begin, x.start), x.later));
        tasks.row.push(folded ? detail.tasks.row[n] : 0);
      }
      if (tasks.start.length > MOST_TASKS) return null;
    }
    const pieces = Object.fromEntries(PIECES.map((what) => [what, cut(detail[what], stretches, start)]));
    return {
      folded,
      start,
      end,
      exact: true,
      tasks,
      ...pieces,
      bytes: detail.bytes.map((line) => cutLine(line, stretches, start)),
    };
  }

  /** The iterations of task `n` as it is seen at a time of the timeline, which the clock reaches `later`. */
  placed(n, at, later) {
    const { tasks } = this.detail;
    return this.folding.place(tasks.place[n], tasks.row[n], at, Object.fromEntries(this.folding.at(at + later).copies));
  }

  // ---- Tasks.

  /** When the task of a template at these iterations starts; null where that is not known. */
  find(template, place) {
    if (!this.detail) return null;
    const { tasks } = this.detail;
    const { value } = this.data;
    for (let n = 0; n < tasks.start.length; n++) {
      if (value.kinds[tasks.kind[n]].template !== template) continue;
      const begin = tasks.start[n];
      const chosen = {};
      value.repeats.forEach((repeat, k) => {
        if (begin >= repeat.start && begin < repeat.end) chosen[k] = copyOf(repeat, tasks.place[n], place);
      });
      if (Object.values(chosen).some((copy) => copy === null)) continue;
      const there = this.folding.place(tasks.place[n], tasks.row[n], begin, chosen);
      if (there.every((index, k) => index === place[k])) return this.folding.clock(begin, chosen);
    }
    return null;
  }
}

/** Which copy of a repeat makes `base` into `place`; null where none does. */
function copyOf(repeat, base, place) {
  const rank = (indices) => repeat.extents.reduce((sum, extent, k) => sum * extent + indices[repeat.depth + k], 0);
  const copy = (rank(place) - rank(base)) / repeat.iterations;
  return Number.isInteger(copy) && copy >= 0 && copy <= repeat.extra ? copy : null;
}

/** Pieces as they come in the stretches; those that a seam cuts are one again. */
function cut(pieces, stretches, origin) {
  const found = { start: [], length: [], of: [] };
  const open = new Map();
  for (const x of stretches) {
    for (let n = 0; n < pieces.start.length; n++) {
      const from = Math.max(pieces.start[n], x.start) + x.later - origin;
      const to = Math.min(pieces.start[n] + pieces.length[n], x.end) + x.later - origin;
      if (to <= from) continue;
      const last = open.get(pieces.of[n]);
      if (last !== undefined && pieces.start[n] < x.start && found.start[last] + found.length[last] === from)
        found.length[last] = to - found.start[last];
      else {
        open.set(pieces.of[n], found.start.length);
        found.start.push(from);
        found.length.push(to - from);
        found.of.push(pieces.of[n]);
      }
    }
  }
  return found;
}

function cutLine(line, stretches, origin) {
  const found = { at: [], live: [], allocated: [], least: [] };
  for (const x of stretches) {
    for (let n = 0; n < line.at.length; n++) {
      const until = line.at[n + 1] ?? Infinity;
      if (line.at[n] >= x.end || until <= x.start) continue;
      found.at.push(Math.max(line.at[n], x.start) + x.later - origin);
      for (const what of ["live", "allocated", "least"]) if (line[what].length) found[what].push(line[what][n]);
    }
  }
  return found;
}

/** A part of a window of bins, no finer than that is. Of an exact window there is always enough. */
function coarse(whole, start, end) {
  const count = Math.min(BINS_SHOWN, end - start);
  if (whole.exact) return { ...structuredClone(whole), start: whole.start, end: whole.end };
  const span = whole.end - whole.start;
  const places = Array.from({ length: count }, (_, n) =>
    Math.min(
      whole.bins.count - 1,
      Math.floor(((start - whole.start + ((n + 0.5) * (end - start)) / count) * whole.bins.count) / span),
    ),
  );
  const cutLevels = ([number, levels]) => {
    const from = typeof levels === "string" ? unpackedLevels(levels) : levels;
    return [number, packedLevels(places.map((place) => from[place]))];
  };
  const bins = Object.fromEntries(
    ["task", "wait", "overlap", "fill", "live"].map((what) => [what, whole.bins[what].map(cutLevels)]),
  );
  const bytes = whole.bytes.map((line) =>
    cutLine(line, [{ start: start - whole.start, end: end - whole.start, later: 0 }], start - whole.start),
  );
  return { folded: whole.folded, start, end, exact: false, bins: { count, ...bins }, bytes };
}
