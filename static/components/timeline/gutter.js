// The names beside the lanes: the activity of each engine at the playhead, and each slot of the memories: filling, live or free.

import { classOf } from "./cores.js";
import { innermostIndex, shortened, shortenedBefore, slotLabel } from "./labels.js";
import { GUTTER, cellBand } from "./layout.js";
import { stallOf, waitText } from "./texts.js";

/** @import { PlayheadState } from "./model.js" */
/** @import { Pen } from "./pen.js" */
/** @import { MemoryCell as Cell, Timeline as TimelineData } from "../views.js" */

const LEFT = 10;
const SLOTS = 112; // left edge of the slots
const NAME = { bold: true, size: 11 };

/**
 * @param {Pen} pen
 * @param {TimelineData} data
 * @param {PlayheadState | null} state
 * @param {number} core The core whose tasks are shown.
 */
export function paintGutter(pen, data, state, core) {
  const { layout, colors } = pen;
  data.engines.forEach((engine, lane) => {
    const y = layout.lanes[lane].top + layout.bar / 2;
    pen.text(shortened(engine.name, GUTTER - 20), LEFT, y, colors.text, NAME);
    if (state) paintActivity(pen, data, state, lane, y + 12);
  });
  data.rows.forEach((row, n) => {
    const { top, height } = layout.rows[n];
    const width = row.kind === "port" ? GUTTER : SLOTS;
    const isShown = data.chip?.numbers && classOf(data.chip, core)?.row === n;
    pen.text(shortened(row.name, width - 14), LEFT, top + 7, isShown ? colors.accent : colors.text, NAME);
    if (height > 22) {
      const text = shortened(row.text, (width - 10) * 1.12);
      pen.text(text, LEFT, top + 20, row.over ? colors.bad : colors.muted, { size: 10 });
    }
    if (!row.limit) paintBreak(pen, GUTTER - 5, top + 6);
  });
  data.cells.forEach((cell, number) => {
    const use = state?.cells[number] ?? "free";
    if (use !== "free" || !cell.shared) paintSlot(pen, cell, use); // of the slots at one address, the one in use
  });
}

/**
 * @param {Pen} pen
 * @param {TimelineData} data
 * @param {PlayheadState} state
 * @param {number} lane
 * @param {number} y
 */
function paintActivity(pen, data, state, lane, y) {
  const task = state.tasks.find(({ template }) => template.lane === lane);
  if (task) {
    const index = innermostIndex(task);
    const text = shortenedBefore(task.template.block, index && ` ${index}`, GUTTER - 22);
    pen.text(text, LEFT, y, pen.colors.accent);
    return;
  }
  const wait = stallOf(data, state, lane);
  if (wait) pen.text(shortened(waitText(wait), GUTTER - 20), LEFT, y, pen.stallColor(wait.cause));
}

/**
 * Two strokes: the row is not to scale above them.
 * @param {Pen} pen
 * @param {number} x
 * @param {number} y
 */
function paintBreak(pen, x, y) {
  for (const by of [0, 3]) pen.line([x, y + by + 2], [x + 8, y + by - 2], pen.colors.muted);
}

/**
 * A slot: solid if live, hatched while it is filled, empty if free.
 * @param {Pen} pen
 * @param {Cell} cell
 * @param {"live" | "filling" | "free"} state
 */
function paintSlot(pen, cell, state) {
  const { context, colors } = pen;
  const { top, height } = cellBand(pen.layout, cell);
  const color = colors.buffers[cell.colour];
  const width = GUTTER - SLOTS - 8;
  if (state === "live") pen.rect(SLOTS, SLOTS + width, top, height, color, 0.9);
  else if (state === "filling") pen.rect(SLOTS, SLOTS + width, top, height, pen.fillingHatch(color));
  context.strokeStyle = color;
  context.lineWidth = 1;
  context.strokeRect(SLOTS + 0.5, top + 0.5, width - 1, Math.max(1, height - 1));
  if (height < 9) return;
  const text = slotLabel(cell.label, width - 5);
  pen.text(text, SLOTS + 3, top + height / 2 + 0.5, state === "live" ? colors.surface : colors.text, { size: 9.5 });
}
