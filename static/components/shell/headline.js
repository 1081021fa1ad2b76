// The top bar: title, machine, verdict and figures of the open notebook.

import { follow, h, icon, nodes } from "../core/dom.js";
import { ExportMenu } from "./export_menu.js";
import { ExportReview } from "./export_review.js";
import { FileChip } from "../files/files.js";
import { backButton, figureOf, helpButton, themeButton, topBar } from "./bar_parts.js";
import { patchChildren } from "../core/patch.js";

/** @import { Message, PayloadModel } from "../core/dom.js" */
/** @import { FigureChange as Change, Headline as HeadlineData, VerdictLine as Verdict } from "../views.js" */

/** @typedef {{ against: number }} Basis The shown change of each figure. */

const VERDICT = {
  checking: ["◌", "checking…"],
  tested: ["✔", "tested"],
  proved: ["✔", "proved"],
  failed: ["✘", "wrong result"],
  unknown: ["?", "not tested"],
};

/**
 * The change against the nearest baseline, the last edit or step if there is one; a click switches to the next baseline.
 * @param {Change[]} changes
 * @param {Basis} basis
 * @returns {HTMLButtonElement}
 */
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
        /** @type {Element} */ (event.currentTarget).replaceWith(changeButton(changes, basis));
      },
    },
    `${shown.text}${words}`,
  );
}

/**
 * Whether the page may leave the notebook: without unsaved edits, or with the consent of the user.
 * @param {HeadlineData | null} data
 */
function mayLeave(data) {
  const editing = document.documentElement.dataset.editing !== undefined;
  if (!data?.leaving && !editing) return true;
  return window.confirm("Leave the notebook? Its changes are not saved.");
}

/**
 * @param {PayloadModel} model
 * @param {Parameters<typeof icon>[0]} name
 * @param {string} label
 * @param {Message} message
 * @param {boolean} disabled
 */
function button(model, name, label, message, disabled) {
  return h(
    "button",
    { class: "tool", "aria-label": label, title: label, disabled, onclick: () => model.send_msg(message) },
    icon(name),
  );
}

/**
 * The button that stops or resumes the check of the program.
 * @param {PayloadModel} model
 * @param {Verdict} verdict
 */
function waitButton(model, verdict) {
  if (verdict.status !== "checking" && !verdict.stopped) return null;
  const [kind, title] = verdict.stopped
    ? ["resume", "Check the equivalence with the original"]
    : ["cancel_work", "Stop checking (Escape)"];
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

/**
 * The machine and the verdict.
 * @param {PayloadModel} model
 * @param {HeadlineData} data
 */
function machineAndVerdict(model, data) {
  /** @type {HTMLSelectElement} */
  const machine = h(
    "select",
    {
      class: "machine-picker",
      "aria-label": "Machine",
      onchange: (event) =>
        model.send_msg({ kind: "machine", name: /** @type {HTMLSelectElement} */ (event.currentTarget).value }),
    },
    data.machines.map((name) => h("option", { value: name, selected: name === data.machine }, name)),
  );
  machine.value = data.machine;
  const [sign, words] = VERDICT[data.verdict.status];
  return nodes([
    machine,
    data.changed_figures
      ? h(
          "button",
          {
            class: "figures-changed",
            title: "Show the machine parameters that this notebook changes",
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
  ]);
}

/**
 * @param {PayloadModel} model
 * @param {HeadlineData} data
 */
function toolsOf(model, data) {
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
        onclick: () => model.send_msg({ kind: data.comparing ? "end_compare" : "compare" }),
      },
      icon("compare"),
      h("span", { class: "words" }, "A/B"),
    ),
    button(model, "save", "Save the notebook (Ctrl+S)", { kind: "save" }, !data.saves),
    themeButton(data.theme),
    helpButton(),
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

/** @param {{ model: PayloadModel }} options */
export function render({ model }) {
  /** @type {HeadlineData | null} */
  let now = null;
  const back = backButton(() => mayLeave(now) && model.send_msg({ kind: "gallery" }));
  const toModel = h(
    "button",
    {
      class: "tool framed small to-model",
      type: "button",
      hidden: true,
      onclick: () => model.send_msg({ kind: "model" }),
    },
    icon("back"),
    "Model",
  );
  const { bar, title, under, figures, tools } = topBar("div", [back, toModel]);
  const basis = { against: 0 };
  const forms = new ExportMenu(model, bar, [
    {
      label: "Copy link",
      help: "an address that contains the notebook",
      group: "The notebook",
      run: () => model.send_msg({ kind: "link" }),
    },
    {
      label: "Print or save as PDF",
      help: "figures, loop nest, timeline, findings and the notebook",
      group: "The notebook",
      run: () => setTimeout(() => window.print()), // after the menu has closed
    },
  ]);
  const review = new ExportReview(model, bar);
  const chip = new FileChip(model, bar);
  follow(model, (/** @type {HeadlineData} */ data) => {
    now = data;
    toModel.hidden = !data.model;
    toModel.title = `Back to ${data.model}, with this kernel's schedule`;
    title.title = data.title;
    patchChildren(title, data.title);
    patchChildren(under, ...machineAndVerdict(model, data), chip.draw(data.file), ...chip.readers(data.file));
    patchChildren(
      figures,
      ...data.figures.map((item) => figureOf(item, item.changes.length ? changeButton(item.changes, basis) : null)),
    );
    patchChildren(tools, ...toolsOf(model, data), forms.draw(data.exports));
    review.draw(data.review, () => forms.button);
  });
  return bar;
}
