// The grid of a buffer: the bank of each element, and the highlighted elements of one access. Pointer and arrow keys show address, bank and row of
// an element. A drag, and arrow keys beyond the edge, move the window over a larger buffer.

import { focusIn, h } from "../core/dom.js";
import { keep, kept } from "../core/storage.js";
import { isDark, paintsOf, shade, sized, texture } from "./paint.js";

/** @import { Paints } from "./paint.js" */
/** @import { LayoutGrid as Grid } from "../views.js" */
/** @import { Request } from "./picker.js" */

/** @typedef {[row: number, column: number]} Place */
/** @typedef {"unit" | "index" | "offset"} CellText What is written in a cell. */
/** @typedef {{ context: CanvasRenderingContext2D, grid: Grid, paints: Paints, size: number, font: string, text: CellText }} Frame `size`: of a cell. */

/** @type {Record<CellText, string>} */
const CELL_TEXTS = { unit: "bank", index: "index", offset: "offset" };
const TEXT_KEY = "tilewright-cell-text";
const TEXT_PIXELS = 36; // width of a cell with an index or an offset

const LEFT = 26;
const TOP = 15;
const MIXED = -1;
const TALLEST = 330;
const LEAST_ACROSS = 8;
const PAGE_STEP = 8;

export class ElementGrid {
  /** @param {Request} request Request another part of the buffer. */
  constructor(request) {
    this.request = request;
    this.canvas = h("canvas", {
      class: "grid-canvas",
      tabindex: "0",
      role: "application",
      "aria-roledescription": "grid of elements",
      "aria-describedby": "grid-readout",
      onpointermove: (event) => this.point(event),
      onpointerleave: () => this.leave(),
      onpointerdown: (event) => this.grab(event),
      onpointerup: () => (this.drag = null),
      onkeydown: (event) => this.key(event),
      onfocus: () => this.focus(),
      onblur: () => this.draw(),
    });
    this.readout = h("output", { class: "grid-readout", id: "grid-readout", "aria-live": "polite" });
    this.part = h("span", { class: "grid-part" });
    const tool = (/** @type {string} */ label, /** @type {string} */ text, /** @type {() => void} */ run) =>
      h("button", { class: "tool small", type: "button", title: label, "aria-label": label, onclick: run }, text);
    this.out = tool("Show more elements", "−", () => this.zoom(2));
    this.in = tool("Show fewer elements, larger", "+", () => this.zoom(0.5));
    this.slots = h("span", { class: "grid-slots", role: "group", "aria-label": "Slot" });
    /** @type {CellText} */
    this.text = kept("localStorage", TEXT_KEY) ?? "unit";
    this.texts = h(
      "select",
      {
        class: "field-control grid-text",
        "aria-label": "Text in the cells",
        title: "Text in the cells",
        onchange: () => this.chooseText(),
      },
      Object.entries(CELL_TEXTS).map(([value, label]) => h("option", { value }, label)),
    );
    this.texts.value = this.text;
    this.bar = h("div", { class: "grid-bar" }, this.part, this.slots, this.texts, this.out, this.in);
    this.element = h("div", { class: "element-grid" }, this.bar, this.canvas, this.readout);
    /** @type {Grid | null} */
    this.grid = null;
    this.colour = 0;
    /** @type {Place} */
    this.cursor = [0, 0];
    /** @type {Map<number, boolean>} */
    this.highlighted = new Map();
    this.dims = false;
    /** @type {{ x: number, y: number, row: number, column: number } | null} */
    this.drag = null;
    /** @type {Place | null} The window that was requested and is not here yet. */
    this.requestedCorner = null;
    /** @type {number | null} */
    this.requestedWidth = null;
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  /**
   * @param {Grid} grid
   * @param {number} colour
   */
  update(grid, colour) {
    const old = this.grid;
    const isSame = old && old.row === grid.row && old.column === grid.column && old.across === grid.across;
    this.grid = grid;
    this.colour = colour;
    if (this.requestedCorner?.[0] === grid.row && this.requestedCorner[1] === grid.column) this.requestedCorner = null;
    if (this.requestedWidth === grid.across) this.requestedWidth = null;
    if (!isSame) this.cursor = [Math.min(this.cursor[0], grid.height - 1), Math.min(this.cursor[1], grid.width - 1)];
    this.canvas.setAttribute(
      "aria-label",
      `Elements by ${grid.unit_word}: ${grid.rows} rows of ${grid.columns}, ${grid.unit_text}. Arrow keys move from element to element.`,
    );
    const isWhole = grid.height * grid.scale >= grid.rows && grid.width * grid.scale >= grid.columns;
    if (grid.preview)
      this.part.replaceChildren(h("span", { class: "tw-badge tw-badge--warn" }, "preview"), ` ${grid.preview}`);
    else this.part.textContent = windowText(grid, isWhole);
    this.canvas.classList.toggle("is-preview", Boolean(grid.preview));
    this.part.title = isWhole ? "All live elements" : `of ${grid.rows} × ${grid.columns}; drag the picture to move it`;
    this.out.disabled = grid.across >= grid.widest;
    this.in.disabled = grid.across <= LEAST_ACROSS;
    this.canvas.classList.toggle("is-part", !isWhole);
    const slots = grid.slots > 1 ? Array.from({ length: grid.slots }, (_, n) => this.slotButton(n, grid.slot)) : [];
    this.slots.replaceChildren(...slots);
    this.draw();
    if (!this.readout.textContent) this.describeBuffer();
  }

  /** Forget a requested window; the next grid is that of another buffer. */
  forgetRequests() {
    this.requestedWidth = null;
  }

  /**
   * @param {number} n
   * @param {number} chosen
   */
  slotButton(n, chosen) {
    return h(
      "button",
      {
        class: "tool small",
        type: "button",
        "aria-pressed": String(n === chosen),
        onclick: () => this.request({ slot: n }),
      },
      `#${n}`,
    );
  }

  /** Write another value in the cells, and show as many of them as have room for it. */
  chooseText() {
    this.text = /** @type {CellText} */ (this.texts.value);
    keep("localStorage", TEXT_KEY, this.text);
    const across = Math.max(LEAST_ACROSS, Math.floor((this.element.clientWidth - LEFT) / TEXT_PIXELS));
    if (this.text !== "unit" && this.grid && this.grid.across > across) {
      this.requestedWidth = across;
      this.request({ across });
    }
    this.draw();
  }

  /** @param {number} factor */
  zoom(factor) {
    if (!this.grid) return;
    const width = Math.round((this.requestedWidth ?? this.grid.across) * factor);
    const across = Math.max(LEAST_ACROSS, Math.min(this.grid.widest, width));
    this.requestedCorner = null;
    this.requestedWidth = across; // a second click can come before the answer to the first one
    this.request({ across });
  }

  /**
   * Highlight the elements of an access.
   * @param {Map<number, boolean>} highlighted Positions, and whether their banks serve more rows than others.
   * @param {boolean} dims Whether the other elements are dimmed.
   */
  highlight(highlighted, dims) {
    this.highlighted = highlighted;
    this.dims = dims;
    this.draw();
  }

  // Drawing.

  /**
   * The size of a cell in pixels.
   * @param {Grid} grid
   */
  cellSize({ width, height }) {
    const room = this.element.clientWidth - LEFT - 2;
    const tall = Math.max(TALLEST / height, room / width / 2);
    const most = this.text === "unit" ? 28 : 48;
    return Math.max(2, Math.min(most, tall, Math.floor((room / width) * 4) / 4));
  }

  draw() {
    const { grid } = this;
    if (!grid || !this.element.clientWidth) return;
    const size = this.cellSize(grid);
    const context = sized(this.canvas, LEFT + size * grid.width + 2, TOP + size * grid.height + 2);
    const paints = paintsOf(this.canvas, this.colour);
    const frame = { context, grid, paints, size, font: getComputedStyle(this.canvas).fontFamily, text: this.text };
    drawRulers(frame);
    const levels = levelsOf(grid);
    const cells = highlightedCells(grid, this.highlighted);
    for (let row = 0; row < grid.height; row++) {
      for (let column = 0; column < grid.width; column++) {
        const at = row * grid.width + column;
        context.globalAlpha = this.dims && cells.size && !cells.has(at) ? 0.45 : 1;
        drawCell(frame, row, column, levels[at]);
      }
    }
    context.globalAlpha = 1;
    drawOutlines(frame, cells);
    if (this.isFocused()) drawCursor(frame, this.cursor);
  }

  // The readout.

  isFocused() {
    return focusIn(this.canvas) === this.canvas;
  }

  describeBuffer() {
    if (this.grid) this.readout.textContent = `${this.grid.unit_text} · ${this.grid.element_bytes} B an element`;
  }

  describeCursor() {
    if (this.grid) this.readout.textContent = describe(this.grid, this.cursor);
  }

  focus() {
    this.describeCursor();
    this.draw();
  }

  // Pointer and keys.

  /**
   * @param {MouseEvent} event
   * @returns {Place | null}
   */
  cellAt(event) {
    if (!this.grid) return null;
    const box = this.canvas.getBoundingClientRect();
    const size = this.cellSize(this.grid);
    const row = Math.floor((event.clientY - box.top - TOP) / size);
    const column = Math.floor((event.clientX - box.left - LEFT) / size);
    return row >= 0 && column >= 0 && row < this.grid.height && column < this.grid.width ? [row, column] : null;
  }

  /** @param {PointerEvent} event */
  point(event) {
    const { grid, drag } = this;
    if (!grid) return;
    if (drag) {
      const step = this.cellSize(grid) / grid.scale;
      const moved = (/** @type {number} */ pixels) => Math.round(pixels / step);
      this.move(drag.row - moved(event.clientY - drag.y), drag.column - moved(event.clientX - drag.x));
      return;
    }
    const cell = this.cellAt(event);
    if (cell) this.readout.textContent = describe(grid, cell);
    else this.describeBuffer();
  }

  leave() {
    if (this.isFocused()) this.describeCursor();
    else this.describeBuffer();
  }

  /** @param {PointerEvent} event */
  grab(event) {
    const cell = this.cellAt(event);
    if (!cell || !this.grid) return;
    this.cursor = cell;
    this.drag = { x: event.clientX, y: event.clientY, row: this.grid.row, column: this.grid.column };
    this.canvas.setPointerCapture(event.pointerId);
    this.draw();
  }

  /**
   * Move the window to a row and a column, as far as the buffer reaches. Keys can be faster than the answers of the server.
   * @param {number} row
   * @param {number} column
   */
  move(row, column) {
    const { grid } = this;
    if (!grid) return;
    const within = (/** @type {number} */ n, /** @type {number} */ extent) =>
      Math.max(0, Math.min(n, extent - grid.across));
    const [top, left] = [within(row, grid.rows), within(column, grid.columns)];
    const present = this.requestedCorner ?? [grid.row, grid.column];
    if (top === present[0] && left === present[1]) return;
    this.requestedCorner = [top, left];
    this.request({ row: top, column: left });
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const { grid } = this;
    if (!grid) return;
    const step = stepOf(event.key, grid);
    if (event.key === "+" || event.key === "=") this.zoom(0.5);
    else if (event.key === "-") this.zoom(2);
    else if (step) this.step(grid, step);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /**
   * Move the cursor; beyond the edge, arrow and page keys move the window.
   * @param {Grid} grid
   * @param {Place} step
   */
  step(grid, step) {
    const [row, column] = [this.cursor[0] + step[0], this.cursor[1] + step[1]];
    this.cursor = [Math.max(0, Math.min(grid.height - 1, row)), Math.max(0, Math.min(grid.width - 1, column))];
    const [down, right] = [(row - this.cursor[0]) * grid.scale, (column - this.cursor[1]) * grid.scale];
    if ((down || right) && Math.abs(step[1]) <= PAGE_STEP) {
      const [top, left] = this.requestedCorner ?? [grid.row, grid.column];
      this.move(top + down, left + right);
    }
    this.focus();
  }
}

/**
 * @param {string} key
 * @param {Grid} grid
 * @returns {Place | undefined}
 */
function stepOf(key, grid) {
  /** @type {{ [key: string]: Place }} */
  const steps = {
    ArrowUp: [-1, 0],
    ArrowDown: [1, 0],
    ArrowLeft: [0, -1],
    ArrowRight: [0, 1],
    PageUp: [-PAGE_STEP, 0],
    PageDown: [PAGE_STEP, 0],
    Home: [0, -grid.width],
    End: [0, grid.width],
  };
  return steps[key];
}

/**
 * @param {Grid} grid
 * @param {boolean} isWhole
 */
function windowText(grid, isWhole) {
  const [down, across] = grid.axes.length === 2 ? grid.axes.map((name) => ` (${name})`) : ["", ""];
  const rows = `${grid.row}–${Math.min(grid.rows, grid.row + grid.height * grid.scale) - 1}`;
  const columns = `${grid.column}–${Math.min(grid.columns, grid.column + grid.width * grid.scale) - 1}`;
  const extent = isWhole ? `${grid.rows} × ${grid.columns}` : `rows ${rows}${down}, columns ${columns}${across}`;
  return grid.scale > 1 ? `${extent} · a cell is ${grid.scale} × ${grid.scale}` : extent;
}

/**
 * Index, address, bank and row of the first element of a cell.
 * @param {Grid} grid
 * @param {Place} cell
 */
function describe(grid, [row, column]) {
  const at = row * grid.width + column;
  const address = grid.addresses[at];
  const position = (grid.row + row * grid.scale) * grid.columns + grid.column + column * grid.scale;
  const index = indexOf(grid.shape, position).map((n, axis) => (grid.axes[axis] ? `${grid.axes[axis]} ${n}` : n));
  const parts = [`[${index.join(", ")}]`, `offset ${offsetOf(grid, at)}`, `address 0x${address.toString(16)}`];
  if (grid.units[at] === MIXED) parts.push(`several ${grid.unit_word}s`);
  else if (grid.unit_count > 1) parts.push(`${grid.unit_word} ${grid.units[at]}`);
  if (grid.unit === "bank" || grid.unit === "set")
    parts.push(`row ${Math.floor(address / grid.row_bytes / grid.unit_count)}`);
  else if (grid.row_bytes > 1) parts.push(`burst ${Math.floor(address / grid.row_bytes)}`);
  return parts.join(" · ");
}

/**
 * @param {number[]} shape
 * @param {number} position
 */
function indexOf(shape, position) {
  /** @type {number[]} */
  const found = [];
  for (const extent of [...shape].reverse()) {
    found.unshift(position % extent);
    position = Math.floor(position / extent);
  }
  return found;
}

/**
 * The shade of each cell: by its bank or set, else by its address.
 * @param {Grid} grid
 */
function levelsOf({ unit, units, unit_count: count, addresses }) {
  if (unit === "bank" || unit === "set")
    return units.map((one) => (one === MIXED ? 0.5 : one / Math.max(1, count - 1)));
  let [low, high] = [Infinity, -Infinity];
  for (const address of addresses) {
    low = Math.min(low, address);
    high = Math.max(high, address);
  }
  return addresses.map((address) => (high > low ? 0.1 + (0.75 * (address - low)) / (high - low) : 0.3));
}

/**
 * The highlighted cells of the window.
 * @param {Grid} grid
 * @param {Map<number, boolean>} highlighted By position.
 */
function highlightedCells(grid, highlighted) {
  /** @type {Map<number, boolean>} */
  const found = new Map();
  for (const [position, isSlow] of highlighted) {
    const row = Math.floor((Math.floor(position / grid.columns) - grid.row) / grid.scale);
    const column = Math.floor(((position % grid.columns) - grid.column) / grid.scale);
    if (row < 0 || column < 0 || row >= grid.height || column >= grid.width) continue;
    const at = row * grid.width + column;
    found.set(at, isSlow || found.get(at) === true);
  }
  return found;
}

/**
 * @param {Frame} frame
 * @param {number} row
 * @param {number} column
 * @param {number} level
 */
function drawCell({ context, grid, paints, size, font, text }, row, column, level) {
  const at = row * grid.width + column;
  const unit = grid.units[at];
  const [x, y] = [LEFT + column * size, TOP + row * size];
  const inner = size - (size >= 6 ? 1 : 0);
  context.fillStyle = shade(paints, level);
  context.fillRect(x, y, inner, inner);
  const color = isDark(paints, level) ? "rgba(255,255,255,0.9)" : "rgba(0,0,0,0.8)";
  if (unit === MIXED) texture(context, 1, x, y, inner, color);
  else if (grid.unit === "block") texture(context, unit, x, y, inner, color);
  if (size < (text === "unit" ? 15 : 22) || unit === MIXED) return;
  context.fillStyle = color;
  context.font = `${Math.min(11, size * (text === "unit" ? 0.5 : 0.34))}px ${font}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(cellText(grid, text, row, column), x + (size - 1) / 2, y + (size - 1) / 2 + 0.5, size - 2);
}

/**
 * The offset of an element from the first one, in elements.
 * @param {Grid} grid
 * @param {number} at
 */
function offsetOf({ addresses, base, element_bytes: bytes }, at) {
  return (addresses[at] - base) / bytes;
}

/**
 * @param {Grid} grid
 * @param {CellText} text
 * @param {number} row
 * @param {number} column
 */
function cellText(grid, text, row, column) {
  const at = row * grid.width + column;
  if (text === "offset") return String(offsetOf(grid, at));
  if (text === "unit") return String(numberOf(grid, at));
  const position = (grid.row + row * grid.scale) * grid.columns + grid.column + column * grid.scale;
  return indexOf(grid.shape, position).join(",");
}

/**
 * The number in a cell: its bank, or its row from the first one on.
 * @param {Grid} grid
 * @param {number} at
 */
function numberOf({ unit_count: count, units, addresses, row_bytes: bytes }, at) {
  return count > 1 ? units[at] : Math.floor(addresses[at] / bytes) - Math.floor(addresses[0] / bytes);
}

/**
 * @param {Frame} frame
 * @param {Place} cursor
 */
function drawCursor({ context, paints, size }, [row, column]) {
  context.strokeStyle = paints.accent;
  context.lineWidth = size >= 5 ? 2 : 1;
  const inset = context.lineWidth / 2;
  context.strokeRect(LEFT + column * size + inset - 0.5, TOP + row * size + inset - 0.5, size - inset, size - inset);
}

/**
 * Lines around connected highlighted cells; those of slow banks are red.
 * @param {Frame} frame
 * @param {Map<number, boolean>} cells
 */
function drawOutlines({ context, grid, paints, size }, cells) {
  for (const [at, isSlow] of cells) {
    const [row, column] = [Math.floor(at / grid.width), at % grid.width];
    const [left, top] = [LEFT + column * size - 0.5, TOP + row * size - 0.5];
    const [right, bottom] = [left + size, top + size];
    const edge = (/** @type {number[]} */ ...[x0, y0, x1, y1]) => {
      context.moveTo(x0, y0);
      context.lineTo(x1, y1);
    };
    context.strokeStyle = isSlow ? paints.bad : paints.text;
    context.lineWidth = size >= 6 ? 2 : 1.5;
    context.beginPath();
    if (row === 0 || !cells.has(at - grid.width)) edge(left, top, right, top);
    if (row === grid.height - 1 || !cells.has(at + grid.width)) edge(left, bottom, right, bottom);
    if (column === 0 || !cells.has(at - 1)) edge(left, top, left, bottom);
    if (column === grid.width - 1 || !cells.has(at + 1)) edge(right, top, right, bottom);
    context.stroke();
  }
}

/** @param {Frame} frame */
function drawRulers({ context, grid, paints, size, font }) {
  const step = [1, 2, 4, 8, 16, 32].find((n) => n * size >= 24) ?? 64;
  context.fillStyle = paints.muted;
  context.font = `10px ${font}`;
  context.textBaseline = "middle";
  context.textAlign = "left";
  for (let column = 0; column < grid.width; column += step)
    context.fillText(String(grid.column + column * grid.scale), LEFT + column * size, TOP / 2);
  context.textAlign = "right";
  for (let row = 0; row < grid.height; row += step) {
    const y = TOP + row * size + Math.min(size / 2, 8);
    context.fillText(String(grid.row + row * grid.scale), LEFT - 4, y, LEFT - 4);
  }
}
