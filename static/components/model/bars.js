// The bars of an inference over time, as columns of data sources.

/** @import { Inference, KernelRow as Kernel } from "../views.js" */

/** @typedef {{ kind: "calls" | "engine" | "memory", name: string, label: string, bottom: number, top: number }} Row */
/** @typedef {{ left: number[], right: number[], bottom: number[], top: number[], color: string[], alpha: number[] }} Columns */
/** @typedef {{ rows: Columns, loads: Columns, calls: Columns }} Bars */
/** @typedef {{ hues: string[], text: string, muted: string, accent: string, bad: string, good: string, "line-strong": string }} Inks */

const CALLS = 1.5; // the height of the row of calls; other rows have 1
const GAP = 0.16;
const LETTER = 6.4; // px, the mean width of a letter of a label
const EDGE = 10;

/** @returns {Columns} */
const columns = () => ({ left: [], right: [], bottom: [], top: [], color: [], alpha: [] });

/**
 * @param {Columns} to
 * @param {[left: number, right: number, bottom: number, top: number, color: string, alpha: number]} bar
 */
function add(to, [left, right, bottom, top, color, alpha]) {
  to.left.push(left);
  to.right.push(right);
  to.bottom.push(bottom);
  to.top.push(top);
  to.color.push(color);
  to.alpha.push(alpha);
}

/**
 * The rows from top to bottom: the calls, the engines, the on-chip memories.
 * @param {Inference} inference
 * @returns {Row[]}
 */
export function rowsOf({ engines, memories }) {
  const count = engines.length + memories.length;
  /** @type {Row[]} */
  const rows = [{ kind: "calls", name: "", label: "kernels", bottom: count + GAP, top: count + CALLS }];
  engines.forEach((name, n) => {
    const bottom = count - 1 - n;
    rows.push({ kind: "engine", name, label: name, bottom, top: bottom + 1 - GAP });
  });
  memories.forEach(({ name, capacity }, n) => {
    const bottom = memories.length - 1 - n;
    rows.push({ kind: "memory", name, label: `${name}, ${capacity}`, bottom, top: bottom + 1 - GAP });
  });
  return rows;
}

/**
 * @param {Inference} inference
 * @param {Row[]} rows
 * @param {Map<string, Kernel>} kernels
 * @param {Inks} inks
 * @returns {Bars}
 */
export function barsOf(inference, rows, kernels, inks) {
  const found = { rows: columns(), loads: columns(), calls: columns() };
  for (const { kind, bottom, top } of rows)
    if (kind !== "calls") add(found.rows, [0, inference.cycles, bottom, top, inks["line-strong"], 0.22]);
  inference.keys.forEach((key, n) => {
    const kernel = kernels.get(key);
    if (!kernel) return;
    const [left, right] = [inference.starts[n], inference.ends[n]];
    for (const row of rows) {
      const tall = row.top - row.bottom;
      if (row.kind === "calls") {
        const color = kernel.hue === null ? inks.muted : inks.hues[kernel.hue];
        add(found.calls, [left, right, row.bottom, row.top, color, 0.75]);
      } else if (row.kind === "engine") {
        const load = kernel.loads[row.name] ?? 0;
        if (load > 0) add(found.loads, [left, right, row.bottom, row.bottom + tall * load, inks.accent, 0.7]);
      } else {
        const part = kernel.peaks[row.name]?.[0] ?? 0;
        const color = part > 1 ? inks.bad : inks.good;
        if (part > 0) add(found.loads, [left, right, row.bottom, row.bottom + tall * Math.min(1, part), color, 0.7]);
      }
    }
  });
  return found;
}

/**
 * The labels of the visible bars that are wide enough, each at the visible beginning of its bar.
 * @param {Columns} calls
 * @param {string[]} texts
 * @param {number} start
 * @param {number} end
 * @param {number} width Of the visible range in px.
 */
export function labelsOf(calls, texts, start, end, width) {
  /** @type {{ x: number[], y: number[], text: string[] }} */
  const labels = { x: [], y: [], text: [] };
  const scale = width / (end - start);
  texts.forEach((text, n) => {
    const [left, right] = [Math.max(start, calls.left[n]), Math.min(end, calls.right[n])];
    const letters = Math.floor(((right - left) * scale - EDGE) / LETTER);
    if (letters < 3) return;
    labels.x.push(left);
    labels.y.push((calls.bottom[n] + calls.top[n]) / 2);
    labels.text.push(text.length > letters ? `${text.slice(0, letters - 1)}…` : text);
  });
  return labels;
}
