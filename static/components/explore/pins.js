// The holes of the space with their values: a pinned hole keeps one value or a few, and the search varies the others.

import { plainText } from "../core/hole_text.js";
import { h, icon } from "../core/dom.js";

/** @import { SearchOffer as Offer } from "../views.js" */

/** @typedef {Offer["holes"][number]} Hole */

const MOST_VALUES = 8;

export class Pins {
  /** @param {() => void} changed */
  constructor(changed) {
    this.changed = changed;
    this.element = h("ul", { class: "xp-holes" });
    /** @type {Hole[]} */
    this.holes = [];
    /** @type {Map<string, Set<string>>} By the name of a hole the values that it keeps. */
    this.kept = new Map();
    /** @type {Set<string>} Holes whose values are all shown. */
    this.open = new Set();
  }

  /**
   * Draw the holes of a space. Pins of equal holes stay.
   * @param {Hole[]} holes
   */
  draw(holes) {
    this.holes = holes;
    for (const [name, values] of this.kept) {
      const known = holes.find((hole) => hole.name === name)?.values ?? [];
      const left = known.filter((text) => values.has(text));
      if (left.length && left.length < known.length) this.kept.set(name, new Set(left));
      else this.kept.delete(name);
    }
    this.element.replaceChildren(...holes.map((hole) => this.row(hole)));
  }

  /** The number of candidates with these pins. */
  get size() {
    return this.holes.reduce((size, { name, values }) => size * (this.kept.get(name)?.size ?? values.length), 1);
  }

  /** The pins by the names of their holes, as a message has them. */
  get keep() {
    return Object.fromEntries([...this.kept].map(([name, values]) => [name, [...values]]));
  }

  /**
   * @param {Hole} hole
   * @param {string[]} values The values to keep; all of them unpin the hole.
   */
  pin({ name, values: all }, values) {
    if (values.length && values.length < all.length) this.kept.set(name, new Set(values));
    else this.kept.delete(name);
    this.redraw(name);
  }

  /** @param {string} name */
  redraw(name) {
    const index = this.holes.findIndex((hole) => hole.name === name);
    const before = this.element.children[index];
    const focused = /** @type {ShadowRoot} */ (this.element.getRootNode()).activeElement;
    const key = focused instanceof HTMLElement && before.contains(focused) ? focused.dataset.key : undefined;
    const row = this.row(this.holes[index]);
    before.replaceWith(row);
    if (key) /** @type {HTMLElement | null} */ (row.querySelector(`[data-key="${CSS.escape(key)}"]`))?.focus();
    this.changed();
  }

  /** @param {Hole} hole */
  row(hole) {
    const { name, values } = hole;
    const kept = this.kept.get(name);
    const isPinned = kept !== undefined;
    const shown = this.open.has(name) ? values : values.filter((text, n) => n < MOST_VALUES || kept?.has(text));
    return h(
      "li",
      { class: isPinned ? "xp-hole is-pinned" : "xp-hole" },
      h(
        "button",
        {
          class: "tool small xp-pin",
          type: "button",
          "data-key": `pin ${name}`,
          "aria-pressed": String(isPinned),
          "aria-label": `Keep ${name}`,
          title: isPinned
            ? "Search all values again"
            : `Keep ${plainText(values[0])}, the present value, and search the other holes`,
          disabled: values.length < 2,
          onclick: () => this.pin(hole, isPinned ? [] : [values[0]]),
        },
        icon("pin"),
      ),
      h("b", {}, name),
      h(
        "span",
        { class: "xp-values", role: "group", "aria-label": `Choices of ${name}` },
        shown.map((text) => this.chip(hole, text)),
        shown.length < values.length ? this.more(hole, values.length - shown.length) : null,
      ),
    );
  }

  /**
   * @param {Hole} hole
   * @param {string} text
   */
  chip(hole, text) {
    const { name, values } = hole;
    const kept = this.kept.get(name);
    const isDefault = text === values[0];
    const press = () => {
      if (!kept) return this.pin(hole, [text]);
      const others = values.filter((value) => kept.has(value) !== (value === text));
      return this.pin(hole, others);
    };
    const what = kept
      ? kept.has(text)
        ? "Do not search this value"
        : "Search this value too"
      : "Keep only this value";
    return h(
      "button",
      {
        class: isDefault ? "hole-value is-default" : "hole-value",
        type: "button",
        "data-key": `value ${name} ${text}`,
        "aria-pressed": String(!kept || kept.has(text)),
        title: `${what}${isDefault ? ". The present value" : ""}: ${plainText(text)}`,
        disabled: values.length < 2,
        onclick: press,
      },
      plainText(text),
    );
  }

  /**
   * @param {Hole} hole
   * @param {number} count
   */
  more({ name }, count) {
    const show = () => {
      this.open.add(name);
      this.redraw(name);
    };
    return h(
      "button",
      {
        class: "tool small",
        type: "button",
        "data-key": `more ${name}`,
        "aria-label": `All values of ${name}`,
        onclick: show,
      },
      `${count} more`,
    );
  }
}
