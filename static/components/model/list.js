// The kernels of a model as a grid: searched, filtered by status, reached by keys.

import { bringIntoView, focusIn, h } from "../core/dom.js";
import { reconcile } from "../core/reconcile.js";
import { STATUSES, colorOf, percent } from "./status.js";

/** @import { KernelFilter as Filter, KernelRow as Kernel, ModelPage as ModelData } from "../views.js" */
/** @import { Page } from "./model.js" */

const COLUMNS = ["Kernel", "Calls", "Cycles", "Time", "Ratio", "Limit", "Status"];
/** @type {{ [key: string]: number }} */
const STEPS = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity };

export class KernelList {
  /** @param {Page} page */
  constructor(page, /** @type {() => void} */ changed) {
    this.page = page;
    this.changed = changed;
    /** @type {Kernel[]} */
    this.kernels = [];
    /** @type {Filter[]} */
    this.filters = [];
    this.filter = "";
    /** @type {string | null} The row that the Tab key reaches. */
    this.current = null;
    this.field = h("input", {
      class: "find",
      type: "search",
      placeholder: "Find a kernel",
      "aria-label": "Find a kernel: words of its name, its engine, its status",
      autocomplete: "off",
      oninput: () => this.narrow(),
    });
    this.field.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.field.value) {
        this.field.value = "";
        this.narrow();
      } else if (event.key === "ArrowDown") this.focus(this.shown()[0]?.key);
      else return;
      event.preventDefault();
    });
    this.kinds = h("div", { class: "kinds", role: "group", "aria-label": "Statuses of kernels" });
    this.count = h("span", { class: "quiet found", role: "status" });
    this.rows = h("div", { role: "rowgroup", class: "kernel-rows" });
    const titles = COLUMNS.map((name) => h("span", { role: "columnheader" }, name));
    this.grid = h(
      "div",
      { class: "kernel-grid", role: "grid", "aria-label": "Kernels, those with most cycles first" },
      h("div", { role: "rowgroup" }, h("div", { class: "kernel-row kernel-titles", role: "row" }, titles)),
      this.rows,
    );
    this.grid.addEventListener("keydown", (event) => this.key(event));
    this.grid.addEventListener("pointerover", (event) => page.point(keyOf(event.target)));
    this.grid.addEventListener("pointerleave", () => page.point(null));
    this.grid.addEventListener("focusin", (event) => {
      const key = keyOf(event.target);
      if (key !== null) this.choose(key);
    });
    this.grid.addEventListener("focusout", () => page.point(null));
    this.grid.addEventListener("click", (event) => {
      const key = keyOf(event.target);
      if (key !== null) page.open(key);
    });
    this.none = h("p", { class: "quiet none" }, "No kernel matches.");
    this.element = h(
      "section",
      { class: "kernels", "aria-label": "Kernels" },
      h("div", { class: "finder" }, this.field, this.kinds, this.count),
      this.grid,
      this.none,
    );
  }

  /** @param {ModelData} data */
  draw({ kernels, filters }) {
    this.kernels = kernels;
    this.filters = filters;
    if (!filters.some(({ key }) => key === this.filter)) this.filter = "";
    this.drawKinds();
    this.drawRows();
  }

  drawKinds() {
    const all = { key: "", label: "all", count: this.kernels.length };
    reconcile(
      this.kinds,
      [all, ...this.filters],
      (filter) => JSON.stringify([filter, filter.key === this.filter]),
      ({ key, label, count }) =>
        h(
          "button",
          {
            class: "kind",
            type: "button",
            "data-filter": key,
            "aria-pressed": String(key === this.filter),
            onclick: () => {
              this.filter = key;
              this.narrow();
            },
          },
          `${count} ${label}`,
        ),
    );
  }

  /** The search or the filter changed. */
  narrow() {
    this.drawKinds();
    this.drawRows();
    this.changed();
  }

  get isNarrow() {
    return Boolean(this.filter || this.field.value.trim());
  }

  /** @param {Kernel} kernel */
  fits(kernel) {
    const isKind = !this.filter || (this.filter === "over" ? Boolean(kernel.over) : kernel.status === this.filter);
    if (!isKind) return false;
    const text = `${kernel.name} ${kernel.label} ${kernel.engine} ${STATUSES[kernel.status][1]}`.toLowerCase();
    return this.field.value
      .toLowerCase()
      .split(/\s+/)
      .every((word) => text.includes(word));
  }

  shown() {
    return this.kernels.filter((kernel) => this.fits(kernel));
  }

  drawRows() {
    const shown = this.shown();
    if (!shown.some(({ key }) => key === this.current)) this.current = shown[0]?.key ?? null;
    const longest = Math.max(...this.kernels.map(({ share }) => share), 1e-9);
    const { scrollTop } = this.grid;
    reconcile(
      this.rows,
      shown,
      (kernel) => JSON.stringify([kernel, kernel.key === this.current, longest]),
      (kernel) => row(kernel, kernel.key === this.current, longest),
    );
    this.grid.scrollTop = scrollTop;
    this.grid.ariaRowCount = String(shown.length + 1);
    this.none.hidden = shown.length > 0;
    this.count.textContent = this.isNarrow ? `${shown.length} of ${this.kernels.length}` : "";
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const key = keyOf(event.target);
    if (key === null) return;
    const step = STEPS[event.key];
    if (step) {
      const shown = this.shown();
      const at = shown.findIndex((kernel) => kernel.key === key);
      this.focus(shown[Math.max(0, Math.min(shown.length - 1, at + step))]?.key);
    } else if (event.key === "Enter" || event.key === " ") this.page.open(key);
    else if (event.key === "/") this.field.focus();
    else return;
    event.preventDefault();
  }

  /** @param {string} key */
  choose(key) {
    this.current = key;
    for (const element of this.rows.children)
      if (element instanceof HTMLElement) element.tabIndex = element.dataset.kernel === key ? 0 : -1;
    this.page.point(key);
  }

  /** @param {string | undefined} key */
  focus(key) {
    const element = key === undefined ? null : this.rowOf(key);
    if (!element) return;
    element.focus({ preventScroll: true });
    bringIntoView(this.grid, element);
  }

  /**
   * @param {string} key
   * @returns {HTMLElement | null}
   */
  rowOf(key) {
    return this.rows.querySelector(`[data-kernel="${CSS.escape(key)}"]`);
  }

  /** @param {string | null} key */
  highlight(key) {
    for (const element of this.rows.children)
      if (element instanceof HTMLElement) element.classList.toggle("is-pointed", element.dataset.kernel === key);
  }

  get hasFocus() {
    return this.element.contains(focusIn(this.element));
  }
}

/** @param {EventTarget | null} target */
function keyOf(target) {
  const row = target instanceof Element ? target.closest("[data-kernel]") : null;
  return row instanceof HTMLElement ? (row.dataset.kernel ?? null) : null;
}

/**
 * @param {Kernel} kernel
 * @param {boolean} isCurrent
 * @param {number} longest The largest share.
 */
function row(kernel, isCurrent, longest) {
  const [sign, label] = STATUSES[kernel.status];
  const cell = (/** @type {string} */ className, /** @type {import("../core/dom.js").Child[]} */ ...children) =>
    h("span", { role: "gridcell", class: className }, ...children);
  const times = `×${kernel.calls}`;
  return h(
    "div",
    {
      class: "kernel-row",
      role: "row",
      tabindex: isCurrent ? "0" : "-1",
      "data-kernel": kernel.key,
      "data-status": kernel.status,
    },
    cell(
      "kernel-name",
      h("i", { class: "swatch", style: `background: ${colorOf(kernel)}` }),
      h("span", { class: "kernel-words", title: kernel.key }, h("b", {}, kernel.label), h("small", {}, kernel.key)),
    ),
    cell("number", times),
    cell("number", kernel.cycles_text || "…"),
    cell(
      "kernel-share",
      h("i", {
        class: "share-bar",
        style: `inline-size: ${(100 * kernel.share) / longest}%; background: ${colorOf(kernel)}`,
      }),
      h("span", {}, kernel.cycles ? percent(kernel.share) : ""),
    ),
    cell("number", kernel.ratio ? `${kernel.ratio}×` : ""),
    cell("kernel-engine", kernel.engine),
    cell(
      "kernel-status",
      h("span", { class: `status is-${kernel.status}`, title: kernel.detail }, `${sign} ${label}`),
      kernel.over ? h("span", { class: "status is-over", title: `${kernel.over} over capacity` }, "▲ over") : null,
    ),
  );
}
