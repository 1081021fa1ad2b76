// Two figures of all candidates against each other: a mark of its own shape for what came of each, the front as a line, the schedule that is shown
// and the bound. Those without figures stand below the axis.

import { h } from "../core/dom.js";
import { fullAmount, makeScale, pen, shortAmount } from "./model.js";

const EDGES = { left: 62, right: 14, top: 12, bottom: 34 };
const STRIP = 16;
const NEAR_PX = 12;

function paintMark(context, status, x, y, r) {
  context.beginPath();
  if (status === "fits") context.arc(x, y, r, 0, 7);
  else if (status === "over") {
    context.moveTo(x, y - r - 0.5);
    context.lineTo(x + r, y + r - 0.5);
    context.lineTo(x - r, y + r - 0.5);
    context.closePath();
  } else if (status === "pruned") {
    context.moveTo(x, y - r);
    context.lineTo(x + r, y);
    context.lineTo(x, y + r);
    context.lineTo(x - r, y);
    context.closePath();
  } else {
    context.moveTo(x - r + 0.5, y - r + 0.5);
    context.lineTo(x + r - 0.5, y + r - 0.5);
    context.moveTo(x + r - 0.5, y - r + 0.5);
    context.lineTo(x - r + 0.5, y + r - 0.5);
  }
}

/** One small drawn mark, for the legend. */
export function legendMark(status, inks) {
  const canvas = h("canvas", { class: "xp-mark", width: "24", height: "24", "aria-hidden": "true" });
  const context = canvas.getContext("2d");
  context.scale(2, 2);
  context.lineWidth = 1.3;
  context.strokeStyle = context.fillStyle = inkOf(status, inks);
  paintMark(context, status, 6, 6, 3.6);
  if (status === "fits") context.fill();
  else context.stroke();
  return canvas;
}

export const inkOf = (status, inks) =>
  ({ fits: inks.accent, over: inks.warn, pruned: inks.faint, refused: inks.bad, failed: inks.bad })[status];

export class Scatter {
  /** `shared`: {candidates, axes(), data(), inks(), hover(row, rect), choose(row), open(row)}. */
  constructor(shared) {
    this.shared = shared;
    this.canvas = h("canvas", { class: "xp-canvas", tabindex: "0", role: "img", "aria-label": "Candidates" });
    this.spots = [];
    this.keys = { x: "peak", y: "cycles" };
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerleave", () => shared.hover(null));
    this.canvas.addEventListener("click", (event) => this.near(event) && shared.choose(this.near(event)));
    this.canvas.addEventListener("dblclick", (event) => this.near(event) && shared.open(this.near(event)));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
  }

  draw() {
    const found = pen(this.canvas);
    const data = this.shared.data();
    if (!found || !data) return;
    const { context, width, height } = found;
    const figures = this.shared.axes().filter((axis) => axis.kind === "figure");
    const [ax, ay] = ["x", "y"].map(
      (name) => figures.find((axis) => axis.key === this.keys[name]) ?? figures[name === "x" ? 1 : 0],
    );
    const rows = this.shared.candidates.inSight(this.shared.axes());
    const box = { left: EDGES.left, right: width - EDGES.right, top: EDGES.top, bottom: height - EDGES.bottom - STRIP };
    const withFigures = rows.filter((row) => row.figures);
    const extra = data.now ? [data.now] : [];
    const x = makeScale(
      [...withFigures.map((r) => r.figures[ax.index]), ...extra.map((f) => f[ax.index])],
      box.left,
      box.right,
      ax.unit,
    );
    const y = makeScale(
      [
        ...withFigures.map((r) => r.figures[ay.index]),
        ...extra.map((f) => f[ay.index]),
        ...(ay.key === "cycles" && data.bound ? [data.bound.cycles] : []),
      ],
      box.bottom,
      box.top,
      ay.unit,
    );
    const inks = this.shared.inks();
    context.font = `10.5px ${inks.font}`;
    this.grid(context, x, y, ax, ay, box, inks);
    this.bound(context, x, y, ax, ay, box, data, inks);
    this.spots = rows.map((row) =>
      row.figures
        ? { row, x: x.at(row.figures[ax.index]), y: y.at(row.figures[ay.index]) }
        : {
            row,
            x: box.left + 6 + ((row.number * 0.618034) % 1) * (box.right - box.left - 12),
            y: box.bottom + STRIP - 4,
          },
    );
    this.marks(context, inks);
    this.frontLine(context, x, y, ax, ay, data, inks);
    this.now(context, x, y, ax, ay, data, inks, box);
    this.chosen(context, data, inks);
    this.canvas.ariaLabel = `${ay.name} against ${ax.name} of ${rows.length} candidates; arrow keys go along the front, Enter opens one`;
  }

  grid(context, x, y, ax, ay, box, inks) {
    context.strokeStyle = inks.line;
    context.fillStyle = inks.muted;
    context.lineWidth = 1;
    context.textAlign = "center";
    context.textBaseline = "top";
    for (const tick of x.ticks) {
      const at = Math.round(x.at(tick)) + 0.5;
      line(context, at, box.top, at, box.bottom);
      context.fillText(shortAmount(ax.unit, tick), at, box.bottom + STRIP + 3);
    }
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const tick of y.ticks) {
      const at = Math.round(y.at(tick)) + 0.5;
      line(context, box.left, at, box.right, at);
      context.fillText(shortAmount(ay.unit, tick), box.left - 6, at);
    }
    context.strokeStyle = inks.strong;
    context.strokeRect(box.left + 0.5, box.top + 0.5, box.right - box.left - 1, box.bottom - box.top - 1);
  }

  /** What no candidate can be below. */
  bound(context, x, y, ax, ay, box, data, inks) {
    const isY = ay.key === "cycles";
    if (!data.bound || (!isY && ax.key !== "cycles")) return;
    context.strokeStyle = context.fillStyle = inks.text;
    context.setLineDash([5, 3]);
    const at = isY ? y.at(data.bound.cycles) : x.at(data.bound.cycles);
    if (isY) line(context, box.left, at, box.right, at);
    else line(context, at, box.top, at, box.bottom);
    context.setLineDash([]);
    const words = `least bound ${digitsOf(data.bound.cycles)}`;
    haloText(context, words, isY ? box.right - 6 : at + 4, isY ? at - 7 : box.top + 9, isY ? "right" : "left", inks);
  }

  marks(context, inks) {
    const many = this.spots.length > 1500;
    for (const status of ["refused", "failed", "pruned", "over", "fits"]) {
      context.strokeStyle = context.fillStyle = inkOf(status, inks);
      context.lineWidth = 1.1;
      for (const { row, x, y } of this.spots) {
        if (row.status !== status) continue;
        context.globalAlpha = status === "fits" ? (many ? 0.55 : 0.75) : row.exact ? 0.8 : 0.45;
        paintMark(context, status, x, y, many ? 2.4 : 3.1);
        if (status === "fits") context.fill();
        else context.stroke();
      }
    }
    context.globalAlpha = 1;
  }

  /** The front: those that no other one is as good as in both. */
  frontLine(context, x, y, ax, ay, data, inks) {
    const rows = data.front.map((number) => this.shared.candidates.byNumber.get(number)).filter((row) => row?.figures);
    const axes = this.shared.axes();
    const spots = rows
      .map((row) => [x.at(row.figures[ax.index]), y.at(row.figures[ay.index]), this.shared.candidates.shows(row, axes)])
      .sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    context.strokeStyle = inks.text;
    context.lineWidth = 1.6;
    context.beginPath();
    // In other figures than those that are to be small it is no line.
    const isFront = [ax.key, ay.key].every((key) => data.objectives.includes(key)) && ax !== ay;
    (isFront ? spots : []).forEach(([px, py], n) => {
      if (n) context.lineTo(px, spots[n - 1][1]);
      context[n ? "lineTo" : "moveTo"](px, py);
    });
    context.stroke();
    for (const [px, py, isInSight] of spots) {
      context.beginPath();
      context.arc(px, py, 4.5, 0, 7);
      context.fillStyle = isInSight ? inks.accent : inks.surface;
      context.fill();
      context.stroke();
    }
  }

  /** The schedule that is shown. */
  now(context, x, y, ax, ay, data, inks, box) {
    if (!data.now) return;
    const [px, py] = [x.at(data.now[ax.index]), y.at(data.now[ay.index])];
    context.strokeStyle = inks.surface;
    for (const [ink, wide] of [
      [inks.surface, 5],
      [inks.text, 2],
    ]) {
      context.strokeStyle = ink;
      context.lineWidth = wide;
      line(context, px - 7, py, px + 7, py);
      line(context, px, py - 7, px, py + 7);
    }
    const right = px < box.right - 50;
    haloText(context, "now", px + (right ? 10 : -10), py - 9, right ? "left" : "right", inks);
  }

  chosen(context, data, inks) {
    const number = data.card?.trial;
    const spot = this.spots.find((it) => it.row.number === number);
    if (!spot) return;
    context.strokeStyle = inks.text;
    context.lineWidth = 2;
    context.beginPath();
    context.arc(spot.x, spot.y, 9, 0, 7);
    context.stroke();
  }

  near(event) {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    let best = null;
    let least = NEAR_PX ** 2;
    for (const spot of this.spots) {
      const far = (spot.x - x) ** 2 + (spot.y - y) ** 2;
      // Of those at one place the one that fits.
      if (far < least || (far === least && spot.row.status === "fits")) [best, least] = [spot, far];
    }
    return best?.row ?? null;
  }

  rectOf(row) {
    const spot = this.spots.find((it) => it.row === row);
    const box = this.canvas.getBoundingClientRect();
    return (
      spot && {
        left: box.left + spot.x - 8,
        right: box.left + spot.x + 8,
        top: box.top + spot.y - 8,
        bottom: box.top + spot.y + 8,
      }
    );
  }

  point(event) {
    const row = this.near(event);
    this.canvas.style.cursor = row ? "pointer" : "default";
    this.shared.hover(row, row && this.rectOf(row));
  }

  /** Along the front, or along all that fit where there is but one of it. */
  key(event) {
    const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1 }[event.key];
    const data = this.shared.data();
    if (!data) return;
    const { candidates } = this.shared;
    const chosen = candidates.byNumber.get(data.card?.trial);
    if (event.key === "Enter" && chosen) this.shared.open(chosen);
    else if (by) {
      const front = data.front.map((number) => candidates.byNumber.get(number)).filter(Boolean);
      const list =
        front.length > 1
          ? front
          : candidates
              .inSight(this.shared.axes())
              .filter((row) => row.status === "fits")
              .sort((a, b) => a.figures[0] - b.figures[0]);
      const next = list[(list.indexOf(chosen) + by + list.length) % Math.max(1, list.length)];
      if (next) this.shared.choose(next);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

const digitsOf = (number) => fullAmount("cycles", number);

function line(context, x1, y1, x2, y2) {
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x2, y2);
  context.stroke();
}

function haloText(context, words, x, y, align, inks) {
  context.textAlign = align;
  context.textBaseline = "middle";
  context.strokeStyle = inks.surface;
  context.lineWidth = 3.5;
  context.lineJoin = "round";
  context.strokeText(words, x, y);
  context.fillStyle = inks.text;
  context.fillText(words, x, y);
}
