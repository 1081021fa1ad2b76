// The map between compressed time, in which each repeat occurs once, and real time: engine/hwsim/replay/time_map.py in the browser.

/** @import { Repeat } from "./types.js" */

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
   * @param {Pick<Repeat, "start" | "end" | "cycles" | "extra">} repeat
   */
  constructor(number, { start, end, cycles, extra }) {
    this.number = number;
    this.start = start;
    this.end = end;
    this.cycles = cycles;
    this.total = cycles * (extra + 1);
  }

  finalize() {
    let later = 0;
    this.inside.sort((a, b) => a.start - b.start);
    for (const span of this.inside) {
      this.starts.push(span.start);
      this.offsets.push(span.start - this.start + later);
      later += span.total - (span.end - span.start);
      span.finalize();
    }
  }
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
    this.root = new Span(-1, { start: 0, end: length, cycles: length, extra: 0 });
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
      const k = lastAtMost(span.offsets, offset);
      if (k < 0) return { compressed: span.start + offset, copies };
      const child = span.inside[k];
      const within = offset - span.offsets[k];
      if (within >= child.total) return { compressed: child.end + within - child.total, copies };
      const copy = Math.floor(within / child.cycles);
      copies[child.number] = copy;
      begun += span.offsets[k] + copy * child.cycles;
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
      begun += span.offsets[k];
      if (compressed >= child.end) return begun + child.total + compressed - child.end;
      begun += (copies[child.number] ?? 0) * child.cycles;
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
    this.repeats.forEach(({ start, end, last, extra, depth, extents, iterations }, n) => {
      const continues = time >= end && row < last;
      const copy = continues ? extra : time >= start && time < end ? (copies[n] ?? 0) : 0;
      if (!copy || found.length < depth + extents.length) return;
      const inner = found.slice(depth, depth + extents.length);
      found = found.toSpliced(depth, extents.length, ...advance(inner, extents, copy * iterations));
    });
    return found;
  }
}
