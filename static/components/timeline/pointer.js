// The hand on the timeline: the wheel zooms about the pointer, a drag moves the view or the playhead, a click chooses, hovering tells.

import { Fingers } from "./touch.js";
import { GUTTER } from "./gutter.js";
import { CAUSES, waitText } from "../core/colors.js";
import { grouped } from "./clock.js";
import { indicesText } from "./model.js";

const FAR = 4;
const FAR_BY_FINGER = 10;

/** What is at a point: {task: {found, n}}, {wait: {found, n}}, {tile: {found, n, filling}}, {bin: {found, n, lane, row}}, or {}. */
export function hit(model, layout, x, y, time) {
  const lane = layout.lanes.findIndex(({ top, height }) => y >= top && y < top + height);
  const row = layout.rows.findIndex(({ top, height }) => y >= top - 1 && y <= top + height + 1);
  for (const found of [...model.windows()].reverse()) {
    if (time < found.start || time >= found.end) continue;
    const at = time - found.start;
    if (!found.exact)
      return lane < 0 && row < 0
        ? {}
        : { bin: { found, n: Math.floor((at * found.bins.count) / (found.end - found.start)), lane, row } };
    const near = (4 * model.span) / Math.max(1, layout.width);
    const within = (pieces, n, slack = 0) =>
      pieces.start[n] - slack <= at && at < pieces.start[n] + pieces.length[n] + slack;
    const { data } = model;
    if (lane >= 0) {
      const below = y > layout.lanes[lane].top + layout.bar;
      const waits = found.waits.of.findIndex(
        (of, n) => data.waits[of].lane === lane && within(found.waits, n, below ? near / 2 : 0),
      );
      const task = found.tasks.kind.findIndex(
        (kind, n) => data.templates[data.kinds[kind].template].lane === lane && within(found.tasks, n),
      );
      if (waits >= 0 && (below || task < 0)) return { wait: { found, n: waits } };
      if (task >= 0) return { task: { found, n: task } };
    }
    if (row >= 0) {
      const part = 1 - (y - layout.rows[row].top) / layout.rows[row].height;
      for (const [pieces, filling] of [
        [found.lives, false],
        [found.fills, true],
      ]) {
        const n = pieces.of.findIndex(
          (of, k) =>
            data.cells[of].row === row &&
            data.cells[of].low <= part &&
            part <= data.cells[of].high &&
            within(pieces, k),
        );
        if (n >= 0) return { tile: { pieces, n, filling, found } };
      }
    }
    return {};
  }
  return {};
}

/** The lane whose strip of waits is at `y`; -1 for none. */
function stripAt(layout, y) {
  return layout.lanes.findIndex(({ top, height }) => y > top + layout.bar && y < top + height);
}

/** What the tip says about it. */
export function tipText(model, what) {
  const { data } = model;
  const when = (found, start, length) => {
    const from = found.folded ? model.folding.clock(found.start + start, model.chosen) : found.start + start;
    return `${grouped(from)} to ${grouped(from + length)}: ${grouped(length)} cycles`;
  };
  if (what.task) {
    const { found, n } = what.task;
    const task = model.task(found, n);
    const lines = [
      `${task.template.block}  ${indicesText(task.template, task.place)}`.trim(),
      `${task.kind.reads.join(", ") || "nothing"} → ${task.kind.writes.join(", ") || "nothing"}`,
      when(found, found.tasks.start[n], found.tasks.length[n]),
    ];
    const row = found.tasks.row[n];
    const times = found.folded
      ? data.repeats.reduce((all, r) => (row >= r.first && row < r.last ? all * (r.extra + 1) : all), 1)
      : 1;
    return [...lines, times > 1 ? `one of ${grouped(times)}` : ""].filter(Boolean).join("\n");
  }
  if (what.wait) {
    const { found, n } = what.wait;
    const wait = data.waits[found.waits.of[n]];
    const of = wait.cause === "idle" ? "done" : `waits: ${CAUSES[wait.cause].word} ${wait.what}`;
    return [
      `${data.engines[wait.lane].name} ${of}`,
      wait.block ? `in the hands of ${wait.block}` : "",
      when(found, found.waits.start[n], found.waits.length[n]),
      "click for more",
    ]
      .filter(Boolean)
      .join("\n");
  }
  if (what.bin) return binText(model, what.bin);
  if (what.tile) {
    const { pieces, n, filling, found } = what.tile;
    const cell = data.cells[pieces.of[n]];
    return `${cell.label}  ${cell.bytes} in ${data.rows[cell.row].scope}\n${filling ? "being filled" : "live"} ${when(found, pieces.start[n], pieces.length[n])}`;
  }
  return "";
}

/** How much of a bin of time each block, wait or slot takes. */
function binText(model, { found, n, lane, row }) {
  const { data } = model;
  const { bins } = found;
  const step = (found.end - found.start) / bins.count;
  const from = model.clock(found.start + n * step);
  const parts = [];
  const add = (entries, belongs, words) => {
    for (const [number, levels] of entries) {
      if (belongs(number) && levels[n]) parts.push(`${words(number)} ${Math.max(1, Math.round(levels[n] / 2.55))} %`);
    }
  };
  if (lane >= 0) {
    add(
      bins.task,
      (number) => data.templates[number].lane === lane,
      (number) => data.templates[number].block,
    );
    add(
      bins.wait,
      (number) => data.waits[number].lane === lane,
      (number) => `waits: ${waitText(data.waits[number])}`,
    );
  } else {
    add(
      bins.fill,
      (number) => data.cells[number].row === row,
      (number) => `${data.cells[number].label} filling`,
    );
    add(
      bins.live,
      (number) => data.cells[number].row === row,
      (number) => `${data.cells[number].label} live`,
    );
  }
  const name = lane >= 0 ? data.engines[lane].name : data.rows[row].scope;
  return [`${name}, ${grouped(from)} to ${grouped(from + step)}`, ...parts, "zoom in for single tasks"].join("\n");
}

export class TimelinePointer {
  /** `host` has model, layout, stage, seek, chosen(what, x), moved(), fit(), tip(text, x, y). */
  constructor(host) {
    this.host = host;
    const { stage } = host;
    this.fingers = new Fingers(
      host,
      () => host.plot.getBoundingClientRect().left + GUTTER,
      () => Math.max(1, host.layout.width - GUTTER - 10),
    );
    stage.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    stage.addEventListener("pointerdown", (event) => this.down(event));
    stage.addEventListener("pointermove", (event) => this.hover(event));
    stage.addEventListener("pointerleave", () => host.tip(""));
    stage.addEventListener("dblclick", (event) => {
      if (!event.target.closest("button, .timeline-card")) host.fit();
    });
  }

  point(event) {
    const { host } = this;
    const box = host.plot.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const { model, layout } = host;
    return { x, y, time: model.view.start + ((x - GUTTER) * model.span) / Math.max(1, layout.width - GUTTER - 10) };
  }

  ready(event) {
    return this.host.model.data?.cycles && !event.target.closest("button, .timeline-card, .table-view");
  }

  wheel(event) {
    const { host } = this;
    if (!this.ready(event)) return;
    // With more rows than there is room for, the wheel over the names moves the rows.
    if (this.point(event).x < GUTTER) return;
    event.preventDefault();
    const sideways = event.shiftKey ? event.deltaY : event.deltaX;
    if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY))
      host.model.pan((sideways * host.model.span) / 800);
    else host.model.zoom(Math.exp(Math.max(-120, Math.min(120, event.deltaY)) * 0.0022), this.point(event).time);
    host.moved();
  }

  down(event) {
    const { host } = this;
    if (event.button !== 0 || !this.ready(event)) return;
    if (this.fingers.down(event)) {
      host.stage.onpointermove = host.stage.onpointerup = host.stage.onpointercancel = null; // one finger was nothing but the first of two
      return;
    }
    const from = this.point(event);
    if (from.x < GUTTER) return;
    event.preventDefault();
    host.head.focus({ preventScroll: true });
    host.tip("");
    const ruler = from.y > host.layout.axis;
    const scrubs = ruler || event.target.closest(".playhead");
    const { start, end } = host.model.view;
    const { scrollTop } = host.stage;
    const finger = event.pointerType === "touch";
    let moved = false;
    host.stage.setPointerCapture(event.pointerId);
    if (ruler) host.seekDrawn(from.time);
    host.stage.onpointermove = (move) => {
      const by = move.clientX - event.clientX;
      moved ||= Math.hypot(by, finger ? move.clientY - event.clientY : 0) > (finger ? FAR_BY_FINGER : FAR);
      if (!moved || move.pointerId !== event.pointerId) return;
      if (finger && !scrubs) host.stage.scrollTop = scrollTop + event.clientY - move.clientY; // rows, where there are more than fit
      if (scrubs) host.seekDrawn(this.point(move).time);
      else {
        const shift = (-by * (end - start)) / Math.max(1, host.layout.width - GUTTER - 10);
        host.model.view = { start, end };
        host.model.pan(shift);
        host.moved();
      }
    };
    host.stage.onpointerup = host.stage.onpointercancel = (up) => {
      host.stage.onpointermove = host.stage.onpointerup = host.stage.onpointercancel = null;
      if (!moved && !ruler && up.type === "pointerup")
        host.chosen(hit(host.model, host.layout, from.x, from.y, from.time), {
          ...from,
          lane: stripAt(host.layout, from.y),
        });
    };
  }

  hover(event) {
    const { host } = this;
    if (event.buttons || !this.ready(event)) return host.tip("");
    const { x, y, time } = this.point(event);
    if (x < GUTTER) return host.tip("");
    const what = hit(host.model, host.layout, x, y, time);
    host.stage.style.cursor = what.task || what.wait || what.tile ? "pointer" : "";
    host.tip(tipText(host.model, what), x, y);
  }
}
