// What would be searched, and what is asked for: holes with their values, figures that are to be small, budgets, how many are tried.

import { h, icon } from "../core/dom.js";
import { digits, readAmount } from "./model.js";
import { plainText } from "../core/hole_text.js";

const MOST_VALUES = 8;

function holeLine(hole) {
  const some = hole.values.slice(0, MOST_VALUES);
  return h(
    "li",
    { class: "xp-hole" },
    h("b", {}, hole.name),
    h(
      "span",
      { class: "xp-values" },
      some.map((text, n) =>
        h("code", { class: n ? null : "is-default", title: n ? null : "Where nobody searches" }, plainText(text)),
      ),
      hole.values.length > some.length ? `and ${hole.values.length - some.length} more` : null,
    ),
  );
}

function field(label, input, hint = "") {
  return h("label", { class: "xp-field", title: hint || null }, h("span", {}, label), input);
}

/** Where the schedule has no hole: what one is, and the two ways to have some. */
export function noHoles(offer, send) {
  return h(
    "div",
    { class: "xp-none" },
    h(
      "p",
      {},
      h("b", {}, "This schedule leaves nothing to choose."),
      " A line of ",
      h("code", {}, "choose"),
      " is a hole: a variable with the values that it may have. Write it into a schedule cell above the lines that use it; where nobody searches, the first value holds.",
    ),
    h(
      "pre",
      { tabindex: "0", role: "group", "aria-label": "Example of a hole" },
      h("code", {}, `${offer.example}\nio, ii = sch.split(i, [None, tile])`),
    ),
    offer.error ? h("p", { class: "xp-error" }, "✘ ", offer.error) : null,
    offer.auto
      ? h(
          "p",
          { class: "xp-auto" },
          h(
            "button",
            { class: "tool primary", type: "button", "data-key": "auto", onclick: () => send({ kind: "auto_space" }) },
            "Derive a space",
          ),
          h(
            "span",
            { class: "quiet" },
            `Tiles, orders, copies and their places, from the program and what ${offer.machine} has, written as a branch that you can read and edit.`,
          ),
        )
      : null,
  );
}

export class ExploreForm {
  /** `begun()` says whether there is a search that can be gone back to. */
  constructor(send, back) {
    this.send = send;
    this.back = back;
    this.element = h("form", {
      class: "xp-form",
      id: "xp-form",
      "aria-label": "A new search",
      onsubmit: (event) => this.start(event),
    });
    this.drawn = "";
  }

  /** `goesBack`: there is a search to go back to. What was typed stays as long as the same can be asked for. */
  draw(offer, goesBack) {
    const text = JSON.stringify([offer, goesBack]);
    if (text === this.drawn) return;
    this.drawn = text;
    this.offer = offer;
    this.goesBack = goesBack;
    if (!offer.holes.length) return this.element.replaceChildren(noHoles(offer, this.send));
    const sampled = offer.size > offer.exhaustive;
    this.error = h("p", { class: "xp-error", role: "alert" });
    this.element.replaceChildren(
      h(
        "section",
        { class: "xp-space" },
        h("h3", {}, "The space"),
        h("ul", {}, offer.holes.map(holeLine)),
        h(
          "p",
          { class: "quiet" },
          h("b", {}, digits(offer.size)),
          ` candidate${offer.size === 1 ? "" : "s"} on ${offer.machine}. `,
          sampled ? "So many are not all tried: a sampler goes where the best were found." : "All of them are tried.",
        ),
        offer.error ? h("p", { class: "xp-error" }, "✘ ", offer.error) : null,
      ),
      h("section", { class: "xp-asked" }, this.objectives(offer), this.counts(offer, sampled), this.error),
    );
  }

  /** For the bar above, where they are in sight in the smallest pane: begin, and go back. */
  buttons() {
    const start = h(
      "button",
      { class: "tool small primary", type: "submit", form: "xp-form", "data-key": "start" },
      "Start",
    );
    const back = h(
      "button",
      {
        class: "tool small",
        type: "button",
        "data-key": "back",
        title: "Back to what was found",
        onclick: () => this.back(),
      },
      icon("back"),
      "Back",
    );
    return [this.offer?.holes.length ? start : null, this.goesBack ? back : null].filter(Boolean);
  }

  objectives(offer) {
    const usual = new Set(offer.usual.objectives);
    return h(
      "table",
      { class: "xp-wishes" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Small is good"), h("th", { scope: "col" }, "At most"))),
      h(
        "tbody",
        {},
        offer.figures.map((figure) =>
          h(
            "tr",
            {},
            h(
              "td",
              {},
              h(
                "label",
                {},
                h("input", { type: "checkbox", name: "objective", value: figure.key, checked: usual.has(figure.key) }),
                figure.label,
              ),
            ),
            h(
              "td",
              {},
              h("input", {
                type: "text",
                name: "budget",
                "data-figure": figure.key,
                "data-unit": figure.unit,
                "aria-label": `${figure.label} at most`,
                placeholder: { bytes: "e.g. 64 KiB", pJ: "e.g. 20 µJ", cycles: "e.g. 150k" }[figure.unit],
                autocomplete: "off",
              }),
            ),
          ),
        ),
      ),
    );
  }

  counts(offer, sampled) {
    this.trials = h("input", {
      type: "number",
      min: "1",
      max: String(offer.most_trials),
      value: String(offer.usual.trials),
      required: true,
    });
    this.seed = h("input", {
      type: "number",
      min: "0",
      max: "2147483647",
      value: String(offer.usual.seed),
      required: true,
    });
    this.seconds = h("input", {
      type: "number",
      min: "0",
      step: "any",
      name: "seconds",
      placeholder: "no limit",
      value: offer.usual.seconds ? String(offer.usual.seconds) : "",
    });
    const how = [
      field("Candidates to try", this.trials, `At most ${digits(offer.most_trials)}`),
      field("Seed", this.seed, "The same seed tries the same candidates"),
    ];
    return h(
      "div",
      { class: "xp-counts" },
      sampled ? how : null,
      field(
        "Seconds at most",
        this.seconds,
        "It ends with what was found by then, and can be gone on with. Empty: it takes what it takes",
      ),
    );
  }

  start(event) {
    event.preventDefault();
    const objectives = [...this.element.querySelectorAll("[name=objective]:checked")].map((box) => box.value);
    const budgets = {};
    for (const input of this.element.querySelectorAll("[name=budget]")) {
      if (!input.value.trim()) continue;
      const amount = readAmount(input.dataset.unit, input.value);
      if (amount === null) return this.complain(`${input.value} is no amount of ${input.dataset.unit}`, input);
      budgets[input.dataset.figure] = amount;
    }
    if (!objectives.length)
      return this.complain(
        "Something has to be small: check at least one figure",
        this.element.querySelector("[name=objective]"),
      );
    this.complain("");
    this.send({
      kind: "explore",
      objectives,
      budgets,
      trials: Number(this.trials.value),
      seed: Number(this.seed.value),
      seconds: Number(this.seconds.value),
    });
    return this.back();
  }

  complain(words, input) {
    this.error.textContent = words;
    input?.focus();
  }
}
