// The minimap of a long nest: a line for every row in the colour of its written buffer, selected and found rows, and a frame around the visible
// part. A press or a drag scrolls there. It is hidden from screen readers and the keyboard, which have the tree.

import { context2d } from "../core/canvas.js";
import { h } from "../core/dom.js";

/** @import { Tree } from "./tree.js" */

/** @typedef {{ canvas: HTMLCanvasElement, accent: string }} Picture */

const WIDTH = 44; // pixels
const LONG = 1.3; // the height of a long nest, in heights of the list

export class Minimap {
  /** @param {Tree} tree */
  constructor(tree) {
    this.tree = tree;
    /** @type {Picture | null} All rows, without the frame. */
    this.picture = null;
    this.frame = 0;
    this.canvas = h("canvas", { class: "minimap", "aria-hidden": "true", hidden: true });
    this.probe = h("span", { hidden: true });
    this.canvas.append(this.probe);
    this.canvas.addEventListener("pointerdown", (event) => this.press(event));
    this.resized = new ResizeObserver(() => tree.resized());
    this.resized.observe(tree.list);
    this.themed = new MutationObserver(() => this.draw());
    this.themed.observe(document.documentElement, {
      attributes: true,
      attributeFilter: ["data-theme", "style", "class"],
    });
  }

  remove() {
    this.resized.disconnect();
    this.themed.disconnect();
    cancelAnimationFrame(this.frame);
  }

  /** Draw all rows in the next frame: several changes arrive together. */
  draw() {
    this.picture = null;
    this.move();
  }

  /** Move the frame around the visible part. */
  move() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.paint());
  }

  paint() {
    const {
      tree: { list, virtual: rows },
      canvas,
    } = this;
    const long = rows.height > LONG * list.clientHeight && list.clientHeight > 0;
    if (canvas.hidden === long) {
      canvas.hidden = !long;
      list.classList.toggle("has-minimap", long);
    }
    if (!long) return;
    const scale = window.devicePixelRatio || 1;
    const height = list.clientHeight;
    this.picture ??= this.pictureOf(height, scale);
    canvas.width = WIDTH * scale;
    canvas.height = height * scale;
    const paper = context2d(canvas);
    paper.drawImage(this.picture.canvas, 0, 0);
    paper.scale(scale, scale);
    paper.globalAlpha = 0.2;
    paper.fillStyle = paper.strokeStyle = this.picture.accent;
    const { top, size } = this.view(height);
    paper.fillRect(0, top, WIDTH, size);
    paper.globalAlpha = 1;
    paper.strokeRect(0.5, top + 0.5, WIDTH - 1, Math.max(3, size - 1));
  }

  /**
   * All rows, drawn once: scrolling only moves a frame over them.
   * @param {number} height
   * @param {number} scale Device pixels in a CSS pixel.
   * @returns {Picture}
   */
  pictureOf(height, scale) {
    const canvas = h("canvas", { width: Math.ceil(WIDTH * scale), height: Math.ceil(height * scale) });
    const paper = context2d(canvas);
    paper.scale(scale, scale);
    this.lines(paper, height);
    return { canvas, accent: this.color("--tw-accent") };
  }

  /**
   * A line for every row; those of selected and found rows are drawn last, from edge to edge.
   * @param {CanvasRenderingContext2D} paper
   * @param {number} height
   */
  lines(paper, height) {
    const { tree } = this;
    const { virtual: rows, byId, search, selection } = tree;
    const deepest = rows.ids.reduce((most, id) => Math.max(most, byId.get(id)?.depth ?? 0), 1);
    const indent = Math.min(4, (WIDTH * 0.6) / deepest);
    const per = height / Math.max(1, rows.ids.length);
    const thick = Math.max(1, Math.min(3, per - 0.5));
    /** @type {Map<string, string>} */
    const colors = new Map();
    const color = (/** @type {string} */ name) => {
      const found = colors.get(name) ?? this.color(name);
      colors.set(name, found);
      return found;
    };
    const isMarked = (/** @type {string} */ id) => search.has(id) || selection.has(id);
    for (const id of [...rows.ids.filter((id) => !isMarked(id)), ...rows.ids.filter(isMarked)]) {
      const row = byId.get(id);
      if (!row) continue;
      const y = ((rows.topOf(id) ?? 0) / rows.height) * height;
      const x = 4 + row.depth * indent;
      const written = row.writes?.[0];
      paper.fillStyle = color(
        search.has(id)
          ? "--tw-warn"
          : selection.has(id)
            ? "--tw-accent"
            : written
              ? `--tw-buffer-${written.colour}`
              : "--tw-line-strong",
      );
      // Overlapping lines of full opacity would be a blur of colours.
      paper.globalAlpha = per < 1.5 && !isMarked(id) ? 0.3 : 1;
      if (isMarked(id)) paper.fillRect(0, y, WIDTH, Math.max(2, thick));
      else paper.fillRect(x, y, row.kind === "block" ? WIDTH - x - 3 : Math.min(WIDTH - x - 3, 14), thick);
    }
  }

  /**
   * The visible part, in pixels of the minimap.
   * @param {number} height
   */
  view(height) {
    const { list } = this.tree;
    return {
      top: (list.scrollTop / list.scrollHeight) * height,
      size: (list.clientHeight / list.scrollHeight) * height,
    };
  }

  /** @param {string} name A custom property. */
  color(name) {
    this.probe.style.color = `var(${name})`;
    return getComputedStyle(this.probe).color;
  }

  /** @param {PointerEvent} event */
  press(event) {
    const {
      canvas,
      tree: { list },
    } = this;
    event.preventDefault();
    canvas.setPointerCapture(event.pointerId);
    const go = (/** @type {PointerEvent} */ { clientY }) => {
      const { top, height } = canvas.getBoundingClientRect();
      list.scrollTop = ((clientY - top) / height) * list.scrollHeight - list.clientHeight / 2;
    };
    go(event);
    canvas.onpointermove = go;
    canvas.onpointerup = canvas.onpointercancel = () => {
      canvas.onpointermove = null;
    };
  }
}
