// The review of an export for TVM: what that version leaves out, the cycles that this costs, and the calls that keep it.

import { h, nodes } from "../core/dom.js";
import { patchChildren } from "../core/patch.js";
import { Popup } from "../core/popup.js";
import { highlighted } from "../core/python_text.js";

/** @import { PayloadModel } from "../core/dom.js" */
/** @import { Change as Effect, ExportLoss as Loss, ExportReview as ReviewData, KeepSlots as Keep } from "../views.js" */

/** @param {Effect | null} effect */
function change(effect) {
  return effect && h("span", { class: `change ${effect.trend}` }, effect.text);
}

/** @param {Loss} loss */
function lossItem({ title, items, message, effect }) {
  return h(
    "li",
    { class: "loss" },
    h("b", {}, title),
    change(effect),
    h("div", {}, items.map((item, n) => [n ? ", " : null, h("code", {}, item)]).flat()),
    h("div", { class: "quiet" }, message),
  );
}

/** @param {ReviewData} data */
function totalLine({ total, working }) {
  if (!total) return working ? h("p", { class: "quiet" }, "Simulating what TVM runs…") : null;
  return h("p", { class: "review-total" }, "What TVM runs takes ", h("b", {}, total.text), " ", change(total.effect));
}

/**
 * @param {PayloadModel} model
 * @param {Keep | null} keep
 */
function keepBox(model, keep) {
  if (!keep) return null;
  const apply = () => model.send_msg({ kind: "fix", calls: keep.calls, replaces: "" });
  return h(
    "div",
    { class: "fix" },
    h(
      "div",
      { class: "fix-calls" },
      keep.calls.map((call) => h("code", {}, highlighted(call))),
    ),
    keep.applicable
      ? h(
          "button",
          { class: "tool small primary", type: "button", title: "Appends to the schedule", onclick: apply },
          "Apply",
        )
      : null,
    h(
      "div",
      { class: "fix-detail" },
      change(keep.effect),
      h("span", { class: "quiet" }, `TVM lowers these annotations itself and keeps the slots: ${keep.text}`),
    ),
  );
}

export class ExportReview {
  /**
   * @param {PayloadModel} model
   * @param {Element} host
   */
  constructor(model, host) {
    this.model = model;
    this.popup = new Popup(host, "export-review", {
      role: "dialog",
      "aria-label": "What the export leaves out",
      tabindex: "-1",
    });
    this.body = h("div", { class: "review-body" });
    this.popup.element.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      this.end();
    });
  }

  end() {
    this.model.send_msg({ kind: "review_export" });
  }

  /**
   * @param {ReviewData | null} data
   * @param {() => Element} anchor The button that the review belongs to.
   */
  draw(data, anchor) {
    if (!data) {
      const back = this.popup.element.contains(/** @type {ShadowRoot} */ (this.body.getRootNode()).activeElement);
      this.popup.hide();
      if (back) /** @type {HTMLElement} */ (anchor()).focus();
      return;
    }
    const download = () => this.model.send_msg({ kind: "export", to: data.to, reviewed: true });
    patchChildren(
      this.body,
      h("h2", {}, data.losses.length ? `${data.label} leaves out` : `${data.label} keeps everything`),
      h("ul", { class: "losses" }, data.losses.map(lossItem)),
      ...nodes([
        totalLine(data),
        keepBox(this.model, data.keep),
        data.not_kept ? h("p", { class: "quiet" }, data.not_kept) : null,
      ]),
      h(
        "div",
        { class: "review-buttons" },
        h("button", { class: "tool", type: "button", onclick: () => this.end() }, "Cancel"),
        h("button", { class: "tool primary", type: "button", onclick: download }, "Download"),
      ),
    );
    const place = anchor().getBoundingClientRect();
    if (this.popup.shown) this.popup.move(place, "below");
    else {
      this.popup.show(place, "below", this.body);
      this.popup.element.focus();
    }
  }
}
