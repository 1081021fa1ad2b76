// The top bar: what is open, on which machine, whether it is tested, and what it costs.

import { h, icon, follow } from "../core/dom.js";
import { ExportMenu } from "./export_menu.js";
import { FileChip } from "../files/files.js";
import { patchChildren } from "../core/patch.js";

const VERDICT = {
  checking: ["◌", "checking…"],
  tested: ["✔", "tested"],
  proved: ["✔", "proved"],
  failed: ["✘", "wrong result"],
  unknown: ["?", "not tested"],
};

/** The change against the step before; a click shows it against the original, and back. */
function changeButton(changes, basis) {
  const shown = changes[Math.min(basis.against, changes.length - 1)];
  const other = changes[(changes.indexOf(shown) + 1) % changes.length];
  const all = changes.map((change) => `${change.hint} (${change.text})`).join("\n");
  const title = other === shown ? all : `${all}\nShown: against ${shown.against}. Click for ${other.against}.`;
  const words = changes.indexOf(shown) ? ` vs ${shown.against.replace("the ", "")}` : "";
  return h(
    "button",
    {
      class: `change ${shown.trend}`,
      title,
      "data-against": shown.against,
      "aria-label": `${shown.text} against ${shown.against}`,
      disabled: other === shown,
      onclick: (event) => {
        basis.against = changes.indexOf(other);
        event.currentTarget.replaceWith(changeButton(changes, basis));
      },
    },
    `${shown.text}${words}`,
  );
}

function figure({ label, value, changes, hint, level }, basis) {
  return h(
    "div",
    { class: `figure ${level ?? ""}`, title: hint, "data-figure": label },
    h("span", { class: "figure-label" }, label),
    h("span", { class: "figure-value" }, h("b", {}, value), changes.length ? changeButton(changes, basis) : null),
  );
}

/** Whether the notebook may be left: at once when all of it is kept, else when the person says so. */
function mayLeave(data) {
  const editing = document.documentElement.dataset.editing !== undefined;
  if (!data.leaving && !editing) return true;
  return window.confirm("Leave the notebook? Its changes are not saved.");
}

function button(model, name, label, intent, disabled, more = "") {
  return h(
    "button",
    { class: `tool ${more}`, "aria-label": label, title: label, disabled, onclick: () => model.send_msg(intent) },
    icon(name),
  );
}

/** Beside a verdict that is waited for: not to wait; beside one that was not waited for: to wait after all. */
function waitButton(model, verdict) {
  if (verdict.status !== "checking" && !verdict.stopped) return null;
  const [kind, title] = verdict.stopped
    ? ["resume", "Check that it computes the same"]
    : ["give_up", "Stop checking (Escape)"];
  return h(
    "button",
    {
      class: "tool small wait",
      type: "button",
      title,
      "aria-label": title,
      "data-wait": kind,
      onclick: () => model.send_msg({ kind }),
    },
    verdict.stopped ? "Check" : icon("remove"),
  );
}

/** What the program is called, on which machine it is, and whether it is what it was. */
function aboutIt(model, data) {
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
  return [
    machine,
    data.changed_figures
      ? h(
          "button",
          {
            class: "figures-changed",
            title: "Figures of the machine that this notebook changes: show them",
            onclick: () => model.send_msg({ kind: "pane", pane: "machine" }),
          },
          `${data.changed_figures} changed`,
        )
      : null,
    h(
      "span",
      {
        class: `verdict ${data.verdict.status}`,
        title: data.verdict.detail,
        role: "status",
        "data-verdict": data.verdict.status,
      },
      h("span", { class: "sign", "aria-hidden": "true" }, sign),
      words,
    ),
    waitButton(model, data.verdict),
  ].filter(Boolean);
}

function toolsOf(model, data) {
  const dark = data.theme === "dark";
  return [
    button(model, "undo", "Undo (Ctrl+Z)", { kind: "undo" }, !data.can_undo),
    button(model, "redo", "Redo (Ctrl+Shift+Z)", { kind: "redo" }, !data.can_redo),
    h(
      "button",
      {
        class: "tool of-page",
        "aria-label": "A/B comparison",
        title: "A/B: compare two steps, branches or files",
        "aria-pressed": String(data.comparing),
        onclick: () => model.send_msg({ kind: data.comparing ? "uncompare" : "compare" }),
      },
      icon("compare"),
      h("span", { class: "words" }, "A/B"),
    ),
    button(model, "save", "Save the notebook (Ctrl+S)", { kind: "save" }, !data.saves),
    button(
      model,
      dark ? "sun" : "moon",
      dark ? "Light theme" : "Dark theme",
      { kind: "theme", theme: dark ? "light" : "dark" },
      false,
      "of-page",
    ),
    h(
      "button",
      {
        class: "tool of-page",
        "data-help": true,
        "aria-label": "Help",
        title: "Help: tour, calls, keys (?)",
        onclick: (event) => window.dispatchEvent(new CustomEvent("tilewright:help", { detail: event.currentTarget })),
      },
      "?",
    ),
    h(
      "button",
      {
        class: "tool primary",
        title: "Python for Apache TVM 0.26 or newer",
        "aria-label": "Export",
        onclick: () => model.send_msg({ kind: "export" }),
      },
      icon("export"),
      h("span", { class: "words" }, "Export"),
    ),
  ];
}

export function render({ model }) {
  let now = null;
  const back = h(
    "button",
    {
      class: "tool of-page",
      "aria-label": "Gallery",
      title: "Back to the gallery",
      onclick: () => mayLeave(now) && model.send_msg({ kind: "gallery" }),
    },
    icon("back"),
  );
  const title = h("h1", { class: "title" });
  const under = h("div", { class: "under" });
  const figures = h("div", { class: "figures" });
  const tools = h("div", { class: "tools" });
  const bar = h(
    "div",
    { class: "headline" },
    h("div", { class: "headline-row" }, back, h("div", { class: "about" }, title, under), figures, tools),
  );
  const basis = { against: 0 };
  const forms = new ExportMenu(model, bar);
  const chip = new FileChip(model, bar);
  follow(model, (data) => {
    now = data;
    title.title = data.title;
    patchChildren(title, data.title);
    patchChildren(under, ...aboutIt(model, data), chip.draw(data.file));
    patchChildren(figures, ...data.figures.map((item) => figure(item, basis)));
    patchChildren(tools, ...toolsOf(model, data), forms.draw(data.exports));
  });
  return bar;
}
