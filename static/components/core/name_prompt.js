// A name that is asked for, in a small form below what it is about.

import { h } from "./dom.js";

/** `back` gets the keyboard focus when the form closes: an element, or a function that finds it. */
export function askName(popup, anchor, { title, value, action, most = 100, back = anchor }, done) {
  const input = h("input", {
    class: "ask-name",
    type: "text",
    maxlength: String(most),
    "aria-label": title,
    value,
    spellcheck: "false",
    autocomplete: "off",
  });
  const close = () => {
    popup.hide();
    (typeof back === "function" ? back() : back)?.focus?.({ preventScroll: true });
  };
  const apply = () => {
    if (!input.value.trim()) return;
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
    if (event.key === "Enter" && event.target === input) apply();
  });
  popup.hide();
  popup.show(anchor.getBoundingClientRect(), "below", form);
  input.focus();
  input.setSelectionRange(0, value.replace(/\.py$/, "").length);
}
