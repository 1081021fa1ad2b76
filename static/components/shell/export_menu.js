// The menu beside "Export": every other format.

import { h, icon } from "../core/dom.js";
import { menuBody } from "../core/menu.js";
import { Popup } from "../core/popup.js";

/** @import { PayloadModel } from "../core/dom.js" */
/** @import { ExportEntry as ExportKind } from "../views.js" */

export class ExportMenu {
  /**
   * @param {PayloadModel} model
   * @param {Element} host
   * @param {{ label: string, help: string, group: string, run: () => void }[]} others Further entries.
   */
  constructor(model, host, others) {
    this.others = others;
    this.model = model;
    /** @type {ExportKind[]} */
    this.kinds = [];
    this.popup = new Popup(host, "menu-pop");
    this.button = h(
      "button",
      {
        class: "tool primary other-forms",
        type: "button",
        "aria-haspopup": "menu",
        "aria-label": "Other formats",
        title: "C, other versions of TVM, pictures, a replay, a link",
        onclick: () => (this.popup.shown ? this.close(true) : this.open()),
      },
      icon("down"),
    );
    document.addEventListener("pointerdown", (event) => {
      if (this.popup.shown && ![this.popup.element, this.button].some((part) => event.composedPath().includes(part)))
        this.popup.hide();
    });
  }

  /**
   * The button of the menu.
   * @param {ExportKind[]} kinds
   */
  draw(kinds) {
    this.kinds = kinds;
    return this.button;
  }

  open() {
    const items = this.kinds.map(({ key, label, help, group }) => ({
      label,
      help,
      group,
      run: () => this.model.send_msg({ kind: "export", to: key }),
    }));
    const body = menuBody("Export as", [...items, ...this.others], (back) => this.close(back));
    this.popup.show(this.button.getBoundingClientRect(), "below", body.element);
    body.focus();
  }

  /** @param {boolean} back Whether the button gets the focus. */
  close(back) {
    this.popup.hide();
    if (back) this.button.focus();
  }
}
