// The machine's figures: each with its unit and where it is from, a stepper and a field, and what twice as good would gain.

import { h, icon, follow, keepScroll, bringIntoView } from "../core/dom.js";

const DEFAULTS = "the schema's default";

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

function stepper(model, figure, direction) {
  const value = figure[direction];
  const sign = direction === "less" ? "−" : "+";
  return h(
    "button",
    {
      class: "tool small step-button",
      "data-key": `${figure.path} ${direction}`,
      "aria-label": value === null ? `${figure.label}: no ${direction}` : `${figure.label}: ${value}`,
      title: value ?? "The machine cannot have that",
      disabled: value === null,
      onclick: () => model.send_msg({ kind: "knob", path: figure.path, text: value }),
    },
    sign,
  );
}

function field(model, figure) {
  const input = h("input", {
    class: "knob-input",
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
  const send = (text) =>
    text !== null && text !== figure.text && model.send_msg({ kind: "knob", path: figure.path, text });
  input.addEventListener("change", () => {
    input.dataset.sent = input.value;
    send(input.value);
  });
  input.addEventListener("keydown", (event) => {
    const by = { ArrowUp: "more", ArrowDown: "less" }[event.key];
    if (by) {
      event.preventDefault();
      send(figure[by]);
    } else if (event.key === "Escape" && input.value !== figure.text) {
      event.stopPropagation();
      input.value = figure.text;
    }
  });
  return h("span", { class: "knob-field" }, stepper(model, figure, "less"), input, stepper(model, figure, "more"));
}

function choice(model, figure) {
  const select = h(
    "select",
    {
      class: "knob-choice",
      "aria-label": figure.label,
      title: figure.meaning,
      "data-key": figure.path,
      onchange: (event) => model.send_msg({ kind: "knob", path: figure.path, text: event.target.value }),
    },
    figure.choices.map((value) => h("option", { value, selected: value === figure.text }, value.replaceAll("_", " "))),
  );
  select.value = figure.text;
  return h("span", { class: "knob-field" }, select);
}

function reset(model, figure) {
  if (!figure.changed) return null;
  return h(
    "button",
    {
      class: "tool small",
      "data-key": `${figure.path} reset`,
      title: `Back to ${figure.was}, as in the machine file`,
      "aria-label": `Reset ${figure.label} to ${figure.was}`,
      onclick: () => model.send_msg({ kind: "unknob", path: figure.path }),
    },
    icon("undo"),
  );
}

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
          onclick: () => model.send_msg({ kind: "knob", path: figure.path, text: offer.value }),
        },
        offer.text,
      ),
    ),
  );
}

function knob(model, figure, limiting) {
  return h(
    "div",
    { class: `knob ${figure.changed ? "is-changed" : ""} ${limiting ? "is-limit" : ""}`, "data-knob": figure.path },
    h("span", { class: "knob-label", title: figure.meaning }, figure.label, reset(model, figure)),
    h(
      "span",
      { class: "knob-value" },
      figure.choices.length ? choice(model, figure) : field(model, figure),
      h("span", { class: "knob-unit" }, figure.unit),
    ),
    gainBar(figure.gain),
    h(
      "span",
      { class: "knob-source" },
      limiting ? h("span", { class: "tw-badge tw-badge--accent" }, "limits") : null,
      figure.changed ? `changed in this notebook; the file has ${figure.was}: ${figure.source}` : figure.source,
    ),
    sizes(model, figure),
  );
}

/** A part's figures; those that the machine file leaves out are shown on demand. */
function part(model, data, item, open) {
  const isPlain = (figure) =>
    figure.source.startsWith(DEFAULTS) && !figure.changed && (!figure.gain || figure.gain.trend === "same");
  const rows = (figures) => figures.map((figure) => knob(model, figure, data.limit?.path === figure.path));
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
    rows(item.figures.filter((figure) => !isPlain(figure))),
    plain.length
      ? h(
          "details",
          { class: "plain", "data-part": `${item.path} defaults`, open: open(`${item.path} defaults`, false) },
          h("summary", {}, `${plain.length} more, left at their defaults`),
          rows(plain),
        )
      : null,
  );
}

function limit(data) {
  const found = data.limit;
  if (!found) return null;
  return h(
    "div",
    { class: "limit", role: "status", "data-limit": found.path },
    h("b", {}, found.text),
    found.total ? h("progress", { max: found.total, value: found.done, "aria-label": "Figures tried" }) : null,
    h("span", { class: "quiet" }, found.detail),
  );
}

/** What gains the most, as bars that lead to their figures. */
function levers(data, reach) {
  if (!data.levers.length) return null;
  return h(
    "ul",
    { class: "levers", "aria-label": "Twice as good saves the most" },
    data.levers.map((lever) => {
      const most = data.levers[0].share;
      return h(
        "li",
        {},
        h(
          "button",
          { class: "lever", "data-key": `lever ${lever.path}`, title: lever.hint, onclick: () => reach(lever.path) },
          h("span", { class: "lever-name" }, lever.name),
          h(
            "span",
            { class: "gain-track", "aria-hidden": "true" },
            h("i", { style: `width:${Math.max(3, (100 * lever.share) / most)}%` }),
          ),
          h("span", { class: "change better" }, lever.change),
          h("span", { class: "quiet" }, `with ${lever.better}`),
        ),
      );
    }),
  );
}

function head(model, data, reach) {
  return h(
    "div",
    { class: "machine-head" },
    limit(data),
    levers(data, reach),
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
              onclick: () => model.send_msg({ kind: "unknob", path: null }),
            },
            icon("undo"),
            `Reset ${data.changed === 1 ? "the changed figure" : `${data.changed} figures`}`,
          )
        : null,
    ),
  );
}

export function render({ model }) {
  const view = h("section", { class: "machine-panel", tabindex: "0", "aria-label": "Machine" });
  const opened = new Map();
  const open = (path, usual) => opened.get(path) ?? usual;
  let name = null;

  /** To the field of a figure. */
  function reach(path) {
    const row = [...view.querySelectorAll("[data-knob]")].find((element) => element.dataset.knob === path);
    for (let box = row?.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
    if (row) bringIntoView(view, row);
    row?.querySelector("input, select")?.focus({ preventScroll: true });
  }

  /** What has the focus, with what is half typed into it, stays while the panel is drawn anew. */
  function keepingFocus(draw) {
    const before = view.getRootNode().activeElement;
    const key = before?.dataset?.key;
    draw();
    const after = key && [...view.querySelectorAll("[data-key]")].find((element) => element.dataset.key === key);
    if (!after) return;
    after.focus({ preventScroll: true });
    if (!before.matches("input")) return;
    const half = before.value !== before.dataset.shown && before.value !== before.dataset.sent;
    if (half && before.dataset.shown === after.value) after.value = before.value;
    after.setSelectionRange(
      Math.min(before.selectionStart, after.value.length),
      Math.min(before.selectionEnd, after.value.length),
    );
  }

  follow(model, (data) => {
    if (name !== data.name) opened.clear();
    name = data.name;
    keepingFocus(() =>
      keepScroll(view, () => {
        view.replaceChildren(head(model, data, reach), ...data.parts.map((item) => part(model, data, item, open)));
        for (const details of view.querySelectorAll("details"))
          details.addEventListener("toggle", () => opened.set(details.dataset.part, details.open));
      }),
    );
  });
  return view;
}
