// The search of all kernels of a model: its button with the time, and a line with its progress.

import { h, nodes } from "../core/dom.js";
import { patchChildren } from "../core/patch.js";

/** @import { ModelPage as ModelData, ModelSearchLine as Line } from "../views.js" */
/** @import { PayloadModel } from "../core/dom.js" */

const TIMES = [
  [60, "1 minute"],
  [300, "5 minutes"],
  [600, "10 minutes"],
  [1800, "30 minutes"],
  [3600, "1 hour"],
];
const ACTIVE = ["waiting", "running"];

/**
 * "4:05", for a number of seconds.
 * @param {number} seconds
 */
export function clock(seconds) {
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const pad = (/** @type {number} */ part) => String(part).padStart(2, "0");
  return `${hours ? `${hours}:${pad(minutes)}` : minutes}:${pad(Math.floor(seconds % 60))}`;
}

export class ModelSearch {
  /** @param {PayloadModel} model */
  constructor(model) {
    this.model = model;
    /** @type {ModelData | null} */
    this.data = null;
    this.told = 0;
    this.line = h("div", { class: "model-search", role: "status", hidden: true });
    /** @type {HTMLSelectElement} */
    this.time = h(
      "select",
      { class: "tool small", "aria-label": "Time of the search" },
      TIMES.map(([seconds, label]) => h("option", { value: String(seconds), selected: seconds === 300 }, label)),
    );
    this.start = h("span", { class: "model-search-start" });
    setInterval(() => this.tick(), 1000);
  }

  /** @param {ModelData} data */
  draw(data) {
    if (data.search !== this.data?.search) this.told = Date.now();
    this.data = data;
    this.drawStart(data);
    this.drawLine();
  }

  get isActive() {
    return ACTIVE.includes(this.data?.search?.status ?? "");
  }

  /** @param {ModelData} data */
  drawStart(data) {
    this.start.hidden = this.isActive;
    const isAgain = !data.kernels.some(({ status }) => status === "unscheduled" || status === "pending");
    const title = data.is_example
      ? "Search schedules for all kernels of a copy of this example"
      : isAgain
        ? "Search faster schedules; each becomes a branch of its kernel's notebook"
        : "Search a schedule for each kernel without one, those with most cycles to win first";
    const run = () => this.run(Number(this.time.value), isAgain);
    const label = isAgain ? "Search all kernels again" : "Schedule all kernels";
    this.start.replaceChildren(
      this.time,
      h("button", { class: "tool framed schedule-all", type: "button", title, onclick: run }, label),
    );
  }

  /**
   * @param {number} seconds
   * @param {boolean} [again]
   */
  run(seconds, again = false) {
    this.model.send_msg({ kind: "schedule_all", seconds, again });
  }

  tick() {
    if (this.data?.search?.status === "running" && this.line.isConnected) this.drawLine();
  }

  drawLine() {
    const search = this.data?.search;
    this.line.hidden = !search;
    if (!search) return;
    const left = Math.max(0, search.seconds_left - (this.isActive ? (Date.now() - this.told) / 1000 : 0));
    const press = (/** @type {string} */ label, /** @type {() => void} */ onclick) =>
      h("button", { class: "tool framed small", type: "button", onclick }, label);
    const parts = nodes([
      h("span", { class: "model-search-words", title: search.reasons.join("\n") }, wordsOf(search, left)),
      search.total ? h("progress", { max: search.total, value: search.done, "aria-label": "Kernels searched" }) : null,
      this.isActive ? press("Pause", () => this.model.send_msg({ kind: "stop_scheduling" })) : null,
      search.status === "stopped" && search.can_resume && left >= 1
        ? press("Resume", () => this.run(Math.max(1, Math.round(left))))
        : null,
    ]);
    patchChildren(this.line, ...parts);
  }
}

/**
 * The state of a search in words.
 * @param {Line} search
 * @param {number} left The seconds left.
 */
export function wordsOf(search, left) {
  const kernels = search.total ? `${search.done} of ${search.total} kernels` : "";
  const cycles = search.cycles ? `${search.cycles} cycles` : "";
  const refused = search.reasons.length ? `${search.reasons.length} without a schedule` : "";
  const join = (/** @type {string[]} */ ...parts) => parts.filter(Boolean).join(" · ");
  switch (search.status) {
    case "waiting":
      return "Waiting for another search…";
    case "running":
      return join("Searching", kernels, cycles, `${clock(left)} left`);
    case "stopped":
      return join("Paused", kernels, cycles, `${clock(left)} left`);
    case "failed":
      return `The search failed: ${search.error}`;
    default:
      return join(search.can_resume ? "The time is over" : "Search complete", kernels, cycles, refused);
  }
}
