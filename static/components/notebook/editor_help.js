// Help at the caret of a cell editor: the signature of the present call with the current parameter, and completions.

import { h } from "../core/dom.js";
import { Popup } from "../core/popup.js";
import { callAt, contextAt, fitting, offersAt } from "./call_text.js";

/** @import { Call, Words } from "./types.js" */
/** @import { Completion } from "./call_text.js" */

const MOST_OFFERS = 60;
/** @type {Record<string, string>} */
const KIND_SIGNS = { call: "ƒ", loop: "↻", block: "■", list: "[ ]", argument: "=", name: "x", schedule: "s" };

/**
 * The place of a character on the screen.
 * @param {Element} pre
 * @param {number} offset
 */
function rectAt(pre, offset) {
  const walker = document.createTreeWalker(pre, NodeFilter.SHOW_TEXT);
  let left = offset;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const { length } = /** @type {Text} */ (node);
    if (left <= length) {
      const range = document.createRange();
      range.setStart(node, left);
      range.setEnd(node, left);
      return range.getClientRects()[0] ?? range.getBoundingClientRect();
    }
    left -= length;
  }
  return pre.getBoundingClientRect();
}

/**
 * Text with `code` in it.
 * @param {string} text
 */
function coded(text) {
  return text.split("`").map((part, n) => (n % 2 ? h("code", {}, part) : part));
}

export class EditorHelp {
  /**
   * @param {object} editor
   * @param {HTMLTextAreaElement} editor.area The text field.
   * @param {HTMLElement} editor.pre The same text, drawn.
   * @param {HTMLElement} editor.host Contains both.
   * @param {(start: number, end: number, text: string) => void} editor.write Replaces a range.
   */
  constructor({ area, pre, host, write }) {
    this.area = area;
    this.pre = pre;
    this.write = write;
    /** @type {Words | null} */
    this.words = null;
    /** @type {Map<string, Call>} */
    this.calls = new Map();
    /** @type {Completion[]} */
    this.items = [];
    /** @type {number | undefined} The caret after the last input. */
    this.at = undefined;
    this.from = 0;
    this.chosen = 0;
    this.signAt = 0;
    this.isString = false;
    this.walked = false;
    this.list = new Popup(host, "offers");
    this.sign = new Popup(host, "signature", { "aria-hidden": "true" });
    this.status = h("div", { class: "tw-hidden", role: "status" });
    host.append(this.status);
    area.setAttribute("aria-autocomplete", "list");
    for (const name of ["keyup", "pointerup"]) area.addEventListener(name, () => this.moved());
    area.addEventListener("focusout", () => setTimeout(() => area.matches(":focus") || this.hide()));
    this.scrolled = (/** @type {Event} */ event) => {
      if (event.target !== area && !this.list.element.contains(/** @type {Node} */ (event.target))) this.hide();
    };
    window.addEventListener("scroll", this.scrolled, true);
  }

  remove() {
    window.removeEventListener("scroll", this.scrolled, true);
    this.hide();
  }

  hide() {
    this.close();
    this.sign.hide();
  }

  /**
   * Set the words of the notebook.
   * @param {Words} words
   */
  setWords(words) {
    const late = !this.words && this.at !== undefined;
    this.words = words;
    this.calls = new Map(words.calls.map((call) => [call.name, call]));
    if (!this.area.matches(":focus")) return;
    this.explain();
    if (late) this.offer(false); // the user typed before the words arrived
  }

  /** Update after an input. */
  typed() {
    this.at = this.area.selectionStart;
    this.explain();
    this.offer(false);
  }

  /** Update after a movement of the caret. */
  moved() {
    if (this.area.selectionStart === this.at) return;
    this.at = this.area.selectionStart;
    this.close();
    this.explain();
  }

  /** Place the list below its line and the signature above; the text moves when messages appear below it. */
  place() {
    if (this.open) {
      const { left, top, bottom } = rectAt(this.pre, this.from);
      this.list.move({ left: left - 30, right: left, top, bottom }, "below");
    }
    if (!this.sign.shown) return;
    const { left, top } = rectAt(this.pre, this.signAt);
    this.sign.move({ left, right: left, top, bottom: top }, "below");
    this.sign.element.style.top = `${Math.max(4, Math.round(top - this.sign.element.offsetHeight - 4))}px`;
  }

  // The call.

  explain() {
    const { area, words } = this;
    if (!words || area.selectionStart !== area.selectionEnd) return this.sign.hide();
    const context = contextAt(area.value, area.selectionStart);
    const within = context.inside === "comment" ? null : callAt(area.value, context, this.calls);
    if (!within) {
      this.status.textContent = "";
      return this.sign.hide();
    }
    const { call, parameter, at } = within;
    const names = call.parameters.map((it, n) => [
      n ? ", " : "",
      h(
        "span",
        { class: n === parameter ? "is-meant" : it.default === null ? "" : "is-optional" },
        `${it.many ? "*" : ""}${it.name}`,
        it.default === null ? "" : `=${it.default}`,
      ),
    ]);
    this.signAt = at;
    this.sign.show(
      rectAt(this.pre, at),
      "below",
      h("code", {}, h("b", {}, call.name), "(", ...names.flat(), ")"),
      h("div", { class: "signature-says" }, ...coded(call.summary)),
    );
    this.place();
    const label = `${call.name}: ${call.parameters.map((it) => it.name).join(", ")}. ${call.parameters[parameter]?.name ?? ""}`;
    if (this.status.textContent !== label) this.status.textContent = label;
    return undefined;
  }

  // Completions.

  get open() {
    return this.list.shown;
  }

  /** @param {boolean} asked Whether the user pressed the key for completions. */
  offer(asked) {
    const { area, words } = this;
    const found =
      words && area.selectionStart === area.selectionEnd
        ? offersAt(area.value, area.selectionStart, words, asked)
        : null;
    this.items = found ? fitting(found.items, found.begun).slice(0, MOST_OFFERS) : [];
    this.from = found?.from ?? 0;
    this.isString = found?.isString ?? false;
    this.walked = asked;
    if (this.items.length) this.draw(0, true);
    else this.close();
  }

  /** @param {number} at */
  draw(at, fresh = false) {
    this.chosen = (at + this.items.length) % this.items.length;
    if (fresh) {
      const options = this.items.map((item, n) =>
        h(
          "div",
          {
            class: "offer-line",
            role: "option",
            id: `offer-${n}`,
            onpointerdown: (event) => event.preventDefault(),
            onclick: () => this.take(n),
          },
          h("span", { class: `offer-kind is-${item.kind}`, "aria-hidden": "true" }, KIND_SIGNS[item.kind] ?? "”"),
          h("code", {}, item.text),
          h("span", { class: "offer-detail" }, (item.detail ?? "").replaceAll("`", "")),
        ),
      );
      const box = h(
        "div",
        { class: "offer-lines", role: "listbox", id: "offers", "aria-label": "Completions" },
        ...options,
      );
      this.list.show(
        rectAt(this.pre, this.from),
        "below",
        box,
        h("div", { class: "offer-keys" }, "Tab inserts, ↑ ↓ select, Esc closes"),
      );
      this.place();
      this.area.setAttribute("aria-controls", "offers");
    }
    const lines = [...this.list.element.querySelectorAll(".offer-line")];
    lines.forEach((line, n) => line.setAttribute("aria-selected", String(n === this.chosen)));
    lines[this.chosen].scrollIntoView({ block: "nearest" });
    this.area.setAttribute("aria-activedescendant", `offer-${this.chosen}`);
  }

  close() {
    this.list.hide();
    this.area.removeAttribute("aria-activedescendant");
    this.area.removeAttribute("aria-controls");
  }

  /** @param {number} n */
  take(n) {
    const { text, kind } = this.items[n];
    const { from } = this;
    const end = this.area.selectionStart;
    const after = this.area.value[end] ?? "";
    const call = kind === "call" && after !== "(";
    this.write(from, end, call ? `${text}()` : text);
    this.close(); // else the inserted text would be completed again
    if (call) this.area.setSelectionRange(from + text.length + 1, from + text.length + 1);
    this.at = this.area.selectionStart;
    this.explain();
  }

  /**
   * Handle a key of the list. Enter belongs to it after an arrow key. Returns whether it did.
   * @param {KeyboardEvent} event
   */
  key(event) {
    if (event.key === " " && (event.ctrlKey || event.metaKey)) {
      this.offer(true);
      return true;
    }
    if (!this.open || event.ctrlKey || event.metaKey || event.altKey) return false;
    const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (by) {
      this.draw(this.chosen + by);
      this.walked = true;
    } else if (event.key === "Escape") this.close();
    else if (event.key === "Tab" && !event.shiftKey) this.take(this.chosen);
    else if (event.key === "Enter" && this.walked) this.take(this.chosen);
    else return false;
    return true;
  }
}
