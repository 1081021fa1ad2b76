// The Explore pane: a search of the schedule's holes, while it goes on and afterwards. Large it takes the place of tree and timeline.

import { follow, h, icon, keepScroll } from "../core/dom.js";
import { ParallelAxes } from "./axes.js";
import { ExploreForm } from "./form.js";
import { axesOf, Candidates, digits, OUTCOMES } from "./model.js";
import { bestSoFar, frontTable, hoverCard, trialCard } from "./side.js";
import { legendMark, Scatter } from "./scatter.js";
import { Popup } from "../core/popup.js";
import { readColors } from "../core/colors.js";

const PAGE = document.documentElement;
const RESTED_MS = 160;
const STANDING = {
  waiting: "Waiting for a place",
  running: "Searching",
  stopped: "Stopped",
  ended: "All tried",
  failed: "It could not be searched",
};

/** In a word how it stands; while the best are checked, and where time was up before all were tried, that. */
function standingWords(data) {
  if (data.standing === "running" && data.checking) return "Checking the best";
  return data.standing === "ended" && data.count < data.total ? "Time is up" : STANDING[data.standing];
}

function progressOf(data) {
  const [done, total, what] = data.checking
    ? [...data.checking, "Candidates checked"]
    : [data.count, data.total, "Candidates tried"];
  return [
    h("progress", { max: String(Math.max(1, total)), value: String(done), "aria-label": what }),
    h("span", { class: "xp-count" }, h("b", {}, digits(done)), ` of ${digits(total)}`),
  ];
}

const clock = (seconds) =>
  seconds < 60
    ? `${Math.ceil(seconds)} s`
    : `${Math.floor(seconds / 60)} min ${String(Math.round(seconds % 60)).padStart(2, "0")} s`;

class Explorer {
  constructor(model) {
    this.model = model;
    this.candidates = new Candidates();
    this.axes = [];
    this.inks = null;
    this.asksAnew = false;
    const shared = {
      candidates: this.candidates,
      axes: () => this.axes,
      data: () => this.search,
      inks: () => (this.inks ??= readColors(this.view)),
      hover: (row, rect) => this.hover(row, rect),
      choose: (row) => this.choose(row),
      open: (row) => this.open(row),
      brushed: () => this.filtered(),
    };
    this.act = shared;
    this.scatter = new Scatter(shared);
    this.parallel = new ParallelAxes(shared);
    this.form = new ExploreForm(
      (message) => this.start(message),
      () => this.toFound(),
    );
    this.head = h("div", { class: "xp-top" });
    this.tools = h("div", { class: "xp-legend" });
    this.sights = h("span", { class: "xp-sights", role: "status" });
    this.side = h("div", {
      class: "xp-side",
      tabindex: "0",
      role: "group",
      "aria-label": "The candidate that is looked at",
    });
    this.body = h(
      "div",
      { class: "xp-body" },
      h("div", { class: "xp-scatter" }, this.tools, this.scatter.canvas),
      this.side,
      this.parallel.element,
    );
    this.view = h("section", { class: "xp", "aria-label": "Explore" }, this.head, this.body, this.form.element);
    this.card = new Popup(this.view, "tip xp-tip");
    this.view.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.redraw()).observe(this.view);
    new MutationObserver(() => this.recolour()).observe(PAGE, { attributes: true, attributeFilter: ["data-theme"] });
    model.on("msg:custom", (message) => this.heard(message.data ?? message));
    setInterval(() => this.tick(), 1000);
  }

  // What the server says.

  follow(data) {
    this.offer = data.offer;
    const before = this.search;
    this.search = data.search;
    if (data.search?.key !== this.candidates.key) {
      this.candidates.begin(data.search?.key ?? null);
      this.toolsFor = null;
    }
    if (data.search && before?.key !== data.search.key) this.axes = axesOf(data.search);
    this.told = performance.now();
    this.ask();
    this.draw();
  }

  /** The rows that are not here yet. */
  ask() {
    const have = this.candidates.rows.length;
    if (!this.search || have >= this.search.count || this.candidates.asked === have) return;
    this.candidates.asked = have;
    this.model.send_msg({ kind: "trials", search: this.search.key, from: have });
  }

  heard(message) {
    if (message.kind !== "trials" || !this.candidates.take(message)) return;
    this.ask();
    this.draw();
  }

  // What a person does.

  start(message) {
    this.model.send_msg(message);
    if (message.kind === "explore") this.enlarge(true);
  }

  toFound() {
    this.asksAnew = false;
    this.draw();
  }

  choose(row) {
    this.model.send_msg({ kind: "trial", trial: row.number });
  }

  open(row) {
    this.hover(null);
    this.model.send_msg({ kind: "open_point", point: row.point });
  }

  hover(row, rect) {
    if (row === this.hovered && row) return this.card.move(rect, "beside");
    this.hovered = row;
    if (!row) return this.card.hide();
    return this.card.show(rect, "beside", hoverCard(this.search, row));
  }

  filtered() {
    cancelAnimationFrame(this.frame);
    clearTimeout(this.rest);
    this.parallel.isHasty = true;
    this.frame = requestAnimationFrame(() => this.paint());
    this.rest = setTimeout(() => {
      this.parallel.isHasty = false;
      this.paint();
      this.drawSide();
    }, RESTED_MS);
  }

  key(event) {
    if (event.key !== "Escape" || event.defaultPrevented || !this.isLarge) return;
    if (this.candidates.brushes.size) {
      this.candidates.brushes.clear();
      this.filtered();
    } else this.enlarge(false);
    event.preventDefault();
    event.stopPropagation();
  }

  get isLarge() {
    return PAGE.dataset.explore === "large";
  }

  enlarge(large) {
    if (large) PAGE.dataset.explore = "large";
    else delete PAGE.dataset.explore;
    window.dispatchEvent(new Event("resize"));
    this.drawHead();
  }

  recolour() {
    this.inks = null;
    this.toolsFor = null;
    this.draw();
  }

  // Drawing.

  draw() {
    const asks = !this.search || this.asksAnew;
    this.form.element.hidden = !asks;
    this.body.hidden = asks;
    if (asks && this.offer) this.form.draw(this.offer, Boolean(this.search));
    this.drawHead();
    if (!asks) this.redraw();
  }

  drawHead() {
    const key = this.view.getRootNode().activeElement?.dataset?.key;
    const large = h(
      "button",
      {
        class: "tool small",
        type: "button",
        "data-key": "large",
        "aria-expanded": String(this.isLarge),
        title: this.isLarge ? "Back beside the timeline (Escape)" : "Over tree and timeline",
        onclick: () => this.enlarge(!this.isLarge),
      },
      this.isLarge ? "Make small" : "Make large",
    );
    this.head.replaceChildren(
      ...(this.search && !this.asksAnew
        ? this.searchHead(this.search)
        : [
            h("b", { class: "xp-title" }, "Explore"),
            h("span", { class: "quiet xp-words" }, "search the holes of this schedule on the machine"),
            ...this.form.buttons(),
          ]),
      large,
    );
    if (key) this.view.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
  }

  searchHead(data) {
    const going = ["waiting", "running"].includes(data.standing);
    const send = (kind) => () => this.model.send_msg({ kind });
    const anew = () => {
      this.asksAnew = true;
      this.draw();
      this.view.querySelector("[data-key=start]")?.focus();
    };
    this.left = h("span", { class: "xp-left" });
    this.tick();
    return [
      h("b", { class: "xp-title", role: "status", "data-standing": data.standing }, standingWords(data)),
      ...progressOf(data),
      this.left,
      h("span", { class: "quiet xp-words", title: data.asked }, data.asked),
      data.stale
        ? h(
            "span",
            {
              class: "tw-badge tw-badge--warn xp-stale",
              title:
                "The notebook says something else by now: these candidates are of what was there when the search began",
            },
            data.stale,
          )
        : null,
      data.error ? h("span", { class: "xp-error", role: "alert" }, "✘ ", data.error) : null,
      going
        ? h(
            "button",
            { class: "tool small framed", type: "button", "data-key": "stop", onclick: send("stop_exploring") },
            icon("remove"),
            "Stop",
          )
        : null,
      data.standing === "stopped"
        ? h(
            "button",
            { class: "tool small framed", type: "button", "data-key": "stop", onclick: send("go_on_exploring") },
            "Go on",
          )
        : null,
      going
        ? null
        : h("button", { class: "tool small", type: "button", "data-key": "anew", onclick: anew }, "New search…"),
    ].filter(Boolean);
  }

  /** The time left goes on between what the server says. */
  tick() {
    const data = this.search;
    if (!data || !this.left) return;
    const since = (performance.now() - this.told) / 1000;
    const running = data.standing === "running";
    this.left.textContent =
      running && data.left !== null
        ? `${clock(Math.max(0, data.left - since))} left`
        : running
          ? ""
          : data.seconds
            ? `in ${clock(data.seconds)}`
            : "";
  }

  redraw() {
    if (!this.search || this.body.hidden || !this.view.clientWidth) return;
    this.drawTools();
    this.paint();
    this.drawSide();
  }

  paint() {
    this.scatter.draw();
    this.parallel.draw();
    const some = this.candidates.brushes.size + this.candidates.hidden.size;
    const clear = () => {
      this.candidates.brushes.clear();
      this.candidates.hidden.clear();
      this.toolsFor = null;
      this.redraw();
    };
    const count = some ? this.candidates.inSight(this.axes).length : 0;
    this.sights.replaceChildren(
      ...(some
        ? [
            `${digits(count)} in sight`,
            h("button", { class: "tool small", type: "button", onclick: clear }, "Show all"),
          ]
        : []),
    );
  }

  /** Axes of the scatter, and what came of how many, which can be left out. */
  drawTools() {
    const counts = JSON.stringify([this.search.counts, this.axes.length]);
    if (this.toolsFor === counts) return;
    this.toolsFor = counts;
    const key = this.view.getRootNode().activeElement?.dataset?.key;
    const choice = (name, label) => {
      const change = (event) => {
        this.scatter.keys[name] = event.target.value;
        this.filtered();
      };
      const select = h(
        "select",
        { "aria-label": label, "data-key": `axis ${name}`, onchange: change },
        this.search.figures.map((figure) => h("option", { value: figure.key }, figure.label)),
      );
      select.value = this.scatter.keys[name];
      return select;
    };
    const inks = this.act.inks();
    const kinds = Object.entries(OUTCOMES).filter(
      ([status]) => this.search.counts[status] || this.candidates.hidden.has(status),
    );
    this.tools.replaceChildren(
      choice("y", "Upward"),
      h("span", { class: "quiet" }, "against"),
      choice("x", "To the right"),
      h(
        "span",
        { class: "xp-kinds", role: "group", "aria-label": "What came of the candidates" },
        kinds.map(([status, { word }]) =>
          h(
            "button",
            {
              class: "tool small xp-kind",
              type: "button",
              "data-key": `kind ${status}`,
              "aria-pressed": String(!this.candidates.hidden.has(status)),
              title: "Show or leave out",
              onclick: () => this.leaveOut(status),
            },
            legendMark(status, inks),
            `${digits(this.search.counts[status] ?? 0)} ${word}`,
          ),
        ),
      ),
      this.sights,
    );
    if (key) this.tools.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
  }

  leaveOut(status) {
    if (!this.candidates.hidden.delete(status)) this.candidates.hidden.add(status);
    this.toolsFor = null;
    this.redraw();
  }

  drawSide() {
    const data = this.search;
    const key = this.view.getRootNode().activeElement?.dataset?.key;
    const front = data.front
      .map((number) => this.candidates.byNumber.get(number))
      .filter((row) => row && this.candidates.shows(row, this.axes));
    keepScroll(this.side, () =>
      this.side.replaceChildren(
        ...[
          trialCard(data, this.candidates.byNumber.get(data.card?.trial), this.act),
          bestSoFar(data, this.candidates.rows, Math.max(0, this.side.clientWidth - 24)),
          frontTable(data, front, this.act),
        ].filter(Boolean),
      ),
    );
    if (key) this.side.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
  }
}

export function render({ model }) {
  const explorer = new Explorer(model);
  follow(model, (data) => explorer.follow(data));
  return explorer.view;
}
