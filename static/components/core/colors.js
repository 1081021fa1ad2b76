// Colours and hatchings of canvases, read from the page's style sheets for the light and the dark theme.

import { context2d } from "./canvas.js";
import { h } from "./dom.js";
import { CAUSES, HATCHES } from "./stalls.js";

/** @typedef {keyof typeof CAUSES} Cause */
/** @typedef {keyof typeof VARIABLES} ColorName */

/**
 * Resolved colours, and the font of the canvas.
 * @typedef {Record<ColorName, string> & {
 *   buffers: string[], causes: Record<Cause, string>, font: string, hatches: Map<string, CanvasPattern>
 * }} Colors
 */

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
  const causes = Object.fromEntries(Object.keys(CAUSES).map((cause) => [cause, read(`--stall-${cause}`)]));
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
  pen.lineWidth = HATCHES[name].width;
  pen.lineCap = "round";
  pen.stroke(new Path2D(HATCHES[name].path));
  return canvas;
}
