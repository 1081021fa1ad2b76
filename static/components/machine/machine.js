// The parameters of the machine, each with its unit, its source, a stepper and a field, and the gain if it were twice as good.

import { subscribe } from "../core/bus.js";
import { bringIntoView, focusIn, follow, h, icon, keepScroll } from "../core/dom.js";

/** @import { PayloadModel } from "../core/dom.js" */
/** @import { EditableParameter as Parameter, MachinePanel as MachineData, ParameterGain as Gain, PartPanel as Part } from "../views.js" */

/** @typedef {(path: string, usual: boolean) => boolean} IsOpen */

const DEFAULTS = "the schema's default";

/** @param {Gain | null} gain */
function gainBar(gain) {
  if (!gain) return h("span", { class: "gain" });
  const none = gain.trend === "same";
  return h(
    "span",
    { class: `gain ${gain.trend}`, title: gain.hint },
    h(
      "span",
      { class: "gain-track", "aria-hidden": "true" },
      none ? null : h("i", { style: `width:${Math.max(3, 100 * gain.width)}%` }),
    ),
    h(
      "span",
      { class: "gain-text" },
      none ? "no gain" : gain.change,
      h("span", { class: "tw-hidden" }, none ? "" : ` ${gain.trend} with ${gain.better}`),
    ),
  );
}

/**
 * @param {PayloadModel} model
 * @param {Parameter} figure
 * @param {"less" | "more"} direction
 */
function stepper(model, figure, direction) {
  const value = figure[direction];
  const sign = direction === "less" ? "−" : "+";
  return h(
    "button",
    {
      class: "tool small step-button",
      "data-key": `${figure.path} ${direction}`,
      "aria-label": value === null ? `${figure.label}: no ${direction}` : `${figure.label}: ${value}`,
      title: value ?? "No further value",
      disabled: value === null,
      onclick: () => model.send_msg({ kind: "set_parameter", path: figure.path, value }),
    },
    sign,
  );
}

/**
 * @param {PayloadModel} model
 * @param {Parameter} figure
 */
function field(model, figure) {
  const input = h("input", {
    class: "parameter-input",
    type: "text",
    inputmode: "decimal",
    value: figure.text,
    spellcheck: "false",
    autocomplete: "off",
    "data-key": figure.path,
    "data-shown": figure.text,
    "aria-label": `${figure.label}${figure.unit ? ` in ${figure.unit}` : ""}`,
    title: figure.meaning,
  });
  const send = (/** @type {string | null} */ text) =>
    text !== null && text !== figure.text && model.send_msg({ kind: "set_parameter", path: figure.path, value: text });
  input.addEventListener("change", () => {
    input.dataset.sent = input.value;
    send(input.value);
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      event.preventDefault();
      send(event.key === "ArrowUp" ? figure.more : figure.less);
    } else if (event.key === "Escape" && input.value !== figure.text) {
      event.stopPropagation();
      input.value = figure.text;
    }
  });
  return h("span", { class: "parameter-field" }, stepper(model, figure, "less"), input, stepper(model, figure, "more"));
}

/**
 * @param {PayloadModel} model
 * @param {Parameter} figure
 */
function choice(model, figure) {
  /** @type {HTMLSelectElement} */
  const select = h(
    "select",
    {
      class: "parameter-choice",
      "aria-label": figure.label,
      title: figure.meaning,
      "data-key": figure.path,
      onchange: () => model.send_msg({ kind: "set_parameter", path: figure.path, value: select.value }),
    },
    figure.choices.map((value) => h("option", { value, selected: value === figure.text }, value.replaceAll("_", " "))),
  );
  select.value = figure.text;
  return h("span", { class: "parameter-field" }, select);
}

/**
 * @param {PayloadModel} model
 * @param {Parameter} figure
 */
function reset(model, figure) {
  if (!figure.changed) return null;
  return h(
    "button",
    {
      class: "tool small",
      "data-key": `${figure.path} reset`,
      title: `Back to ${figure.was}, as in the machine file`,
      "aria-label": `Reset ${figure.label} to ${figure.was}`,
      onclick: () => model.send_msg({ kind: "reset_parameter", path: figure.path }),
    },
    icon("undo"),
  );
}

/**
 * @param {PayloadModel} model
 * @param {Parameter} figure
 */
function sizes(model, figure) {
  if (!figure.offers.length) return null;
  return h(
    "span",
    { class: "sizes", role: "group", "aria-label": `Sizes for ${figure.label}` },
    figure.offers.map((offer) =>
      h(
        "button",
        {
          class: "size",
          "aria-pressed": String(offer.chosen),
          disabled: !offer.possible,
          title: offer.possible ? `${offer.value}. ${offer.hint}` : "Does not divide into the memory's banks",
          "data-key": `${figure.path} ${offer.text}`,
          onclick: () => model.send_msg({ kind: "set_parameter", path: figure.path, value: offer.value }),
        },
        offer.text,
      ),
    ),
  );
}

/**
 * @param {PayloadModel} model
 * @param {Parameter} figure
 * @param {boolean} limiting Whether it limits the speed.
 */
function parameterRow(model, figure, limiting) {
  return h(
    "div",
    {
      class: `parameter ${figure.changed ? "is-changed" : ""} ${limiting ? "is-limit" : ""}`,
      "data-parameter": figure.path,
    },
    h("span", { class: "parameter-label", title: figure.meaning }, figure.label, reset(model, figure)),
    h(
      "span",
      { class: "parameter-value" },
      figure.choices.length ? choice(model, figure) : field(model, figure),
      h("span", { class: "parameter-unit" }, figure.unit),
    ),
    gainBar(figure.gain),
    h(
      "span",
      { class: "parameter-source" },
      limiting ? h("span", { class: "tw-badge tw-badge--accent" }, "limits") : null,
      figure.changed ? `changed in this notebook; the file has ${figure.was}: ${figure.source}` : figure.source,
    ),
    sizes(model, figure),
  );
}

/**
 * The parameters of a part; unchanged defaults are collapsed.
 * @param {PayloadModel} model
 * @param {MachineData} data
 * @param {Part} item
 * @param {IsOpen} open
 */
function part(model, data, item, open) {
  const isPlain = (/** @type {Parameter} */ figure) =>
    figure.source.startsWith(DEFAULTS) && !figure.changed && (!figure.gain || figure.gain.trend === "same");
  const rows = (/** @type {Parameter[]} */ figures) =>
    figures.map((figure) => parameterRow(model, figure, data.limit?.path === figure.path));
  const plain = item.figures.filter(isPlain);
  return h(
    "details",
    { class: "part", "data-part": item.path, open: open(item.path, item.used) },
    h(
      "summary",
      {},
      h("b", {}, item.name),
      h("span", { class: "quiet" }, ` ${item.kind}${item.used ? "" : ", not used by this program"}`),
    ),
    item.about ? h("p", { class: "part-about" }, item.about) : null,
    item.note ? h("p", { class: "part-about" }, item.note) : null,
    rows(item.figures.filter((figure) => !isPlain(figure))),
    plain.length
      ? h(
          "details",
          { class: "plain", "data-part": `${item.path} defaults`, open: open(`${item.path} defaults`, false) },
          h("summary", {}, `${plain.length} more with default values`),
          rows(plain),
        )
      : null,
  );
}

/** @param {MachineData} data */
function limit(data) {
  const found = data.limit;
  if (!found) return null;
  return h(
    "div",
    { class: "limit", role: "status", "data-limit": found.path },
    h("b", {}, found.text),
    found.total ? h("progress", { max: found.total, value: found.done, "aria-label": "Evaluated parameters" }) : null,
    h("span", { class: "quiet" }, found.detail),
  );
}

/**
 * The parameters with the largest gains, as bars that link to their fields.
 * @param {MachineData} data
 * @param {(path: string) => void} reach
 */
function sensitivities(data, reach) {
  if (!data.sensitivities.length) return null;
  return h(
    "ul",
    { class: "sensitivities", "aria-label": "Largest gains of a parameter twice as good" },
    data.sensitivities.map((sensitivity) => {
      const most = data.sensitivities[0].share;
      return h(
        "li",
        {},
        h(
          "button",
          {
            class: "sensitivity",
            "data-key": `sensitivity ${sensitivity.path}`,
            title: sensitivity.hint,
            onclick: () => reach(sensitivity.path),
          },
          h("span", { class: "sensitivity-name" }, sensitivity.name),
          h(
            "span",
            { class: "gain-track", "aria-hidden": "true" },
            h("i", { style: `width:${Math.max(3, (100 * sensitivity.share) / most)}%` }),
          ),
          h("span", { class: "change better" }, sensitivity.change),
          h("span", { class: "quiet" }, `with ${sensitivity.better}`),
        ),
      );
    }),
  );
}

/** @param {PayloadModel} model */
const measure = (model) => model.send_msg({ kind: "measure" });

/**
 * The times of the program on the server's computer, and the button that measures them.
 * @param {PayloadModel} model
 * @param {MachineData["measured"]} times
 */
function measured(model, times) {
  const columns = [
    ["", ""],
    ["predicted", `By ${times.machine} at its clock`],
    ["measured", "Median of the samples"],
    ["eight of ten", "The samples between which the middle eight tenths lie"],
    ["ratio", "Predicted time in units of the measured one"],
  ];
  return h(
    "section",
    { class: "measured", "aria-label": "Times on this computer" },
    h(
      "div",
      { class: "measured-head" },
      h("b", {}, "On this computer"),
      h("span", { class: "quiet", title: times.host }, times.host || "not measured"),
      h(
        "button",
        {
          class: "tool small",
          "data-key": "measure",
          disabled: times.is_running,
          title: "Build the program with TVM for this processor, run it, and compare the time with the prediction",
          onclick: () => measure(model),
        },
        times.is_running ? "Measuring…" : "Measure",
      ),
    ),
    times.rows.length
      ? h(
          "table",
          {},
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              columns.map(([text, title]) => h("th", { scope: "col", title }, text)),
            ),
          ),
          h(
            "tbody",
            {},
            times.rows.map((row) =>
              h(
                "tr",
                {},
                h("th", { scope: "row" }, row.name),
                row.problem
                  ? h("td", { colspan: "4", class: "problem" }, row.problem)
                  : [row.predicted, row.measured, row.spread, row.ratio].map((text) => h("td", {}, text)),
              ),
            ),
          ),
        )
      : null,
    times.problem ? h("p", { class: "problem", role: "status" }, times.problem) : null,
  );
}

/**
 * @param {PayloadModel} model
 * @param {MachineData} data
 * @param {(path: string) => void} reach
 */
function head(model, data, reach) {
  return h(
    "div",
    { class: "machine-head" },
    limit(data),
    sensitivities(data, reach),
    measured(model, data.measured),
    h(
      "div",
      { class: "machine-about" },
      h("span", { class: "quiet" }, data.description),
      data.changed
        ? h(
            "button",
            {
              class: "tool small",
              "data-key": "reset-all",
              onclick: () => model.send_msg({ kind: "reset_parameter", path: null }),
            },
            icon("undo"),
            `Reset ${data.changed === 1 ? "the changed parameter" : `${data.changed} parameters`}`,
          )
        : null,
    ),
  );
}

/** @param {{ model: PayloadModel }} options */
export function render({ model }) {
  const view = h("section", { class: "machine-panel", tabindex: "0", "aria-label": "Machine" });
  /** @type {Map<string, boolean>} */
  const opened = new Map();
  /** @type {IsOpen} */
  const open = (path, usual) => opened.get(path) ?? usual;
  /** @type {string | null} */
  let name = null;

  /**
   * Show and focus the field of a parameter.
   * @param {string} path
   */
  function reach(path) {
    const row = view.querySelector(`[data-parameter="${CSS.escape(path)}"]`);
    if (!row) return;
    for (let box = row.closest("details"); box; box = box.parentElement?.closest("details") ?? null) box.open = true;
    bringIntoView(view, row);
    /** @type {HTMLElement | null} */ (row.querySelector("input, select"))?.focus({ preventScroll: true });
  }

  /**
   * Draw, and keep the focus and a partly typed value.
   * @param {() => void} draw
   */
  function keepInput(draw) {
    const before = focusIn(view);
    const key = before?.dataset.key;
    draw();
    const after = key && view.querySelector(`[data-key="${CSS.escape(key)}"]`);
    if (!(after instanceof HTMLElement)) return;
    after.focus({ preventScroll: true });
    if (!(before instanceof HTMLInputElement && after instanceof HTMLInputElement)) return;
    const half = before.value !== before.dataset.shown && before.value !== before.dataset.sent;
    if (half && before.dataset.shown === after.value) after.value = before.value;
    after.setSelectionRange(
      Math.min(before.selectionStart ?? 0, after.value.length),
      Math.min(before.selectionEnd ?? 0, after.value.length),
    );
  }

  subscribe("commands", (list) => {
    if (document.documentElement.dataset.screen !== "notebook") return;
    const help = "the time of the program, built with TVM for this processor";
    list.push({ label: "Measure on this computer", group: "The notebook", help, run: () => measure(model) });
  });
  follow(model, (/** @type {MachineData} */ data) => {
    if (name !== data.name) opened.clear();
    name = data.name;
    keepInput(() =>
      keepScroll(view, () => {
        view.replaceChildren(head(model, data, reach), ...data.parts.map((item) => part(model, data, item, open)));
        for (const details of view.querySelectorAll("details"))
          details.addEventListener("toggle", () => opened.set(details.dataset.part ?? "", details.open));
      }),
    );
  });
  return view;
}
