// Who takes what of a buffer, access by access: the elements of one are lit in the grid, and bars say how many rows each bank has to serve.

import { h } from "../core/dom.js";
import { paintsOf, shade, sized } from "./paint.js";

const FRAME_MS = 220;

export class AccessSteps {
  /** `light(map, others dimmed)` lights elements; `look(changes)` tells which access is followed. */
  constructor(light, look) {
    this.light = light;
    this.look = look;
    this.at = 0;
    this.timer = null;
    this.choice = h("select", {
      class: "field-control steps-choice",
      "aria-label": "Access to follow",
      onchange: () => this.choose(),
    });
    const tool = (label, text, run) =>
      h("button", { class: "tool small", type: "button", title: label, "aria-label": label, onclick: run }, text);
    this.back = tool("Access before", "‹", () => this.go(this.at - 1));
    this.play = tool("Play the accesses", "▶", () => this.toggle());
    this.next = tool("Next access", "›", () => this.go(this.at + 1));
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
      this.on = false;
    }
    const steps = this.use?.steps ?? [];
    this.slider.max = Math.max(0, steps.length - 1);
    this.slider.disabled = this.play.disabled = steps.length < 2;
    this.show();
  }

  choose() {
    this.look({ use: Number(this.choice.value) });
  }

  toggle() {
    if (this.timer) return this.stop();
    this.play.textContent = "❚❚";
    this.play.setAttribute("aria-label", "Pause");
    this.timer = setInterval(() => {
      if (!this.element.isConnected) return this.stop();
      this.go((this.at + 1) % this.use.steps.length, true);
    }, FRAME_MS);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    this.play.textContent = "▶";
    this.play.setAttribute("aria-label", "Play the accesses");
  }

  go(n, playing = false) {
    if (!playing) this.stop();
    this.at = Math.max(0, Math.min(n, (this.use?.steps.length ?? 1) - 1));
    this.on = true;
    this.show();
  }

  show() {
    const steps = this.use?.steps ?? [];
    const step = steps[this.at];
    this.slider.value = this.at;
    this.back.disabled = this.at === 0;
    this.next.disabled = this.at >= steps.length - 1;
    if (!step) {
      this.text.textContent =
        this.uses === null || this.uses === undefined
          ? "Following the accesses…"
          : this.use
            ? this.use.note
            : "Nobody takes anything of it.";
      this.light(new Map(), false);
      this.draw();
      return;
    }
    this.light(this.lit(step), this.on);
    this.text.textContent = this.grid.preview ? this.wordsAsIf(step) : this.words(step);
    this.draw();
  }

  /** Where the same elements would lie: what is in sight of them, bank by bank. */
  wordsAsIf(step) {
    const { grid } = this;
    const rows = new Map();
    let count = 0;
    for (const position of this.lit(step).keys()) {
      const [row, column] = [Math.floor(position / grid.columns) - grid.row, (position % grid.columns) - grid.column];
      if (row < 0 || column < 0 || row >= grid.height || column >= grid.width || grid.scale > 1) continue;
      const at = row * grid.width + column;
      count++;
      rows.set(
        grid.units[at],
        (rows.get(grid.units[at]) ?? new Set()).add(Math.floor(grid.addresses[at] / grid.row_bytes)),
      );
    }
    if (!count || grid.unit_count < 2) return `Access ${this.at + 1}, as if ${grid.preview}.`;
    const most = Math.max(...[...rows.values()].map((found) => found.size));
    const banks = `${rows.size} ${grid.unit_word}${rows.size > 1 ? "s" : ""}`;
    return `Access ${this.at + 1}, as if ${grid.preview}: ${count} elements in ${banks}, at most ${most} row${most > 1 ? "s" : ""} of one.`;
  }

  /** position -> whether its bank has more rows to serve than another. */
  lit(step) {
    const found = new Map();
    for (let n = 0; n < step.taken.length; n += 3) {
      for (let k = 0; k < step.taken[n + 2]; k++)
        found.set(step.taken[n] + k * step.taken[n + 1], step.degree > 1 && !this.grid.preview);
    }
    return found;
  }

  words(step) {
    const { use, grid } = this;
    const of =
      use.count === use.steps.length && use.all
        ? `of ${use.count}`
        : use.all
          ? `of ${use.count} (the first ${use.steps.length} are listed)`
          : `(the first ${use.steps.length} are listed)`;
    const takes = `${step.size} element${step.size === 1 ? "" : "s"}`;
    if (!step.hits.length || grid.unit === "block") {
      const blocks = step.hits.map(([unit]) => unit);
      const where = blocks.length ? ` in block${blocks.length > 1 ? "s" : ""} ${blocks.join(", ")}` : "";
      return `Access ${this.at + 1} ${of}: ${takes}${where}.`;
    }
    const own = step.hits.filter(([, rows]) => rows).length;
    const all = ([, rows, beside]) => rows + beside;
    const most = Math.max(...step.hits.map(all));
    const busiest = step.hits.filter((hit) => all(hit) === most).map(([unit]) => unit);
    const banks = `${own} ${grid.unit_word}${own > 1 ? "s" : ""}`;
    const together = step.others.length ? `, together with ${step.others.join(" and ")}` : "";
    const serves = `${busiest.length === 1 ? `${grid.unit_word} ${busiest[0]} serves` : `the busiest ${grid.unit_word}s serve`} ${most} rows`;
    const conflict =
      grid.unit === "set"
        ? ""
        : step.degree > 1
          ? ` ${step.degree} turns: ${most > 1 ? serves : "reads and writes meet in a bank"}.`
          : " No conflict.";
    return `Access ${this.at + 1} ${of}: ${takes} in ${banks}${together}.${conflict}`;
  }

  draw() {
    const step = this.use?.steps[this.at];
    const show =
      Boolean(step?.hits.length) &&
      this.grid &&
      this.grid.unit_count > 1 &&
      this.grid.unit !== "block" &&
      !this.grid.preview &&
      this.element.clientWidth > 0;
    this.bars.hidden = !show;
    if (!show) return;
    const width = this.element.clientWidth;
    const height = 44;
    const context = sized(this.bars, width, height);
    const paints = paintsOf(this.bars, this.colour);
    const count = this.grid.unit_count;
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
      // What other operands want stands above, as a frame.
      context.strokeStyle = context.fillStyle;
      if (other) context.strokeRect(x + 0.5, y + 0.5, Math.max(1, wide - 1), Math.max(1, other - 1));
      if (rows === most && most > 1 && step.hits.length <= 24)
        this.label(context, paints, `${rows}`, Math.min(Math.max(8, x + each / 2), width - 8), y - 5);
    }
    for (const unit of [0, count - 1])
      this.label(context, paints, String(unit), Math.max(4, Math.min(width - 7, unit * each + each / 2)), height - 5);
    this.bars.setAttribute(
      "aria-label",
      `Rows of each ${this.grid.unit_word}: ${step.hits
        .slice(0, 40)
        .map(([unit, rows, beside]) => `${unit}: ${rows + beside}`)
        .join(", ")}`,
    );
  }

  label(context, paints, text, x, y) {
    context.fillStyle = paints.muted;
    context.font = `10px ${getComputedStyle(this.bars).fontFamily}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillText(text, x, y);
  }
}
