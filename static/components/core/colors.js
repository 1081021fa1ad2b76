// Colours and hatchings of canvases, read from the page's style sheets for the light and the dark theme.

import { context2d } from "./canvas.js";
import { h } from "./dom.js";

/** @typedef {keyof typeof CAUSES} Cause */
/** @typedef {keyof typeof VARIABLES} ColorName */

/**
 * Resolved colours, and the font of the canvas.
 * @typedef {Record<ColorName, string> & {
 *   buffers: string[], causes: Record<Cause, string>, font: string, hatches: Map<string, CanvasPattern>
 * }} Colors
 */

/** The causes of a stall: a word, a variable of the style sheet and a hatching, so that colour is never the only sign. */
export const CAUSES = {
  data: { word: "operand", color: "--stall-data", hatch: "forward" },
  slot: { word: "slot", color: "--stall-slot", hatch: "back" },
  port: { word: "port", color: "--stall-port", hatch: "dots" },
  issue: { word: "queue", color: "--stall-issue", hatch: "upright" },
  unit: { word: "unit", color: "--stall-unit", hatch: "level" },
  idle: { word: "done", color: "--stall-idle", hatch: "sparse" },
};

/**
 * The cause and the object of a stall in two words.
 * @param {{ cause: Cause, what: string }} wait
 */
export function waitText(wait) {
  if (wait.cause === "idle") return "done";
  return `${CAUSES[wait.cause].word} ${wait.what.replace("queue of ", "")}`;
}

const VARIABLES = {
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

/**
 * The colours as the browser resolves them inside of `host`.
 * @param {Element} host
 * @returns {Colors}
 */
export function readColors(host) {
  const probe = h("span", { style: "position:absolute;visibility:hidden;forced-color-adjust:none" });
  host.append(probe);
  const read = (/** @type {string} */ variable) => {
    probe.style.color = `var(${variable})`;
    return getComputedStyle(probe).color;
  };
  const named = Object.fromEntries(Object.entries(VARIABLES).map(([name, variable]) => [name, read(variable)]));
  const causes = Object.fromEntries(Object.entries(CAUSES).map(([cause, { color }]) => [cause, read(color)]));
  const buffers = Array.from({ length: 12 }, (_, n) => read(`--tw-buffer-${n}`));
  probe.remove();
  return {
    .../** @type {Record<ColorName, string>} */ (named),
    causes: /** @type {Record<Cause, string>} */ (causes),
    buffers,
    font: getComputedStyle(host).fontFamily,
    hatches: new Map(),
  };
}

/**
 * The strokes of each hatching in a tile of 6 × 6 units: [x0, y0, x1, y1].
 * @type {Record<string, [number, number, number, number][]>}
 */
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

/**
 * A pattern of strokes in `color` over a pale background of the same colour.
 * @param {CanvasRenderingContext2D} context
 * @param {Colors} colors
 * @param {string} color
 * @param {string} name
 * @param {number} background Opacity of the background.
 */
export function hatch(context, colors, color, name, background = 0.22) {
  const key = `${color} ${name} ${background}`;
  const known = colors.hatches.get(key);
  if (known) return known;
  const pattern = context.createPattern(tile(color, name, background), "repeat");
  if (!pattern) throw new Error("the tile of a pattern is empty");
  pattern.setTransform(new DOMMatrix().scale(0.5, 0.5));
  colors.hatches.set(key, pattern);
  return pattern;
}

/**
 * @param {string} color
 * @param {string} name
 * @param {number} background
 */
function tile(color, name, background) {
  const canvas = h("canvas", { width: 12, height: 12 });
  const pen = context2d(canvas);
  pen.scale(2, 2);
  pen.fillStyle = pen.strokeStyle = color;
  pen.globalAlpha = background;
  pen.fillRect(0, 0, 6, 6);
  pen.globalAlpha = 0.9;
  pen.lineWidth = 1.3;
  for (const [x0, y0, x1, y1] of STROKES[name]) {
    pen.beginPath();
    pen.moveTo(x0, y0);
    pen.lineTo(x1, y1);
    pen.stroke();
  }
  if (name === "dots") for (const center of [1.5, 4.5]) dot(pen, center);
  return canvas;
}

/**
 * @param {CanvasRenderingContext2D} pen
 * @param {number} center
 */
function dot(pen, center) {
  pen.beginPath();
  pen.arc(center, center, 1.1, 0, 7);
  pen.fill();
}
