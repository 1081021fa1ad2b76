// The form of a new search: the holes with their values, objectives, budgets, and the number of candidates.

import { plainText } from "../core/hole_text.js";
import { h, icon } from "../core/dom.js";
import { grouped } from "../core/numbers.js";
import { readAmount } from "./amounts.js";

/** @import { Send } from "../core/types.js" */
/** @import { Figure, Offer } from "./model.js" */

/** @typedef {{ figure: Figure, objective: HTMLInputElement, budget: HTMLInputElement }} FigureRow */

const MOST_VALUES = 8;
const EXAMPLES = { bytes: "e.g. 64 KiB", pJ: "e.g. 20 µJ", cycles: "e.g. 150k" };

/** @param {Offer["holes"][number]} hole */
function holeLine(hole) {
  const hidden = hole.values.length - MOST_VALUES;
  return h(
    "li",
    { class: "xp-hole" },
    h("b", {}, hole.name),
    h(
      "span",
      { class: "xp-values" },
      hole.values
        .slice(0, MOST_VALUES)
        .map((text, n) =>
          h(
            "code",
            { class: n ? null : "is-default", title: n ? null : "The default, used outside a search" },
            plainText(text),
          ),
        ),
      hidden > 0 ? `and ${hidden} more` : null,
    ),
  );
}

/**
 * @param {string} label
 * @param {HTMLInputElement} input
 * @param {string} hint
 */
function field(label, input, hint) {
  return h("label", { class: "xp-field", title: hint }, h("span", {}, label), input);
}

/** @param {string} message */
const errorLine = (message) => (message ? h("p", { class: "xp-error" }, "✘ ", message) : null);

/**
 * A schedule without holes: what a hole is, and the two ways to add one.
 * @param {Offer} offer
 * @param {Send} send
 */
function noHoles(offer, send) {
  return h(
    "div",
    { class: "xp-none" },
    h(
      "p",
      {},
      h("b", {}, "This schedule has no holes."),
      " A line with ",
      h("code", {}, "choose"),
      " is a hole: a variable with a list of possible values. Write it into a schedule cell above the lines that use it. Outside a search, the first value is used.",
    ),
    h(
      "pre",
      { tabindex: "0", role: "group", "aria-label": "Example of a hole" },
      h("code", {}, `${offer.example}\nio, ii = sch.split(i, [None, tile])`),
    ),
    errorLine(offer.error),
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
            `Creates a branch with tile sizes, loop orders, copies and their places for the program on ${offer.machine}. You can edit it.`,
          ),
        )
      : null,
  );
}

export class ExploreForm {
  /**
   * @param {Send} send
   * @param {() => void} back Show the present search.
   */
  constructor(send, back) {
    this.send = send;
    this.back = back;
    this.element = h("form", {
      class: "xp-form",
      id: "xp-form",
      "aria-label": "A new search",
      onsubmit: (event) => this.start(event),
    });
    this.error = h("p", { class: "xp-error", role: "alert" });
    this.trials = h("input", { type: "number", min: "1", required: true });
    this.seed = h("input", { type: "number", min: "0", max: "2147483647", required: true });
    this.seconds = h("input", { type: "number", min: "0", step: "any", name: "seconds", placeholder: "no limit" });
    /** @type {FigureRow[]} */
    this.rows = [];
    this.drawn = "";
    this.hasHoles = false;
    this.canGoBack = false;
  }

  /**
   * Draw the form of `offer`. The inputs stay as long as the offer is the same.
   * @param {Offer} offer
   * @param {boolean} canGoBack Whether there is a present search.
   */
  draw(offer, canGoBack) {
    const key = JSON.stringify([offer, canGoBack]);
    if (key === this.drawn) return;
    this.drawn = key;
    this.hasHoles = offer.holes.length > 0;
    this.canGoBack = canGoBack;
    if (!this.hasHoles) return this.element.replaceChildren(noHoles(offer, this.send));
    const sampled = offer.size > offer.exhaustive;
    this.error.textContent = "";
    return this.element.replaceChildren(
      h(
        "section",
        { class: "xp-space" },
        h("h2", {}, "The space"),
        h("ul", {}, offer.holes.map(holeLine)),
        h(
          "p",
          { class: "quiet" },
          h("b", {}, grouped(offer.size)),
          ` candidate${offer.size === 1 ? "" : "s"} on ${offer.machine}. `,
          sampled ? "A sampler tries some of them, near the best ones found so far." : "All of them are tried.",
        ),
        errorLine(offer.error),
      ),
      h("section", { class: "xp-asked" }, this.figureTable(offer), this.limits(offer, sampled), this.error),
    );
  }

  /** Start and Back, for the bar above the form: it is visible in the smallest pane. */
  buttons() {
    return [
      this.hasHoles &&
        h("button", { class: "tool small primary", type: "submit", form: "xp-form", "data-key": "start" }, "Start"),
      this.canGoBack &&
        h(
          "button",
          {
            class: "tool small",
            type: "button",
            "data-key": "back",
            title: "Back to the results",
            onclick: () => this.back(),
          },
          icon("back"),
          "Back",
        ),
    ];
  }

  /** @param {Offer} offer */
  figureTable(offer) {
    this.rows = offer.figures.map((figure) => ({
      figure,
      objective: h("input", {
        type: "checkbox",
        name: "objective",
        value: figure.key,
        checked: offer.usual.objectives.includes(figure.key),
      }),
      budget: h("input", {
        type: "text",
        name: "budget",
        "aria-label": `${figure.label} at most`,
        placeholder: EXAMPLES[figure.unit],
        autocomplete: "off",
      }),
    }));
    return h(
      "table",
      { class: "xp-objectives" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Minimise"), h("th", { scope: "col" }, "At most"))),
      h(
        "tbody",
        {},
        this.rows.map(({ figure, objective, budget }) =>
          h("tr", {}, h("td", {}, h("label", {}, objective, figure.label)), h("td", {}, budget)),
        ),
      ),
    );
  }

  /**
   * @param {Offer} offer
   * @param {boolean} sampled
   */
  limits({ usual, most_trials }, sampled) {
    this.trials.max = String(most_trials);
    this.trials.value = String(usual.trials);
    this.seed.value = String(usual.seed);
    this.seconds.value = usual.seconds ? String(usual.seconds) : "";
    return h(
      "div",
      { class: "xp-counts" },
      sampled
        ? [
            field("Candidates to try", this.trials, `At most ${grouped(most_trials)}`),
            field("Seed", this.seed, "The same seed tries the same candidates"),
          ]
        : null,
      field(
        "Seconds at most",
        this.seconds,
        "The search ends after this time with its results so far, and a longer search resumes it. Empty: no limit",
      ),
    );
  }

  /** @param {Event} event */
  start(event) {
    event.preventDefault();
    const objectives = this.rows.filter(({ objective }) => objective.checked).map(({ figure }) => figure.key);
    /** @type {{ [figure: string]: number }} */
    const budgets = {};
    for (const { figure, budget } of this.rows) {
      if (!budget.value.trim()) continue;
      const amount = readAmount(figure.unit, budget.value);
      if (amount === null) return this.complain(`${budget.value} is not an amount of ${figure.unit}`, budget);
      budgets[figure.key] = amount;
    }
    if (!objectives.length) return this.complain("Choose at least one figure to minimise", this.rows[0]?.objective);
    this.error.textContent = "";
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

  /**
   * @param {string} message
   * @param {HTMLInputElement | undefined} input
   */
  complain(message, input) {
    this.error.textContent = message;
    input?.focus();
  }
}
