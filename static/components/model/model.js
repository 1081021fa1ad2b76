// The page of a model: its figures, its kernels as a list, the graph of its calls, and one inference over time. A press on a kernel, in any of
// them, opens its notebook; the page then stays as it is until the person returns.

import { follow, h, icon } from "../core/dom.js";
import { importText } from "../core/import_text.js";
import { patchChildren } from "../core/patch.js";
import { chooseTheme } from "../shell/theme.js";
import { InferenceView } from "./inference.js";
import { KernelList } from "./list.js";

/** @import { PayloadModel } from "../core/types.js" */
/** @import { GraphView } from "./graph.js" */
/** @import { Head, Kernel, ModelData, Page } from "./types.js" */

/** @typedef {PayloadModel & { graph: string, figure: string }} ModelModel `graph` and `figure` are JSON. */

const REFRESH_MS = 3000;

class ModelPage {
  /** @param {ModelModel} model */
  constructor(model) {
    this.model = model;
    /** @type {ModelData | null} */
    this.data = null;
    /** @type {Map<string, Kernel>} */
    this.kernels = new Map();
    /** @type {Page} */
    this.page = {
      kernel: (key) => this.kernels.get(key),
      point: (key) => this.point(key),
      open: (key) => this.open(key),
      fits: (key) => this.fits(key),
    };
    /** @type {string | null} */
    this.pointed = null;
    /** @type {{ key: string, count: number, top: number } | null} The kernel that was opened, the cycles and the scroll position then. */
    this.opened = null;
    /** @type {number | null} The cycles with which a return is compared. */
    this.before = null;
    this.list = new KernelList(this.page, () => this.narrowed());
    this.inference = new InferenceView(model, this.page);
    /** @type {GraphView | null} */
    this.graph = null;
    this.graphText = "";
    this.asksForGraph = false;
    this.figures = h("div", { class: "figures" });
    this.title = h("h1", { class: "title" });
    this.under = h("div", { class: "under" });
    /** @type {HTMLButtonElement} */
    this.theme = h("button", { class: "tool", type: "button" });
    /** @type {HTMLButtonElement} */
    const help = h(
      "button",
      {
        class: "tool",
        type: "button",
        "data-help": true,
        "aria-label": "Help",
        title: "Help (?)",
        onclick: () => window.dispatchEvent(new CustomEvent("tilewright:help", { detail: help })),
      },
      "?",
    );
    const back = h(
      "button",
      {
        class: "tool of-page",
        type: "button",
        "aria-label": "Gallery",
        title: "Back to the gallery",
        onclick: () => model.send_msg({ kind: "gallery" }),
      },
      icon("back"),
    );
    this.graphArea = h("section", { class: "graph-part", "aria-label": "Graph" });
    this.view = h("main", { class: "model" });
    this.parts = [
      h(
        "header",
        { class: "headline" },
        h(
          "div",
          { class: "headline-row" },
          back,
          h("div", { class: "about" }, this.title, this.under),
          this.figures,
          h("div", { class: "tools" }, help, this.theme),
        ),
      ),
      this.list.element,
      this.graphArea,
      this.inference.element,
    ];
    model.on("graph", () => this.drawGraph());
    model.on("figure", () => this.drawInference());
    model.on("msg:custom", (message) => {
      const data = message.data ?? message;
      if (data.kind === "graph") this.loadGraph(data.module);
    });
    this.isShown = false;
    new ResizeObserver(() => this.shown(this.view.clientHeight > 0)).observe(this.view);
    new MutationObserver(() => this.drawInference()).observe(document.documentElement, {
      attributes: true,
      attributeFilter: ["data-theme"],
    });
    setInterval(() => this.refresh(), REFRESH_MS);
    follow(model, (/** @type {ModelData | null} */ data) => data?.head && this.draw(data));
  }

  /** A search in another process writes schedules into the kernels' files. */
  refresh() {
    if (this.isShown && document.visibilityState === "visible" && this.data)
      this.model.send_msg({ kind: "refresh_model" });
  }

  /**
   * The screen of the model came into sight, or was left. On return the list is where it was, with the focus on the kernel.
   * @param {boolean} shows
   */
  shown(shows) {
    const returns = shows && !this.isShown;
    this.isShown = shows;
    if (!returns) return;
    this.drawGraph();
    this.drawInference();
    if (!this.opened) return;
    const { key, top } = this.opened;
    this.opened = null;
    this.list.grid.scrollTop = top;
    this.list.focus(key);
  }

  /** @param {ModelData} data */
  draw(data) {
    if (!this.data) this.view.append(...this.parts);
    if (this.data?.name !== data.name) {
      this.before = this.opened = null;
      this.list.field.value = "";
    }
    this.data = data;
    this.kernels = new Map(data.kernels.map((kernel) => [kernel.key, kernel]));
    this.drawHead(data.head, data.theme);
    this.list.draw(data);
    this.drawGraph();
    this.drawInference();
  }

  /**
   * @param {Head} head
   * @param {"light" | "dark"} theme
   */
  drawHead(head, theme) {
    const isReady = head.done === head.total;
    patchChildren(this.title, head.title);
    const once = head.prepared ? `; ${head.prepared} calls on weights alone run once, ${head.preparation} cycles` : "";
    patchChildren(
      this.under,
      h("span", { class: "model-machine" }, head.machine),
      h("span", { class: "quiet" }, `${head.calls} calls of ${head.kernels} kernels${once}`),
    );
    const figure = (
      /** @type {string} */ label,
      /** @type {string} */ value,
      /** @type {any} */ detail,
      /** @type {string} */ hint,
    ) =>
      h(
        "div",
        { class: "figure", title: hint },
        h("span", { class: "figure-label" }, label),
        h("span", { class: "figure-value" }, h("b", {}, value), detail),
      );
    const progress = isReady
      ? changeOf(this.before, head.count)
      : h("span", { class: "quiet", role: "status" }, `${head.done} of ${head.total} kernels`);
    const failed = head.failed.length
      ? [figure("Not counted", String(head.failed.length), null, `Kernels with an error: ${head.failed.join(", ")}`)]
      : [];
    const onChip = head.misfit
      ? `${head.misfit}; counted without`
      : `Stay on chip between kernels${head.waits ? `; ${head.waits} cycles of waits` : ""}`;
    const kept = head.on_chip
      ? [figure("On chip", `${head.on_chip} tensors${head.misfit ? " ✘" : ""}`, null, onChip)]
      : [];
    const parts = [
      figure("Cycles", head.cycles, progress, "Cycles of one inference, one kernel after another"),
      figure(
        "Bound",
        head.bound || "…",
        null,
        "The sum of the kernels' lower bounds: no schedules of single kernels are faster",
      ),
      figure("Ratio", head.ratio || "…", null, "Cycles over bound"),
      ...kept,
      ...failed,
    ];
    patchChildren(this.figures, ...parts);
    const other = theme === "dark" ? "light" : "dark";
    this.theme.ariaLabel = this.theme.title = `Use the ${other} theme`;
    this.theme.onclick = () => chooseTheme(other);
    patchChildren(this.theme, icon(theme === "dark" ? "sun" : "moon"));
  }

  drawGraph() {
    if (!this.model.graph || !this.view.clientWidth) return;
    if (!this.graph) {
      if (!this.asksForGraph) this.model.send_msg({ kind: "graph" });
      this.asksForGraph = true;
      return;
    }
    if (this.graphText !== this.model.graph) {
      this.graphText = this.model.graph;
      this.graph.setGraph(JSON.parse(this.graphText));
    }
    const head = this.data?.head;
    this.graph.draw(head !== undefined && head.done === head.total);
  }

  /** @param {string} text */
  async loadGraph(text) {
    const { GraphView } = await importText(text);
    this.graph = /** @type {GraphView} */ (new GraphView(this.page));
    this.graphArea.replaceChildren(this.graph.element);
    this.drawGraph();
  }

  drawInference() {
    if (!this.data || !this.model.figure || !this.view.clientWidth) return;
    this.inference.draw(this.data.timeline, this.data.kernels, JSON.parse(this.model.figure));
  }

  /** @param {string | null} key */
  point(key) {
    if (key === this.pointed) return;
    this.pointed = key;
    this.list.highlight(key);
    this.graph?.highlight(key);
    this.inference.highlight(key);
    if (key !== null && this.list.hasFocus) this.graph?.reveal(key);
  }

  /** @param {string} key */
  open(key) {
    const kernel = this.kernels.get(key);
    if (!kernel || !this.data) return;
    const { head } = this.data;
    this.opened = { key, count: head.count, top: this.list.grid.scrollTop };
    this.before = head.done === head.total ? head.count : null;
    this.list.choose(key);
    this.point(null);
    this.model.send_msg({ kind: "open_kernel", kernel: kernel.name });
  }

  /** @param {string} key */
  fits(key) {
    const kernel = this.kernels.get(key);
    return !kernel || this.list.fits(kernel);
  }

  narrowed() {
    this.drawGraph();
    this.inference.shade();
    const first = this.list.isNarrow ? this.list.shown()[0] : undefined;
    if (first) this.graph?.reveal(first.key);
  }
}

/**
 * The change of the cycles since a kernel was opened.
 * @param {number | null} before
 * @param {number} now
 */
function changeOf(before, now) {
  if (before === null || before === now || !before) return null;
  const part = (100 * (now - before)) / before;
  const text = `${part < 0 ? "−" : "+"}${Math.abs(part) < 10 ? Math.abs(part).toFixed(1) : Math.abs(part).toFixed(0)} %`;
  return h(
    "span",
    {
      class: `change ${now < before ? "better" : "worse"}`,
      title: "Against the cycles before the last kernel was opened",
    },
    text,
  );
}

/** @param {{ model: ModelModel }} options */
export function render({ model }) {
  return new ModelPage(model).view;
}
