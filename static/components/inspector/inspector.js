// The inspector: facts about the selected loop or block, the layout of the selected buffer, or a summary of the memories.

import { follow, h, keepScroll } from "../core/dom.js";
import { enlarged } from "../core/enlarged.js";
import { reconcile } from "../core/reconcile.js";
import { LayoutPicker } from "../layout/picker.js";

/** @import { CopiedBuffer as TrafficRow, HeldBuffer as BufferSummary, Inspector as InspectorData, MemorySummary, Section } from "../views.js" */
/** @import { PayloadModel } from "../core/dom.js" */

/** @typedef {{ memories: MemorySummary[] } | { traffic: TrafficRow[] } | { section: Section }} Part */

/** @param {number} colour */
function swatch(colour) {
  return h("i", { class: "swatch", style: `background:var(--tw-buffer-${colour})` });
}

class Inspector {
  /** @param {PayloadModel} model */
  constructor(model) {
    this.model = model;
    /** @type {InspectorData["kind"]} */
    this.kind = "nothing";
    this.back = "";
    this.crumbs = h("nav", { class: "crumbs", "aria-label": "Back" });
    this.top = h("div", { class: "inspector-top" }, this.crumbs);
    this.body = h("div", { class: "inspector-body" });
    this.picker = new LayoutPicker(model);
    this.element = h(
      "aside",
      { class: "inspector", tabindex: "0", "aria-label": "Inspector", onkeydown: (event) => this.key(event) },
      this.top,
      this.body,
    );
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.key !== "Escape" || event.defaultPrevented || enlarged() || this.kind !== "buffer") return;
    this.select({ id: this.back });
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {{ id?: string, buffer?: string }} selection A row of the tree, or a buffer. */
  select(selection) {
    this.model.send_msg({ kind: "select", id: "", buffer: "", ...selection });
  }

  /** @param {InspectorData} data */
  update(data) {
    const was = this.kind;
    this.kind = data.kind;
    this.back = data.crumbs.at(-1)?.row ?? "";
    this.crumbs.replaceChildren(
      ...data.crumbs.map((crumb) =>
        h(
          "button",
          { class: "link", type: "button", onclick: () => this.select({ id: crumb.row }) },
          `‹ ${crumb.label}`,
        ),
      ),
    );
    this.top.hidden = data.kind !== "buffer";
    if (data.kind !== was) this.element.scrollTop = 0;
    if (data.picker) {
      if (this.body.firstChild !== this.picker.element) this.body.replaceChildren(this.picker.element);
      this.picker.update(data.picker);
      return;
    }
    /** @type {Part[]} */
    const parts = data.sections.map((section) => ({ section }));
    if (data.kind === "nothing") parts.unshift({ memories: data.memories });
    if (data.traffic.length) parts.push({ traffic: data.traffic });
    const draw = () =>
      reconcile(
        this.body,
        parts,
        (part) => JSON.stringify(part),
        (part) => this.part(part),
      );
    keepScroll(this.element, draw);
  }

  /** @param {Part} part */
  part(part) {
    if ("memories" in part) return this.summary(part.memories);
    return "traffic" in part ? traffic(part.traffic) : this.section(part.section);
  }

  // ---- Without a selection.

  /** @param {MemorySummary[]} memories */
  summary(memories) {
    const hint = "Select a loop or a block in the tree to see its cost, or a buffer here to see its layout.";
    return h(
      "section",
      { class: "facts-section" },
      h("h2", {}, "Memories", h("span", { class: "kind" }, "at the peak")),
      memories.map((memory) => this.memory(memory)),
      h("p", { class: "quiet" }, hint),
    );
  }

  /** @param {MemorySummary} memory */
  memory(memory) {
    return h(
      "div",
      { class: "memory" },
      h("div", { class: "memory-name" }, memory.name || "Buffers", h("span", { class: "kind" }, memory.scope)),
      memory.blocks.map((block) =>
        h(
          "div",
          { class: `memory-fill ${block.over ? "is-over" : ""}`, title: block.use },
          h("span", { class: "quiet" }, block.name),
          h(
            "span",
            {
              class: "meter",
              role: "meter",
              "aria-label": `${memory.name}${block.name}`,
              "aria-valuemin": "0",
              "aria-valuemax": "100",
              "aria-valuenow": Math.round(block.share * 100),
              "aria-valuetext": `${block.peak} of ${block.capacity}: ${block.use}`,
            },
            h("i", { style: `width:${block.share * 100}%` }),
          ),
          h("span", { class: "number" }, `${block.peak} / ${block.capacity}`),
          block.over ? h("span", { class: "tw-badge tw-badge--bad" }, "over") : null,
        ),
      ),
      h(
        "ul",
        { class: "buffer-list" },
        memory.buffers.map((buffer) => h("li", {}, this.bufferButton(buffer))),
      ),
    );
  }

  /** @param {BufferSummary} buffer */
  bufferButton(buffer) {
    return h(
      "button",
      {
        class: "buffer-choice",
        type: "button",
        "data-buffer": buffer.id,
        title: buffer.tip || `Layout of ${buffer.name}`,
        onclick: () => this.select({ buffer: buffer.id }),
      },
      swatch(buffer.colour),
      h("span", { class: "buffer-name" }, buffer.name),
      buffer.note
        ? h("span", { class: `tw-badge ${buffer.tone ? `tw-badge--${buffer.tone}` : ""}` }, buffer.note)
        : null,
      h("span", { class: "number" }, buffer.size),
    );
  }

  // ---- A loop, a block.

  /** @param {Section} part */
  section(part) {
    const title = part.buffer
      ? h(
          "button",
          {
            class: "link",
            type: "button",
            "data-buffer": part.buffer,
            title: `Layout of ${part.title}`,
            onclick: () => this.select({ buffer: part.buffer }),
          },
          part.title,
          " ›",
        )
      : part.title;
    return h(
      "section",
      { class: "facts-section" },
      h(
        "h2",
        {},
        part.swatch !== null ? swatch(part.swatch) : null,
        title,
        part.kind ? h("span", { class: "kind" }, part.kind) : null,
      ),
      part.rows.length
        ? h(
            "dl",
            {},
            part.rows.map(([name, value, hint]) => [h("dt", { title: hint }, name), h("dd", { title: hint }, value)]),
          )
        : null,
      part.note ? h("p", { class: "quiet" }, part.note) : null,
    );
  }
}

/** @param {TrafficRow[]} rows */
function traffic(rows) {
  const table = h(
    "table",
    { class: "traffic" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        ["buffer", "from", "to", "bytes"].map((name) => h("th", {}, name)),
      ),
    ),
    h(
      "tbody",
      {},
      rows.map((row) =>
        h(
          "tr",
          {},
          h("td", {}, swatch(row.colour), row.buffer),
          h("td", {}, row.source),
          h("td", {}, row.destination),
          h("td", { class: "number" }, row.bytes),
        ),
      ),
    ),
  );
  return h("section", { class: "facts-section" }, h("h2", {}, "Traffic"), table);
}

/** @param {{ model: PayloadModel }} options */
export function render({ model }) {
  const inspector = new Inspector(model);
  follow(model, (/** @type {InspectorData} */ data) => inspector.update(data));
  return inspector.element;
}
