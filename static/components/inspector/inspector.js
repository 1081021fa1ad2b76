// What is chosen: the memories at a glance while nothing is, facts about a loop or a block, the layout of a buffer.

import { h, follow, keepScroll } from "../core/dom.js";
import { LayoutPicker } from "../layout/picker.js";
import { reconcile } from "../core/reconcile.js";

const PAGE = document.documentElement;

function swatch(colour) {
  return h("i", { class: "swatch", style: `background:var(--tw-buffer-${colour})` });
}

class Inspector {
  constructor(model) {
    this.model = model;
    this.crumbs = h("nav", { class: "crumbs", "aria-label": "Back" });
    this.wide = h("button", {
      class: "tool small wide of-page",
      type: "button",
      onclick: () => this.widen(!this.isWide),
    });
    this.top = h("div", { class: "inspector-top" }, this.crumbs, this.wide);
    this.body = h("div", { class: "inspector-body" });
    this.picker = new LayoutPicker(model);
    this.element = h(
      "aside",
      { class: "inspector", tabindex: "0", "aria-label": "Inspector", onkeydown: (event) => this.key(event) },
      this.top,
      this.body,
    );
    this.widen(false);
  }

  get isWide() {
    return PAGE.dataset.inspector === "wide";
  }

  /** The picker over the tree, for a while: the inspector's column is narrow. */
  widen(wide) {
    if (wide) PAGE.dataset.inspector = "wide";
    else delete PAGE.dataset.inspector;
    this.wide.textContent = wide ? "Narrow" : "Widen";
    this.wide.title = wide ? "Back beside the tree (Escape)" : "Larger, over the tree";
    this.wide.setAttribute("aria-expanded", String(wide));
  }

  key(event) {
    if (event.key !== "Escape" || event.defaultPrevented) return;
    if (this.isWide) this.widen(false);
    else if (this.kind === "buffer") this.choose({ id: this.back });
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  choose(what) {
    this.model.send_msg({ kind: "select", id: "", buffer: "", ...what });
  }

  update(data) {
    const was = this.kind;
    this.kind = data.kind;
    this.back = data.crumbs.at(-1)?.row ?? "";
    this.crumbs.replaceChildren(
      ...data.crumbs.map((crumb) =>
        h(
          "button",
          { class: "link", type: "button", onclick: () => this.choose({ id: crumb.row }) },
          `‹ ${crumb.label}`,
        ),
      ),
    );
    this.top.hidden = data.kind !== "buffer";
    if (data.kind !== "buffer" && this.isWide) this.widen(false);
    if (data.kind !== was) this.element.scrollTop = 0;
    if (data.kind === "buffer") {
      if (this.body.firstChild !== this.picker.element) this.body.replaceChildren(this.picker.element);
      this.picker.update(data.picker);
      return;
    }
    const parts = [
      data.kind === "nothing" ? { memories: data.memories } : null,
      ...data.sections,
      data.traffic.length ? { traffic: data.traffic } : null,
    ];
    keepScroll(this.element, () =>
      reconcile(this.body, parts.filter(Boolean), JSON.stringify, (part) => this.part(part)),
    );
  }

  part(part) {
    return part.memories ? this.glance(part.memories) : part.traffic ? traffic(part.traffic) : this.section(part);
  }

  // ---- Nothing chosen.

  glance(memories) {
    const said = "Choose a loop or a block in the tree, or a buffer here, to see what it costs and how it could lie.";
    return h(
      "section",
      { class: "facts-section" },
      h("h2", {}, "Memories", h("span", { class: "kind" }, "at the peak")),
      memories.map((memory) => this.memory(memory)),
      h("p", { class: "quiet" }, said),
    );
  }

  memory(memory) {
    return h(
      "div",
      { class: "memory" },
      h("div", { class: "memory-name" }, memory.name || "Buffers", h("span", { class: "kind" }, memory.scope)),
      memory.blocks.map((block) =>
        h(
          "div",
          { class: `memory-fill ${block.over ? "is-over" : ""}` },
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
              "aria-valuetext": `${block.peak} of ${block.capacity}`,
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

  bufferButton(buffer) {
    return h(
      "button",
      {
        class: "buffer-choice",
        type: "button",
        "data-buffer": buffer.id,
        title: buffer.tip || `Layout of ${buffer.name}`,
        onclick: () => this.choose({ buffer: buffer.id }),
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

  section(part) {
    const title = part.buffer
      ? h(
          "button",
          {
            class: "link",
            type: "button",
            "data-buffer": part.buffer,
            title: `Layout of ${part.title}`,
            onclick: () => this.choose({ buffer: part.buffer }),
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
            part.rows
              .map(([name, value, hint]) => [h("dt", { title: hint }, name), h("dd", { title: hint }, value)])
              .flat(),
          )
        : null,
      part.note ? h("p", { class: "quiet" }, part.note) : null,
    );
  }
}

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

export function render({ model }) {
  const inspector = new Inspector(model);
  follow(model, (data) => inspector.update(data));
  return inspector.element;
}
