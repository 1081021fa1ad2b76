// Things that float above the page: tooltips, menus, forms. They live in the browser's top layer (popover), so that no scroll
// container clips them, and are always placed inside the viewport.

const MARGIN = 8;
const GAP = 5;

export function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") node.className = value;
    else if (name === "style") node.style.cssText = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return node;
}

export class Popup {
  /** A floating element in `host`, shown next to a rectangle. */
  constructor(host, className, attributes = {}) {
    this.element = make("div", { class: `pop ${className}`, popover: "manual", ...attributes });
    this.host = host;
  }

  get shown() {
    return this.element.isConnected;
  }

  /** Show `children` beside `anchor` ({left, top, right, bottom}); `side` is "below", or "beside": right of it when there is room. */
  show(anchor, side, ...children) {
    const fresh = !this.shown;
    this.element.replaceChildren(...children.filter(Boolean));
    if (fresh) {
      this.host.append(this.element);
      this.element.showPopover?.();
    }
    this.move(anchor, side);
    return fresh;
  }

  move(anchor, side) {
    // Where it stood would narrow it.
    this.element.style.left = "0px";
    const { offsetWidth: width, offsetHeight: height } = this.element;
    const room = { width: document.documentElement.clientWidth, height: document.documentElement.clientHeight };
    let left = anchor.left;
    let top = anchor.bottom + GAP;
    if (side === "beside" && anchor.right + GAP + width <= room.width - MARGIN) {
      left = anchor.right + GAP;
      top = anchor.top - 1;
    } else if (side === "beside") {
      // No room: below the next row, as far right as can be, so that names stay readable.
      left = room.width - width - MARGIN;
      top = anchor.bottom + (anchor.bottom - anchor.top);
    }
    if (top + height > room.height - MARGIN && anchor.top - GAP - height >= MARGIN) top = anchor.top - GAP - height;
    left = Math.max(MARGIN, Math.min(left, room.width - width - MARGIN));
    top = Math.max(MARGIN, Math.min(top, room.height - height - MARGIN));
    this.element.style.left = `${Math.round(left)}px`;
    this.element.style.top = `${Math.round(top)}px`;
  }

  hide() {
    if (this.shown) this.element.remove();
  }
}

export function pointRect(x, y) {
  return { left: x, top: y, right: x, bottom: y };
}
