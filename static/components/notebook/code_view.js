// Program text with line numbers. Lines that the selected step added are marked; removed lines are shown at their former place.

import { follow, h, icon, keepScroll, nodes } from "../core/dom.js";
import { latest } from "../core/bus.js";
import { followMoment } from "../core/playhead.js";
import { highlighted } from "../core/python_text.js";
import { reconcile } from "../core/reconcile.js";
import { patchChildren } from "../core/patch.js";

/** @import { Moment } from "../core/playhead.js" */
/** @import { PayloadModel } from "../core/dom.js" */
/** @import { Code as CodeData, CodeLine as Line } from "../views.js" */

const SIGN = { added: "+", removed: "−", gap: "" };

/**
 * A line with its text; `decorate` sets the rest, which may change.
 * @param {Line} line
 */
function row({ text }) {
  return h(
    "div",
    { class: "code-line" },
    h("span", { class: "number" }),
    h("span", { class: "mark" }),
    h("code", {}, highlighted(text)),
  );
}

/**
 * @param {HTMLElement} row
 * @param {Line} line
 */
function decorate(row, { number, mark }) {
  const [place, sign] = row.children;
  const kind = ["code-line", mark].filter(Boolean).join(" ");
  if (row.className !== kind) row.className = kind;
  if (place.textContent !== String(number ?? "")) place.textContent = String(number ?? "");
  if (sign.ariaLabel === (mark ?? null)) return;
  sign.ariaLabel = mark ?? null;
  sign.textContent = mark ? SIGN[mark] : "";
}

/**
 * Scroll to line `n`, once the body is visible.
 * @param {HTMLElement} body
 * @param {number} n
 */
function reveal(body, n) {
  if (!body.clientHeight) {
    const watch = new ResizeObserver(() => {
      if (!body.clientHeight) return;
      watch.disconnect();
      reveal(body, n);
    });
    watch.observe(body);
    return;
  }
  const target = body.children[n];
  if (!(target instanceof HTMLElement)) return;
  const above = target.offsetTop < body.scrollTop;
  const below = target.offsetTop > body.scrollTop + body.clientHeight - 40;
  if (above || below) body.scrollTop = Math.max(0, target.offsetTop - 40);
}

/**
 * @param {HTMLElement} body
 * @param {Line[]} lines
 */
function drawLines(body, lines) {
  reconcile(body, lines, (line) => line.text, row);
  lines.forEach((line, n) => decorate(/** @type {HTMLElement} */ (body.children[n]), line));
}

const SCROLL_DELAY_MS = 350;

/** Marks the running lines at the playhead, and scrolls to the first one after a delay. */
class PlayheadLines {
  /** @param {HTMLElement} body */
  constructor(body) {
    this.body = body;
    /** @type {Element[]} */
    this.marked = [];
    /** @type {Map<number | null | undefined, number>} The index of each line by its number. */
    this.numbers = new Map();
    /** @type {number | undefined} */
    this.timer = undefined;
    followMoment((moment) => this.mark(moment));
  }

  /**
   * Follow a new text.
   * @param {Line[]} lines
   * @param {boolean} follows Whether the view follows the playhead.
   */
  drawn(lines, follows) {
    this.numbers = new Map();
    if (follows) lines.forEach((line, n) => this.numbers.set(line.number, n));
    this.mark(latest("moment") ?? null);
  }

  /** @param {Moment | null} moment */
  mark(moment) {
    for (const row of this.marked) row.classList.remove("is-now");
    const places = (moment?.lines ?? []).flatMap((number) => this.numbers.get(number) ?? []);
    this.marked = places.map((n) => this.body.children[n]).filter(Boolean);
    for (const row of this.marked) row.classList.add("is-now");
    clearTimeout(this.timer);
    if (places.length && this.body.clientHeight)
      this.timer = window.setTimeout(() => reveal(this.body, Math.min(...places)), SCROLL_DELAY_MS);
  }
}

/** @param {{ model: PayloadModel }} options */
export function render({ model }) {
  const body = h("div", { class: "code-body", tabindex: "0", role: "group" });
  const bar = h("div", { class: "code-bar" });
  const view = h("section", { class: "code-view" }, bar, body);
  const now = new PlayheadLines(body);
  follow(model, (/** @type {CodeData} */ data) => {
    const tools = [
      h("span", { class: "quiet", title: data.caption }, data.caption),
      h(
        "button",
        {
          class: "tool small",
          onclick: () =>
            navigator.clipboard?.writeText(
              data.lines
                .filter((l) => l.mark !== "removed")
                .map((l) => l.text)
                .join("\n"),
            ),
        },
        icon("copy"),
        "Copy",
      ),
      data.file
        ? h(
            "button",
            { class: "tool small", onclick: () => model.send_msg({ kind: "export" }) },
            icon("export"),
            `Download ${data.file}`,
          )
        : null,
    ];
    patchChildren(bar, ...nodes(tools));
    body.setAttribute("aria-label", data.caption);
    keepScroll(body, () => drawLines(body, data.lines));
    now.drawn(data.lines, data.playhead ?? false);
    const change = data.lines.findIndex((line) => line.mark);
    // In the next frame, so that the page is laid out once.
    if (data.reveal && change >= 0) requestAnimationFrame(() => reveal(body, change));
  });
  return view;
}
