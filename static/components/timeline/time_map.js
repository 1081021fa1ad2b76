// The map between compressed time, in which each repeat occurs once, and real time: engine/hwsim/replay/time_map.py in the browser.

/** @import { Series } from "./windows.js" */
/** @import { TimelineRepeat as Repeat } from "../views.js" */

/** @typedef {{ start: number, end: number, later: number }} TimeInterval An interval of compressed time, `later` in real time. */
/** @typedef {Record<number, number>} Copies The chosen copy of each repeat; 0, the first one, may be missing. */

/** A repeat with its inner repeats. */
class Span {
  /** @type {Span[]} */
  inside = [];
  /** @type {number[]} The starts of the inner repeats. */
  starts = [];
  /** @type {number[]} The same in real time, relative to a copy of this one. */
  offsets = [];

  /**
   * @param {number} number
   * @param {Pick<Repeat, "start" | "end" | "length" | "extra" | "more">} repeat
   */
  constructor(number, repeat) {
    this.number = number;
    this.repeat = repeat;
    this.start = repeat.start;
    this.end = repeat.end;
  }

  finalize() {
    this.inside.sort((a, b) => a.start - b.start);
    this.starts = this.inside.map((span) => span.start);
    this.grows = this.inside.some(
      ({ number, repeat: { more, length } }) =>
        Object.keys(more).length > 0 || length.some(([, orders]) => orders.some(([other]) => other !== number)),
    );
    this.inside.forEach((span) => span.finalize());
    this.offsets = this.offsetsIn({});
  }

  /** The same as `offsets` in these copies of the repeats around. @param {Copies} copies */
  offsetsAt(copies) {
    return this.grows ? this.offsetsIn(copies) : this.offsets;
  }

  /** @param {Copies} copies */
  offsetsIn(copies) {
    let later = -this.start;
    return this.inside.map((span) => {
      const offset = span.start + later;
      later += span.total(copies) - (span.end - span.start);
      return offset;
    });
  }

  /** The cycles from the first copy to the start of another. @param {number} copy @param {Copies} copies */
  before(copy, copies) {
    return sumOf(this.repeat.length, this.number, copy, copies);
  }

  /** The cycles of all copies. @param {Copies} copies */
  total(copies) {
    return this.before(copiesOf(this.repeat, copies), copies);
  }

  /** The copy at a cycle from the start of the first. @param {number} cycle @param {Copies} copies */
  copyAt(cycle, copies) {
    let low = 0;
    let high = copiesOf(this.repeat, copies);
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (this.before(middle, copies) <= cycle) low = middle;
      else high = middle;
    }
    return low;
  }
}

/**
 * The number of copies of a repeat, in these copies of the repeats around.
 * @param {Pick<Repeat, "extra" | "more">} repeat
 * @param {Copies} copies
 */
export function copiesOf({ extra, more }, copies) {
  return Object.entries(more).reduce((all, [around, each]) => all + each * (copies[Number(around)] ?? 0), extra + 1);
}

/**
 * The sum of a series over the first copies of repeat `number`: engine/hwsim/replay/series.py in the browser.
 * @param {Series} series
 * @param {number} number
 * @param {number} count
 * @param {Copies} copies
 */
function sumOf(series, number, count, copies) {
  return series.reduce((all, [factor, orders]) => {
    const own = orders.find(([repeat]) => repeat === number)?.[1] ?? 0;
    const others = orders.filter(([repeat]) => repeat !== number);
    const start = factor * binomial(count, own + 1);
    return all + others.reduce((product, [repeat, k]) => product * binomial(copies[repeat] ?? 0, k), start);
  }, 0);
}

/** @param {number} n @param {number} k */
function binomial(n, k) {
  let found = 1;
  for (let j = 0; j < k; j++) found = (found * (n - j)) / (j + 1);
  return found;
}

/**
 * How often the task of a row runs.
 * @param {Repeat[]} repeats Inner ones are before outer ones.
 * @param {number} row
 */
export function runsOf(repeats, row) {
  return repeats.find((r) => row >= r.first && row < r.last)?.runs ?? 1;
}

/**
 * The index of the last of ordered `values` that is at most `value`; -1 if all are larger.
 * @param {number[]} values
 * @param {number} value
 */
export function lastAtMost(values, value) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/**
 * The indices of nested loops, outermost first, `count` iterations later. The outermost index wraps around.
 * @param {number[]} indices
 * @param {number[]} extents
 * @param {number} count
 */
export function advance(indices, extents, count) {
  const found = indices.slice();
  let carry = count;
  for (let k = extents.length - 1; k >= 0; k--) {
    const sum = found[k] + carry;
    found[k] = sum % extents[k];
    carry = Math.floor(sum / extents[k]);
  }
  return found;
}

/** The repeats of a timeline as a tree of intervals; without repeats, both times are equal. */
export class TimeMap {
  /**
   * @param {Repeat[]} repeats
   * @param {number} length
   */
  constructor(repeats, length) {
    this.repeats = repeats;
    this.root = new Span(-1, { start: 0, end: length, length: [], extra: 0, more: {} });
    const spans = repeats.map((repeat, n) => new Span(n, repeat)).filter((span) => span.end > span.start);
    // Of two with equal extent the later one is outside: inner ones are found first.
    spans.sort((a, b) => a.start - b.start || b.end - a.end || b.number - a.number);
    const around = [this.root];
    for (const span of spans) {
      while (around.length > 1 && around[around.length - 1].end < span.end) around.pop();
      around[around.length - 1].inside.push(span);
      around.push(span);
    }
    this.root.finalize();
    /** Where repeats start and end. */
    this.edges = [...new Set(repeats.flatMap(({ start, end }) => [start, end]))].sort((a, b) => a - b);
  }

  /**
   * The intervals of compressed time between two real times, in order.
   * @param {number} start
   * @param {number} end
   * @returns {Generator<TimeInterval, void>}
   */
  *intervals(start, end) {
    for (let at = start; at < end;) {
      const { compressed } = this.at(at);
      const next = this.edges[lastAtMost(this.edges, compressed) + 1] ?? Infinity;
      const duration = Math.min(next - compressed, end - at);
      yield { start: compressed, end: compressed + duration, later: at - compressed };
      at += duration;
    }
  }

  /**
   * The compressed time of a real cycle, and the copy of each repeat around it.
   * @param {number} cycle
   * @returns {{ compressed: number, copies: Copies }}
   */
  at(cycle) {
    let span = this.root;
    let begun = 0;
    /** @type {Copies} */
    const copies = {};
    for (;;) {
      const offset = cycle - begun;
      const offsets = span.offsetsAt(copies);
      const k = lastAtMost(offsets, offset);
      if (k < 0) return { compressed: span.start + offset, copies };
      const child = span.inside[k];
      const within = offset - offsets[k];
      const total = child.total(copies);
      if (within >= total) return { compressed: child.end + within - total, copies };
      const copy = child.copyAt(within, copies);
      copies[child.number] = copy;
      begun += offsets[k] + child.before(copy, copies);
      span = child;
    }
  }

  /**
   * The real time of a compressed time, in the chosen copy of each repeat around it.
   * @param {number} compressed
   * @param {Copies} [copies]
   */
  real(compressed, copies = {}) {
    let span = this.root;
    let begun = 0;
    for (;;) {
      const k = lastAtMost(span.starts, compressed);
      if (k < 0) return begun + compressed - span.start;
      const child = span.inside[k];
      begun += span.offsetsAt(copies)[k];
      if (compressed >= child.end) return begun + child.total(copies) + compressed - child.end;
      begun += child.before(copies[child.number] ?? 0, copies);
      span = child;
    }
  }

  /**
   * The iterations of the loops around a task at a compressed time, in the chosen copies. Engines are apart: a repeat also shows tasks of
   * earlier iterations (rows before its first), and its last tasks continue after its end, where they belong to its last copy.
   * @param {number[]} base The iterations in the first copies.
   * @param {number} row The row of the task.
   * @param {number} time
   * @param {Copies} copies
   */
  iterationsAt(base, row, time, copies) {
    let found = base;
    this.repeats.forEach((repeat, n) => {
      const { start, end, last, depth, extents, iterations, moves } = repeat;
      const continues = time >= end && row < last;
      const copy = continues ? copiesOf(repeat, copies) - 1 : time >= start && time < end ? (copies[n] ?? 0) : 0;
      if (!copy || found.length < depth + extents.length) return;
      const inner = found.slice(depth, depth + extents.length);
      found = found.toSpliced(depth, extents.length, ...advance(inner, extents, copy * iterations));
      moves[row]?.forEach((step, k) => (found[depth + extents.length + k] += copy * step));
    });
    return found;
  }
}
