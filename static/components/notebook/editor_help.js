// Help beside the caret of a cell's editor: the call that is being written with the parameter that is meant, and a list of what could stand here.

import { h } from "../core/dom.js";
import { Popup } from "../core/popup.js";
import { callAt, contextAt, fitting, offersAt } from "./call_text.js";

const MOST_OFFERS = 60;
const KIND_SIGNS = { call: "ƒ", loop: "↻", block: "■", list: "[ ]", argument: "=", name: "x", schedule: "s" };

/** Where a character of `pre` is on the screen. */
function rectAt(pre, offset) {
  const walker = document.createTreeWalker(pre, NodeFilter.SHOW_TEXT);
  let left = offset;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (left <= node.length) {
      const range = document.createRange();
      range.setStart(node, left);
      range.setEnd(node, left);
      return range.getClientRects()[0] ?? range.getBoundingClientRect();
    }
    left -= node.length;
  }
  return pre.getBoundingClientRect();
}

/** `names` in back quotes as code. */
function coded(text) {
  return text.split("`").map((part, n) => (n % 2 ? h("code", {}, part) : part));
}

/** `area` is the text field, `pre` the same text drawn, `host` what both are in; `write(start, end, text)` types. */
export class EditorHelp {
  constructor({ area, pre, host, write }) {
    Object.assign(this, { area, pre, host, write });
    this.words = null;
    this.list = new Popup(host, "offers");
    this.sign = new Popup(host, "signature", { "aria-hidden": "true" });
    this.said = h("div", { class: "tw-hidden", role: "status" });
    host.append(this.said);
    area.setAttribute("aria-autocomplete", "list");
    for (const name of ["keyup", "pointerup"]) area.addEventListener(name, () => this.moved());
    area.addEventListener("focusout", () => setTimeout(() => area.matches(":focus") || this.hide()));
    window.addEventListener(
      "scroll",
      (this.away = (event) => event.target !== area && !this.list.element.contains(event.target) && this.hide()),
      true,
    );
  }

  remove() {
    window.removeEventListener("scroll", this.away, true);
    this.hide();
  }

  hide() {
    this.close();
    this.sign.hide();
  }

  /** What is known of the notebook. */
  tell(words) {
    const late = !this.words && this.at !== undefined;
    this.words = words;
    this.calls = new Map(words.calls.map((call) => [call.name, call]));
    if (!this.area.matches(":focus")) return;
    this.explain();
    if (late) this.offer(false); // something was typed before the answer was here
  }

  /** Something was typed. */
  typed() {
    this.at = this.area.selectionStart;
    this.explain();
    this.offer(false);
  }

  /** The caret went elsewhere. */
  moved() {
    if (this.area.selectionStart === this.at) return;
    this.at = this.area.selectionStart;
    this.close();
    this.explain();
  }

  /** The text moves when something is said below it: the list stands below its line, the call above. */
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
      this.said.textContent = "";
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
    const spoken = `${call.name}: ${call.parameters.map((it) => it.name).join(", ")}. ${call.parameters[parameter]?.name ?? ""}`;
    if (this.said.textContent !== spoken) this.said.textContent = spoken;
    return undefined;
  }

  // What could stand here.

  get open() {
    return this.list.shown;
  }

  offer(asked) {
    const { area, words } = this;
    const found =
      words && area.selectionStart === area.selectionEnd
        ? offersAt(area.value, area.selectionStart, words, asked)
        : null;
    this.items = found ? fitting(found.items, found.begun).slice(0, MOST_OFFERS) : [];
    this.from = found?.from;
    this.isString = found?.isString;
    this.walked = asked;
    if (this.items.length) this.draw(0, true);
    else this.close();
  }

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
        { class: "offer-lines", role: "listbox", id: "offers", "aria-label": "What could stand here" },
        ...options,
      );
      this.list.show(
        rectAt(this.pre, this.from),
        "below",
        box,
        h("div", { class: "offer-keys" }, "Tab takes it, ↑ ↓ choose, Esc closes"),
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

  take(n) {
    const { text, kind } = this.items[n];
    const { from } = this;
    const end = this.area.selectionStart;
    const after = this.area.value[end] ?? "";
    const call = kind === "call" && after !== "(";
    this.write(from, end, call ? `${text}()` : text);
    this.close(); // what was written would be offered again
    if (call) this.area.setSelectionRange(from + text.length + 1, from + text.length + 1);
    this.at = this.area.selectionStart;
    this.explain();
  }

  /** Whether the key was for the list. Enter is, once one has gone into it: else it means what it always does. */
  key(event) {
    if (event.key === " " && (event.ctrlKey || event.metaKey)) {
      this.offer(true);
      return true;
    }
    if (!this.open || event.ctrlKey || event.metaKey || event.altKey) return false;
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
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
