// Beside the lanes: what each engine does at the playhead, and the banks with every slot filling, live or free.

import { hatch, waitText } from "../core/colors.js";

export const GUTTER = 176;
const SLOTS = 112;
const CHARACTER = 5.7;

/** The end of a label says which slot it is: the middle is what is left out. */
function slotText(label, width) {
  const [name, slot] = label.split("#");
  const end = slot === undefined ? "" : `#${slot}`;
  return `${shortened(name, width - end.length * CHARACTER)}${end}`;
}

/** `text` cut to what `width` pixels hold; "" where that is next to nothing. */
export function shortened(text, width) {
  const count = Math.floor(width / CHARACTER);
  if (text.length <= count) return text;
  return count < 3 ? "" : `${text.slice(0, count - 1)}…`;
}

export function paintGutter(painter) {
  const { layout, inks, now } = painter;
  const { data } = painter.model;
  Object.assign(painter, { left: 0, right: layout.width });
  data.engines.forEach((engine, lane) => {
    const { top } = layout.lanes[lane];
    const y = top + layout.bar / 2;
    painter.text(shortened(engine.name, GUTTER - 20), 10, y, inks.text, { bold: true, size: 11 });
    const task = now?.tasks.find((t) => t.template.lane === lane);
    const wait = now?.waits.map((n) => data.waits[n]).find((w) => w.lane === lane);
    const last = task ? task.template.loops.length - 1 : -1;
    const index = last < 0 ? "" : ` ${task.template.loops[last].name}=${task.place[last]}`;
    if (task)
      painter.text(
        `${shortened(task.template.block, GUTTER - 22 - index.length * CHARACTER)}${index}`,
        10,
        y + 12,
        inks.accent,
      );
    else if (wait)
      painter.text(
        shortened(waitText(wait), GUTTER - 20),
        10,
        y + 12,
        wait.cause === "idle" ? inks.muted : inks.causes[wait.cause],
      );
  });
  data.rows.forEach((row, n) => {
    const { top, height } = layout.rows[n];
    painter.text(shortened(row.name, SLOTS - 14), 10, top + 7, inks.text, { bold: true, size: 11 });
    if (height > 22)
      painter.text(shortened(row.text, (SLOTS - 10) * 1.12), 10, top + 20, row.over ? inks.bad : inks.muted, {
        size: 10,
      });
    if (!row.limit) paintBreak(painter, GUTTER - 5, top + 6);
  });
  data.cells.forEach((cell, number) => paintSlot(painter, cell, now?.cells[number] ?? "free"));
}

/** Two strokes: from here on up a row is not to scale. */
function paintBreak(painter, x, y) {
  const { context, inks } = painter;
  context.strokeStyle = inks.muted;
  context.lineWidth = 1;
  for (const by of [0, 3]) {
    context.beginPath();
    context.moveTo(x, y + by + 2);
    context.lineTo(x + 8, y + by - 2);
    context.stroke();
  }
}

/** A slot in the bank picture beside its row: full, hatched while it is filled, empty. */
function paintSlot(painter, cell, state) {
  const { context, inks } = painter;
  const band = painter.band(cell);
  const colour = inks.buffers[cell.colour];
  const [x, width] = [SLOTS, GUTTER - SLOTS - 8];
  if (state === "live") painter.rect(x, x + width, band.top, band.height, colour, 0.9);
  else if (state === "filling")
    painter.rect(x, x + width, band.top, band.height, hatch(context, inks, colour, "forward", 0.12));
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.strokeRect(x + 0.5, band.top + 0.5, width - 1, Math.max(1, band.height - 1));
  if (band.height >= 9) {
    painter.text(
      slotText(cell.label, width - 5),
      x + 3,
      band.top + band.height / 2 + 0.5,
      state === "live" ? inks.surface : inks.text,
      { size: 9.5 },
    );
  }
}
