// The form of a new search: the holes with their values, objectives, budgets, and the number of candidates.

import { h, icon } from "../core/dom.js";
import { grouped } from "../core/numbers.js";
import { readAmount } from "./amounts.js";
import { MakeFast } from "./deriving.js";
import { Pins } from "./pins.js";

/** @import { Send } from "../core/dom.js" */
/** @import { Metric as Figure, SearchOffer as Offer } from "../views.js" */

/** @typedef {{ figure: Figure, objective: HTMLInputElement, budget: HTMLInputElement }} FigureRow */

const EXAMPLES = { bytes: "e.g. 64 KiB", pJ: "e.g. 20 µJ", cycles: "e.g. 150k" };

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
 * A schedule without holes: a schedule with holes is derived, or a person adds one.
 * @param {Offer} offer
 * @param {Send} send
 */
function noHoles(offer, send) {
  const text = `Derives a schedule for ${offer.machine}: tiles, orders, copies, pipelines. Opens it as a branch, and searches its values.`;
  const fast = new MakeFast(send, text);
  fast.draw(offer.tiles);
  return h(
    "div",
    { class: "xp-none" },
    fast.element,
    h(
      "p",
      {},
      h("b", {}, "Or search choices of your own: this schedule has no holes."),
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
    this.pins = new Pins(() => this.drawCount());
    this.count = h("p", { class: "quiet", role: "status" });
    /** @type {Offer | null} */
    this.offer = null;
    this.trials = h("input", { type: "number", min: "1", required: true });
    this.seed = h("input", { type: "number", min: "0", max: "2147483647", required: true });
    this.seconds = h("input", { type: "number", min: "0", step: "any", name: "seconds", placeholder: "no limit" });
    this.sampling = h("div", { class: "xp-sampling" });
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
    this.offer = offer;
    this.hasHoles = offer.holes.length > 0;
    this.canGoBack = canGoBack;
    if (!this.hasHoles) return this.element.replaceChildren(noHoles(offer, this.send));
    this.error.textContent = "";
    this.pins.draw(offer.holes);
    this.element.replaceChildren(
      h(
        "section",
        { class: "xp-space" },
        h("h2", {}, "The space"),
        h("p", { class: "quiet" }, "Pin a hole to keep its value, or press the values to search."),
        this.pins.element,
        this.count,
        errorLine(offer.error),
      ),
      h("section", { class: "xp-asked" }, this.figureTable(offer), this.limits(offer), this.error),
    );
    return this.drawCount();
  }

  /** Unpin each hole. */
  forget() {
    this.pins.kept.clear();
    this.drawn = "";
  }

  /** The number of candidates with the present pins, and the fields of a sampled search. */
  drawCount() {
    if (!this.offer) return;
    const { exhaustive, machine } = this.offer;
    const size = this.pins.kept.size ? this.pins.size : this.offer.size;
    const isSampled = size > exhaustive;
    this.count.replaceChildren(
      h("b", {}, grouped(size)),
      ` candidate${size === 1 ? "" : "s"} on ${machine}. `,
      isSampled ? "A sampler tries some of them, near the best ones found so far." : "All of them are tried.",
    );
    this.sampling.hidden = !isSampled;
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

  /** @param {Offer} offer */
  limits({ usual, most_trials }) {
    this.trials.max = String(most_trials);
    this.trials.value = String(usual.trials);
    this.seed.value = String(usual.seed);
    this.sampling.replaceChildren(
      field("Candidates to try", this.trials, `At most ${grouped(most_trials)}`),
      field("Seed", this.seed, "The same seed tries the same candidates"),
    );
    this.seconds.value = usual.seconds ? String(usual.seconds) : "";
    return h(
      "div",
      { class: "xp-counts" },
      this.sampling,
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
      keep: this.pins.keep,
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
