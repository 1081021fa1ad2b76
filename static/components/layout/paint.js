// How elements of a buffer are painted: in lighter and darker shades of the buffer's colour by bank or address, with a texture for each physical
// block, so that colour is never the only sign.

import { sharp } from "../core/canvas.js";

/** @typedef {[r: number, g: number, b: number]} Rgb */
/** @typedef {{ buffer: Rgb, surface: Rgb, text: string, line: string, accent: string, bad: string, muted: string }} Paints */

/**
 * The colours as the browser resolves them at a canvas.
 * @param {HTMLCanvasElement} canvas
 * @param {number} buffer Index of the buffer's colour.
 * @returns {Paints}
 */
export function paintsOf(canvas, buffer) {
  const read = (/** @type {string} */ variable) => {
    canvas.style.color = `var(${variable})`;
    return getComputedStyle(canvas).color;
  };
  const found = {
    buffer: rgb(read(`--tw-buffer-${buffer}`)),
    surface: rgb(read("--tw-surface")),
    text: read("--tw-text"),
    line: read("--tw-line-strong"),
    accent: read("--tw-accent"),
    bad: read("--tw-bad"),
    muted: read("--tw-muted"),
  };
  canvas.style.color = "";
  return found;
}

/**
 * The parts of `rgb(…)` and of `color(srgb …)`, from 0 to 255.
 * @param {string} text
 * @returns {Rgb}
 */
export function rgb(text) {
  const [r = 0, g = 0, b = 0] = (text.match(/[\d.]+/g) ?? []).map(Number);
  return text.startsWith("color(") ? [r * 255, g * 255, b * 255] : [r, g, b];
}

/**
 * @param {Paints} paints
 * @param {number} level
 */
function mixed({ buffer, surface }, level) {
  const share = 0.16 + 0.84 * level;
  return buffer.map((part, n) => surface[n] + (part - surface[n]) * share);
}

/**
 * A colour between the surface and the buffer's colour; `level` from 0 to 1.
 * @param {Paints} paints
 * @param {number} level
 */
export function shade(paints, level) {
  return `rgb(${mixed(paints, level).map(Math.round).join(",")})`;
}

/**
 * Whether text on a shade must be light.
 * @param {Paints} paints
 * @param {number} level
 */
export function isDark(paints, level) {
  const [r, g, b] = mixed(paints, level);
  return 0.299 * r + 0.587 * g + 0.114 * b < 140;
}

/**
 * The texture of a physical block: none, rising lines, falling lines, dots, and again.
 * @param {CanvasRenderingContext2D} context
 * @param {number} block
 * @param {number} x
 * @param {number} y
 * @param {number} size
 * @param {string} color
 */
export function texture(context, block, x, y, size, color) {
  const kind = block % 4;
  if (kind === 0 || size < 3) return;
  context.save();
  context.beginPath();
  context.rect(x, y, size, size);
  context.clip();
  context.strokeStyle = context.fillStyle = color;
  context.lineWidth = Math.max(0.75, size / 12);
  context.beginPath();
  if (kind === 3) {
    context.arc(x + size / 2, y + size / 2, Math.max(0.8, size / 6), 0, 7);
    context.fill();
  } else if (kind === 1) {
    context.moveTo(x, y + size);
    context.lineTo(x + size, y);
  } else {
    context.moveTo(x, y);
    context.lineTo(x + size, y + size);
  }
  context.stroke();
  context.restore();
}

/**
 * Give a canvas a size in CSS pixels, and return its context.
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {number} height
 */
export function sized(canvas, width, height) {
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  return sharp(canvas, width, height);
}
