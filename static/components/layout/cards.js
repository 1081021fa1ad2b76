// The layouts to choose from: a small picture of each, what the simulator says of it, and the call that makes it. One click applies it.

import { h } from "../core/dom.js";
import { isDark, paintsOf, shade, sized, texture } from "./paint.js";

const DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz";
const PICTURE = 64;

/** A card; `apply(call)` makes its layout the program's, `show(card)` is told that it is pointed at, `show(null)` that it is not any more. */
export function layoutCard(card, colour, fixed, apply, show) {
  const dead = !card.call || Boolean(card.refused) || Boolean(fixed) || card.waiting;
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
  const element = dead
    ? h(
        "div",
        { ...attributes, role: "group", "aria-label": spoken(card), tabindex: card.refused ? "0" : undefined },
        ...body,
      )
    : h(
        "button",
        { ...attributes, type: "button", "aria-label": spoken(card), onclick: () => apply(card.call) },
        ...body,
      );
  element.addEventListener("pointerenter", () => show(card));
  element.addEventListener("pointerleave", () => show(null));
  element.addEventListener("focus", () => show(card));
  element.addEventListener("blur", () => show(null));
  if (card.thumb) requestAnimationFrame(() => picture.isConnected && drawThumb(picture, card.thumb, colour));
  else picture.classList.add("is-empty");
  return element;
}

function marks(card) {
  const found = [];
  if (card.current) found.push(h("span", { class: "tw-badge tw-badge--accent" }, "now"));
  if (card.best) found.push(h("span", { class: "tw-badge tw-badge--good" }, "fastest"));
  if (card.overflows)
    found.push(h("span", { class: "tw-badge tw-badge--bad", title: "More than its memory holds" }, "too large"));
  return found;
}

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

/** All that a card shows, in words. */
function spoken(card) {
  if (card.refused) return `${card.title}: not possible, ${card.refused.message}`;
  if (card.waiting) return `${card.title}: simulating`;
  const told = card.figures.map(([name, value]) => `${name} ${value}`).join(", ");
  const against = card.change ? `, ${card.change} cycles` : "";
  const does = card.call ? `. Apply ${card.call.text}` : "";
  return `${card.title}${card.current ? ", as it is now" : ""}${card.best ? ", the fastest" : ""}: ${told}${against}${card.overflows ? ", too large" : ""}${does}`;
}

function drawThumb(canvas, thumb, colour) {
  const size = Math.min(10, PICTURE / Math.max(thumb.width, thumb.height));
  const context = sized(canvas, size * thumb.width, size * thumb.height);
  const paints = paintsOf(canvas, colour);
  for (let at = 0; at < thumb.shades.length; at++) {
    const level = DIGITS.indexOf(thumb.shades[at]) / (DIGITS.length - 1);
    const [x, y] = [(at % thumb.width) * size, Math.floor(at / thumb.width) * size];
    context.fillStyle = shade(paints, level);
    context.fillRect(x, y, size, size);
  }
  if (thumb.blocks) blocks(context, thumb, size, paints);
}

/** Physical blocks have textures; of cells that are too small for one, the lines go over many. */
function blocks(context, thumb, size, paints) {
  const wide = Math.max(1, Math.ceil(6 / size));
  for (let row = 0; row < thumb.height; row += wide) {
    for (let column = 0; column < thumb.width; column += wide) {
      const at = row * thumb.width + column;
      const dark = isDark(paints, DIGITS.indexOf(thumb.shades[at]) / (DIGITS.length - 1));
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
