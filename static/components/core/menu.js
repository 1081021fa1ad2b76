// Menus. In a short one, a letter runs its entry. A grouped one has a search field, and shows its rare entries with "More" or when they match.

import { h } from "./dom.js";
import { PrimitiveCard } from "./primitive_card.js";

/**
 * @typedef {object} MenuItem
 * @property {string} label
 * @property {() => void} run
 * @property {string} [key] The letter that runs it.
 * @property {string} [help]
 * @property {string | null} [disabled] The reason why it is disabled.
 * @property {string} [method] The primitive, for its documentation.
 * @property {string} [group]
 * @property {boolean} [rare] Hidden behind "More".
 */

/** @typedef {(restoreFocus: boolean) => void} Close */

/**
 * `annotate` shows an element on an entry, at the right.
 * @typedef {{ element: HTMLElement, focus: () => void, onresize?: () => void, annotate?: (item: MenuItem, mark: HTMLElement) => void }} Menu
 */

/** @typedef {{ more?: boolean }} MenuMemory Whether rare entries are shown, for the next menu of the same kind. */

/**
 * A menu of `items` under `title`; calls `close` when it is done.
 * @param {string} title
 * @param {MenuItem[]} items
 * @param {Close} close
 * @param {MenuMemory} [memory]
 * @returns {Menu}
 */
export function menuBody(title, items, close, memory = {}) {
  return items.some((item) => item.group)
    ? new GroupedMenu(title, items, close, memory)
    : plainMenu(title, items, close);
}

/**
 * @param {string} title
 * @param {MenuItem[]} items
 * @param {Close} close
 * @returns {Menu}
 */
function plainMenu(title, items, close) {
  const buttons = items.map((item) => itemButton(item, close));
  const list = h("div", { class: "menu", role: "menu", "aria-label": title }, ...buttons);
  list.addEventListener("keydown", (event) => {
    const found = items.findIndex((item) => item.key === event.key && !item.disabled);
    if (isLetter(event) && found >= 0) buttons[found].click();
    else if (!navigate(event, buttons, close)) return;
    event.preventDefault();
    event.stopPropagation();
  });
  return {
    element: h("div", {}, h("div", { class: "menu-head", title }, title), list),
    focus: () => buttons[0]?.focus(),
  };
}

/**
 * @param {MenuItem} item
 * @param {Close} close
 * @param {string} [about] The id of the element that describes the entry.
 */
function itemButton(item, close, about) {
  const button = h(
    "button",
    {
      class: "menu-item",
      role: "menuitem",
      tabindex: -1,
      type: "button",
      "aria-disabled": item.disabled ? "true" : undefined,
      "aria-describedby": about,
      "data-method": item.method,
      title: about ? undefined : item.disabled || item.help,
    },
    h("span", { class: "menu-label" }, item.label),
    item.disabled ? h("span", { class: "menu-why" }, item.disabled) : null,
    item.key && !item.disabled ? h("span", { class: "tw-kbd" }, item.key) : null,
  );
  button.addEventListener("click", () => {
    if (item.disabled) return;
    close(false);
    item.run();
  });
  // pointermove, not pointerenter: rows may move below a resting pointer.
  button.addEventListener("pointermove", () => button.matches(":focus") || button.focus({ preventScroll: true }));
  return button;
}

/** @param {KeyboardEvent} event */
function isLetter(event) {
  return event.key.length === 1 && event.key !== " " && !event.ctrlKey && !event.metaKey && !event.altKey;
}

/**
 * Handle arrows, Home, End, Escape and Tab. Returns whether the key was one of them.
 * @param {KeyboardEvent} event
 * @param {HTMLElement[]} buttons
 * @param {Close} close
 */
function navigate(event, buttons, close) {
  const at = buttons.findIndex((button) => button === event.target);
  const go = (/** @type {number} */ index) => buttons[(index + buttons.length) % buttons.length]?.focus();
  if (event.key === "ArrowDown") go(at + 1);
  else if (event.key === "ArrowUp") go(at < 0 ? -1 : at - 1);
  else if (event.key === "Home") go(0);
  else if (event.key === "End") go(-1);
  else if (event.key === "Escape" || event.key === "Tab") close(true);
  else return false;
  return true;
}

let menus = 0;

/** A menu with groups and a search field. */
export class GroupedMenu {
  /**
   * @param {string} title
   * @param {MenuItem[]} items
   * @param {Close} close
   * @param {MenuMemory} [memory]
   */
  constructor(title, items, close, memory = {}) {
    this.title = title;
    this.items = items;
    this.close = close;
    this.memory = memory;
    /** @type {HTMLElement | undefined} The entry that Enter runs. */
    this.best = undefined;
    /** @type {(() => void) | undefined} */
    this.onresize = undefined;
    const id = `tw-menu-${++menus}`;
    this.about = h("div", { class: "menu-about", id: `${id}-about` });
    this.list = h("div", { class: "menu", role: "menu", id, "aria-label": title });
    this.filter = h("input", {
      class: "menu-filter",
      type: "search",
      placeholder: "Type to find",
      "aria-label": "Find an action",
      "aria-controls": id,
      autocomplete: "off",
      spellcheck: "false",
    });
    this.buttons = new Map(
      items.map((item, n) => {
        const button = itemButton(item, close, this.about.id);
        button.id = `${id}-${n}`;
        button.addEventListener("focus", () => this.describe(item));
        button.addEventListener("focus", () => this.card.reach(item.method, button));
        return [item, button];
      }),
    );
    const rare = items.filter((item) => item.rare).length;
    this.more = rare
      ? h("button", {
          class: "menu-item menu-more",
          role: "menuitem",
          tabindex: -1,
          type: "button",
          onclick: () => this.toggle(),
          onpointermove: (event) => /** @type {HTMLElement} */ (event.currentTarget).focus({ preventScroll: true }),
          onfocus: () => this.about.replaceChildren("Actions that are used less often"),
        })
      : null;
    this.rare = rare;
    this.card = new PrimitiveCard(this);
    this.element = h(
      "div",
      { class: "menu-grouped" },
      h("div", { class: "menu-head", title }, title),
      this.filter,
      this.list,
      this.about,
      this.card.element,
    );
    this.element.addEventListener("keydown", (event) => this.key(event));
    this.list.addEventListener("focusin", (event) => this.reach(/** @type {HTMLElement} */ (event.target)));
    this.filter.addEventListener("input", () => this.draw());
    this.draw();
  }

  focus() {
    this.shown()[0]?.focus();
  }

  /**
   * Make one entry the tab stop, so that the keyboard can scroll the list.
   * @param {HTMLElement | undefined} button
   */
  reach(button) {
    for (const other of this.shown()) other.tabIndex = other === button ? 0 : -1;
  }

  shown() {
    return [...this.list.querySelectorAll("button")];
  }

  /** Show all groups, or the matches of the search text, the best one first. */
  draw() {
    const text = this.filter.value.trim();
    this.best = text ? this.narrow(text) : undefined;
    if (!text) this.list.replaceChildren(...this.groups(), ...(this.more ? [this.more] : []));
    for (const button of this.buttons.values()) button.classList.toggle("is-best", button === this.best);
    if (this.best) this.filter.setAttribute("aria-activedescendant", this.best.id);
    else this.filter.removeAttribute("aria-activedescendant");
    this.list.scrollTop = 0;
    this.reach(this.shown()[0]);
    this.onresize?.();
  }

  /**
   * Show the matches of a text and return the best one.
   * @param {string} text
   */
  narrow(text) {
    const ranked = this.items
      .map((item) => ({ item, score: rank(item, text) }))
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score)
      .map(({ item }) => item);
    this.list.replaceChildren(...ranked.map((item) => this.button(item)));
    if (ranked.length) {
      const best = this.button(ranked[0]);
      this.describe(ranked[0]);
      this.card.reach(ranked[0].method, best);
      return best;
    } else {
      this.list.replaceChildren(
        h("div", { class: "menu-none", role: "menuitem", "aria-disabled": "true" }, "No action has this in its name"),
      );
      this.about.replaceChildren();
      this.card.hide();
    }
  }

  /** @param {MenuItem} item */
  button(item) {
    return /** @type {HTMLElement} */ (this.buttons.get(item));
  }

  /**
   * @param {MenuItem} item
   * @param {HTMLElement} mark
   */
  annotate(item, mark) {
    const button = this.buttons.get(item);
    button?.querySelector(".menu-mark")?.remove();
    button?.querySelector(".menu-label")?.after(h("span", { class: "menu-mark" }, mark));
  }

  groups() {
    const all = this.memory.more;
    const open = this.items.filter((item) => all || !item.rare);
    const names = [...new Set(open.map((item) => item.group))];
    if (this.more) {
      this.more.setAttribute("aria-expanded", String(Boolean(all)));
      this.more.replaceChildren(h("span", { class: "menu-label" }, all ? "Fewer" : `${this.rare} more`));
    }
    return names.map((name) => {
      const head = name ? h("div", { class: "menu-group", "aria-hidden": "true" }, name) : null;
      const entries = open.filter((item) => item.group === name).map((item) => this.button(item));
      return h("div", { role: "group", "aria-label": name || this.title }, head, entries);
    });
  }

  toggle() {
    this.memory.more = !this.memory.more;
    this.draw();
    const rare = this.items.find((item) => item.rare);
    const first = this.memory.more && rare ? this.button(rare) : this.more;
    first?.focus();
    first?.scrollIntoView({ block: "nearest" });
  }

  /** @param {MenuItem} item */
  describe(item) {
    const text = item.disabled ? `Not available: ${item.disabled}` : (item.help ?? "");
    this.about.replaceChildren(...(item.method ? [h("code", {}, item.method), " "] : []), text);
    this.about.classList.toggle("is-blocked", Boolean(item.disabled));
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const typing = event.target === this.filter;
    const text = this.filter.value;
    if (event.key === "?") this.card.toggle();
    else if (event.key === "Escape" && text) this.write("");
    else if (typing && event.key === "Enter") this.best?.click();
    else if (typing && ["Home", "End"].includes(event.key) && text) return event.stopPropagation();
    else if (!typing && isLetter(event)) this.write(text + event.key);
    else if (!typing && event.key === "Backspace" && text) this.write(text.slice(0, -1));
    else if (typing && event.key === "ArrowDown" && this.best) this.afterBest().focus();
    else if (!navigate(event, this.shown(), this.close)) return event.stopPropagation();
    event.preventDefault();
    event.stopPropagation();
  }

  /** The entry below the best one, which is first and which Enter runs. */
  afterBest() {
    const all = this.shown();
    return all[Math.min(all.findIndex((button) => button === this.best) + 1, all.length - 1)];
  }

  /** @param {string} text */
  write(text) {
    this.filter.value = text;
    this.draw();
    if (text) this.filter.focus();
    else this.focus();
  }
}

/**
 * The rank of an entry for a search text: its letter, the beginning of its name, of a word in it, a part of it, of its help. 0: no match.
 * @param {MenuItem} item
 * @param {string} text
 */
export function rank(item, text) {
  const wanted = text.toLowerCase();
  const names = [item.label.toLowerCase(), (item.method ?? "").toLowerCase()];
  const words = wanted.split(/\s+/).filter(Boolean);
  if (item.key === text && !item.disabled) return 6;
  if (names.some((name) => name.startsWith(wanted))) return 5;
  if (names.some((name) => name.split(/[\s_]/).some((word) => word.startsWith(wanted)))) return 4;
  if (names.some((name) => name.replaceAll("_", " ").includes(wanted) || name.includes(wanted))) return 3;
  if (words.length > 1 && words.every((word) => names.some((name) => name.includes(word)))) return 3;
  if (wanted.length > 2 && item.help?.toLowerCase().includes(wanted)) return 2;
  return 0;
}
