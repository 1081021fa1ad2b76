// The start screen: worked examples as cards, and a place for a program of one's own.

import { h, icon, follow } from "./dom.js";

function card(model, example) {
  return h(
    "button",
    { class: "card", "data-example": example.name, onclick: () => model.send_msg({ kind: "open", name: example.name }) },
    h("h2", {}, example.title),
    h("p", {}, example.sentence),
    h("ul", { class: "facts" }, example.facts.map((fact) => h("li", {}, fact))),
  );
}

export function render({ model }) {
  const area = h("textarea", {
    class: "paste",
    spellcheck: "false",
    "aria-label": "A TVMScript program or a notebook",
    placeholder: "from tvm.script import tirx as T\n\n@T.prim_func(s_tir=True)\ndef main(A: T.Buffer((64,), \"float32\"), …):\n    …",
  });
  const problem = h("div", { class: "paste-problem", role: "alert" });
  const cards = h("div", { class: "cards" });
  const theme = h("button", { class: "tool" });
  const open = () => model.send_msg({ kind: "open_text", text: area.value });
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) open();
  });
  const view = h(
    "main",
    { class: "gallery" },
    h(
      "div",
      { class: "gallery-head" },
      h("h1", {}, "Tilewright"),
      h("p", {}, "Drag a block onto a loop. See what memory and time do. Take the code to TVM."),
      theme,
    ),
    cards,
    h(
      "section",
      { class: "own" },
      h("h2", {}, "Your own program"),
      h("p", { class: "quiet" }, "Paste TVMScript or a Tilewright notebook. The text is read, never run."),
      area,
      problem,
      h("button", { class: "tool primary", onclick: open }, "Open"),
    ),
  );
  follow(model, (data) => {
    cards.replaceChildren(...data.examples.map((example) => card(model, example)));
    const dark = data.theme === "dark";
    theme.replaceChildren(icon(dark ? "sun" : "moon"));
    theme.setAttribute("aria-label", dark ? "Light theme" : "Dark theme");
    theme.onclick = () => model.send_msg({ kind: "theme", theme: dark ? "light" : "dark" });
    problem.replaceChildren(
      ...(data.problem
        ? [
            h("b", {}, data.problem.place ? `${data.problem.place}: ` : "", data.problem.message),
            data.problem.found ? h("div", {}, `found: ${data.problem.found}`) : null,
            data.problem.expected ? h("div", {}, `expected: ${data.problem.expected}`) : null,
          ].filter(Boolean)
        : []),
    );
  });
  return view;
}
