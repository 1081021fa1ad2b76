// The grid of a buffer: which element lies in which bank, and the elements of one access lit. Pointer and arrows tell address, bank and row
// of an element; a drag, and arrows beyond the edge, move the window over what is larger than it.

import { h } from "../core/dom.js";
import { isDark, paintsOf, shade, sized, texture } from "./paint.js";

const LEFT = 26;
const TOP = 15;
const MIXED = -1;
const TALLEST = 330;

export class ElementGrid {
  /** `look(changes)` asks for another part of the buffer. */
  constructor(look) {
    this.look = look;
    this.canvas = h("canvas", {
      class: "grid-canvas",
      tabindex: "0",
      role: "application",
      "aria-roledescription": "grid of elements",
      "aria-describedby": "grid-readout",
      onpointermove: (event) => this.pointed(event),
      onpointerleave: () => this.left(),
      onpointerdown: (event) => this.grabbed(event),
      onpointerup: () => (this.drag = null),
      onkeydown: (event) => this.key(event),
      onfocus: () => this.focused(),
      onblur: () => this.draw(),
    });
    this.readout = h("output", { class: "grid-readout", id: "grid-readout", "aria-live": "polite" });
    this.part = h("span", { class: "grid-part" });
    const tool = (label, text, run) =>
      h("button", { class: "tool small", type: "button", title: label, "aria-label": label, onclick: run }, text);
    this.out = tool("Show more elements", "−", () => this.zoom(2));
    this.in = tool("Show fewer elements, larger", "+", () => this.zoom(0.5));
    this.slots = h("span", { class: "grid-slots", role: "group", "aria-label": "Slot" });
    this.bar = h("div", { class: "grid-bar" }, this.part, this.slots, this.out, this.in);
    this.element = h("div", { class: "element-grid" }, this.bar, this.canvas, this.readout);
    this.cursor = [0, 0];
    this.lit = new Map();
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  update(grid, colour) {
    const same =
      this.grid && this.grid.row === grid.row && this.grid.column === grid.column && this.grid.across === grid.across;
    this.grid = grid;
    this.colour = colour;
    if (this.asked?.[0] === grid.row && this.asked[1] === grid.column) this.asked = null;
    if (this.wanted === grid.across) this.wanted = null;
    if (!same) this.cursor = [Math.min(this.cursor[0], grid.height - 1), Math.min(this.cursor[1], grid.width - 1)];
    this.canvas.setAttribute(
      "aria-label",
      `Elements by ${grid.unit_word}: ${grid.rows} rows of ${grid.columns}, ${grid.unit_text}. Arrows go from element to element.`,
    );
    const rows = `${grid.row}–${Math.min(grid.rows, grid.row + grid.height * grid.scale) - 1}`;
    const columns = `${grid.column}–${Math.min(grid.columns, grid.column + grid.width * grid.scale) - 1}`;
    const whole = grid.height * grid.scale >= grid.rows && grid.width * grid.scale >= grid.columns;
    this.part.textContent =
      (whole ? `${grid.rows} × ${grid.columns}` : `rows ${rows}, columns ${columns}`) +
      (grid.scale > 1 ? ` · a cell is ${grid.scale} × ${grid.scale}` : "");
    if (grid.preview)
      this.part.replaceChildren(h("span", { class: "tw-badge tw-badge--warn" }, "as if"), ` ${grid.preview}`);
    this.canvas.classList.toggle("is-preview", Boolean(grid.preview));
    this.part.title = whole ? "All of what is live" : `of ${grid.rows} × ${grid.columns}; drag the picture to move it`;
    this.out.disabled = grid.across >= grid.widest;
    this.in.disabled = grid.across <= 8;
    this.canvas.classList.toggle("is-part", !whole);
    this.slots.replaceChildren(
      ...(grid.slots > 1 ? Array.from({ length: grid.slots }, (_, n) => this.slotButton(n)) : []),
    );
    this.draw();
    if (!this.readout.textContent) this.rest();
  }

  slotButton(n) {
    return h(
      "button",
      {
        class: "tool small",
        type: "button",
        "aria-pressed": String(n === this.grid.slot),
        onclick: () => this.look({ slot: n }),
      },
      `#${n}`,
    );
  }

  zoom(by) {
    const across = Math.max(8, Math.min(this.grid.widest, Math.round((this.wanted ?? this.grid.across) * by)));
    this.asked = null;
    this.wanted = across; // two clicks are faster than an answer
    this.look({ across });
  }

  /** Light the elements of an access: position -> whether its bank is the busiest of several rows. */
  light(lit, dims) {
    this.lit = lit;
    this.dims = dims;
    this.draw();
  }

  // ---- The picture.

  get cell() {
    const room = this.element.clientWidth - LEFT - 2;
    const tall = Math.max(TALLEST / this.grid.height, room / this.grid.width / 2);
    return Math.max(2, Math.min(28, tall, Math.floor((room / this.grid.width) * 4) / 4));
  }

  draw() {
    const { grid } = this;
    if (!grid || !this.element.clientWidth) return;
    const size = this.cell;
    const context = sized(this.canvas, LEFT + size * grid.width + 2, TOP + size * grid.height + 2);
    this.paints = paintsOf(this.canvas, this.colour);
    this.rulers(context, size);
    const levels = this.levels();
    const lit = this.litCells();
    for (let row = 0; row < grid.height; row++) {
      for (let column = 0; column < grid.width; column++) this.drawCell(context, row, column, size, levels, lit);
    }
    this.outlineLit(context, lit, size);
    if (this.isFocused()) this.outline(context, ...this.cursor, size, this.paints.accent, true);
  }

  levels() {
    const { grid } = this;
    if (grid.unit === "bank" || grid.unit === "set")
      return grid.units.map((unit) => (unit === MIXED ? 0.5 : unit / Math.max(1, grid.unit_count - 1)));
    let low = Infinity;
    let high = -Infinity;
    for (const address of grid.addresses) {
      low = Math.min(low, address);
      high = Math.max(high, address);
    }
    return grid.addresses.map((address) => (high > low ? 0.1 + (0.75 * (address - low)) / (high - low) : 0.3));
  }

  drawCell(context, row, column, size, levels, lit) {
    const { grid, paints } = this;
    const at = row * grid.width + column;
    const [x, y] = [LEFT + column * size, TOP + row * size];
    const gap = size >= 6 ? 1 : 0;
    context.globalAlpha = this.dims && lit.size && !lit.has(at) ? 0.45 : 1;
    context.fillStyle = shade(paints, levels[at]);
    context.fillRect(x, y, size - gap, size - gap);
    const ink = isDark(paints, levels[at]) ? "rgba(255,255,255,0.9)" : "rgba(0,0,0,0.8)";
    if (grid.units[at] === MIXED) texture(context, 1, x, y, size - gap, ink);
    else if (grid.unit === "block") texture(context, grid.units[at], x, y, size - gap, ink);
    if (size >= 15 && grid.units[at] !== MIXED) this.number(context, this.figure(at), x, y, size, ink);
    context.globalAlpha = 1;
  }

  /** What stands in a cell that has room for it. */
  figure(at) {
    const { grid } = this;
    return grid.unit_count > 1
      ? grid.units[at]
      : Math.floor(grid.addresses[at] / grid.row_bytes) - Math.floor(grid.addresses[0] / grid.row_bytes);
  }

  number(context, value, x, y, size, ink) {
    context.fillStyle = ink;
    context.font = `${Math.min(11, size * 0.5)}px ${getComputedStyle(this.canvas).fontFamily}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillText(String(value), x + (size - 1) / 2, y + (size - 1) / 2 + 0.5, size - 2);
  }

  outline(context, row, column, size, colour, thick) {
    context.strokeStyle = colour;
    context.lineWidth = thick && size >= 5 ? 2 : 1;
    const inset = context.lineWidth / 2;
    context.strokeRect(LEFT + column * size + inset - 0.5, TOP + row * size + inset - 0.5, size - inset, size - inset);
  }

  /** A line around what is lit, not around each of it; what waits for its bank has one of its own. */
  outlineLit(context, lit, size) {
    const { grid, paints } = this;
    for (const [at, worst] of lit) {
      const [row, column] = [Math.floor(at / grid.width), at % grid.width];
      const [x, y] = [LEFT + column * size, TOP + row * size];
      context.strokeStyle = worst ? paints.bad : paints.text;
      context.lineWidth = size >= 6 ? 2 : 1.5;
      context.beginPath();
      const edge = (open, x0, y0, x1, y1) => {
        if (!open) return;
        context.moveTo(x0, y0);
        context.lineTo(x1, y1);
      };
      edge(row === 0 || !lit.has(at - grid.width), x - 0.5, y - 0.5, x + size - 0.5, y - 0.5);
      edge(
        row === grid.height - 1 || !lit.has(at + grid.width),
        x - 0.5,
        y + size - 0.5,
        x + size - 0.5,
        y + size - 0.5,
      );
      edge(column === 0 || !lit.has(at - 1), x - 0.5, y - 0.5, x - 0.5, y + size - 0.5);
      edge(column === grid.width - 1 || !lit.has(at + 1), x + size - 0.5, y - 0.5, x + size - 0.5, y + size - 0.5);
      context.stroke();
    }
  }

  rulers(context, size) {
    const { grid, paints } = this;
    const step = [1, 2, 4, 8, 16, 32].find((n) => n * size >= 24) ?? 64;
    context.fillStyle = paints.muted;
    context.font = `10px ${getComputedStyle(this.canvas).fontFamily}`;
    context.textBaseline = "middle";
    for (let column = 0; column < grid.width; column += step) {
      context.textAlign = "left";
      context.fillText(String(grid.column + column * grid.scale), LEFT + column * size, TOP / 2);
    }
    for (let row = 0; row < grid.height; row += step) {
      context.textAlign = "right";
      context.fillText(
        String(grid.row + row * grid.scale),
        LEFT - 4,
        TOP + row * size + Math.min(size / 2, 8),
        LEFT - 4,
      );
    }
  }

  litCells() {
    const { grid } = this;
    const found = new Map();
    for (const [position, worst] of this.lit) {
      const row = Math.floor((Math.floor(position / grid.columns) - grid.row) / grid.scale);
      const column = Math.floor(((position % grid.columns) - grid.column) / grid.scale);
      if (row >= 0 && column >= 0 && row < grid.height && column < grid.width) {
        const at = row * grid.width + column;
        found.set(at, worst || found.get(at) === true);
      }
    }
    return found;
  }

  // ---- What an element is told.

  isFocused() {
    return this.canvas.getRootNode().activeElement === this.canvas;
  }

  describe(row, column) {
    const { grid } = this;
    const at = row * grid.width + column;
    const address = grid.addresses[at];
    const index = this.indexOf((grid.row + row * grid.scale) * grid.columns + grid.column + column * grid.scale);
    const parts = [`[${index.join(", ")}]`, `address 0x${address.toString(16)}`];
    if (grid.units[at] === MIXED) parts.push(`several ${grid.unit_word}s`);
    else if (grid.unit_count > 1) parts.push(`${grid.unit_word} ${grid.units[at]}`);
    if (grid.unit === "bank" || grid.unit === "set")
      parts.push(`row ${Math.floor(address / grid.row_bytes / grid.unit_count)}`);
    else if (grid.row_bytes > 1) parts.push(`burst ${Math.floor(address / grid.row_bytes)}`);
    return parts.join(" · ");
  }

  indexOf(position) {
    const found = [];
    for (const extent of [...this.grid.shape].reverse()) {
      found.unshift(position % extent);
      position = Math.floor(position / extent);
    }
    return found;
  }

  rest() {
    const { grid } = this;
    this.readout.textContent = `${grid.unit_text} · ${grid.element_bytes} B an element`;
  }

  focused() {
    this.readout.textContent = this.describe(...this.cursor);
    this.draw();
  }

  cellAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const [row, column] = [
      Math.floor((event.clientY - box.top - TOP) / this.cell),
      Math.floor((event.clientX - box.left - LEFT) / this.cell),
    ];
    return row >= 0 && column >= 0 && row < this.grid.height && column < this.grid.width ? [row, column] : null;
  }

  pointed(event) {
    if (this.drag) return this.dragged(event);
    const cell = this.cellAt(event);
    if (cell) this.readout.textContent = this.describe(...cell);
    else this.rest();
  }

  left() {
    if (this.isFocused()) this.readout.textContent = this.describe(...this.cursor);
    else this.rest();
  }

  grabbed(event) {
    const cell = this.cellAt(event);
    if (!cell) return;
    this.cursor = cell;
    this.drag = { x: event.clientX, y: event.clientY, row: this.grid.row, column: this.grid.column };
    this.canvas.setPointerCapture(event.pointerId);
    this.draw();
  }

  dragged(event) {
    const step = this.cell / this.grid.scale;
    this.move(
      this.drag.row - Math.round((event.clientY - this.drag.y) / step),
      this.drag.column - Math.round((event.clientX - this.drag.x) / step),
    );
  }

  /** Where the window is, or will be as soon as the answer is here: keys are faster. */
  get corner() {
    return this.asked ?? [this.grid.row, this.grid.column];
  }

  /** Another window, as far as there is one. */
  move(row, column) {
    const { grid } = this;
    const at = [row, column].map((n, axis) =>
      Math.max(0, Math.min(n, (axis ? grid.columns : grid.rows) - grid.across)),
    );
    if (at[0] === this.corner[0] && at[1] === this.corner[1]) return;
    this.asked = at;
    this.look({ row: at[0], column: at[1] });
  }

  key(event) {
    const { grid } = this;
    const step = {
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
      PageUp: [-8, 0],
      PageDown: [8, 0],
      Home: [0, -grid.width],
      End: [0, grid.width],
    }[event.key];
    if (event.key === "+" || event.key === "=") this.zoom(0.5);
    else if (event.key === "-") this.zoom(2);
    else if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    if (!step) return;
    const [row, column] = [this.cursor[0] + step[0], this.cursor[1] + step[1]];
    const inside = [Math.max(0, Math.min(grid.height - 1, row)), Math.max(0, Math.min(grid.width - 1, column))];
    const over = [(row - inside[0]) * grid.scale, (column - inside[1]) * grid.scale];
    this.cursor = inside;
    if ((over[0] || over[1]) && Math.abs(step[1]) <= 8) this.move(this.corner[0] + over[0], this.corner[1] + over[1]);
    this.focused();
  }
}
