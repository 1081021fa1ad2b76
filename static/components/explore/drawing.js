// Drawing that the plots share: marks and colours of outcomes, lines, and text with a halo.

import { context2d, sharp } from "../core/canvas.js";
import { h } from "../core/dom.js";

/** @import { Colors } from "../core/colors.js" */
/** @import { Outcome } from "./model.js" */

/**
 * @param {Outcome} status
 * @param {Colors} colors
 */
export function outcomeColor(status, colors) {
  return { fits: colors.accent, over: colors.warn, pruned: colors.faint, refused: colors.bad, failed: colors.bad }[
    status
  ];
}

/**
 * The context of a canvas with the size of its box; null without a size.
 * @param {HTMLCanvasElement} canvas
 */
export function boxContext(canvas) {
  const { clientWidth: width, clientHeight: height } = canvas;
  return width && height ? { context: sharp(canvas, width, height), width, height } : null;
}

/**
 * The mark of an outcome: each has its own shape.
 * @param {CanvasRenderingContext2D} context
 * @param {Outcome} status
 * @param {number} x
 * @param {number} y
 * @param {number} r
 */
export function paintMark(context, status, x, y, r) {
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
  if (status === "fits") context.fill();
  else context.stroke();
}

/**
 * The mark of an outcome for the legend.
 * @param {Outcome} status
 * @param {Colors} colors
 */
export function legendMark(status, colors) {
  const canvas = h("canvas", { class: "xp-mark", width: "24", height: "24", "aria-hidden": "true" });
  const context = context2d(canvas);
  context.scale(2, 2);
  context.lineWidth = 1.3;
  context.strokeStyle = context.fillStyle = outcomeColor(status, colors);
  paintMark(context, status, 6, 6, 3.6);
  return canvas;
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} x1
 * @param {number} y1
 * @param {number} x2
 * @param {number} y2
 */
export function strokeLine(context, x1, y1, x2, y2) {
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x2, y2);
  context.stroke();
}

/**
 * Text that is readable on lines.
 * @param {CanvasRenderingContext2D} context
 * @param {Colors} colors
 * @param {string} text
 * @param {number} x
 * @param {number} y
 * @param {"left" | "right"} align
 * @param {number} [halo] Width of the halo.
 */
export function haloText(context, colors, text, x, y, align, halo = 3.5) {
  context.textAlign = align;
  context.textBaseline = "middle";
  context.strokeStyle = colors.surface;
  context.lineWidth = halo;
  context.lineJoin = "round";
  context.strokeText(text, x, y);
  context.fillStyle = colors.text;
  context.fillText(text, x, y);
}
