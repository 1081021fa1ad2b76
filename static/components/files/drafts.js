// The drafts of the start page: the newest, and on request all of them, with a search by word and an order.

import { h, icon } from "../core/dom.js";
import { promptName } from "../core/name_prompt.js";
import { reconcile } from "../core/reconcile.js";
import { ago } from "./ago.js";
import { closedFile } from "./closed_file.js";
import { thumbnail } from "./thumbnail.js";

/** @import { ExampleCard as Card } from "../views.js" */
/** @import { PayloadModel } from "../core/dom.js" */
/** @import { Popup } from "../core/popup.js" */

const FEW = 6;

/** @type {Record<string, [string, (a: Card, b: Card) => number]>} */
const ORDERS = {
  newest: ["Newest first", (a, b) => (b.changed ?? 0) - (a.changed ?? 0)],
  oldest: ["Oldest first", (a, b) => (a.changed ?? 0) - (b.changed ?? 0)],
  name: ["By name", (a, b) => a.title.localeCompare(b.title, undefined, { numeric: true })],
};

/**
 * The drafts that have all words of a search, in an order of `ORDERS`.
 * @param {Card[]} drafts
 * @param {string} words
 * @param {string} order
 */
export function found(drafts, words, order) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (/** @type {Card} */ draft) =>
    wanted.every((word) => `${draft.title.toLowerCase()} ${draft.words}`.includes(word));
  return drafts.filter(fits).toSorted(ORDERS[order][1]);
}

export class Drafts {
  /**
   * @param {PayloadModel} model
   * @param {Popup} popup
   */
  constructor(model, popup) {
    this.model = model;
    this.popup = popup;
    /** @type {Card[]} */
    this.drafts = [];
    this.hasMore = this.showsAll = false;
    this.list = h("ul");
    this.field = h("input", {
      class: "find",
      type: "search",
      placeholder: "Find a draft",
      "aria-label": "Find a draft: a word of its name, a call, a machine",
      autocomplete: "off",
      oninput: () => this.drawList(),
    });
    this.order = h(
      "select",
      { class: "tool small", "aria-label": "Order of the drafts", onchange: () => this.drawList() },
      Object.entries(ORDERS).map(([key, [label]]) => h("option", { value: key }, label)),
    );
    this.tools = h("div", { class: "finder" }, this.field, this.order);
    this.count = h("span", { class: "quiet", role: "status" });
    this.all = h("button", { class: "tool framed", type: "button", onclick: () => this.showAll() }, "All drafts");
    this.element = h(
      "section",
      { class: "files drafts", "aria-labelledby": "drafts-title" },
      h(
        "div",
        { class: "files-head" },
        h("h2", { id: "drafts-title" }, "Continue where you left off"),
        this.tools,
        this.count,
        this.all,
      ),
      this.list,
    );
  }

  /**
   * @param {Card[]} drafts
   * @param {boolean} hasMore
   */
  draw(drafts, hasMore) {
    this.drafts = drafts;
    this.hasMore = hasMore;
    this.element.hidden = !drafts.length;
    this.drawList();
  }

  showAll() {
    this.showsAll = true;
    if (this.hasMore) this.model.send_msg({ kind: "list_drafts" });
    this.drawList();
    this.field.focus();
  }

  drawList() {
    this.tools.hidden = !this.showsAll;
    this.all.hidden = this.showsAll || (!this.hasMore && this.drafts.length <= FEW);
    const shown = this.showsAll
      ? found(this.drafts, this.field.value, this.order.value)
      : found(this.drafts, "", "newest").slice(0, FEW);
    this.count.textContent = this.showsAll ? `${shown.length} of ${this.drafts.length}` : "";
    reconcile(
      this.list,
      shown,
      (draft) => JSON.stringify(draft),
      (draft) => this.row(draft),
    );
  }

  /** @param {Card} draft */
  row(draft) {
    const of = { name: draft.name, is_model: Boolean(draft.model) };
    const discard = () => {
      if (window.confirm(`Discard the draft "${draft.title}"? Its edits are deleted.`))
        this.model.send_msg({ kind: "discard_draft", ...of });
    };
    const rename = () =>
      promptName(
        this.popup,
        renameButton,
        { title: "Rename the draft", value: draft.title, action: "Rename" },
        (title) => this.model.send_msg({ kind: "rename_draft", title, ...of }),
      );
    /** @type {HTMLButtonElement} */
    const renameButton = tool(`Rename the draft ${draft.title}`, "edit", rename);
    const facts = [ago(draft.changed ?? 0), ...draft.figures, ...(draft.model ? draft.facts : [])];
    return h(
      "li",
      { class: "draft-row" },
      draft.obstacle
        ? closedFile(draft)
        : h(
            "button",
            {
              class: "file card",
              type: "button",
              "data-draft": draft.name,
              onclick: () => this.model.send_msg({ kind: "go", path: draft.path }),
            },
            thumbnail(draft.thumbnail),
            h(
              "span",
              { class: "card-words" },
              h("span", { class: "card-title" }, draft.title),
              h("span", { class: "quiet" }, facts.filter(Boolean).join(" · ")),
            ),
          ),
      h(
        "span",
        { class: "draft-tools" },
        draft.obstacle ? null : renameButton,
        tool(`Discard the draft ${draft.title}`, "remove", discard),
      ),
    );
  }
}

/**
 * @param {string} label
 * @param {"edit" | "remove"} name
 * @param {() => void} onclick
 */
function tool(label, name, onclick) {
  return h("button", { class: "tool small", type: "button", "aria-label": label, title: label, onclick }, icon(name));
}
