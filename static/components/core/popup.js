// Floating elements: tooltips, menus, forms. They are in the browser's top layer (popover), so that no scroll container clips them, and
// stay inside of the viewport.

import { h, nodes } from "./dom.js";

/** @import { Attributes, Child } from "./dom.js" */
/** @import { Rect } from "./dom.js" */

/** @typedef {"below" | "beside" | "inside"} Side */

const MARGIN = 8;
const GAP = 5;

export class Popup {
  /**
   * A floating element in `host`, shown next to a rectangle.
   * @param {Element | ShadowRoot} host
   * @param {string} className
   * @param {Attributes} [attributes]
   */
  constructor(host, className, attributes = {}) {
    this.element = h("div", { class: `pop ${className}`, popover: "manual", ...attributes });
    this.host = host;
    /** @type {[Rect, Side]} */
    this.place = [pointRect(0, 0), "below"];
    this.listeners = new AbortController();
  }

  get shown() {
    return this.element.isConnected;
  }

  /**
   * Show `children` below `anchor`, right of it if there is room, or at its right end. Returns whether the popup was hidden before.
   * @param {Rect} anchor
   * @param {Side} side
   * @param {...Child} children
   */
  show(anchor, side, ...children) {
    const fresh = !this.shown;
    this.element.replaceChildren(...nodes(children));
    if (fresh) {
      this.host.append(this.element);
      this.element.showPopover?.();
      this.listeners = new AbortController();
      window.addEventListener("resize", () => this.move(...this.place), { signal: this.listeners.signal });
    }
    this.move(anchor, side);
    return fresh;
  }

  /**
   * @param {Rect} anchor
   * @param {Side} side
   */
  move(anchor, side) {
    this.place = [anchor, side];
    this.element.style.left = "0px"; // the old position would limit the width
    const { offsetWidth: width, offsetHeight: height } = this.element;
    const room = { width: document.documentElement.clientWidth, height: document.documentElement.clientHeight };
    let left = anchor.left;
    let top = anchor.bottom + GAP;
    if (side === "beside" && anchor.right + GAP + width <= room.width - MARGIN) {
      left = anchor.right + GAP;
      top = anchor.top - 1;
    } else if (side !== "below") {
      // Below the next row and as far right as possible, so that names stay readable.
      left = (side === "inside" ? Math.min(room.width - MARGIN, anchor.right) : room.width - MARGIN) - width;
      top = anchor.bottom + (anchor.bottom - anchor.top);
    }
    if (top + height > room.height - MARGIN && anchor.top - GAP - height >= MARGIN) top = anchor.top - GAP - height;
    left = Math.max(MARGIN, Math.min(left, room.width - width - MARGIN));
    top = Math.max(MARGIN, Math.min(top, room.height - height - MARGIN));
    this.element.style.left = `${Math.round(left)}px`;
    this.element.style.top = `${Math.round(top)}px`;
  }

  hide() {
    this.listeners.abort();
    if (this.shown) this.element.remove();
  }
}

/**
 * A rectangle without extent.
 * @param {number} x
 * @param {number} y
 * @returns {Rect}
 */
export function pointRect(x, y) {
  return { left: x, top: y, right: x, bottom: y };
}
