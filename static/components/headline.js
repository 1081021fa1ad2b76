// The top bar: what is open, on which machine, whether it is tested, and what it costs.

import { h, icon, follow } from "./dom.js";

const VERDICT = {
  checking: ["◌", "checking…"],
  tested: ["✔", "tested"],
  proved: ["✔", "proved"],
  failed: ["✘", "wrong result"],
  unknown: ["?", "not tested"],
};

function figure({ label, value, change, trend, hint, level }) {
  return h(
    "div",
    { class: `figure ${level ?? ""}`, title: hint, "data-figure": label },
    h("span", { class: "figure-label" }, label),
    h(
      "span",
      { class: "figure-value" },
      h("b", {}, value),
      change ? h("span", { class: `change ${trend ?? ""}` }, change) : null,
    ),
  );
}

function button(model, name, label, intent, disabled) {
  return h(
    "button",
    { class: "tool", "aria-label": label, title: label, disabled, onclick: () => model.send_msg(intent) },
    icon(name),
  );
}

export function render({ model }) {
  const bar = h("header", { class: "headline" });
  follow(model, (data) => {
    const machine = h(
      "select",
      {
        class: "machine-picker",
        "aria-label": "Machine",
        onchange: (event) => model.send_msg({ kind: "machine", name: event.target.value }),
      },
      data.machines.map((name) => h("option", { value: name, selected: name === data.machine }, name)),
    );
    machine.value = data.machine;
    const [sign, words] = VERDICT[data.verdict.status];
    bar.replaceChildren(
      h(
        "button",
        { class: "tool", "aria-label": "Gallery", title: "Back to the gallery", onclick: () => model.send_msg({ kind: "gallery" }) },
        icon("back"),
      ),
      h("h1", { class: "title", title: data.title }, data.title),
      machine,
      h(
        "span",
        { class: `verdict ${data.verdict.status}`, title: data.verdict.detail, role: "status", "data-verdict": data.verdict.status },
        h("span", { class: "sign", "aria-hidden": "true" }, sign),
        words,
      ),
      h("div", { class: "figures" }, data.figures.map(figure)),
      h(
        "div",
        { class: "tools" },
        button(model, "undo", "Undo (Ctrl+Z)", { kind: "undo" }, !data.can_undo),
        button(model, "redo", "Redo (Ctrl+Shift+Z)", { kind: "redo" }, !data.can_redo),
        button(model, "save", "Save the notebook (Ctrl+S)", { kind: "save" }, !data.unsaved),
        button(
          model,
          data.theme === "dark" ? "sun" : "moon",
          data.theme === "dark" ? "Light theme" : "Dark theme",
          { kind: "theme", theme: data.theme === "dark" ? "light" : "dark" },
        ),
        h(
          "button",
          { class: "tool primary", title: "Python for Apache TVM", onclick: () => model.send_msg({ kind: "export" }) },
          icon("export"),
          "Export",
        ),
      ),
    );
  });
  return bar;
}
