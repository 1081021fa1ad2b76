// The accesses of a buffer, one by one: the grid highlights the elements of an access, and bars show the rows that each bank serves.

import { h } from "../core/dom.js";
import { paintsOf, shade, sized } from "./paint.js";

/** @import { Paints } from "./paint.js" */
/** @import { LayoutAccess as Step, LayoutGrid as Grid, LayoutUse as Use } from "../views.js" */
/** @import { Request } from "./picker.js" */

const FRAME_MS = 220;

export class AccessSteps {
  /**
   * @param {(highlighted: Map<number, boolean>, dims: boolean) => void} highlight
   * @param {Request} request
   */
  constructor(highlight, request) {
    this.highlight = highlight;
    this.request = request;
    this.at = 0;
    this.hasMoved = false;
    this.drawn = "";
    this.colour = 0;
    /** @type {ReturnType<typeof setInterval> | undefined} */
    this.timer = undefined;
    /** @type {Grid | null} */
    this.grid = null;
    /** @type {Use[] | null} */
    this.uses = null;
    /** @type {Use | null} */
    this.use = null;
    /** @type {HTMLSelectElement} */
    this.choice = h("select", {
      class: "field-control steps-choice",
      "aria-label": "Access to follow",
      onchange: () => request({ use: Number(this.choice.value) }),
    });
    const tool = (/** @type {string} */ label, /** @type {string} */ text, /** @type {() => void} */ run) =>
      h("button", { class: "tool small", type: "button", title: label, "aria-label": label, onclick: run }, text);
    this.back = tool("Previous access", "‹", () => this.go(this.at - 1));
    this.play = tool("Play the accesses", "▶", () => this.toggle());
    this.next = tool("Next access", "›", () => this.go(this.at + 1));
    /** @type {HTMLInputElement} */
    this.slider = h("input", {
      type: "range",
      class: "steps-slider",
      min: "0",
      "aria-label": "Access",
      oninput: () => this.go(Number(this.slider.value)),
    });
    this.bars = h("canvas", { class: "steps-bars", role: "img", "aria-label": "Rows of each bank" });
    this.text = h("output", { class: "steps-text", "aria-live": "polite" });
    this.controls = h("div", { class: "steps-controls" }, this.back, this.play, this.next, this.slider);
    this.element = h("div", { class: "access-steps" }, this.choice, this.controls, this.bars, this.text);
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  /**
   * @param {Use[] | null} uses
   * @param {number} chosen
   * @param {Grid} grid
   * @param {number} colour
   */
  update(uses, chosen, grid, colour) {
    const drawn = JSON.stringify([uses, chosen]);
    this.grid = grid;
    this.colour = colour;
    if (drawn !== this.drawn) {
      this.drawn = drawn;
      this.uses = uses;
      this.stop();
      this.choice.replaceChildren(
        ...(uses ?? []).map((use, n) =>
          h(
            "option",
            { value: n, selected: n === chosen },
            `${use.block} ${use.written ? "writes" : "reads"}, ${use.engine}: ${use.takes}${use.worst > 1 ? ` · ×${use.worst}` : ""}`,
          ),
        ),
      );
      this.use = uses?.[Math.min(chosen, uses.length - 1)] ?? null;
      this.at = 0;
      this.hasMoved = false;
    }
    const { steps } = this;
    this.slider.max = String(Math.max(0, steps.length - 1));
    this.slider.disabled = this.play.disabled = steps.length < 2;
    this.show();
  }

  get steps() {
    return this.use?.steps ?? [];
  }

  toggle() {
    if (this.timer) {
      this.stop();
      return;
    }
    this.play.textContent = "❚❚";
    this.play.setAttribute("aria-label", "Pause");
    this.timer = setInterval(() => {
      if (!this.element.isConnected) return this.stop();
      this.go((this.at + 1) % Math.max(1, this.steps.length), true);
    }, FRAME_MS);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = undefined;
    this.play.textContent = "▶";
    this.play.setAttribute("aria-label", "Play the accesses");
  }

  /**
   * @param {number} n
   * @param {boolean} [playing]
   */
  go(n, playing = false) {
    if (!playing) this.stop();
    this.at = Math.max(0, Math.min(n, this.steps.length - 1));
    this.hasMoved = true;
    this.show();
  }

  show() {
    const { steps } = this;
    const step = steps[this.at];
    this.slider.value = String(this.at);
    this.back.disabled = this.at === 0;
    this.next.disabled = this.at >= steps.length - 1;
    if (step && this.use && this.grid) {
      this.highlight(elementsOf(step, this.grid), this.hasMoved);
      this.text.textContent = this.grid.preview
        ? previewText(this.at, step, this.grid)
        : accessText(this.at, step, this.use, this.grid);
    } else {
      this.highlight(new Map(), false);
      this.text.textContent = this.uses ? (this.use?.note ?? "No access.") : "Computing the accesses…";
    }
    this.draw();
  }

  draw() {
    const { grid } = this;
    const step = this.steps[this.at];
    this.bars.hidden = true;
    if (!step?.hits.length || !grid || grid.unit_count < 2 || grid.unit === "block" || grid.preview) return;
    if (!this.element.clientWidth) return;
    this.bars.hidden = false;
    const width = this.element.clientWidth;
    const height = 44;
    const context = sized(this.bars, width, height);
    const paints = paintsOf(this.bars, this.colour);
    const count = grid.unit_count;
    const each = Math.min(24, width / count);
    const most = Math.max(1, ...step.hits.map(([, rows, beside]) => rows + beside));
    context.fillStyle = paints.line;
    context.fillRect(0, height - 12, each * count, 1);
    for (const [unit, own, beside] of step.hits) {
      const rows = own + beside;
      const tall = Math.max(3, ((height - 24) * rows) / most);
      const other = (tall * beside) / rows;
      const [x, y] = [unit * each, height - 12 - tall];
      const wide = Math.max(1, each - 1);
      context.fillStyle =
        rows > 1 && step.degree > 1 ? paints.bad : shade(paints, 0.35 + (0.65 * unit) / Math.max(1, count - 1));
      context.fillRect(x, y + other, wide, tall - other);
      // The rows of other operands are a frame above.
      context.strokeStyle = context.fillStyle;
      if (other) context.strokeRect(x + 0.5, y + 0.5, Math.max(1, wide - 1), Math.max(1, other - 1));
      if (rows === most && most > 1 && step.hits.length <= 24)
        this.label(context, paints, `${rows}`, Math.min(Math.max(8, x + each / 2), width - 8), y - 5);
    }
    for (const unit of [0, count - 1])
      this.label(context, paints, String(unit), Math.max(4, Math.min(width - 7, unit * each + each / 2)), height - 5);
    this.bars.setAttribute(
      "aria-label",
      `Rows of each ${grid.unit_word}: ${step.hits
        .slice(0, 40)
        .map(([unit, rows, beside]) => `${unit}: ${rows + beside}`)
        .join(", ")}`,
    );
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Paints} paints
   * @param {string} text
   * @param {number} x
   * @param {number} y
   */
  label(context, paints, text, x, y) {
    context.fillStyle = paints.muted;
    context.font = `10px ${getComputedStyle(this.bars).fontFamily}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillText(text, x, y);
  }
}

/**
 * The positions of the elements of an access, and whether its banks have more rows to serve than others.
 * @param {Step} step
 * @param {Grid} grid
 */
function elementsOf(step, grid) {
  const isSlow = step.degree > 1 && !grid.preview;
  /** @type {Map<number, boolean>} */
  const found = new Map();
  for (let n = 0; n < step.taken.length; n += 3) {
    const [start, stride, count] = step.taken.slice(n, n + 3);
    for (let k = 0; k < count; k++) found.set(start + k * stride, isSlow);
  }
  return found;
}

/**
 * Banks and rows of the visible elements of an access in a previewed layout.
 * @param {number} at
 * @param {Step} step
 * @param {Grid} grid
 */
export function previewText(at, step, grid) {
  /** @type {Map<number, Set<number>>} */
  const rowsOfUnit = new Map();
  let count = 0;
  for (const position of elementsOf(step, grid).keys()) {
    const [row, column] = [Math.floor(position / grid.columns) - grid.row, (position % grid.columns) - grid.column];
    if (row < 0 || column < 0 || row >= grid.height || column >= grid.width || grid.scale > 1) continue;
    const cell = row * grid.width + column;
    const rows = rowsOfUnit.get(grid.units[cell]) ?? new Set();
    rowsOfUnit.set(grid.units[cell], rows.add(Math.floor(grid.addresses[cell] / grid.row_bytes)));
    count++;
  }
  const head = `Access ${at + 1}, preview of ${grid.preview}`;
  if (!count || grid.unit_count < 2) return `${head}.`;
  const most = Math.max(...[...rowsOfUnit.values()].map((rows) => rows.size));
  return `${head}: ${counted(count, "element")} in ${counted(rowsOfUnit.size, grid.unit_word)}, at most ${counted(most, "row")} of one.`;
}

/**
 * @param {number} at
 * @param {Step} step
 * @param {Use} use
 * @param {Grid} grid
 */
export function accessText(at, step, use, grid) {
  const isWhole = use.all && use.count === use.steps.length;
  const of = use.all ? `of ${use.count}` : "";
  const listed = isWhole ? "" : `(the first ${use.steps.length} are listed)`;
  const head = [`Access ${at + 1}`, of, listed].filter(Boolean).join(" ");
  const size = counted(step.size, "element");
  if (!step.hits.length || grid.unit === "block") {
    const blocks = step.hits.map(([unit]) => unit);
    return `${head}: ${size}${blocks.length ? ` in block${blocks.length > 1 ? "s" : ""} ${blocks.join(", ")}` : ""}.`;
  }
  const banks = counted(step.hits.filter(([, rows]) => rows).length, grid.unit_word);
  const others = step.others.length ? `, together with ${step.others.join(" and ")}` : "";
  return `${head}: ${size} in ${banks}${others}.${conflictText(step, grid)}`;
}

/**
 * @param {Step} step
 * @param {Grid} grid
 */
function conflictText(step, grid) {
  if (grid.unit === "set") return "";
  if (step.degree <= 1) return " No conflict.";
  const most = Math.max(...step.hits.map(rowsOf));
  if (most <= 1) return ` ${step.degree} turns: reads and writes meet in a bank.`;
  const busiest = step.hits.filter((hit) => rowsOf(hit) === most);
  const subject =
    busiest.length === 1 ? `${grid.unit_word} ${busiest[0][0]} serves` : `the busiest ${grid.unit_word}s serve`;
  return ` ${step.degree} turns: ${subject} ${most} rows.`;
}

const rowsOf = (/** @type {Step["hits"][number]} */ [, own, others]) => own + others;

/**
 * @param {number} count
 * @param {string} noun
 */
function counted(count, noun) {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
