// Where a moment of the clock lies on a timeline whose repeats are drawn once, and back: engine/hwsim/replay/time_map.py in the browser.

class Span {
  constructor(number, repeat) {
    Object.assign(this, {
      number,
      start: repeat.start,
      end: repeat.end,
      cycles: repeat.cycles,
      extra: repeat.extra,
      inside: [],
      offsets: [],
    });
    this.total = this.cycles * (this.extra + 1);
  }

  settle() {
    let later = 0;
    this.inside.sort((a, b) => a.start - b.start);
    for (const span of this.inside) {
      this.offsets.push(span.start - this.start + later);
      later += span.total - (span.end - span.start);
      span.settle();
    }
  }
}

/** The index of the last of ordered `values` that is not above `value`; -1 where all are. */
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

export class Folding {
  constructor(repeats, length) {
    this.repeats = repeats;
    this.root = new Span(-1, { start: 0, end: length, cycles: length, extra: 0 });
    const spans = repeats.map((repeat, n) => new Span(n, repeat)).filter((span) => span.end > span.start);
    spans.sort((a, b) => a.start - b.start || b.end - a.end || b.number - a.number);
    const around = [this.root];
    for (const span of spans) {
      while (around.length > 1 && around.at(-1).end < span.end) around.pop();
      around.at(-1).inside.push(span);
      around.push(span);
    }
    this.root.settle();
  }

  /** {played, copies: [[repeat, copy], …]} of a cycle of the clock. */
  at(cycle) {
    let span = this.root;
    let begun = 0;
    const copies = [];
    for (;;) {
      const offset = cycle - begun;
      const k = lastAtMost(span.offsets, offset);
      if (k < 0) return { played: span.start + offset, copies };
      const child = span.inside[k];
      const within = offset - span.offsets[k];
      if (within >= child.total) return { played: child.end + within - child.total, copies };
      const copy = Math.floor(within / child.cycles);
      copies.push([child.number, copy]);
      begun += span.offsets[k] + copy * child.cycles;
      span = child;
    }
  }

  /** The clock at a time of the timeline, in the chosen copy of each repeat around it (`chosen[number]`, the first without). */
  clock(played, chosen) {
    let span = this.root;
    let begun = 0;
    for (;;) {
      const k = lastAtMost(
        span.inside.map((child) => child.start),
        played,
      );
      if (k < 0) return begun + played - span.start;
      const child = span.inside[k];
      begun += span.offsets[k];
      if (played >= child.end) return begun + child.total + played - child.end;
      begun += (chosen[child.number] ?? 0) * child.cycles;
      span = child;
    }
  }

  /** The iterations of the loops around the task of row `row` that is looked at at time `at`, in the chosen copies.
   *
   * Engines are apart: what a repeat shows are tasks of the iterations before too (rows before its first), and its last ones run on after
   * its end, where they are those of its last copy. */
  place(base, row, at, chosen) {
    let place = base;
    this.repeats.forEach((repeat, n) => {
      const runsOn = at >= repeat.end && row < repeat.last;
      const copy = runsOn ? repeat.extra : at >= repeat.start && at < repeat.end ? (chosen[n] ?? 0) : 0;
      if (!copy || place.length < repeat.depth + repeat.extents.length) return;
      place = place.slice();
      let on = copy * repeat.iterations;
      for (let k = repeat.extents.length - 1; k >= 0; k--) {
        const sum = place[repeat.depth + k] + on;
        place[repeat.depth + k] = sum % repeat.extents[k];
        on = Math.floor(sum / repeat.extents[k]);
      }
    });
    return place;
  }
}

const THIN = "\u202f";

/** Digits in groups of three. */
export function grouped(value) {
  const rounded = Math.round(value);
  if (Math.abs(rounded) >= 1e15) return rounded.toExponential(2);
  return String(rounded).replace(/\B(?=(\d{3})+(?!\d))/g, THIN);
}

/** Round steps for an axis of about `count` marks over `span`. */
export function roundStep(span, count) {
  const rough = Math.max(span / Math.max(1, count), 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * ([1, 2, 5, 10].find((m) => m * power >= rough) ?? 10);
}
