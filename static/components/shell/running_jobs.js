// What the server is working out, in the place where it will stand: words, how far it is, and a button that stops it. Escape stops all of it.
// What takes no longer than a blink is not shown.

import { h, icon } from "../core/dom.js";

const BLINK_MS = 300;
const OWN_PLACE = "area-headline"; // the verdict says itself what it waits for
const TYPED_IN = ["INPUT", "TEXTAREA", "SELECT"];

export class Doing {
  constructor(send) {
    this.send = send;
    this.lines = new Map();
    document.addEventListener("keydown", (event) => this.key(event));
  }

  draw(entries) {
    const wanted = new Set(entries.map((entry) => entry.key));
    for (const [key, line] of this.lines) {
      if (wanted.has(key)) continue;
      line.element.remove();
      this.lines.delete(key);
    }
    for (const entry of entries) this.show(entry);
  }

  show(entry) {
    const known = this.lines.get(entry.key);
    const line = known?.area === entry.area ? known : this.begin(entry);
    line.stopped = entry.stopped;
    const count = entry.total ? `${entry.done} of ${entry.total}` : "";
    const title = entry.stopped ? "Go on with it" : "Stop it (Escape)";
    if (line.element.dataset.stopped !== String(entry.stopped)) {
      line.element.dataset.stopped = entry.stopped;
      line.button.replaceChildren(entry.stopped ? "Go on" : icon("remove"));
      line.button.title = line.button.ariaLabel = `${title}: ${entry.text}`;
    }
    const words = entry.stopped ? `${entry.text}: stopped` : `${entry.text}…`;
    if (line.text.textContent !== words) line.text.textContent = words;
    line.count.textContent = count;
    line.bar.hidden = entry.stopped;
    if (entry.total) line.bar.value = entry.done / entry.total;
    else line.bar.removeAttribute("value");
  }

  begin(entry) {
    this.lines.get(entry.key)?.element.remove();
    const text = h("span", { class: "doing-text", role: "status" }); // the count is not read out at each step
    const count = h("span", { class: "doing-count" });
    const bar = h("progress", { max: 1, "aria-label": entry.text });
    const button = h("button", {
      class: "tool small",
      type: "button",
      onclick: () => this.send({ kind: line.stopped ? "resume" : "give_up" }),
    });
    const element = h(
      "div",
      { class: "doing", "data-doing": entry.key, role: "group", "aria-label": entry.text },
      text,
      count,
      bar,
      button,
    );
    const line = { element, text, count, bar, button, area: entry.area, since: performance.now() };
    if (entry.area !== OWN_PLACE) document.getElementById(entry.area)?.append(element);
    this.lines.set(entry.key, line);
    return line;
  }

  /** Escape belongs first to whatever has something open; then it stops what somebody can see running. */
  key(event) {
    if (event.key !== "Escape" || event.defaultPrevented || TYPED_IN.includes(event.composedPath()[0]?.tagName)) return;
    if (event.composedPath().some((element) => element.localName === "dialog")) return;
    const seen = (line) => line.area === OWN_PLACE || line.element.checkVisibility({ visibilityProperty: true });
    const running = [...this.lines.values()].some(
      (line) => !line.stopped && seen(line) && performance.now() - line.since > BLINK_MS,
    );
    if (!running || document.documentElement.dataset.mode === "compare") return;
    event.preventDefault();
    this.send({ kind: "give_up" });
  }
}
