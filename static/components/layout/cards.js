// Cards of candidate layouts: a picture, the simulated figures, and the call. A click applies the call.

import { h } from "../core/dom.js";
import { isDark, paintsOf, shade, sized, texture } from "./paint.js";

/** @import { Paints } from "./paint.js" */
/** @import { Apply } from "./picker.js" */
/** @import { LayoutCard as Card, LayoutThumb as Thumb } from "../views.js" */

const DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz";
const PICTURE = 64;

/**
 * @param {Card} card
 * @param {number} colour
 * @param {string} fixed The reason why no layout can be applied.
 * @param {Apply} apply
 * @param {(card: Card | null) => void} show Called with the card under the pointer or with the focus; null when it leaves.
 */
export function layoutCard(card, colour, fixed, apply, show) {
  const { call, thumb } = card;
  const picture = h("canvas", { class: "card-picture", "aria-hidden": "true" });
  const body = [
    picture,
    h("span", { class: "card-head" }, h("b", {}, card.title), ...marks(card)),
    card.refused
      ? h("span", { class: "card-refused" }, card.refused.message)
      : card.waiting
        ? h("span", { class: "quiet" }, "simulating…")
        : figures(card),
  ];
  const attributes = {
    class: `layout-card ${card.current ? "is-current" : ""} ${card.refused ? "is-refused" : ""}`,
    "data-card": card.key,
  };
  const element =
    !call || card.refused || fixed || card.waiting
      ? h(
          "div",
          { ...attributes, role: "group", "aria-label": ariaLabel(card), tabindex: card.refused ? "0" : undefined },
          ...body,
        )
      : h(
          "button",
          { ...attributes, type: "button", "aria-label": ariaLabel(card), onclick: () => apply(call) },
          ...body,
        );
  for (const event of ["pointerenter", "focus"]) element.addEventListener(event, () => show(card));
  for (const event of ["pointerleave", "blur"]) element.addEventListener(event, () => show(null));
  if (thumb) requestAnimationFrame(() => picture.isConnected && drawThumb(picture, thumb, colour));
  else picture.classList.add("is-empty");
  return element;
}

/** @param {Card} card */
function marks(card) {
  const found = [];
  if (card.current) found.push(h("span", { class: "tw-badge tw-badge--accent" }, "now"));
  if (card.best) found.push(h("span", { class: "tw-badge tw-badge--good" }, "fastest"));
  if (card.overflows)
    found.push(h("span", { class: "tw-badge tw-badge--bad", title: "Larger than its memory" }, "too large"));
  return found;
}

/** @param {Card} card */
function figures(card) {
  if (!card.figures.length) return h("span", { class: "quiet" }, card.note);
  return h(
    "span",
    { class: "card-figures" },
    card.figures.map(([name, value, hint, tone]) =>
      h(
        "span",
        { class: `card-figure ${tone === "bad" ? "is-lossy" : ""}`, title: hint },
        h("span", { class: "quiet" }, `${name} `),
        value,
        name === "cycles" && card.change ? [" ", h("span", { class: `change ${card.trend}` }, card.change)] : null,
      ),
    ),
  );
}

/**
 * The contents of a card in words.
 * @param {Card} card
 */
function ariaLabel(card) {
  if (card.refused) return `${card.title}: not possible, ${card.refused.message}`;
  if (card.waiting) return `${card.title}: simulating`;
  const figureTexts = card.figures.map(([name, value]) => `${name} ${value}`).join(", ");
  const change = card.change ? `, ${card.change} cycles` : "";
  const action = card.call ? `. Apply ${card.call.text}` : "";
  return `${card.title}${card.current ? ", as it is now" : ""}${card.best ? ", the fastest" : ""}: ${figureTexts}${change}${card.overflows ? ", too large" : ""}${action}`;
}

/**
 * @param {Thumb} thumb
 * @param {number} at
 */
const levelOf = (thumb, at) => DIGITS.indexOf(thumb.shades[at]) / (DIGITS.length - 1);

/**
 * @param {HTMLCanvasElement} canvas
 * @param {Thumb} thumb
 * @param {number} colour
 */
function drawThumb(canvas, thumb, colour) {
  const size = Math.min(10, PICTURE / Math.max(thumb.width, thumb.height));
  const context = sized(canvas, size * thumb.width, size * thumb.height);
  const paints = paintsOf(canvas, colour);
  for (let at = 0; at < thumb.shades.length; at++) {
    const level = levelOf(thumb, at);
    const [x, y] = [(at % thumb.width) * size, Math.floor(at / thumb.width) * size];
    context.fillStyle = shade(paints, level);
    context.fillRect(x, y, size, size);
  }
  if (thumb.blocks) blocks(context, thumb, size, paints);
}

/**
 * Textures of physical blocks; if the cells are too small, a texture covers several of them.
 * @param {CanvasRenderingContext2D} context
 * @param {Thumb} thumb
 * @param {number} size
 * @param {Paints} paints
 */
function blocks(context, thumb, size, paints) {
  const wide = Math.max(1, Math.ceil(6 / size));
  for (let row = 0; row < thumb.height; row += wide) {
    for (let column = 0; column < thumb.width; column += wide) {
      const at = row * thumb.width + column;
      const dark = isDark(paints, levelOf(thumb, at));
      texture(
        context,
        DIGITS.indexOf(thumb.blocks[at]),
        column * size,
        row * size,
        size * wide,
        dark ? "rgba(255,255,255,0.9)" : "rgba(0,0,0,0.75)",
      );
    }
  }
}
