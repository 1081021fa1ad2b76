// The running jobs of the server, each in the area of its result: a text, the progress, and a button that stops it. Escape stops all jobs. The
// style sheet delays the display, so that short jobs stay invisible.

import { h, icon } from "../core/dom.js";

/** @import { Send } from "../core/dom.js" */
/** @import { JobStatus } from "../views.js" */

/**
 * @typedef {object} Line
 * @property {HTMLElement} element
 * @property {HTMLElement} text
 * @property {HTMLElement} count
 * @property {HTMLProgressElement} bar
 * @property {HTMLButtonElement} button
 * @property {string} area
 * @property {number} since
 * @property {boolean} stopped
 */

const VISIBLE_AFTER_MS = 300;
const HEADLINE = "area-headline"; // the verdict there shows its own progress
const TYPED_IN = ["INPUT", "TEXTAREA", "SELECT"];

export class RunningJobs {
  /** @param {Send} send */
  constructor(send) {
    this.send = send;
    /** @type {Map<string, Line>} */
    this.lines = new Map();
    document.addEventListener("keydown", (event) => this.key(event));
  }

  /** @param {JobStatus[]} entries */
  draw(entries) {
    const wanted = new Set(entries.map((entry) => entry.key));
    for (const [key, line] of this.lines) {
      if (wanted.has(key)) continue;
      line.element.remove();
      this.lines.delete(key);
    }
    for (const entry of entries) this.show(entry);
  }

  /** @param {JobStatus} entry */
  show(entry) {
    const known = this.lines.get(entry.key);
    const line = known?.area === entry.area ? known : this.begin(entry);
    line.stopped = entry.stopped;
    const count = entry.total ? `${entry.done} of ${entry.total}` : "";
    const title = entry.stopped ? "Resume" : "Stop (Escape)";
    if (line.element.dataset.stopped !== String(entry.stopped)) {
      line.element.dataset.stopped = String(entry.stopped);
      line.button.replaceChildren(entry.stopped ? "Resume" : icon("remove"));
      line.button.title = line.button.ariaLabel = `${title}: ${entry.text}`;
    }
    const words = entry.stopped ? `${entry.text}: stopped` : `${entry.text}…`;
    if (line.text.textContent !== words) line.text.textContent = line.text.title = words;
    line.count.textContent = count;
    line.bar.hidden = entry.stopped;
    if (entry.total) line.bar.value = entry.done / entry.total;
    else line.bar.removeAttribute("value");
  }

  /**
   * @param {JobStatus} entry
   * @returns {Line}
   */
  begin(entry) {
    this.lines.get(entry.key)?.element.remove();
    const text = h("span", { class: "doing-text", role: "status" }); // screen readers do not announce each count
    const count = h("span", { class: "doing-count" });
    const bar = h("progress", { max: 1, "aria-label": entry.text });
    const button = h("button", {
      class: "tool small",
      type: "button",
      onclick: () => this.send({ kind: line.stopped ? "resume" : "cancel_work" }),
    });
    const element = h(
      "div",
      { class: "doing", "data-doing": entry.key, role: "group", "aria-label": entry.text },
      text,
      count,
      bar,
      button,
    );
    /** @type {Line} */
    const line = { element, text, count, bar, button, area: entry.area, since: performance.now(), stopped: false };
    if (entry.area !== HEADLINE) document.getElementById(entry.area)?.append(element);
    this.lines.set(entry.key, line);
    return line;
  }

  /**
   * Escape closes open elements first; then it stops the visible jobs.
   * @param {KeyboardEvent} event
   */
  key(event) {
    if (event.key !== "Escape" || event.defaultPrevented || isTypedIn(event.composedPath()[0])) return;
    if (event.composedPath().some((element) => element instanceof HTMLDialogElement)) return;
    const isVisible = (/** @type {Line} */ line) =>
      line.area === HEADLINE || line.element.checkVisibility({ visibilityProperty: true });
    const running = [...this.lines.values()].some(
      (line) => !line.stopped && isVisible(line) && performance.now() - line.since > VISIBLE_AFTER_MS,
    );
    if (!running || document.documentElement.dataset.mode === "compare") return;
    event.preventDefault();
    this.send({ kind: "cancel_work" });
  }
}

/** @param {EventTarget | undefined} target */
function isTypedIn(target) {
  return target instanceof Element && TYPED_IN.includes(target.tagName);
}
