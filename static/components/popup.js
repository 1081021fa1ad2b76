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
    this.element = make("div", {class: `pop ${className}`, popover: "manual", ...attributes});
    this.host = host;
  }

  get shown() {
    return this.element.isConnected;
  }

  /** Show `children` beside `anchor` ({left, top, right, bottom}); `side` is "below", or "beside": right of it when there is room. */
  show(anchor, side, ...children) {
    const fresh = !this.shown;
    this.element.replaceChildren(...children);
    if (fresh) {
      this.host.append(this.element);
      this.element.showPopover?.();
    }
    this.move(anchor, side);
    return fresh;
  }

  move(anchor, side) {
    const {offsetWidth: width, offsetHeight: height} = this.element;
    const room = {width: document.documentElement.clientWidth, height: document.documentElement.clientHeight};
    let left = anchor.left;
    let top = anchor.bottom + GAP;
    if (side === "beside" && anchor.right + GAP + width <= room.width - MARGIN) {
      left = anchor.right + GAP;
      top = anchor.top - 1;
    } else if (side === "beside") {
      // No room: below the next row, towards the right, so that names stay readable.
      left = anchor.right - width - 40;
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
  return {left: x, top: y, right: x, bottom: y};
}

/** A menu of `items` ({label, key, help, disabled, head, run}); calls `close(restoreFocus)` when it is done. */
export function menuBody(items, close) {
  const buttons = [];
  const list = make("div", {class: "menu", role: "menu"});
  for (const item of items) {
    if (item.head !== undefined) {
      list.append(make("div", {class: "menu-head"}, item.head));
      continue;
    }
    if (item.line) {
      list.append(make("div", {class: "menu-line", role: "separator"}));
      continue;
    }
    const button = make(
      "button",
      {class: "menu-item", role: "menuitem", tabindex: -1, type: "button", "aria-disabled": item.disabled ? "true" : undefined,
       "data-method": item.method, title: item.disabled || item.help},
      make("span", {class: "menu-label"}, item.label),
      item.disabled ? make("span", {class: "menu-why"}, item.disabled) : null,
      item.key && !item.disabled ? make("span", {class: "tw-kbd"}, item.key) : null,
    );
    button.addEventListener("click", () => {
      if (item.disabled) return;
      close(false);
      item.run();
    });
    button.addEventListener("pointerenter", () => button.focus());
    buttons.push(button);
    list.append(button);
  }
  list.addEventListener("keydown", (event) => menuKey(event, items, buttons, close));
  return {element: list, focus: () => (buttons.find((b) => !b.hasAttribute("aria-disabled")) ?? buttons[0])?.focus()};
}

function menuKey(event, items, buttons, close) {
  const at = buttons.indexOf(event.target);
  const go = (index) => buttons[(index + buttons.length) % buttons.length].focus();
  if (event.key === "ArrowDown") go(at + 1);
  else if (event.key === "ArrowUp") go(at - 1);
  else if (event.key === "Home") go(0);
  else if (event.key === "End") go(buttons.length - 1);
  else if (event.key === "Escape" || event.key === "Tab") close(true);
  else if (event.key.length === 1 && event.key !== " " && !event.ctrlKey && !event.metaKey) {
    const found = items.filter((i) => i.run).findIndex((i) => i.key === event.key && !i.disabled);
    if (found >= 0) buttons[found].click();
  } else return;
  event.preventDefault();
  event.stopPropagation();
}
