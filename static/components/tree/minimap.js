// A slim picture of a long nest at its edge: every row a line, blocks in the colour of what they write, with the part that is in sight, the
// chosen rows and what was found. A press or a drag goes there. The keyboard has the tree itself, so it is hidden from it.

import { h } from "../core/dom.js";

const WIDTH = 44;
const LONG = 1.3;

export class Minimap {
  constructor(tree) {
    this.tree = tree;
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

  /** Soon: many things change together. */
  draw() {
    this.picture = null;
    this.move();
  }

  /** Only what is in sight is another part. */
  move() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.paint());
  }

  paint() {
    const {
      tree: { list, window: rows },
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
    const paper = canvas.getContext("2d");
    paper.drawImage(this.picture.canvas, 0, 0);
    paper.scale(scale, scale);
    paper.globalAlpha = 0.2;
    paper.fillStyle = paper.strokeStyle = this.picture.accent;
    const { top, size } = this.view(height);
    paper.fillRect(0, top, WIDTH, size);
    paper.globalAlpha = 1;
    paper.strokeRect(0.5, top + 0.5, WIDTH - 1, Math.max(3, size - 1));
  }

  /** All rows, drawn once: scrolling only moves a frame over it. */
  pictureOf(height, scale) {
    const canvas = h("canvas", { width: Math.ceil(WIDTH * scale), height: Math.ceil(height * scale) });
    const paper = canvas.getContext("2d");
    paper.scale(scale, scale);
    this.lines(paper, height);
    return { canvas, accent: this.colour("--tw-accent") };
  }

  /** Every row as a line, those that are chosen or found last and from edge to edge. */
  lines(paper, height) {
    const { tree } = this;
    const { window: rows, byId, search, chosen } = tree;
    const deepest = rows.ids.reduce((most, id) => Math.max(most, byId.get(id).depth), 1);
    const indent = Math.min(4, (WIDTH * 0.6) / deepest);
    const per = height / Math.max(1, rows.ids.length);
    const thick = Math.max(1, Math.min(3, per - 0.5));
    const colours = new Map();
    const colour = (name) => colours.get(name) ?? colours.set(name, this.colour(name)).get(name);
    const loud = (id) => search.has(id) || chosen.has(id);
    for (const id of [...rows.ids.filter((id) => !loud(id)), ...rows.ids.filter(loud)]) {
      const row = byId.get(id);
      const y = (rows.topOf(id) / rows.height) * height;
      const x = 4 + row.depth * indent;
      const written = row.writes?.[0];
      paper.fillStyle = colour(
        search.has(id)
          ? "--tw-warn"
          : chosen.has(id)
            ? "--tw-accent"
            : written
              ? `--tw-buffer-${written.colour}`
              : "--tw-line-strong",
      );
      // Lines that lie on one another would be a blur of colours.
      paper.globalAlpha = per < 1.5 && !loud(id) ? 0.3 : 1;
      if (loud(id)) paper.fillRect(0, y, WIDTH, Math.max(2, thick));
      else paper.fillRect(x, y, row.kind === "block" ? WIDTH - x - 3 : Math.min(WIDTH - x - 3, 14), thick);
    }
  }

  view(height) {
    const { list } = this.tree;
    return {
      top: (list.scrollTop / list.scrollHeight) * height,
      size: (list.clientHeight / list.scrollHeight) * height,
    };
  }

  colour(name) {
    this.probe.style.color = `var(${name})`;
    return getComputedStyle(this.probe).color;
  }

  press(event) {
    const {
      canvas,
      tree: { list },
    } = this;
    event.preventDefault();
    canvas.setPointerCapture(event.pointerId);
    const go = ({ clientY }) => {
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
