// The Explore pane: a search of the schedule's holes, with plots of its candidates. Enlarged, it covers tree and timeline.

import { focusIn, follow, h, icon, keepScroll, nodes } from "../core/dom.js";
import { grouped } from "../core/numbers.js";
import { enlarge, enlarged } from "../core/enlarged.js";
import { Popup } from "../core/popup.js";
import { ParallelAxes } from "./axes.js";
import { derivingParts } from "./deriving.js";
import { Film } from "./film.js";
import { ExploreForm } from "./form.js";
import { legendMark } from "./legend_mark.js";
import { axesOf, Candidates, OUTCOMES } from "./model.js";
import { Scatter } from "./scatter.js";
import { bestSoFar, frontTable, hoverCard, trialCard } from "./side.js";

/** @import { DarkColors } from "../core/bokeh_figure.js" */
/** @import { PayloadModel, Rect } from "../core/dom.js" */
/** @import { Axis, Outcome, Pane, Row } from "./model.js" */
/** @import { Candidates as RowsMessage, Derivation as Deriving, ExplorePane as ExploreData, Figure as FigureItem, Search, SearchOffer as Offer } from "../views.js" */

const PAGE = document.documentElement;
const SETTLED_MS = 160;
const STATUS_TEXT = {
  waiting: "Queued",
  running: "Searching",
  stopped: "Stopped",
  ended: "All tried",
  failed: "The search failed",
};
const OUTCOME_NAMES = /** @type {Outcome[]} */ (Object.keys(OUTCOMES));

/** @param {Search} search */
function statusText({ status, checking, count, total }) {
  if (status === "running" && checking) return "Checking the best";
  return status === "ended" && count < total ? "Time is up" : STATUS_TEXT[status];
}

/** @param {Search} search */
function progressOf({ checking, count, total }) {
  const [done, all] = checking ?? [count, total];
  const label = checking ? "Candidates checked" : "Candidates tried";
  return [
    h("progress", { max: String(Math.max(1, all)), value: String(done), "aria-label": label }),
    h("span", { class: "xp-count" }, h("b", {}, grouped(done)), ` of ${grouped(all)}`),
  ];
}

/** @param {number} seconds */
function duration(seconds) {
  if (seconds < 60) return `${Math.ceil(seconds)} s`;
  return `${Math.floor(seconds / 60)} min ${String(Math.round(seconds % 60)).padStart(2, "0")} s`;
}

/**
 * The remaining time, or the time of a search that is not running.
 * @param {Search} search
 * @param {number} since Seconds since the search was received.
 */
function timeText({ status, left, seconds }, since) {
  if (status !== "running") return seconds ? `in ${duration(seconds)}` : "";
  return left === null ? "" : `${duration(Math.max(0, left - since))} left`;
}

/** @typedef {PayloadModel & { figures: string }} ExploreModel The figures without candidates, as JSON (app/plots/search.py). */

class Explorer {
  /** @param {ExploreModel} model */
  constructor(model) {
    this.model = model;
    this.candidates = new Candidates();
    /** @type {Offer | null} */
    this.offer = null;
    /** @type {Search | null} */
    this.search = null;
    /** @type {Deriving | null} */
    this.deriving = null;
    this.receivedAt = 0;
    this.requestedFrom = -1;
    /** @type {Axis[]} */
    this.axes = [];
    /** @type {{ scatter: FigureItem, axes: FigureItem, dark: DarkColors } | null} */
    this.figures = null;
    /** @type {Row | null} */
    this.hovered = null;
    this.drawnLegend = "";
    this.asksForSearch = false;
    this.frame = 0;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.settling = undefined;
    /** @type {Pane} */
    this.pane = {
      candidates: this.candidates,
      axes: () => this.axes,
      search: () => this.search,
      hover: (row, rect) => this.hover(row, rect),
      choose: (row) => model.send_msg({ kind: "show_trial", trial: row.number }),
      open: (row) => this.open(row.point),
      filtered: () => this.filtered(),
    };
    this.scatter = new Scatter(this.pane, model);
    this.parallel = new ParallelAxes(this.pane, model);
    this.form = new ExploreForm(
      (message) => {
        model.send_msg(message);
        if (message.kind === "explore") enlarge("panes");
        else this.asksForSearch = false;
      },
      () => this.askForSearch(false),
    );
    this.head = h("div", { class: "xp-top" });
    this.time = h("span", { class: "xp-left" });
    this.legend = h("div", { class: "xp-legend" });
    this.visibleText = h("span");
    this.visibleCount = h("span", { class: "xp-visible", role: "status" }, this.visibleText);
    // One element: a redraw while it is pressed would lose the click.
    this.showAllButton = h(
      "button",
      { class: "tool small", type: "button", onclick: () => this.showAll() },
      "Show all",
    );
    this.film = new Film(this.pane);
    this.selected = h("div");
    this.front = h("div");
    this.side = h(
      "div",
      { class: "xp-side", tabindex: "0", role: "group", "aria-label": "The selected candidate" },
      this.film.element,
      this.selected,
      this.front,
    );
    this.body = h(
      "div",
      { class: "xp-body" },
      h("div", { class: "xp-scatter" }, this.legend, this.scatter.element),
      this.side,
      this.parallel.element,
    );
    this.derived = h("div", { class: "xp-deriving", role: "status" });
    this.note = h("p", { class: "xp-note", role: "status" });
    const parts = [this.head, this.note, this.derived, this.body, this.form.element];
    this.view = h("section", { class: "xp", "aria-label": "Explore" }, parts);
    this.card = new Popup(this.view, "tip xp-tip");
    this.view.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.drawBody()).observe(this.view);
    new MutationObserver(() => this.drawBody()).observe(PAGE, { attributes: true, attributeFilter: ["data-theme"] });
    new MutationObserver(() => this.forget()).observe(PAGE, { attributes: true, attributeFilter: ["data-screen"] });
    model.on("figures", () => this.drawBody());
    model.on("msg:custom", (message) => this.receive(message));
    setInterval(() => this.drawTime(), 1000);
  }

  // The server.

  /** @param {ExploreData} data */
  update({ offer, search, deriving }) {
    this.offer = offer;
    this.search = search;
    if (this.deriving && !deriving) this.asksForSearch = false;
    this.deriving = deriving;
    if ((search?.key ?? null) !== this.candidates.key) {
      this.candidates.begin(search?.key ?? null);
      this.requestedFrom = -1;
      this.drawnLegend = "";
      if (search) this.axes = axesOf(search);
    }
    this.receivedAt = performance.now();
    this.requestRows();
    this.draw();
  }

  /** Request the rows that are missing, once. */
  requestRows() {
    const have = this.candidates.rows.length;
    if (!this.search || have >= this.search.count || this.requestedFrom === have) return;
    this.requestedFrom = have;
    this.model.send_msg({ kind: "trials", search: this.search.key, from: have });
  }

  /** @param {RowsMessage | { kind: "" }} message */
  receive(message) {
    if (message.kind !== "trials" || !this.candidates.take(message)) return;
    this.requestRows();
    this.draw();
  }

  // The user.

  /** @param {boolean} asks Whether the form is shown instead of the present search. */
  askForSearch(asks) {
    this.asksForSearch = asks;
    this.draw();
    if (asks) this.focus("start");
  }

  /** @param {number[]} point */
  open(point) {
    this.hover(null);
    this.model.send_msg({ kind: "open_point", point });
  }

  /**
   * @param {Row | null} row
   * @param {Rect | null} [rect]
   */
  hover(row, rect) {
    const before = this.hovered;
    this.hovered = row;
    if (!row || !rect || !this.search) this.card.hide();
    else if (row === before && this.card.shown) this.card.move(rect, "beside");
    else this.card.show(rect, "beside", hoverCard(this.search, row));
  }

  /** Draw a sample of the lines during a drag, and all of them afterwards. */
  filtered() {
    cancelAnimationFrame(this.frame);
    clearTimeout(this.settling);
    this.parallel.isDraft = true;
    this.frame = requestAnimationFrame(() => this.drawPlots());
    this.settling = setTimeout(() => {
      this.parallel.isDraft = false;
      this.drawPlots();
      this.drawSide();
    }, SETTLED_MS);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.key !== "Escape" || event.defaultPrevented || enlarged() !== "panes") return;
    if (this.candidates.brushes.size) {
      this.candidates.brushes.clear();
      this.filtered();
    } else enlarge(null);
    event.preventDefault();
    event.stopPropagation();
  }

  /** Forget pins and candidates when the page leaves a notebook: the next one counts its searches from 1 again. */
  forget() {
    if (PAGE.dataset.screen === "notebook") return;
    this.form.forget();
    this.candidates.begin(null);
    this.requestedFrom = -1;
  }

  /** @param {Outcome} status */
  toggle(status) {
    if (!this.candidates.hidden.delete(status)) this.candidates.hidden.add(status);
    this.drawnLegend = "";
    this.drawBody();
  }

  showAll() {
    this.candidates.brushes.clear();
    this.candidates.hidden.clear();
    this.drawnLegend = "";
    this.drawBody();
  }

  // Drawing.

  draw() {
    const { deriving, search } = this;
    const asks = !deriving && (!search || this.asksForSearch);
    this.derived.hidden = !deriving;
    if (deriving) this.derived.replaceChildren(...nodes(derivingParts(deriving)));
    const shown = deriving || asks ? null : search;
    const kept = shown?.kept.length ? `Kept: ${shown.kept.join("; ")}. ` : "";
    const lost = shown?.lost.length ? `Not kept: ${shown.lost.join("; ")}. ` : "";
    const database = shown?.database;
    const found = database?.text ?? "";
    const note = `${kept}${lost}${found.charAt(0).toUpperCase()}${found.slice(1)}`;
    this.note.hidden = !note;
    this.note.classList.toggle("is-warning", Boolean(lost || database?.failed));
    if (this.note.textContent !== note) this.note.textContent = note;
    this.form.element.hidden = !asks;
    this.body.hidden = asks || Boolean(deriving);
    if (asks && this.offer) this.form.draw(this.offer, search !== null);
    this.drawHead();
    if (!this.body.hidden) this.drawBody();
  }

  /**
   * Draw, and give the focus to the button that replaces the focused one.
   * @param {() => void} draw
   */
  keepFocus(draw) {
    const key = focusIn(this.view)?.dataset.key;
    draw();
    if (key && focusIn(this.view)?.dataset.key !== key) this.focus(key);
  }

  /** @param {string} key */
  focus(key) {
    const element = this.view.querySelector(`[data-key="${CSS.escape(key)}"]`);
    if (element instanceof HTMLElement) element.focus({ preventScroll: true });
  }

  drawHead() {
    const parts = this.deriving
      ? this.derivingHead(this.deriving)
      : this.search && !this.asksForSearch
        ? this.searchHead(this.search)
        : [
            h("b", { class: "xp-title" }, "Explore"),
            h("span", { class: "quiet xp-words" }, "search the holes of this schedule on the machine"),
            this.form.buttons(),
          ];
    this.keepFocus(() => this.head.replaceChildren(...nodes(parts)));
    this.drawTime();
  }

  /** @param {Deriving} deriving */
  derivingHead({ machine }) {
    return [
      h("b", { class: "xp-title", role: "status", "data-status": "deriving" }, "Deriving a schedule"),
      h("progress", { "aria-label": "Deriving a schedule" }),
      h("span", { class: "quiet xp-words" }, `tiles, orders, copies and pipelines for ${machine}`),
      this.stopButton(),
    ];
  }

  stopButton() {
    const stop = () => this.model.send_msg({ kind: "stop_exploring" });
    const attributes = { class: "tool small framed", type: "button", "data-key": "stop", onclick: stop };
    return h("button", attributes, icon("remove"), "Stop");
  }

  /** @param {Search} search */
  searchHead(search) {
    const isRunning = search.status === "waiting" || search.status === "running";
    const resume = () => this.model.send_msg({ kind: "resume_exploring" });
    return [
      h("b", { class: "xp-title", role: "status", "data-status": search.status }, statusText(search)),
      progressOf(search),
      this.time,
      h("span", { class: "quiet xp-words", title: search.asked }, search.asked),
      search.stale &&
        h(
          "span",
          {
            class: "tw-badge tw-badge--warn xp-stale",
            title: "The notebook has changed since the search began; the candidates belong to its earlier text",
          },
          search.stale,
        ),
      search.error && h("span", { class: "xp-error", role: "alert" }, "✘ ", search.error),
      isRunning && this.stopButton(),
      search.status === "stopped" &&
        h("button", { class: "tool small framed", type: "button", "data-key": "stop", onclick: resume }, "Resume"),
      !isRunning &&
        h(
          "button",
          { class: "tool small", type: "button", "data-key": "anew", onclick: () => this.askForSearch(true) },
          "New search…",
        ),
    ];
  }

  /** The remaining time also decreases between two values of the server. */
  drawTime() {
    if (this.search) this.time.textContent = timeText(this.search, (performance.now() - this.receivedAt) / 1000);
  }

  drawBody() {
    if (!this.search || this.body.hidden || !this.view.clientWidth) return;
    this.drawLegend(this.search);
    this.embedFigures();
    this.drawPlots();
    this.drawSide();
  }

  /** Embed the figures once for each theme; they draw their candidates themselves. */
  embedFigures() {
    if (!this.model.figures) return;
    this.figures ??= /** @type {NonNullable<typeof this.figures>} */ (JSON.parse(this.model.figures));
    const { scatter, axes, dark } = this.figures;
    this.scatter.figure.draw(scatter, dark, "Candidates");
    this.parallel.figure.draw(axes, dark, "A line for each candidate");
  }

  drawPlots() {
    this.scatter.draw();
    this.parallel.draw();
    const { isFiltered } = this.candidates;
    this.visibleText.textContent = isFiltered ? `${grouped(this.candidates.visible(this.axes).length)} visible` : "";
    if (!isFiltered) this.showAllButton.remove();
    else if (!this.showAllButton.isConnected) this.visibleCount.append(this.showAllButton);
  }

  /**
   * The axes of the scatter plot, and the outcomes, which can be hidden.
   * @param {Search} search
   */
  drawLegend(search) {
    const key = JSON.stringify([search.counts, this.axes.length]);
    if (this.drawnLegend === key) return;
    this.drawnLegend = key;
    const outcomes = OUTCOME_NAMES.filter((status) => search.counts[status] || this.candidates.hidden.has(status));
    const outcomeButton = (/** @type {Outcome} */ status) =>
      h(
        "button",
        {
          class: "tool small xp-kind",
          type: "button",
          "data-key": `kind ${status}`,
          "aria-pressed": String(!this.candidates.hidden.has(status)),
          title: "Show or hide these candidates",
          onclick: () => this.toggle(status),
        },
        legendMark(status),
        `${grouped(search.counts[status] ?? 0)} ${OUTCOMES[status]}`,
      );
    this.keepFocus(() =>
      this.legend.replaceChildren(
        this.axisChoice(search, "y", "Vertical axis"),
        h("span", { class: "quiet" }, "against"),
        this.axisChoice(search, "x", "Horizontal axis"),
        h(
          "span",
          { class: "xp-kinds", role: "group", "aria-label": "Outcomes of the candidates" },
          outcomes.map(outcomeButton),
        ),
        this.visibleCount,
      ),
    );
  }

  /**
   * @param {Search} search
   * @param {"x" | "y"} name
   * @param {string} label
   */
  axisChoice(search, name, label) {
    /** @type {HTMLSelectElement} */
    const select = h(
      "select",
      { "aria-label": label, "data-key": `axis ${name}`, onchange: () => change() },
      search.figures.map((figure) => h("option", { value: figure.key }, figure.label)),
    );
    const change = () => {
      this.scatter.keys[name] = select.value;
      this.filtered();
    };
    select.value = this.scatter.keys[name];
    return select;
  }

  drawSide() {
    const { search, candidates } = this;
    if (!search) return;
    const front = candidates.front(search).filter((row) => candidates.shows(row, this.axes));
    this.film.draw(search, candidates.rows);
    const width = Math.max(0, this.side.clientWidth - 24);
    const parts = [
      bestSoFar(search, this.film.frames, candidates.rows.length, width),
      frontTable(search, front, this.pane),
    ];
    this.keepFocus(() =>
      keepScroll(this.side, () => {
        this.selected.replaceChildren(...nodes([trialCard(search, candidates.selected(search), this.pane)]));
        this.front.replaceChildren(...nodes(parts));
      }),
    );
  }
}

/** @param {{ model: ExploreModel }} options */
export function render({ model }) {
  const explorer = new Explorer(model);
  follow(model, (/** @type {ExploreData} */ data) => explorer.update(data));
  return explorer.view;
}
