// A small form below an element that asks for a name or a comment.

import { h } from "./dom.js";

/** @import { Popup } from "./popup.js" */

/**
 * Ask for a name below `anchor`, and call `done(name)` unless the user cancels.
 * @param {Popup} popup
 * @param {HTMLElement} anchor
 * @param {object} options
 * @param {string} options.title
 * @param {string} options.value The name at first.
 * @param {string} options.action The text of the button.
 * @param {number} [options.most] The largest number of characters.
 * @param {number} [options.lines] The lines of a text, which may be empty; 0: a name.
 * @param {HTMLElement | (() => HTMLElement | null | undefined) | null} [options.back] Gets the focus when the form closes.
 * @param {(name: string) => void} done
 */
export function promptName(popup, anchor, { title, value, action, most = 100, lines = 0, back = anchor }, done) {
  /** @type {HTMLInputElement | HTMLTextAreaElement} */
  const input = h(lines ? "textarea" : "input", {
    class: "ask-name",
    ...(lines ? { rows: String(lines) } : { type: "text" }),
    maxlength: String(most),
    "aria-label": title,
    value,
    spellcheck: "false",
    autocomplete: "off",
  });
  const close = () => {
    popup.hide();
    (typeof back === "function" ? back() : back)?.focus({ preventScroll: true });
  };
  const apply = () => {
    if (!input.value.trim() && !lines) return;
    close();
    done(input.value);
  };
  const form = h(
    "div",
    { class: "ask", role: "dialog", "aria-label": title },
    h("b", {}, title),
    input,
    h(
      "div",
      { class: "ask-bar" },
      h("button", { class: "tool primary small", type: "button", onclick: apply }, action),
      h("button", { class: "tool small", type: "button", onclick: close }, "Cancel"),
    ),
  );
  form.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Escape") close();
    if (event.key === "Enter" && event.target === input && (!lines || !event.shiftKey)) {
      event.preventDefault(); // it would press the element that has the focus after `apply`
      apply();
    }
  });
  popup.hide();
  popup.show(anchor.getBoundingClientRect(), "below", form);
  input.focus();
  input.setSelectionRange(0, value.replace(/\.py$/, "").length);
}
