// A thumbnail of a program and its report: the shape of the loop tree on the left, engines and memories over time on the right.
// app/views/shell/thumbnails.py defines the numbers. The colours are variables of the page, so that the picture follows the theme.

import { svg } from "../core/svg.js";

/** @import { FillLevel as Level, Lane, Thumbnail } from "../views.js" */

/** @typedef {[depth: number, width: number, colour: number]} Row The colour of a loop is -1. */
/** @typedef {[start: number, end: number, colour: number, share: number]} Bar */

const WIDTH = 340;
const TREE = { left: 10, right: 124, indent: 7 };
const TIME = { left: 138, right: 330, gap: 4 };
const TOP = 8;
const RULE = 131;

const round = (/** @type {number} */ number) => Math.round(number * 100) / 100;

/**
 * Loops as lines whose length grows with the trip count, blocks as bars in the colour of the written buffer.
 * @param {Row[]} rows
 * @param {number} height
 */
function tree(rows, height) {
  const pitch = Math.min(height / 11, height / Math.max(1, rows.length));
  const deepest = Math.max(1, ...rows.map(([depth]) => depth));
  const indent = Math.min(TREE.indent, (TREE.right - TREE.left - 30) / deepest);
  return rows.map(([depth, width, colour], at) => {
    const x = TREE.left + depth * indent;
    const y = TOP + at * pitch;
    return colour < 0
      ? svg("rect", {
          class: "thumb-loop",
          x: round(x),
          y: round(y + pitch / 2 - 1),
          width: round(6 + 2.5 * Math.min(width, 16)),
          height: 2,
          rx: 1,
        })
      : svg("rect", {
          class: "thumb-block",
          x: round(x),
          y: round(y + pitch * 0.12),
          width: round(TREE.right - x),
          height: round(pitch * 0.76),
          rx: 1.5,
          style: paint(colour),
        });
  });
}

const paint = (/** @type {number} */ colour) => `fill: var(--tw-buffer-${colour})`;

const timeX = (/** @type {number} */ at) => TIME.left + ((TIME.right - TIME.left) * at) / 1000;

/**
 * @param {Lane} lane
 * @param {number} y
 * @param {number} height
 */
function engine({ bars }, y, height) {
  return bars.map(([start, end, colour, share]) => {
    const tall = Math.max(1, (height * share) / 100);
    return svg("rect", {
      x: round(timeX(start)),
      y: round(y + height - tall),
      width: round(Math.max(0.6, timeX(end) - timeX(start))),
      height: round(tall),
      style: paint(colour),
    });
  });
}

/**
 * The fill of a memory as steps, with a dashed line at its capacity.
 * @param {Level} level
 * @param {number} y
 * @param {number} height
 */
function memory({ fill, limit, over }, y, height) {
  const left = (/** @type {number} */ at) => round(timeX((1000 * at) / fill.length));
  const level = (/** @type {number} */ part) => round(y + height - (height * Math.min(part, 100)) / 100);
  const path = fill.map((part, at) => `V${level(part)}H${left(at + 1)}`).join("");
  const found = [
    svg("path", {
      class: over ? "thumb-memory is-over" : "thumb-memory",
      d: `M${left(0)} ${round(y + height)}${path}V${round(y + height)}Z`,
    }),
  ];
  if (limit)
    found.push(
      svg("path", {
        class: over ? "thumb-limit is-over" : "thumb-limit",
        d: `M${TIME.left} ${level(limit)}H${TIME.right}`,
      }),
    );
  return found;
}

/**
 * @param {Thumbnail} data
 * @param {number} height
 */
function time({ engines, memories }, height) {
  /** @type {SVGElement[]} */
  const found = [];
  let y = TOP;
  const lane = height / 10;
  for (const row of engines.slice(0, 4)) {
    found.push(...engine(row, y, lane));
    y += lane + TIME.gap;
  }
  const room = TOP + height - y;
  const each = Math.min(
    height / 3,
    (room - TIME.gap * Math.max(0, memories.length - 1)) / Math.max(1, memories.length),
  );
  for (const level of memories) {
    if (each >= 6) found.push(...memory(level, y, each));
    y += each + TIME.gap;
  }
  return found;
}

/**
 * The picture of a thumbnail, or an empty frame. The text of the card has the same information.
 * @param {Thumbnail | null} data
 */
export function thumbnail(data, height = 104) {
  const picture = svg("svg", {
    class: "thumb",
    viewBox: `0 0 ${WIDTH} ${height}`,
    "aria-hidden": "true",
    focusable: "false",
  });
  if (!data?.rows.length) return picture;
  const room = height - 2 * TOP;
  picture.append(
    ...tree(data.rows, room),
    svg("path", { class: "thumb-rule", d: `M${RULE} ${TOP}V${TOP + room}` }),
    ...time(data, room),
  );
  return picture;
}
