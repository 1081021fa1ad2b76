// The timeline: engines and their stalls, memories, one playhead. The server sends tables and windows; the browser draws and animates them.

import { readColors } from "../core/colors.js";
import { follow, h } from "../core/dom.js";
import { blankState } from "../core/settings.js";
import { latest, publish, subscribe } from "../core/bus.js";
import { keep, kept } from "../core/storage.js";
import { AfterDrop } from "./after_drop.js";
import { Area } from "./area.js";
import { Bookmarks } from "./bookmarks.js";
import { Card } from "./card.js";
import { drawHeader } from "./header.js";
import { Iterations } from "./iterations.js";
import { GUTTER, RIGHT, isDense, layoutOf, xAt } from "./layout.js";
import { RepeatMarks } from "./marks.js";
import { TimelineModel } from "./model.js";
import { momentOf } from "./moment.js";
import { Overview } from "./overview.js";
import { paintTimeline } from "./paint.js";
import { Pins } from "./pins.js";
import { TimelinePointer, isWithin } from "./pointer.js";
import { tablesOf } from "./tables.js";
import { CriticalPath } from "./path.js";
import { TaskSelection } from "./task_selection.js";
import { playheadText } from "./texts.js";
import { Transport } from "./transport.js";

/** @import { Colors } from "../core/colors.js" */
/** @import { FoundAnswer, PathAnswer, Remedy as RemedyAnswer, StepToBlame as BlamedAnswer } from "../views.js" */
/** @import { PayloadModel, Send } from "../core/dom.js" */
/** @import { Timeline as TimelineData, TimelineAfter, TotalsAnswer, WindowAnswer } from "../views.js" */
/** @import { Hit } from "./hit.js" */
/** @import { PlayheadState } from "./model.js" */
/** @import { Point } from "./pointer.js" */
/** @import { HoveredDrop } from "../core/hovered_drop.js" */

const KEYS =
  "Arrow keys move the playhead, with Shift to the next start or end of a task. W and S zoom about the playhead, A and D move the visible " +
  "range, Z zooms to the selected loop and then to one of its iterations, P goes to the names, where Enter pins a row, 0 shows all cycles. The brackets [ and ] start and end an area with totals at the playhead. M sets or removes a bookmark, B goes to the " +
  "next one, Shift B to the previous one. Space plays, comma and period change the speed. N goes to the next stall, Enter shows details at the playhead, " +
  "Escape closes them, L shows what the running tasks wait for, C the critical path, E folds the repeats, T shows tables.";

const ZOOM = 0.6;
/** The time between two questions about what would end a stall. */
const REMEDY_DELAY_MS = 300;
const PAN = 0.2; // of the visible range
/** The name under which the browser keeps whether repeats are folded. */
const FOLDED = "tilewright-timeline-folded";
/** The time after a preview in which the next one begins, as between two rows of the tree. */
const FOLD_AGAIN_MS = 600;

class TimelineView {
  /** @type {Colors | null} The colours of the present theme, once they are read. */
  colors = null;
  /** @type {PlayheadState | null} The last known state at the playhead. */
  state = null;
  /** Whether a frame is requested. */
  isScheduled = false;
  /** Whether the playhead was moved: the other views mark it from then on. */
  isPlayheadUsed = false;
  /** The announced state, the drawn tables and the text of the playhead: equal ones are not repeated. */
  announced = "";
  tableKey = "";
  playheadText = "";
  /** @type {number | null} The lane of a clicked stall whose window is requested. */
  pendingStallLane = null;
  /** @type {{ ticket: number } | null} The search that the server runs, and the newest one after it. */
  search = null;
  /** @type {{ template: number, place: number[] } | null} */
  nextSearch = null;

  /** @param {Send} send */
  constructor(send) {
    this.send = send;
    this.model = new TimelineModel(send, () => this.moved());
    this.path = new CriticalPath(send, this.model);
    this.selection = new TaskSelection(this.model);
    this.area = new Area(send, this.model, () => this.moved());
    this.bookmarks = new Bookmarks(this.model);
    this.iterations = new Iterations(this.model);
    this.iterations.row = latest("selected") ?? "";
    const pinned = (/** @type {string} */ said) => {
      this.said.textContent = said;
      this.moved();
    };
    this.pins = new Pins(pinned, () => this.head.focus({ preventScroll: true }));
    this.afterDrop = new AfterDrop(send, this.model, () => this.moved());
    const subscriptions = [
      subscribe("drop", (hovered) => this.hoverDrop(hovered)),
      subscribe("selected", (id) => this.selectRow(id)),
    ];
    this.unfollow = () => subscriptions.forEach((end) => end());
    /** @type {boolean | null} Whether the user wants repeats folded; null before a choice. */
    this.wantsFolded = kept("localStorage", FOLDED);
    this.model.isFoldChosen = this.wantsFolded === true;
    this.foldedFor = "";
    this.isUnfoldedForDrop = false;
    /** @type {number | undefined} */
    this.foldTimer = undefined;
    this.layout = layoutOf(this.model.data, 0, 0, false);
    this.top = h("div", { class: "timeline-head" });
    this.canvas = h("canvas", { class: "plot", "aria-hidden": "true" });
    this.marks = new RepeatMarks((repeat, mark) => this.openRepeat(repeat, mark));
    this.head = h(
      "div",
      {
        class: "playhead",
        role: "slider",
        tabindex: "0",
        "aria-label": "Playhead",
        "aria-describedby": "timeline-keys",
        "aria-valuemin": "0",
      },
      h("i"),
    );
    this.bubble = h("div", { class: "timeline-tip", hidden: true, role: "tooltip" });
    this.card = new Card(() => this.head.focus({ preventScroll: true }));
    this.tables = h("div", {
      class: "table-view",
      tabindex: "0",
      role: "region",
      "aria-label": "Timeline as tables",
      hidden: true,
    });
    this.dropNote = h("div", { class: "drop-note", hidden: true });
    const { fixed, element: pins } = this.pins;
    this.plot = h(
      "div",
      { class: "plot-holder" },
      fixed,
      this.canvas,
      this.marks.element,
      pins,
      this.dropNote,
      this.head,
    );
    this.stage = h(
      "div",
      { class: "stage" },
      this.plot,
      this.bubble,
      this.area.element,
      this.card.element,
      this.tables,
    );
    this.blank = h("div", { class: "timeline-blank" });
    this.links = h("p", { class: "tw-hidden", role: "status" });
    this.said = h("div", { class: "tw-hidden", role: "status" });
    this.transport = new Transport(this);
    this.overview = new Overview({
      show: (start, end, keepsSpan) => this.showRealRange(start, end, keepsSpan),
      seek: (cycle) => this.seek(cycle, { follow: true }),
    });
    this.pointer = new TimelinePointer(this);
    this.element = h(
      "div",
      {
        class: "timeline",
        role: "group",
        "aria-label": "Tasks and memories over time",
        onkeydown: (event) => this.key(event),
      },
      this.top,
      this.transport.element,
      this.stage,
      this.overview.element,
      this.blank,
      this.links,
      this.said,
      h("p", { id: "timeline-keys", class: "tw-hidden" }, KEYS),
    );
    new ResizeObserver(() => this.moved()).observe(this.stage);
    this.stage.addEventListener("scroll", () => this.moved());
    new MutationObserver(() => this.recolor()).observe(document.documentElement, {
      attributes: true,
      attributeFilter: ["data-theme"],
    });
  }

  /** @param {TimelineData} data */
  show(data) {
    this.model.show(data);
    this.path.forget();
    if (data.cycles) this.selection.follow(); // no data while the run is simulated
    this.afterDrop.reset();
    this.area.follow();
    this.search = this.nextSearch = null; // a search in another report gets no answer
    this.element.classList.toggle("is-empty", !data.cycles);
    this.card.close();
    this.blank.replaceChildren(...(data.blank ? [blankState(this.send, data.blank)] : []));
    this.drawHeader();
    if (!data.cycles) publish("moment", null);
    this.overview.show(data);
    this.transport.show(data);
    this.announced = "";
    this.moved();
  }

  /** @param {WindowAnswer | FoundAnswer | BlamedAnswer | PathAnswer | RemedyAnswer | TimelineAfter | TotalsAnswer} answer */
  receive(answer) {
    if (answer.kind === "window") this.model.receive(answer);
    else if (answer.kind === "path") this.receivePath(answer);
    else if (answer.kind === "found") this.receiveFound(answer);
    else if (answer.kind === "totals") this.area.receive(answer);
    else if (answer.kind === "timeline_after") this.afterDrop.receive(answer);
    else if (answer.kind === "remedy") this.receiveRemedy(answer);
    else if (answer.kind === "blamed") {
      this.card.showStep(answer);
      this.send({ kind: "remedy" });
    }
  }

  // ---- Drawing.

  /** Draw in the next frame. */
  moved() {
    if (this.isScheduled) return;
    this.isScheduled = true;
    requestAnimationFrame(() => {
      this.isScheduled = false;
      this.draw();
    });
  }

  recolor() {
    this.colors = null;
    this.moved();
  }

  draw() {
    const { model } = this;
    const { clientWidth: width, clientHeight: height } = this.stage;
    if (!model.data.cycles || !width || !height) return;
    this.colors ??= readColors(this.element);
    this.foldByItself(width);
    const hasIterations = this.iterations.loop !== undefined;
    this.layout = layoutOf(model.data, width, height, model.folded, this.pins.of(model.data), hasIterations);
    model.requestMissing();
    this.path.requestMissing();
    this.afterDrop.requestMissing();
    const state = model.stateAtPlayhead();
    this.state = state ?? this.state;
    this.overview.paint(this.colors, document.documentElement.dataset.theme); // reads its width: before any change of the layout
    paintTimeline(this.canvas, model, this.layout, this.colors, state, (pen) => {
      this.iterations.paint(pen);
      this.path.paint(pen);
      this.selection.paint(pen);
      this.afterDrop.paint(pen);
      this.area.paint(pen);
      this.bookmarks.paint(pen);
    });
    this.dropNote.textContent = this.afterDrop.note;
    this.dropNote.hidden = !this.afterDrop.note;
    this.announceSelection();
    this.plot.style.height = `${this.layout.height}px`;
    this.marks.draw(model, this.layout);
    this.pins.draw(model.data, this.layout, this.canvas, this.stage.scrollTop, this.colors.surface);
    this.drawPlayhead(state);
    const { start, end } = model.view;
    this.overview.place(model.toReal(start), end >= model.length ? model.data.cycles : model.toReal(end), model.cycle);
    this.transport.update();
    this.drawTables();
    if (state && this.isPlayheadUsed) this.announce(state);
    if (state && this.pendingStallLane !== null) this.openPendingStall(state, this.pendingStallLane);
  }

  /**
   * Until the user chooses, a new run has its repeats folded if single tasks would be too narrow to see.
   * @param {number} width
   */
  foldByItself(width) {
    const { data } = this.model;
    const key = `${data.report} ${width}`;
    if (this.wantsFolded !== null || key === this.foldedFor || this.path.isShown) return;
    this.foldedFor = key;
    this.model.setFolded(isDense(data, width - GUTTER - RIGHT));
  }

  /**
   * A run that folded by itself is in real time while drops are previewed on it.
   * @param {HoveredDrop | null} hovered
   */
  hoverDrop(hovered) {
    clearTimeout(this.foldTimer);
    if (this.wantsFolded === null && hovered && this.model.folded) {
      this.isUnfoldedForDrop = true;
      this.model.setFolded(false);
      this.moved();
    } else if (!hovered && this.isUnfoldedForDrop) {
      this.foldTimer = window.setTimeout(() => {
        this.isUnfoldedForDrop = false;
        this.foldedFor = "";
        this.moved();
      }, FOLD_AGAIN_MS);
    }
    this.afterDrop.hover(hovered);
  }

  drawHeader() {
    const shown = { path: this.path.isShown, tables: !this.tables.hidden, loop: this.iterations.loop?.name };
    drawHeader(this.top, this.model.data, shown, {
      selectBuffer: (name) => this.send({ kind: "select", buffer: name }),
      togglePath: () => this.togglePath(),
      toggleTables: () => this.toggleTables(),
      fit: () => this.fit(),
      zoomToLoop: () => this.zoomToLoop(),
    });
  }

  /** The position of the playhead. */
  get playheadX() {
    return xAt(this.model.view, this.layout, this.model.toDrawn(this.model.cycle));
  }

  /** @param {PlayheadState | null} state */
  drawPlayhead(state) {
    const { model, head, layout } = this;
    const x = this.playheadX;
    const right = layout.width - RIGHT;
    head.classList.toggle("is-out", x < GUTTER - 1 || x > right + 1);
    head.style.transform = `translateX(${Math.max(GUTTER, Math.min(x, right))}px)`;
    head.style.height = `${layout.bottom + 4}px`;
    head.setAttribute("aria-valuemax", String(model.data.cycles));
    head.setAttribute("aria-valuenow", String(Math.round(model.cycle)));
    const text = playheadText(model, state);
    if (text !== this.playheadText) head.setAttribute("aria-valuetext", (this.playheadText = text));
  }

  drawTables() {
    if (this.tables.hidden) return;
    const key = `${this.model.data.report} ${Math.round(this.model.cycle)} ${this.state !== null}`;
    if (key === this.tableKey) return;
    this.tableKey = key;
    const further = [
      {
        caption: "Critical path",
        heads: ["Task", "Engine", "The next task waits for", "Cycles", "Share"],
        rows: this.path.isShown ? this.path.rows : [],
      },
      { caption: "Selected task", heads: ["It", "Task", "Why", "Start"], rows: this.selection.rows },
    ];
    this.tables.replaceChildren(...tablesOf(this.model, this.state, further));
  }

  /** Show or hide the critical path; it is drawn over a true axis. */
  togglePath() {
    this.path.isShown = !this.path.isShown;
    if (this.path.isShown) this.model.setFolded(false);
    this.tableKey = "";
    this.drawHeader();
    this.moved();
  }

  /**
   * Show what would end the stall; while calls are tried, ask again.
   * @param {RemedyAnswer} answer
   */
  receiveRemedy(answer) {
    this.card.showRemedy(answer, ({ calls, replaces }) => {
      this.card.close();
      this.send({ kind: "fix", calls, replaces });
    });
    if (answer.looking && this.card.isStall)
      setTimeout(() => this.card.isStall && this.send({ kind: "remedy" }), REMEDY_DELAY_MS);
  }

  /** @param {PathAnswer} answer */
  receivePath(answer) {
    this.path.receive(answer);
    this.tableKey = "";
    this.moved();
  }

  /** Tell what the selected task waits for, if that changed. */
  announceSelection() {
    const { text } = this.selection;
    if (this.links.textContent !== text) this.links.textContent = text;
  }

  /** Select the tasks that run at the playhead one after another. */
  selectRunning() {
    const known = this.model.exactAtPlayhead();
    const { lane } = this.selection.at ?? { lane: -1 };
    if (!known) return;
    const { start, length } = known.window.tasks;
    const running = [...start.keys()].filter((n) => start[n] <= known.at && known.at < start[n] + length[n]);
    const next = running.find((n) => this.selection.laneOf(known.window, n) > lane) ?? running[0];
    if (next !== undefined) this.selection.select(known.window, next);
    this.tableKey = "";
  }

  toggleTables() {
    this.tables.hidden = !this.tables.hidden;
    this.tableKey = "";
    this.drawHeader();
    this.moved();
    (this.tables.hidden ? this.head : this.tables).focus({ preventScroll: true });
  }

  /**
   * Show a tip at a point; "" hides it.
   * @param {string} text
   * @param {Point} [point]
   */
  tip(text, point) {
    const { bubble, stage } = this;
    bubble.hidden = !text;
    if (!text || !point) return;
    bubble.textContent = text;
    const { offsetWidth, offsetHeight } = bubble;
    const left = Math.min(point.x + 14, stage.clientWidth - offsetWidth - 4);
    const top = Math.min(point.shown + 16, stage.clientHeight - offsetHeight - 2);
    bubble.style.left = `${Math.max(4, left)}px`;
    bubble.style.top = `${stage.scrollTop + Math.max(2, top)}px`;
  }

  /**
   * Announce the state to the other views, if it changed.
   * @param {PlayheadState} state
   */
  announce(state) {
    const moment = momentOf(this.model, state);
    const key = JSON.stringify([moment.rows, moment.lines, state.cells]);
    if (key === this.announced) return;
    this.announced = key;
    publish("moment", moment);
  }

  // ---- Moving.

  fit() {
    this.model.fit();
    this.moved();
  }

  /** @param {string} id The selected row of the tree; "" for none. */
  selectRow(id) {
    if (id === this.iterations.row) return;
    this.iterations.row = id;
    this.drawHeader();
    this.moved();
  }

  /** Show the iterations of the selected loop around the playhead, then the one at the playhead. */
  zoomToLoop() {
    const { model } = this;
    const range = this.iterations.range();
    if (!range) {
      this.said.textContent = "No loop around tasks is selected";
      return;
    }
    model.showRange(model.toDrawn(range.start), Math.max(model.toDrawn(range.end), model.toDrawn(range.start) + 1));
    this.moved();
  }

  /**
   * The choice of the user, which the browser keeps.
   * @param {boolean} folded
   */
  chooseFolded(folded) {
    keep("localStorage", FOLDED, (this.wantsFolded = folded));
    this.model.setFolded(folded);
    this.moved();
  }

  /**
   * Show a range of real time; repeats are expanded for it.
   * @param {number} start
   * @param {number} end
   * @param {boolean} [keepsSpan] Whether the range keeps its width at the ends of the run.
   */
  showRealRange(start, end, keepsSpan = false) {
    const { model } = this;
    model.setFolded(false);
    if (keepsSpan) {
      const span = end - start;
      const from = Math.min(Math.max(0, start), model.length - span);
      model.showRange(from, from + span);
    } else model.showRange(Math.max(0, start), Math.min(model.length, end));
    this.moved();
  }

  /**
   * Move the playhead; with `follow` the visible range follows it.
   * @param {number} cycle
   * @param {{ follow?: boolean }} [options]
   */
  seek(cycle, { follow: isFollowed = false } = {}) {
    const { model } = this;
    this.isPlayheadUsed = true;
    model.seek(cycle);
    const time = model.toDrawn(model.cycle);
    const { start, end } = model.view;
    if (isFollowed && (time < start || time > end)) model.pan(time - start - model.span * (time > end ? 0.15 : 0.85));
    this.moved();
  }

  /** @param {number} time */
  seekDrawn(time) {
    const { model } = this;
    this.seek(model.toReal(Math.min(Math.max(model.view.start, time), model.view.end)));
  }

  /** @param {1 | -1} direction */
  step(direction) {
    this.seek(this.model.nextEdge(direction), { follow: true });
  }

  /**
   * Move the playhead by a hundredth of the visible range, at least by a cycle.
   * @param {1 | -1} direction
   */
  nudge(direction) {
    const { model } = this;
    const time = model.toDrawn(model.cycle) + direction * Math.max(1, model.span / 100);
    this.seek(model.toReal(Math.max(0, time)), { follow: true });
  }

  /** @param {1 | -1} direction */
  seekStall(direction) {
    const cycle = this.model.nextStall(direction);
    if (cycle !== null) this.seek(cycle, { follow: true });
  }

  /**
   * Move the playhead to the task of a template at given iterations. Where the server searches, it does so once at a time; only the newest
   * search waits.
   * @param {number} template
   * @param {number[]} place
   */
  find(template, place) {
    const on = this.model.showCoreOf(template, place);
    this.moved();
    if (this.model.scene.run) {
      const task = this.model.scene.task(template, on.place, on.held);
      if (task) this.seek(task.start, { follow: true });
      this.transport.isChoosing = false;
      return;
    }
    if (this.search) {
      this.nextSearch = { template, place };
      return;
    }
    const ticket = ++this.model.tickets;
    this.search = { ticket };
    this.send({ kind: "find", ticket, template, place: on.place });
  }

  /** @param {FoundAnswer} answer */
  receiveFound({ ticket, cycle, report }) {
    if (ticket !== this.search?.ticket) return;
    const next = this.nextSearch;
    this.search = this.nextSearch = null;
    if (report === this.model.data.report && cycle !== null) this.seek(cycle, { follow: true });
    if (next) this.find(next.template, next.place);
    else this.transport.isChoosing = false;
  }

  /**
   * Show the tasks of a core: those of the first core with the blocks of this one.
   * @param {number} core
   */
  showCore(core) {
    this.model.core = core;
    this.tableKey = this.announced = "";
    this.moved();
  }

  /** @param {1 | -1} direction */
  seekBookmark(direction) {
    const cycle = this.bookmarks.next(direction);
    if (cycle !== null) this.seek(cycle, { follow: true });
  }

  toggleBookmark() {
    this.said.textContent = this.bookmarks.toggle();
    this.moved();
  }

  // ---- Selection.

  /**
   * Select the area between two drawn times.
   * @param {number} one
   * @param {number} other
   */
  selectArea(one, other) {
    this.area.select(this.model.toReal(one), this.model.toReal(other));
  }

  /**
   * A click: on a task it selects the block in the tree, on a stall it shows the cause.
   * @param {Hit | null} hit
   * @param {Point} point
   * @param {number} lane The lane whose strip of stalls was clicked, or -1.
   */
  select(hit, { x, time }, lane) {
    this.card.close();
    this.selection.clear();
    this.area.clear();
    this.tableKey = "";
    this.seekDrawn(time);
    const { model } = this;
    const row = hit && "row" in hit ? hit.row : -1;
    const cores = model.data.chip?.classes.find((group) => group.row === row);
    if (cores && model.data.chip?.numbers) this.showCore(cores.first);
    if (hit?.kind === "task") {
      const { template, number } = model.task(hit.window, hit.n);
      this.transport.showLoopsOf(number);
      this.selection.select(hit.window, hit.n);
      if (template.rows.length) this.send({ kind: "select", id: template.rows[0] });
    } else if (hit?.kind === "wait") {
      const { of, length } = hit.window.waits;
      this.openStall(of[hit.n], length[hit.n], x);
    } else if (lane >= 0 && model.windows().some((window) => !window.exact)) {
      this.pendingStallLane = lane;
      this.moved();
    }
  }

  /** Show what a click at the playhead would show. */
  selectAtPlayhead() {
    const state = this.model.stateAtPlayhead();
    if (!state) return;
    const stall = state.waits.find((n) => this.model.data.waits[n].cause !== "idle");
    const row = state.tasks.at(0)?.template.rows.at(0);
    if (stall !== undefined) this.openStall(stall, null, this.playheadX);
    else if (row) this.send({ kind: "select", id: row });
  }

  /**
   * Show the stall of a lane that was clicked as a bin.
   * @param {PlayheadState} state
   * @param {number} lane
   */
  openPendingStall(state, lane) {
    this.pendingStallLane = null;
    const stall = state.waits.find((n) => this.model.data.waits[n].lane === lane);
    if (stall !== undefined) this.openStall(stall, null, this.playheadX);
  }

  /**
   * @param {number} number
   * @param {number | null} cycles Its length; null if it is part of a bin.
   * @param {number} x
   */
  openStall(number, cycles, x) {
    const { data } = this.model;
    const wait = data.waits[number];
    this.card.openStall(x, data, wait, cycles);
    if (wait.cause === "idle") return;
    const { cause, buffer, row } = wait;
    const { engine } = data.engines[wait.lane];
    this.send({ kind: "select_stall", engine, cause, buffer, block: wait.block || wait.what, row });
  }

  /**
   * @param {number} number
   * @param {HTMLElement} mark
   */
  openRepeat(number, mark) {
    const { model } = this;
    const { start, end, cycles } = model.data.repeats[number];
    const realTime = (/** @type {number} */ time, /** @type {number} */ copy) =>
      model.timeMap.real(time, { ...model.copies, [number]: copy });
    this.card.openRepeat(mark.offsetLeft, model, number, {
      seek: (copy) => {
        const time = model.toDrawn(model.cycle);
        this.seek(realTime(time >= start && time < end ? time : start, copy));
      },
      zoom: () => {
        const margin = (end - start) * 0.05;
        model.showRange(start - margin, end + margin);
        this.moved();
      },
      expand: (copy) => {
        const begin = realTime(start, copy);
        this.card.close();
        model.setFolded(false);
        model.showRange(begin - cycles, begin + 2 * cycles);
        this.seek(begin);
      },
    });
  }

  // ---- Keys.

  /** @param {KeyboardEvent} event */
  key(event) {
    const { data } = this.model;
    if (
      !data.cycles ||
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      isWithin(event, ".timeline-card, .area-totals")
    )
      return;
    const isOnHead = event.target === this.head;
    if (!isOnHead && isWithin(event, "input, select, button")) return;
    const act = this.keyAction(event.key, event.shiftKey);
    if (!act || (!isOnHead && /^(Arrow|Page|Home|End|Enter)/.test(event.key))) return;
    event.preventDefault();
    event.stopPropagation();
    act();
    this.moved();
  }

  /**
   * @param {string} key
   * @param {boolean} isShifted
   * @returns {(() => void) | undefined}
   */
  keyAction(key, isShifted) {
    const { model, transport } = this;
    const arrow = (/** @type {1 | -1} */ direction) => (isShifted ? this.step(direction) : this.nudge(direction));
    const zoom = (/** @type {number} */ factor) => model.zoom(factor, model.toDrawn(model.cycle));
    /** @type {Record<string, () => void>} */
    const actions = {
      ArrowRight: () => arrow(1),
      ArrowLeft: () => arrow(-1),
      w: () => zoom(ZOOM),
      s: () => zoom(1 / ZOOM),
      a: () => model.pan(-PAN * model.span),
      d: () => model.pan(PAN * model.span),
      PageUp: () => model.pan(-0.8 * model.span),
      PageDown: () => model.pan(0.8 * model.span),
      Home: () => this.seek(0, { follow: true }),
      End: () => this.seek(model.data.cycles - 1, { follow: true }),
      "+": () => zoom(ZOOM),
      "=": () => zoom(ZOOM),
      "-": () => zoom(1 / ZOOM),
      0: () => this.fit(),
      " ": () => transport.toggle(),
      ",": () => transport.changeSpeed(-1),
      ".": () => transport.changeSpeed(1),
      n: () => this.seekStall(1),
      N: () => this.seekStall(-1),
      Escape: () => {
        this.card.close();
        this.selection.clear();
        this.area.clear();
      },
      "[": () => this.area.startAt(model.cycle),
      "]": () => this.area.endAt(model.cycle),
      m: () => this.toggleBookmark(),
      z: () => this.zoomToLoop(),
      p: () => this.pins.focus(),
      b: () => this.seekBookmark(1),
      B: () => this.seekBookmark(-1),
      c: () => this.togglePath(),
      l: () => this.selectRunning(),
      Enter: () => this.selectAtPlayhead(),
      t: () => this.toggleTables(),
      e: () => {
        if (model.data.repeats.length) this.chooseFolded(!model.folded);
      },
    };
    return Object.hasOwn(actions, key) ? actions[key] : undefined;
  }
}

/** @param {{ model: PayloadModel }} props */
export function render({ model }) {
  const view = new TimelineView((message) => model.send_msg(message));
  follow(model, (/** @type {TimelineData} */ data) => view.show(data));
  model.on("msg:custom", (message) => view.receive(message));
  model.on("remove", () => view.unfollow());
  return view.element;
}
