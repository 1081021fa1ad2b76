// How elements of a buffer are painted: the buffer's colour, lighter and darker by bank or address, with a texture for each physical block,
// so that colour alone never tells two banks apart.

import { sharp } from "../core/canvas.js";

/** The colours of a canvas, as its style resolves them. */
export function paintsOf(element, index) {
  const probe = (name) => {
    element.style.color = `var(${name})`;
    return getComputedStyle(element).color;
  };
  const found = {
    buffer: rgb(probe(`--tw-buffer-${index}`)),
    surface: rgb(probe("--tw-surface")),
    text: probe("--tw-text"),
    faint: probe("--tw-faint"),
    line: probe("--tw-line-strong"),
    accent: probe("--tw-accent"),
    bad: probe("--tw-bad"),
    muted: probe("--tw-muted"),
    plain: probe("--tw-surface"),
  };
  element.style.color = "";
  return found;
}

function rgb(text) {
  const numbers = text.match(/[\d.]+/g).map(Number);
  return text.startsWith("color(") ? numbers.slice(0, 3).map((n) => n * 255) : numbers.slice(0, 3);
}

/** Between the surface and the buffer's colour; `level` from 0 to 1. */
export function shade(paints, level) {
  const share = 0.16 + 0.84 * level;
  const mixed = paints.buffer.map((part, n) => Math.round(paints.surface[n] + (part - paints.surface[n]) * share));
  return `rgb(${mixed.join(",")})`;
}

/** Whether text on a shade is to be light. */
export function isDark(paints, level) {
  const share = 0.16 + 0.84 * level;
  const [r, g, b] = paints.buffer.map((part, n) => paints.surface[n] + (part - paints.surface[n]) * share);
  return 0.299 * r + 0.587 * g + 0.114 * b < 140;
}

/** The texture of physical block `block`: nothing, lines one way, the other way, dots; then again. */
export function texture(context, block, x, y, size, colour) {
  const kind = block % 4;
  if (kind === 0 || size < 3) return;
  context.save();
  context.beginPath();
  context.rect(x, y, size, size);
  context.clip();
  context.strokeStyle = context.fillStyle = colour;
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

/** A canvas that is `width` × `height` CSS pixels, sharp on any screen; its context in CSS pixels. */
export function sized(canvas, width, height) {
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  return sharp(canvas, width, height);
}
