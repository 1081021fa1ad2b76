// Colours and hatchings of the timeline's canvas, read from the page's style sheets, which know of light and dark.

import { h } from "./dom.js";

/** Why an engine waits: a word, a variable of the style sheet and a hatching each, so that colour is never the only sign. */
export const CAUSES = {
  data: { word: "operand", ink: "--stall-data", hatch: "forward" },
  slot: { word: "slot", ink: "--stall-slot", hatch: "back" },
  port: { word: "port", ink: "--stall-port", hatch: "dots" },
  issue: { word: "queue", ink: "--stall-issue", hatch: "upright" },
  unit: { word: "unit", ink: "--stall-unit", hatch: "level" },
  idle: { word: "done", ink: "--stall-idle", hatch: "sparse" },
};

/** What is waited for, in two words. */
export function waitText(wait) {
  if (wait.cause === "idle") return "done";
  return `${CAUSES[wait.cause].word} ${wait.what.replace("queue of ", "")}`;
}

const INKS = {
  text: "--tw-text",
  muted: "--tw-muted",
  faint: "--tw-faint",
  line: "--tw-line",
  strong: "--tw-line-strong",
  surface: "--tw-surface",
  sunken: "--tw-sunken",
  accent: "--tw-accent",
  soft: "--tw-accent-soft",
  bad: "--tw-bad",
  warn: "--tw-warn",
};

/** {text, …, buffers: [12 colours], causes: {data: colour, …}} as the browser resolves them inside of `host`. */
export function readInks(host) {
  const probe = h("span", { style: "position:absolute;visibility:hidden;forced-color-adjust:none" });
  host.append(probe);
  const read = (variable) => {
    probe.style.color = `var(${variable})`;
    return getComputedStyle(probe).color;
  };
  const inks = Object.fromEntries(Object.entries(INKS).map(([name, variable]) => [name, read(variable)]));
  inks.buffers = Array.from({ length: 12 }, (_, n) => read(`--tw-buffer-${n}`));
  inks.causes = Object.fromEntries(Object.entries(CAUSES).map(([cause, { ink }]) => [cause, read(ink)]));
  inks.font = getComputedStyle(host).fontFamily;
  inks.hatches = new Map();
  probe.remove();
  return inks;
}

const STROKES = {
  forward: [
    [0, 6, 6, 0],
    [-1, 1, 1, -1],
    [5, 7, 7, 5],
  ],
  back: [
    [0, 0, 6, 6],
    [-1, 5, 1, 7],
    [5, -1, 7, 1],
  ],
  upright: [
    [1.5, 0, 1.5, 6],
    [4.5, 0, 4.5, 6],
  ],
  level: [
    [0, 1.5, 6, 1.5],
    [0, 4.5, 6, 4.5],
  ],
  sparse: [[0, 5, 6, 5]],
  dots: [],
};

/** A pattern to fill with: strokes in a colour over a pale ground of it. */
export function hatch(context, inks, colour, name, ground = 0.22) {
  const key = `${colour} ${name} ${ground}`;
  if (inks.hatches.has(key)) return inks.hatches.get(key);
  const tile = document.createElement("canvas");
  tile.width = tile.height = 12;
  const pen = tile.getContext("2d");
  pen.scale(2, 2);
  pen.fillStyle = pen.strokeStyle = colour;
  pen.globalAlpha = ground;
  pen.fillRect(0, 0, 6, 6);
  pen.globalAlpha = 0.9;
  pen.lineWidth = 1.3;
  for (const [x0, y0, x1, y1] of STROKES[name]) {
    pen.beginPath();
    pen.moveTo(x0, y0);
    pen.lineTo(x1, y1);
    pen.stroke();
  }
  if (name === "dots") {
    for (const [x, y] of [
      [1.5, 1.5],
      [4.5, 4.5],
    ]) {
      pen.beginPath();
      pen.arc(x, y, 1.1, 0, 7);
      pen.fill();
    }
  }
  const pattern = context.createPattern(tile, "repeat");
  pattern.setTransform(new DOMMatrix().scale(0.5, 0.5));
  inks.hatches.set(key, pattern);
  return pattern;
}
