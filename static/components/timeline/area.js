// A selected area of the timeline: drawn over the plot, with its totals in a panel: what each engine did there, and the bytes of its copies.

import { CAUSES } from "../core/stalls.js";
import { h, icon } from "../core/dom.js";
import { grouped } from "../core/numbers.js";

/** @import { Cause } from "../core/colors.js" */
/** @import { Send } from "../core/dom.js" */
/** @import { TotalsAnswer } from "../views.js" */
/** @import { TimelineModel } from "./model.js" */
/** @import { Pen } from "./pen.js" */

export class Area {
  /** @type {{ start: number, end: number } | null} In real cycles. */
  range = null;
  /** @type {Set<string>} The blocks of the program. */
  blocks = new Set();
  /** The number of the open request; 0 if there is none. */
  pending = 0;

  /**
   * @param {Send} send
   * @param {TimelineModel} model
   * @param {() => void} onChange
   */
  constructor(send, model, onChange) {
    this.send = send;
    this.model = model;
    this.onChange = onChange;
    this.element = h("section", {
      class: "area-totals",
      "aria-label": "Totals of the selected area",
      onkeydown: (event) => {
        if (event.key === "Escape") this.clear();
      },
    });
    this.element.hidden = true;
  }

  /**
   * Select the area between two real cycles, in any order.
   * @param {number} one
   * @param {number} other
   */
  select(one, other) {
    const { cycles } = this.model.data;
    const start = Math.max(0, Math.floor(Math.min(one, other)));
    const end = Math.min(cycles, Math.ceil(Math.max(one, other)));
    if (!cycles || end <= start) return;
    this.range = { start, end };
    this.blocks = new Set(this.model.data.templates.map(({ block }) => block));
    if (!this.pending) this.request();
    this.onChange();
  }

  /** Start the area at a cycle; it ends where it ended, else with the run. @param {number} cycle */
  startAt(cycle) {
    const end = this.range && this.range.end > cycle ? this.range.end : this.model.data.cycles;
    this.select(cycle, end);
  }

  /** End the area at a cycle; it starts where it started, else with the run. @param {number} cycle */
  endAt(cycle) {
    const start = this.range && this.range.start < cycle ? this.range.start : 0;
    this.select(start, cycle);
  }

  request() {
    if (!this.range) return;
    this.pending = ++this.model.tickets;
    this.send({ kind: "totals", ticket: this.pending, ...this.range });
  }

  clear() {
    if (!this.range) return;
    this.range = null;
    this.element.hidden = true;
    this.onChange();
  }

  /** Keep the area in another run of the program, up to the end of that run; a program with other blocks has no area. */
  follow() {
    this.pending = 0;
    const { cycles, templates } = this.model.data;
    if (!this.range || !cycles) return; // no data while the run is simulated
    const end = Math.min(this.range.end, cycles);
    const kept = new Set(templates.map(({ block }) => block).filter((block) => this.blocks.has(block)));
    if (end <= this.range.start || kept.size * 2 < this.blocks.size) return this.clear();
    this.select(this.range.start, end);
  }

  /** @param {TotalsAnswer} answer */
  receive(answer) {
    if (answer.report !== this.model.data.report || answer.ticket !== this.pending) return;
    this.pending = 0;
    const { range } = this;
    if (!range) return;
    if (answer.start === range.start && answer.end === range.end) this.showTotals(answer);
    else this.request();
  }

  /** @param {TotalsAnswer} totals */
  showTotals({ start, end, engines, copies }) {
    const span = end - start;
    const causes = /** @type {Cause[]} */ (Object.keys(CAUSES)).filter((cause) => engines.some((e) => e.waits[cause]));
    const share = (/** @type {number} */ part) =>
      part ? `${grouped(part)} (${Math.round((100 * part) / span)} %)` : "–";
    const close = h(
      "button",
      { class: "tool small", type: "button", "aria-label": "Close", onclick: () => this.clear() },
      icon("remove"),
    );
    const title = `Cycles ${grouped(start)} to ${grouped(end)}: ${grouped(span)}`;
    this.element.replaceChildren(
      h("div", { class: "card-head" }, h("b", {}, title), close),
      table(
        [
          "Engine",
          "Tasks",
          "Busy",
          ...causes.map((cause) => (cause === "idle" ? "Done" : `Stalled: ${CAUSES[cause].word}`)),
        ],
        engines.map(({ name, tasks, busy, waits }) => [
          name,
          grouped(tasks),
          share(busy),
          ...causes.map((cause) => share(waits[cause] ?? 0)),
        ]),
      ),
      copies.length
        ? table(
            ["Copied", "From", "To", "Bytes"],
            copies.map(({ buffer, source, destination, bytes }) => [buffer, source, destination, bytes]),
          )
        : h("p", { class: "quiet" }, "No copy begins here"),
    );
    this.element.hidden = false;
  }

  /** @param {Pen} pen */
  paint(pen) {
    const { range, model } = this;
    if (!range) return;
    const [from, to] = [pen.x(model.toDrawn(range.start)), pen.x(model.toDrawn(range.end))];
    const { top, bottom } = pen.layout;
    pen.rect(from, to, top, bottom - top, pen.colors.accent, 0.12);
    for (const x of [from, to]) pen.vertical(x, top, bottom, pen.colors.accent);
  }
}

/**
 * @param {string[]} heads
 * @param {string[][]} rows
 */
function table(heads, rows) {
  return h(
    "table",
    {},
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        heads.map((head) => h("th", { scope: "col" }, head)),
      ),
    ),
    h(
      "tbody",
      {},
      rows.map(([first, ...rest]) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, first),
          rest.map((cell) => h("td", {}, cell)),
        ),
      ),
    ),
  );
}
