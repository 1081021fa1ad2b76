// The timeline: engines, what they wait for, the banks, one playhead. The server sends tables and windows; everything that moves is here.

import { blankState, follow, h } from "../core/dom.js";
import { Card } from "./card.js";
import { CAUSES, readColors } from "../core/colors.js";
import { grouped } from "./clock.js";
import { TimelineModel } from "./model.js";
import { Overview, OVERVIEW_INSET } from "./overview.js";
import { GUTTER } from "./gutter.js";
import { LEVELS, MARK, Painter, RIGHT, layoutOf } from "./paint.js";
import { TimelinePointer } from "./pointer.js";
import { Transport } from "./transport.js";
import { nowText, tablesOf } from "./table.js";
import { announceMoment } from "../core/playhead.js";
import { patchChildren } from "../core/patch.js";

const LEAST_MARK = 19;

const KEYS =
  "Arrows move the playhead, with shift from task to task; Page Up and Page Down the view; plus and minus zoom, 0 fits. Space plays, comma and " +
  "period change the speed. W goes to the next wait, Enter tells about what is at the playhead, E unfolds what repeats, T shows tables.";

class TimelineView {
  constructor(sender) {
    this.sender = sender;
    this.model = new TimelineModel(
      (message) => sender.send_msg(message),
      () => this.moved(),
    );
    this.build();
    this.painter = new Painter(this.canvas);
    this.pointer = new TimelinePointer(this);
    new ResizeObserver(() => this.moved()).observe(this.stage);
    new MutationObserver(() => this.recolour()).observe(document.documentElement, {
      attributes: true,
      attributeFilter: ["data-theme"],
    });
    this.element.addEventListener("keydown", (event) => this.key(event));
  }

  build() {
    this.top = h("div", { class: "timeline-head" });
    this.canvas = h("canvas", { class: "plot", "aria-hidden": "true" });
    this.marks = h("div", { class: "marks" });
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
      h("i", {}),
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
    this.plot = h("div", { class: "plot-holder" }, this.canvas, this.marks, this.head);
    this.stage = h("div", { class: "stage" }, this.plot, this.bubble, this.card.element, this.tables);
    this.blank = h("div", { class: "timeline-blank" });
    this.transport = new Transport(this);
    this.overview = new Overview({
      look: (start, end, whole) => this.lookByClock(start, end, whole),
      seek: (cycle) => this.seek(cycle, { follow: true }),
    });
    this.overview.element.setAttribute("style", OVERVIEW_INSET);
    this.element = h(
      "div",
      { class: "timeline", role: "group", "aria-label": "Tasks and memories over time" },
      this.top,
      this.transport.element,
      this.stage,
      this.overview.element,
      this.blank,
      h("p", { id: "timeline-keys", class: "tw-hidden" }, KEYS),
    );
  }

  show(data) {
    this.model.show(data);
    this.wish = this.wishing = null; // what was asked of another report is not answered
    this.transport.choosing = undefined;
    this.element.classList.toggle("is-empty", !data.cycles);
    if (!this.card.element.hidden) this.card.close();
    this.blank.replaceChildren(
      ...(data.blank ? [blankState((message) => this.sender.send_msg(message), data.blank)] : []),
    );
    this.drawTop();
    if (!data.cycles) announceMoment(null);
    this.overview.show(data);
    this.transport.show(data);
    this.announced = "";
    this.moved();
  }

  receive(message) {
    if (message.kind === "window") this.model.receive(message);
    else if (message.kind === "found") this.found(message);
    else if (message.kind === "blamed") this.card.tellStep(message);
  }

  /** Figures, which colour is which buffer, which hatching is which wait. */
  drawTop() {
    const { data } = this.model;
    const causes = data.cycles
      ? Object.keys(CAUSES).filter((cause) => data.waits.some((wait) => wait.cause === cause))
      : [];
    patchChildren(
      this.top,
      ...data.figures.map(([name, value]) => h("span", {}, `${name} `, h("b", {}, value))),
      h(
        "span",
        { class: "legend" },
        data.buffers.map((b) =>
          h(
            "button",
            {
              class: "legend-buffer",
              type: "button",
              title: `Layout of ${b.name}`,
              onclick: () => this.sender.send_msg({ kind: "select", buffer: b.name }),
            },
            h("i", { class: "swatch", style: `background:var(--tw-buffer-${b.colour})` }),
            h("span", {}, b.name),
          ),
        ),
      ),
      ...(data.note && !data.blank ? [h("span", { class: "note", role: "status", title: data.note }, data.note)] : []),
      ...(causes.length
        ? [
            h(
              "span",
              { class: "legend causes", title: "Why engines wait" },
              causes.map((cause) => h("span", {}, h("i", { class: `stall-swatch is-${cause}` }), CAUSES[cause].word)),
            ),
          ]
        : []),
      h(
        "span",
        { class: "head-tools" },
        h(
          "button",
          {
            class: "tool small table-button",
            type: "button",
            "aria-pressed": String(!this.tables.hidden),
            title: "The timeline as tables (T)",
            onclick: () => this.toggleTable(),
          },
          "Table",
        ),
        h(
          "button",
          {
            class: "tool small",
            type: "button",
            title: "All cycles in sight (0, double click)",
            onclick: () => this.fit(),
          },
          "Fit",
        ),
      ),
    );
  }

  // ---- Moving.

  /** Something is to be drawn anew: once a frame at most. */
  moved() {
    if (this.framed) return;
    this.framed = true;
    requestAnimationFrame(() => {
      this.framed = false;
      this.draw();
    });
  }

  recolour() {
    this.inks = null;
    this.moved();
  }

  draw() {
    const { model, stage } = this;
    if (!model.data) return;
    const [width, height] = [stage.clientWidth, stage.clientHeight];
    if (!model.data.cycles || !width || !height) return;
    this.inks ??= readColors(this.element);
    this.layout = layoutOf(model.data, width, height, model.folded);
    model.require();
    const now = model.now();
    this.now = now ?? this.now;
    this.overview.paint(this.inks, document.documentElement.dataset.theme); // asks for its width, before anything here is changed
    this.painter.paint(model, this.layout, this.inks, now);
    this.plot.style.height = `${this.layout.height}px`;
    this.drawMarks();
    this.drawHead();
    this.overview.place(
      model.clock(model.view.start),
      model.view.end >= model.length ? model.data.cycles : model.clock(model.view.end),
      model.cycle,
    );
    this.transport.tell();
    if (!this.tables.hidden) this.drawTables();
    if (now && this.touched) this.announce(now);
    if (now && this.wanted !== undefined) this.tellWanted(now);
  }

  x(time) {
    return GUTTER + ((time - this.model.view.start) * (this.layout.width - GUTTER - RIGHT)) / this.model.span;
  }

  drawHead() {
    const { model, head, layout } = this;
    const x = this.x(model.drawn(model.cycle));
    head.classList.toggle("is-out", x < GUTTER - 1 || x > layout.width - RIGHT + 1);
    head.style.transform = `translateX(${Math.max(GUTTER, Math.min(x, layout.width - RIGHT))}px)`;
    head.style.height = `${layout.axis + 4}px`;
    head.setAttribute("aria-valuemax", model.data.cycles);
    head.setAttribute("aria-valuenow", Math.round(model.cycle));
    const said = nowText(model, model.now());
    if (said !== this.said) head.setAttribute("aria-valuetext", (this.said = said));
  }

  /** ×N, as buttons over what repeats, where there is room for one. */
  drawMarks() {
    const { model, marks, layout } = this;
    const shown = model.folded
      ? model.data.repeats.map((repeat, n) => ({ repeat, n, from: this.x(repeat.start), to: this.x(repeat.end) }))
      : [];
    const wide = shown.filter(
      ({ from, to }) => to - from >= LEAST_MARK && to > GUTTER + LEAST_MARK && from < layout.width - RIGHT - LEAST_MARK,
    );
    const key = wide.map(({ n }) => n).join(" ") + model.data.report;
    if (key !== this.markKey) {
      this.markKey = key;
      marks.replaceChildren(
        ...wide.map(({ repeat, n }) =>
          h("button", {
            class: "mark",
            type: "button",
            "data-repeat": n,
            title: "Drawn once: choose an iteration, or unfold it",
            "aria-label": `Repeats ${grouped(repeat.extra + 1)} times: ${repeat.names.join(", ")}`,
            onclick: (event) => this.openRepeat(n, event.currentTarget),
          }),
        ),
      );
    }
    wide.forEach(({ repeat, n, from, to }, k) => {
      const left = Math.max(from, GUTTER);
      marks.children[k].style.cssText =
        `left:${left}px;width:${Math.min(to, layout.width - RIGHT) - left}px;top:${Math.min(repeat.level, LEVELS - 1) * MARK}px`;
      const copy = model.chosen[n] ?? 0;
      const text = `×${grouped(repeat.extra + 1)}${copy && to - from > 80 ? ` · ${grouped(copy + 1)}` : ""}`;
      if (marks.children[k].textContent !== text) marks.children[k].textContent = text;
    });
  }

  drawTables() {
    const key = `${this.model.data.report} ${Math.round(this.model.cycle)} ${Boolean(this.now)}`;
    if (key === this.tableKey) return;
    this.tableKey = key;
    this.tables.replaceChildren(...tablesOf(this.model, this.now));
  }

  toggleTable() {
    this.tables.hidden = !this.tables.hidden;
    this.tableKey = "";
    this.drawTop();
    this.moved();
    (this.tables.hidden ? this.head : this.tables).focus({ preventScroll: true });
  }

  fit() {
    this.model.fit();
    this.moved();
  }

  setFolded(folded) {
    this.model.setFolded(folded);
    this.moved();
  }

  /** A part of the run, by the clock; `whole` keeps its length at the ends. Where things repeat, it is shown unfolded. */
  lookByClock(start, end, whole) {
    const { model } = this;
    if (model.data.repeats.length && model.folded) model.setFolded(false);
    if (whole) {
      const span = end - start;
      const from = Math.min(Math.max(0, start), model.length - span);
      model.look(from, from + span);
    } else model.look(Math.max(0, start), Math.min(model.length, end));
    this.moved();
  }

  seek(cycle, { follow: follows = false } = {}) {
    const { model } = this;
    this.touched = true;
    model.seek(cycle);
    const at = model.drawn(model.cycle);
    if (follows && (at < model.view.start || at > model.view.end))
      model.pan(at - model.view.start - model.span * (at > model.view.end ? 0.15 : 0.85));
    this.moved();
  }

  seekDrawn(time) {
    const { model } = this;
    this.seek(model.clock(Math.min(Math.max(model.view.start, time), model.view.end)));
  }

  step(way) {
    this.seek(this.model.edge(way), { follow: true });
  }

  // ---- Asking.

  /** Go to the task of a block at these iterations: the newest wish is the one that counts. */
  find(template, place) {
    this.wish = { template, place };
    if (this.wishing) return;
    this.wishing = this.wish;
    this.wish = null;
    this.findTicket = ++this.model.tickets;
    this.sender.send_msg({ kind: "find", ticket: this.findTicket, ...this.wishing });
  }

  found({ ticket, cycle, report }) {
    if (ticket !== this.findTicket) return;
    this.wishing = null;
    if (report === this.model.data.report && cycle !== null) this.seek(cycle, { follow: true });
    if (this.wish) this.find(this.wish.template, this.wish.place);
    else this.transport.choosing = undefined;
  }

  /** A click: on a task its block is chosen in the tree, on a wait what is to blame for it. */
  chosen(what, { x, time, lane }) {
    this.seekDrawn(time);
    const { model } = this;
    if (what.task) {
      const { template, number } = this.model.task(what.task.found, what.task.n);
      this.transport.follow(number);
      if (template.rows.length) this.sender.send_msg({ kind: "select", id: template.rows[0] });
    } else if (what.wait) {
      const { found, n } = what.wait;
      this.blame(found.waits.of[n], found.waits.length[n], x);
    } else if (lane >= 0 && model.windows().some((found) => !found.exact)) this.wantWait(lane);
    else if (!this.card.element.hidden) this.card.close();
  }

  /** A click on waits that are drawn as bins: the one at the playhead, as soon as that is known. */
  wantWait(lane) {
    this.wanted = lane;
    this.moved();
  }

  tellWanted(now) {
    const { model, wanted } = this;
    this.wanted = undefined;
    const wait = now.waits.find((n) => model.data.waits[n].lane === wanted);
    if (wait !== undefined) this.blame(wait, null, this.x(model.drawn(model.cycle)));
  }

  blame(number, cycles, x) {
    const { data } = this.model;
    const wait = data.waits[number];
    this.card.openWait(x, data, wait, cycles);
    if (wait.cause !== "idle")
      this.sender.send_msg({
        ...wait,
        kind: "blame",
        engine: data.engines[wait.lane].name,
        block: wait.block || wait.what,
      });
    else this.card.step.replaceChildren();
  }

  openRepeat(number, mark) {
    const { model } = this;
    const repeat = model.data.repeats[number];
    this.card.openRepeat(mark.offsetLeft, model, number, {
      seek: (copy) => {
        const at = model.drawn(model.cycle);
        const inside = at >= repeat.start && at < repeat.end ? at : repeat.start;
        this.seek(model.folding.clock(inside, { ...model.chosen, [number]: copy }));
      },
      zoom: () => {
        const margin = (repeat.end - repeat.start) * 0.05;
        model.look(repeat.start - margin, repeat.end + margin);
        this.moved();
      },
      unfold: (copy) => {
        const start = model.folding.clock(repeat.start, { ...model.chosen, [number]: copy });
        this.card.close();
        model.setFolded(false);
        model.look(start - repeat.cycles, start + 2 * repeat.cycles);
        this.seek(start);
      },
    });
  }

  nextWait(way) {
    const known = this.model.exactly();
    if (!known) return;
    const { found, at } = known;
    const { data } = this.model;
    const starts = found.waits.start.filter(
      (start, n) => (way > 0 ? start > at : start < at) && data.waits[found.waits.of[n]].cause !== "idle",
    );
    if (!starts.length) return;
    const next = found.start + (way > 0 ? Math.min(...starts) : Math.max(...starts));
    this.seek(found.folded ? this.model.folding.clock(next, this.model.chosen) : next, { follow: true });
  }

  /** Enter: what a click at the playhead would tell. */
  tellNow() {
    const now = this.model.now();
    if (!now) return;
    const wait = now.waits.find((n) => this.model.data.waits[n].cause !== "idle");
    if (wait !== undefined) this.blame(wait, null, this.x(this.model.drawn(this.model.cycle)));
    else if (now.tasks[0]?.template.rows.length)
      this.sender.send_msg({ kind: "select", id: now.tasks[0].template.rows[0] });
  }

  // ---- Telling.

  tip(text, x, y) {
    this.bubble.hidden = !text;
    if (!text) return;
    this.bubble.textContent = text;
    const { offsetWidth, offsetHeight } = this.bubble;
    this.bubble.style.left = `${Math.max(4, Math.min(x + 14, this.stage.clientWidth - offsetWidth - 4))}px`;
    this.bubble.style.top = `${Math.max(2, Math.min(y + 16 - this.stage.scrollTop, this.stage.clientHeight - offsetHeight - 2))}px`;
  }

  /** The other views mark what runs, once somebody moved the playhead: when it is something else than before. */
  announce(now) {
    const { data } = this.model;
    const rows = {};
    for (const task of now.tasks) {
      for (const row of task.template.rows) rows[row] = data.engines[task.template.lane].name;
      // Engines may be in different iterations of a loop.
      task.template.loops.forEach((loop, n) => {
        if (loop.row)
          rows[loop.row] = [...new Set([...(rows[loop.row]?.split(", ") ?? []), String(task.place[n])])].join(", ");
      });
    }
    const lines = [
      ...new Set(
        now.tasks
          .flatMap((task) => task.template.rows)
          .map((row) => data.lines[row])
          .filter(Boolean),
      ),
    ];
    const cells = data.cells.map((cell, n) => ({
      label: cell.label,
      buffer: cell.buffer,
      state: now.cells[n] ?? "free",
    }));
    const key = JSON.stringify([rows, lines, now.cells]);
    if (key === this.announced) return;
    this.announced = key;
    announceMoment({ cycle: this.model.cycle, rows, lines, cells });
  }

  // ---- Keys.

  key(event) {
    const { model } = this;
    if (!model.data?.cycles || event.ctrlKey || event.metaKey || event.altKey || event.target.closest(".timeline-card"))
      return;
    const onHead = event.target === this.head;
    if (!onHead && ["INPUT", "SELECT", "BUTTON"].includes(event.target.tagName)) return;
    const about = model.drawn(model.cycle);
    const acts = {
      ArrowRight: () => (event.shiftKey ? this.step(1) : this.nudge(1)),
      ArrowLeft: () => (event.shiftKey ? this.step(-1) : this.nudge(-1)),
      PageUp: () => model.pan(-0.8 * model.span),
      PageDown: () => model.pan(0.8 * model.span),
      Home: () => this.seek(0, { follow: true }),
      End: () => this.seek(model.data.cycles - 1, { follow: true }),
      "+": () => model.zoom(0.6, about),
      "=": () => model.zoom(0.6, about),
      "-": () => model.zoom(1 / 0.6, about),
      0: () => this.fit(),
      " ": () => this.transport.toggle(),
      ",": () => this.transport.slower(-1),
      ".": () => this.transport.slower(1),
      w: () => this.nextWait(1),
      W: () => this.nextWait(-1),
      Enter: () => this.tellNow(),
      t: () => this.toggleTable(),
      e: () => model.data.repeats.length && this.setFolded(!model.folded),
    };
    const act = acts[event.key];
    if (!act || (!onHead && /^(Arrow|Page|Home|End|Enter)/.test(event.key))) return;
    event.preventDefault();
    event.stopPropagation();
    act();
    this.moved();
  }

  /** A hundredth of what is in sight, a cycle at least. */
  nudge(way) {
    const { model } = this;
    const at = model.drawn(model.cycle) + way * Math.max(1, model.span / 100);
    this.seek(model.folded ? model.folding.clock(Math.max(0, at), model.chosen) : at, { follow: true });
  }
}

export function render({ model }) {
  const view = new TimelineView(model);
  follow(model, (data) => view.show(data));
  model.on("msg:custom", (event) => view.receive(event?.data ?? event));
  return view.element;
}
