// The graph of a model: a node for each call, as high as its part of the time, below the nodes whose results it reads. This module is loaded
// with the first model.

import { h } from "../core/dom.js";
import { Popup } from "../core/popup.js";
import { svg } from "../core/svg.js";
import { arrowOf, layersOf, pathOf } from "./layout.js";
import { STATUSES, colorOf, facts, percent } from "./status.js";

/** @import { Layout } from "./layout.js" */
/** @import { GraphNode, KernelRow as Kernel, ModelGraph as GraphData } from "../views.js" */
/** @import { Page } from "./model.js" */

/** @typedef {{ width: number, height: number }} Size */

const SMALLEST = { width: 96, height: 40 };
const PADDING = { left: 12, between: 10, right: 10 }; // px beside the texts of a node
const WIDEST_SHARE = "88.8 %";
const SIGNS = ["▲", ...Object.values(STATUSES).map(([sign]) => sign)];
const TALLEST = 72; // added to a call that takes all the time
const MOST_LETTERS = 30;
const ZOOM = { least: 0.04, most: 3, step: 1.25 };
const MARGIN = 12;
const BELOW_TOOLS = 44;
const REST = 60; // px of the graph that stay in the area
const MOVED = 4; // px from which a press is a drag

const context = document.createElement("canvas").getContext("2d");

/**
 * @param {string} text
 * @param {string} font
 */
function widthOf(text, font) {
  if (!context) return 7 * text.length;
  context.font = font;
  return context.measureText(text).width;
}

/**
 * The font of an element in the page, as a canvas has it.
 * @param {Element} element
 */
function fontOf(element) {
  const { fontWeight, fontSize, fontFamily } = getComputedStyle(element);
  return `${fontWeight} ${fontSize} ${fontFamily}`;
}

export class GraphView {
  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    /** @type {GraphData} */
    this.data = { nodes: [], edges: [] };
    /** @type {Layout | null} */
    this.layout = null;
    this.drawnSizes = "";
    this.view = { x: 0, y: 0, scale: 1 };
    this.isMoved = false; // by hand: it stays where it is
    /** @type {Map<string, SVGGElement>} */
    this.groups = new Map();
    this.scene = svg("g");
    /** @type {{ [part: string]: SVGTextElement }} Texts that are never shown: they have the fonts of those of a node. */
    this.rulers = Object.fromEntries(
      ["label", "shape", "share", "sign"].map((part) => [part, svg("text", { class: `graph-${part}` })]),
    );
    const rulers = svg("g", { class: "graph-node", visibility: "hidden" }, ...Object.values(this.rulers));
    this.canvas = svg("svg", { class: "graph-canvas", "aria-hidden": "true" }, rulers, this.scene);
    const tool = (/** @type {string} */ label, /** @type {string} */ text, /** @type {() => void} */ act) =>
      h(
        "button",
        { class: "tool small framed", type: "button", title: label, "aria-label": label, onclick: act },
        text,
      );
    this.tools = h(
      "div",
      { class: "graph-tools" },
      tool("Zoom in (+)", "+", () => this.zoom(ZOOM.step)),
      tool("Zoom out (−)", "−", () => this.zoom(1 / ZOOM.step)),
      tool("Whole graph (0)", "Fit", () => this.fit()),
      tool("Full width (1)", "Width", () => this.fitWidth()),
    );
    this.area = h(
      "div",
      {
        class: "graph-area",
        role: "application",
        tabindex: "0",
        "aria-label":
          "Graph of the calls. Arrow keys move it, + and − zoom, 0 shows all. The list has the same kernels",
      },
      this.canvas,
    );
    this.element = h("div", { class: "graph" }, this.area, this.tools);
    this.card = new Popup(this.element, "tip model-tip");
    this.area.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.area.addEventListener("keydown", (event) => this.key(event));
    this.followPointer();
    new ResizeObserver(() => this.isMoved || this.fitWidth()).observe(this.area);
  }

  /** @param {GraphData} data */
  setGraph(data) {
    this.data = data;
    this.layout = null;
    this.isMoved = false;
    this.drawnSizes = "";
  }

  /** Draw the graph. Nodes get new sizes when all costs are known; until then they keep those of before. */
  draw(/** @type {boolean} */ isComplete) {
    const sizes = isComplete || !this.layout ? this.sizes() : null;
    const key = sizes ? JSON.stringify([...sizes.values()]) : "";
    if (sizes && key !== this.drawnSizes) {
      this.drawnSizes = key;
      this.layout = layersOf(this.data, (node) => /** @type {Size} */ (sizes.get(node.id)));
      this.build(this.layout);
      if (!this.isMoved) this.fitWidth();
    }
    for (const node of this.data.nodes) this.shade(node);
  }

  /** @param {GraphNode} node */
  kernelOf(node) {
    return node.key === undefined ? undefined : this.page.kernel(node.key);
  }

  /** The size of each node, in which its texts do not touch. */
  sizes() {
    const { left, between, right } = PADDING;
    const fonts = Object.fromEntries(Object.entries(this.rulers).map(([part, ruler]) => [part, fontOf(ruler)]));
    const width = (/** @type {string} */ part, /** @type {string} */ text) => widthOf(text, fonts[part]);
    const share = between + width("share", WIDEST_SHARE);
    const sign = between + Math.max(...SIGNS.map((text) => width("sign", text)));
    return new Map(
      this.data.nodes.map((node) => {
        const kernel = this.kernelOf(node);
        const label = width("label", short(node.label)) + (kernel ? share : 0);
        const shape = width("shape", short(node.shape)) + (kernel ? sign : 0);
        const part = kernel ? kernel.share / kernel.calls : 0;
        const size = {
          width: Math.ceil(Math.max(SMALLEST.width, left + label + right, left + shape + right)),
          height: SMALLEST.height + Math.round(TALLEST * Math.sqrt(part)),
        };
        return [node.id, size];
      }),
    );
  }

  /** @param {Layout} layout */
  build({ boxes, lines }) {
    this.groups.clear();
    const edges = lines.flatMap((points) => [
      svg("path", { class: "graph-edge", d: pathOf(points) }),
      svg("path", { class: "graph-arrow", d: arrowOf(points) }),
    ]);
    const nodes = this.data.nodes.map((node) => {
      const box = boxes.get(node.id);
      if (!box) return null;
      const { x, y, width, height } = box;
      const [left, top] = [x - width / 2, y - height / 2];
      const size = { width, height, rx: node.kind === "call" ? 6 : 14 };
      const group = svg(
        "g",
        { class: `graph-node is-${node.kind}`, transform: `translate(${left},${top})`, "data-node": node.id },
        svg("rect", { class: "graph-ground", ...size }),
        svg("rect", { class: "graph-fill", ...size }),
        svg("text", { class: "graph-label", x: PADDING.left, y: 17 }, short(node.label)),
        svg("text", { class: "graph-shape", x: PADDING.left, y: 32 }, short(node.shape)),
        svg("text", { class: "graph-share", x: width - PADDING.right, y: 17, "text-anchor": "end" }),
        svg("text", { class: "graph-sign", x: width - PADDING.right, y: 32, "text-anchor": "end" }),
      );
      this.groups.set(node.id, group);
      return group;
    });
    this.scene.replaceChildren(...edges, ...nodes.filter((node) => node !== null));
  }

  /**
   * The colour, share and status of a node.
   * @param {GraphNode} node
   */
  shade(node) {
    const group = this.groups.get(node.id);
    const kernel = this.kernelOf(node);
    if (!group || !kernel) return;
    const part = kernel.share / kernel.calls;
    group.style.setProperty("--kernel", colorOf(kernel));
    group.style.setProperty("--shade", String(0.06 + 0.5 * Math.sqrt(part)));
    group.setAttribute("data-status", kernel.over ? "over" : kernel.status);
    group.classList.toggle("is-away", !this.page.fits(kernel.key));
    const [share, sign] = ["graph-share", "graph-sign"].map((name) => group.querySelector(`.${name}`));
    if (share) share.textContent = kernel.cycles ? percent(part) : "";
    if (sign) sign.textContent = kernel.over ? "▲" : STATUSES[kernel.status][0];
  }

  /** @param {string | null} key */
  highlight(key) {
    for (const node of this.data.nodes)
      this.groups.get(node.id)?.classList.toggle("is-pointed", key !== null && node.key === key);
  }

  // The view.

  show(isMoved = true) {
    const { x, y, scale } = this.view;
    this.isMoved = isMoved;
    this.scene.setAttribute("transform", `translate(${x},${y}) scale(${scale})`);
  }

  /** The first layers, as wide as the area. */
  fitWidth() {
    const { clientWidth, clientHeight } = this.area;
    if (!this.layout || !clientWidth || !clientHeight) return;
    const scale = Math.min(1, Math.max(0.35, (clientWidth - 2 * MARGIN) / this.layout.width));
    const x = (clientWidth - this.layout.width * scale) / 2;
    const isUnderTools = x + this.layout.width * scale > this.tools.offsetLeft;
    this.view = { scale, x, y: isUnderTools ? BELOW_TOOLS : MARGIN };
    this.show(false);
  }

  fit() {
    const { clientWidth, clientHeight } = this.area;
    if (!this.layout || !clientWidth || !clientHeight) return;
    const { width, height } = this.layout;
    const scale = Math.min(1, (clientWidth - 2 * MARGIN) / width, (clientHeight - 2 * MARGIN) / height);
    this.view = { scale, x: (clientWidth - width * scale) / 2, y: (clientHeight - height * scale) / 2 };
    this.show();
  }

  /**
   * @param {number} factor
   * @param {{ x: number, y: number }} [at] The place that stays, in pixels of the area.
   */
  zoom(factor, at = { x: this.area.clientWidth / 2, y: this.area.clientHeight / 2 }) {
    const scale = Math.max(ZOOM.least, Math.min(ZOOM.most, this.view.scale * factor));
    const by = scale / this.view.scale;
    this.view = { scale, x: at.x - (at.x - this.view.x) * by, y: at.y - (at.y - this.view.y) * by };
    this.show();
  }

  /**
   * Move the scene by pixels; a part of it stays in the area.
   * @param {number} x
   * @param {number} y
   */
  move(x, y) {
    if (!this.layout) return;
    const { clientWidth, clientHeight } = this.area;
    const { scale } = this.view;
    this.view.x = Math.max(REST - this.layout.width * scale, Math.min(clientWidth - REST, this.view.x + x));
    this.view.y = Math.max(REST - this.layout.height * scale, Math.min(clientHeight - REST, this.view.y + y));
    this.show();
  }

  /**
   * Move a call of the kernel into the area, unless one is there.
   * @param {string} key
   */
  reveal(key) {
    if (!this.layout) return;
    const { clientWidth, clientHeight } = this.area;
    const { x, y, scale } = this.view;
    const places = this.data.nodes
      .filter((node) => node.key === key)
      .map((node) => this.layout?.boxes.get(node.id))
      .filter((box) => box !== undefined)
      .map((box) => ({ x: x + box.x * scale, y: y + box.y * scale }));
    if (!places.length || places.some((at) => at.x > 0 && at.x < clientWidth && at.y > 0 && at.y < clientHeight))
      return;
    this.move(clientWidth / 2 - places[0].x, clientHeight / 2 - places[0].y);
  }

  /** @param {WheelEvent} event */
  wheel(event) {
    event.preventDefault();
    const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    const box = this.area.getBoundingClientRect();
    if (event.ctrlKey || event.metaKey)
      this.zoom(Math.exp(-event.deltaY * unit * 0.003), { x: event.clientX - box.left, y: event.clientY - box.top });
    else if (event.shiftKey) this.move(-(event.deltaX || event.deltaY) * unit, 0);
    else this.move(-event.deltaX * unit, -event.deltaY * unit);
    this.card.hide();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const step = 80;
    /** @type {{ [key: string]: () => void }} */
    const acts = {
      ArrowUp: () => this.move(0, step),
      ArrowDown: () => this.move(0, -step),
      ArrowLeft: () => this.move(step, 0),
      ArrowRight: () => this.move(-step, 0),
      "+": () => this.zoom(ZOOM.step),
      "=": () => this.zoom(ZOOM.step),
      "-": () => this.zoom(1 / ZOOM.step),
      0: () => this.fit(),
      1: () => this.fitWidth(),
    };
    if (event.ctrlKey || event.metaKey || event.altKey || !acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
  }

  /** A drag moves the graph, a press opens the kernel of a node. */
  followPointer() {
    /** @type {{ x: number, y: number, moved: boolean } | null} */
    let held = null;
    this.area.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      held = { x: event.clientX, y: event.clientY, moved: false };
    });
    this.area.addEventListener("pointermove", (event) => {
      if (!held) return this.point(event);
      const [x, y] = [event.clientX - held.x, event.clientY - held.y];
      if (!held.moved && Math.hypot(x, y) < MOVED) return;
      if (!held.moved) this.area.setPointerCapture(event.pointerId);
      held = { x: event.clientX, y: event.clientY, moved: true };
      this.area.classList.add("is-dragged");
      this.card.hide();
      this.move(x, y);
    });
    const end = (/** @type {PointerEvent} */ event) => {
      const pressed = held && !held.moved && event.type === "pointerup" ? this.nodeAt(event.target) : null;
      held = null;
      this.area.classList.remove("is-dragged");
      if (pressed?.key !== undefined) {
        this.card.hide();
        this.page.open(pressed.key);
      }
    };
    this.area.addEventListener("pointerup", end);
    this.area.addEventListener("pointercancel", end);
    this.area.addEventListener("pointerleave", () => {
      this.card.hide();
      this.page.point(null);
    });
  }

  /** @param {EventTarget | null} target */
  nodeAt(target) {
    const group = target instanceof Element ? target.closest("[data-node]") : null;
    const id = group?.getAttribute("data-node");
    return this.data.nodes.find((node) => node.id === id) ?? null;
  }

  /** @param {PointerEvent} event */
  point(event) {
    const node = this.nodeAt(event.target);
    this.page.point(node?.key ?? null);
    if (!node) return this.card.hide();
    const { clientX: x, clientY: y } = event;
    this.card.show(
      { left: x - 8, right: x + 8, top: y - 8, bottom: y + 8 },
      "beside",
      ...cardOf(node, this.kernelOf(node)),
    );
  }
}

/**
 * The card of a call: its kernel, shapes and costs.
 * @param {GraphNode} node
 * @param {Kernel | undefined} kernel
 */
function cardOf(node, kernel) {
  const rows = [
    ...(node.reads ?? []).map((text) => ["reads", text]),
    ...(node.writes ?? [node.shape]).map((text) => [node.writes ? "writes" : "shape", text]),
    ...(kernel ? facts(kernel) : []),
  ];
  return [
    h("b", {}, kernel?.key ?? node.label),
    h(
      "dl",
      {},
      rows.flatMap(([label, text], n) => [h("dt", {}, n && rows[n - 1][0] === label ? "" : label), h("dd", {}, text)]),
    ),
  ];
}

/** @param {string} text */
function short(text) {
  return text.length > MOST_LETTERS ? `${text.slice(0, MOST_LETTERS - 1)}…` : text;
}
