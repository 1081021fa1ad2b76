// The page of a model: its figures, its kernels as a list, the graph of its calls, and one inference over time. A press on a kernel, in any of
// them, opens its notebook; the page then stays as it is until the person returns.

import { follow, h, icon } from "../core/dom.js";
import { importText } from "../core/import_text.js";
import { patchChildren } from "../core/patch.js";
import { Popup } from "../core/popup.js";
import { valuesForm } from "../files/program_choice.js";
import { backButton, figureOf, helpButton, themeButton, topBar } from "../shell/bar_parts.js";
import { ExportMenu } from "../shell/export_menu.js";
import { InferenceView } from "./inference.js";
import { KernelList } from "./list.js";
import { ModelSearch } from "./search.js";

/** @import { KernelRow as Kernel, ModelPage as ModelData } from "../views.js" */
/** @import { PayloadModel } from "../core/dom.js" */
/** @import { GraphView } from "./graph.js" */

/**
 * What the parts of the page share: the kernel under the pointer or the focus, and those that the search and the filter leave.
 * @typedef {object} Page
 * @property {(key: string) => Kernel | undefined} kernel
 * @property {(key: string | null) => void} point
 * @property {(key: string) => void} open
 * @property {(key: string) => boolean} fits
 */

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
    this.head = topBar("header", [backButton(() => model.send_msg({ kind: "gallery" }))]);
    this.forms = new ExportMenu(model, this.head.bar, []);
    this.search = new ModelSearch(model);
    this.head.bar.append(this.search.line);
    this.sizes = new Popup(this.head.bar, "sheet", { role: "dialog", "aria-label": "Sizes" });
    document.addEventListener("pointerdown", (event) => {
      if (this.sizes.shown && !event.composedPath().includes(this.sizes.element)) this.sizes.hide();
    });
    this.sizes.element.addEventListener("keydown", (event) => event.key === "Escape" && this.sizes.hide());
    this.graphArea = h("section", { class: "graph-part", "aria-label": "Graph" });
    this.view = h("main", { class: "model" });
    this.parts = [this.head.bar, this.list.element, this.graphArea, this.inference.element];
    model.on("graph", () => this.drawGraph());
    model.on("figure", () => this.drawInference());
    model.on("msg:custom", (data) => {
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
    this.search.draw(data);
    this.drawHead(data);
    this.list.draw(data);
    this.drawGraph();
    this.drawInference();
  }

  /**
   * @param {ModelData} data
   */
  drawHead({ head, theme, exports }) {
    const isReady = head.done === head.total;
    patchChildren(this.head.title, head.title);
    const once = head.prepared
      ? `; ${head.prepared} ${head.prepared === 1 ? "call on weights alone runs" : "calls on weights alone run"} once, ${head.preparation} cycles`
      : "";
    patchChildren(
      this.head.under,
      h("span", { class: "model-machine" }, head.machine),
      h("span", { class: "quiet" }, `${head.calls} calls of ${head.kernels} kernels${once}`),
      ...(head.sizes.length ? [this.sizesButton(head.sizes)] : []),
    );
    const progress = isReady
      ? changeOf(this.before, head.count)
      : h("span", { class: "quiet", role: "status" }, `${head.done} of ${head.total} kernels`);
    const failed = {
      label: "Not counted",
      value: String(head.failed.length),
      hint: `Kernels with an error: ${head.failed.join(", ")}`,
    };
    const kept = {
      label: "On chip",
      value: `${head.on_chip} tensors${head.misfit ? " ✘" : ""}`,
      hint: head.misfit
        ? `${head.misfit}; counted without`
        : `Stay on chip between kernels${head.waits ? `; ${head.waits} cycles of waits` : ""}`,
    };
    const cycles = { label: "Cycles", value: head.cycles, hint: "Cycles of one inference, one kernel after another" };
    const bound = {
      label: "Bound",
      value: head.bound || "…",
      hint: "The sum of the kernels' lower bounds: no schedules of single kernels are faster",
    };
    const parts = [
      figureOf(cycles, progress),
      figureOf(bound),
      figureOf({ label: "Ratio", value: head.ratio || "…", hint: "Cycles over bound" }),
      ...(head.on_chip ? [figureOf(kept)] : []),
      ...(head.failed.length ? [figureOf(failed)] : []),
    ];
    patchChildren(this.head.figures, ...parts);
    const forms = this.forms.draw(exports);
    patchChildren(this.head.tools, this.search.start, helpButton(), themeButton(theme), this.exportButton(), forms);
  }

  /** @param {ModelData["head"]["sizes"]} sizes Those that the model leaves open. */
  sizesButton(sizes) {
    const words = sizes.map(({ name, example }) => `${name} ${example}`).join(", ");
    const open = (/** @type {Event} */ event) => {
      const use = (/** @type {Record<string, string>} */ values) => {
        this.sizes.hide();
        this.model.send_msg({ kind: "model_sizes", values });
      };
      const form = valuesForm(sizes, "Use these sizes", use, null, true);
      const anchor = /** @type {HTMLElement} */ (event.currentTarget);
      this.sizes.show(anchor.getBoundingClientRect(), "below", form);
      for (const input of form.querySelectorAll("input")) input.value = input.placeholder;
      form.querySelector("input")?.focus();
    };
    const labels = { title: "Change the sizes that the model leaves open", "aria-haspopup": "dialog" };
    return h("button", { class: "tool small framed model-sizes", type: "button", ...labels, onclick: open }, words);
  }

  exportButton() {
    return h(
      "button",
      {
        class: "tool primary",
        type: "button",
        title: "Python for Apache TVM, with all schedules",
        "aria-label": "Export",
        onclick: () => this.model.send_msg({ kind: "export", to: "model-tvm" }),
      },
      icon("export"),
      h("span", { class: "words" }, "Export"),
    );
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
