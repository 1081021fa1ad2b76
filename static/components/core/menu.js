// Menus. A short one answers to the letters of its entries. One of groups has a field above: what is typed narrows it, so that thirty
// entries are as near as three; its rare entries are shown by "More", or when they are typed.

import { make } from "./popup.js";
import { PrimitiveCard } from "./primitive_card.js";

/** A menu of `items` ({label, key, help, disabled, method, group, rare, run}) under `title`; calls `close(restoreFocus)` when it is done.
 *  `memory.more` keeps whether rare entries are shown. */
export function menuBody(title, items, close, memory = {}) {
  return items.some((item) => item.group)
    ? new GroupedMenu(title, items, close, memory)
    : plainMenu(title, items, close);
}

function plainMenu(title, items, close) {
  const buttons = items.map((item) => itemButton(item, close));
  const list = make("div", { class: "menu", role: "menu", "aria-label": title }, ...buttons);
  list.addEventListener("keydown", (event) => {
    const found = items.findIndex((item) => item.key === event.key && !item.disabled);
    if (isLetter(event) && found >= 0) buttons[found].click();
    else if (!walk(event, buttons, close)) return;
    event.preventDefault();
    event.stopPropagation();
  });
  return {
    element: make("div", {}, make("div", { class: "menu-head" }, title), list),
    focus: () => buttons[0]?.focus(),
  };
}

function itemButton(item, close, about) {
  const button = make(
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
    make("span", { class: "menu-label" }, item.label),
    item.disabled ? make("span", { class: "menu-why" }, item.disabled) : null,
    item.key && !item.disabled ? make("span", { class: "tw-kbd" }, item.key) : null,
  );
  button.addEventListener("click", () => {
    if (item.disabled) return;
    close(false);
    item.run();
  });
  // Not when rows move below a resting pointer.
  button.addEventListener("pointermove", () => button.matches(":focus") || button.focus({ preventScroll: true }));
  return button;
}

function isLetter(event) {
  return event.key.length === 1 && event.key !== " " && !event.ctrlKey && !event.metaKey && !event.altKey;
}

/** What arrows, Home, End, Escape and Tab mean in every menu; whether the key was one of them. */
function walk(event, buttons, close) {
  const at = buttons.indexOf(event.target);
  const go = (index) => buttons[(index + buttons.length) % buttons.length]?.focus();
  if (event.key === "ArrowDown") go(at + 1);
  else if (event.key === "ArrowUp") go(at < 0 ? -1 : at - 1);
  else if (event.key === "Home") go(0);
  else if (event.key === "End") go(-1);
  else if (event.key === "Escape" || event.key === "Tab") close(true);
  else return false;
  return true;
}

let menus = 0;

class GroupedMenu {
  constructor(title, items, close, memory) {
    Object.assign(this, { title, items, close, memory });
    const id = `tw-menu-${++menus}`;
    this.about = make("div", { class: "menu-about", id: `${id}-about` });
    this.list = make("div", { class: "menu", role: "menu", id, "aria-label": title });
    this.filter = make("input", {
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
      ? make("button", {
          class: "menu-item menu-more",
          role: "menuitem",
          tabindex: -1,
          type: "button",
          onclick: () => this.toggle(),
        })
      : null;
    this.more?.addEventListener("pointermove", () => this.more.focus({ preventScroll: true }));
    this.more?.addEventListener("focus", () => this.about.replaceChildren("what is used less often"));
    this.rare = rare;
    this.card = new PrimitiveCard(this);
    this.element = make(
      "div",
      { class: "menu-grouped" },
      make("div", { class: "menu-head" }, title),
      this.filter,
      this.list,
      this.about,
      this.card.element,
    );
    this.element.addEventListener("keydown", (event) => this.key(event));
    this.list.addEventListener("focusin", (event) => this.reach(event.target));
    this.filter.addEventListener("input", () => this.draw());
    this.draw();
  }

  focus() {
    this.shown()[0]?.focus();
  }

  /** One entry is what Tab would reach, so that a list that scrolls can be scrolled without a mouse. */
  reach(button) {
    for (const other of this.shown()) other.tabIndex = other === button ? 0 : -1;
  }

  shown() {
    return [...this.list.querySelectorAll("button")];
  }

  /** All groups, or what fits the text, the best first. */
  draw() {
    const text = this.filter.value.trim();
    this.best = null;
    if (text) this.narrow(text);
    else this.list.replaceChildren(...this.groups(), ...(this.more ? [this.more] : []));
    for (const button of this.buttons.values()) button.classList.toggle("is-best", button === this.best);
    if (this.best) this.filter.setAttribute("aria-activedescendant", this.best.id);
    else this.filter.removeAttribute("aria-activedescendant");
    this.list.scrollTop = 0;
    this.reach(this.shown()[0]);
    this.onresize?.();
  }

  narrow(text) {
    const ranked = this.items
      .map((item) => [rank(item, text), item])
      .filter(([r]) => r > 0)
      .sort(([a], [b]) => b - a)
      .map(([, item]) => item);
    this.list.replaceChildren(...ranked.map((item) => this.buttons.get(item)));
    if (ranked.length) {
      this.best = this.buttons.get(ranked[0]);
      this.describe(ranked[0]);
      this.card.reach(ranked[0].method, this.best);
    } else {
      this.list.replaceChildren(
        make(
          "div",
          { class: "menu-none", role: "menuitem", "aria-disabled": "true" },
          "No action has this in its name",
        ),
      );
      this.about.replaceChildren();
    }
  }

  groups() {
    const all = this.memory.more;
    const open = this.items.filter((item) => all || !item.rare);
    const names = [...new Set(open.map((item) => item.group))];
    if (this.more) {
      this.more.setAttribute("aria-expanded", String(Boolean(all)));
      this.more.replaceChildren(make("span", { class: "menu-label" }, all ? "Fewer" : `More (${this.rare})`));
    }
    return names.map((name) => {
      const head = name ? make("div", { class: "menu-group", "aria-hidden": "true" }, name) : null;
      const part = make("div", { role: "group", "aria-label": name || this.title });
      part.append(
        ...(head ? [head] : []),
        ...open.filter((item) => item.group === name).map((item) => this.buttons.get(item)),
      );
      return part;
    });
  }

  toggle() {
    this.memory.more = !this.memory.more;
    this.draw();
    const first = this.memory.more ? this.buttons.get(this.items.find((item) => item.rare)) : this.more;
    first.focus();
    first.scrollIntoView({ block: "nearest" });
  }

  describe(item) {
    const text = item.disabled ? `Not here: ${item.disabled}` : item.help;
    this.about.replaceChildren(...(item.method ? [make("code", {}, item.method), " "] : []), text);
    this.about.classList.toggle("is-blocked", Boolean(item.disabled));
  }

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
    else if (!walk(event, this.shown(), this.close)) return event.stopPropagation();
    event.preventDefault();
    event.stopPropagation();
  }

  /** The entry below the best one: that one stands first, and Enter takes it already. */
  afterBest() {
    const all = this.shown();
    return all[Math.min(all.indexOf(this.best) + 1, all.length - 1)];
  }

  write(text) {
    this.filter.value = text;
    this.draw();
    if (text) this.filter.focus();
    else this.focus();
  }
}

/** How well an entry fits a text: its letter, the beginning of its name, of a word in it, a part of it, of its help. 0: not at all. */
function rank(item, text) {
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
