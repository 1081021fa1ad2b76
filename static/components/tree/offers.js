// The offers of a drag: for every loop whether a drop there is legal, costly or illegal, with its reasons and predicted figures.

import { h } from "../core/dom.js";
import { icon } from "./rows.js";

/** @import { Drop, Offer, OfferState, Prediction, Predictions, Reason, Repair, RowIndex } from "./tree.js" */
/** @import { DropTarget as Target, PredictedFigure as FigureLine, Prediction as Figures } from "../views.js" */

/** @type {Record<OfferState, import("./rows.js").IconName>} */
export const MARKS = { legal: "tick", costly: "costly", illegal: "cross" };
export const NO_PRIMITIVE = "not possible";
/** The code of a revision that is refused because later steps no longer apply. */
export const LATER_STEPS = "later-steps";
const SIGNS = { better: "▼", worse: "▲", same: "=", "": "" };

/**
 * The offers by loop, from the server's targets and the predictions that have arrived.
 * @param {RowIndex} byId
 * @param {Target[]} targets
 * @param {string} only Restricts the offers to one primitive, if not empty.
 * @param {Predictions} predictions
 * @returns {Map<string, Offer>}
 */
export function offersOf(byId, targets, only, predictions) {
  const entries = targets.filter((entry) => !only || entry.primitive === only);
  /** @type {Map<string, Drop[]>} */
  const places = new Map();
  for (const entry of entries) {
    for (const loop of entry.loops ?? [entry.loop ?? ""]) {
      const drops = places.get(loop) ?? [];
      drops.push({ ...entry, loop });
      places.set(loop, drops);
    }
  }
  /** @type {Map<string, Offer>} */
  const offers = new Map();
  for (const loop of byId.values()) {
    if (loop.kind === "loop") offers.set(loop.id, offerOf(places.get(loop.id) ?? [], predictions));
  }
  return offers;
}

/**
 * @param {string} loop
 * @param {string} primitive
 */
export function predictionKey(loop, primitive) {
  return `${primitive} ${loop}`;
}

/**
 * @param {Drop[]} drops
 * @param {Predictions} predictions
 * @returns {Offer}
 */
function offerOf(drops, predictions) {
  const entries = drops.map((entry) =>
    withPrediction(entry, predictions.get(predictionKey(entry.loop, entry.primitive))),
  );
  const legal = entries.filter((entry) => entry.legal);
  const state = !legal.length ? "illegal" : legal.every((entry) => entry.costly) ? "costly" : "legal";
  /** @type {Reason[]} */
  const reasons = (legal.length ? legal : entries).map((entry) => ({
    head: entry.primitive,
    text: entry.reason,
    code: entry.code,
    fix: entry.fix,
    value: entry.value,
    state: stateOf(entry),
  }));
  if (!entries.length)
    reasons.push({ head: "", text: "no move to this loop is possible", code: "", fix: [], state: "illegal" });
  return { state, choices: legal, label: offerLabel(legal), reasons, trend: legal[0]?.value?.trend ?? "" };
}

/**
 * A drop with its prediction, which decides whether the drop is costly.
 * @param {Drop} entry
 * @param {Prediction | undefined} value
 * @returns {Drop}
 */
function withPrediction(entry, value) {
  if (!value || !entry.legal) return entry;
  if ("refused" in value) return { ...entry, legal: false, reason: value.refused, code: value.code ?? "", fix: [] };
  return { ...entry, value, costly: value.costly, reason: entry.held ?? entry.reason };
}

/**
 * @param {Drop} entry
 * @returns {OfferState}
 */
function stateOf(entry) {
  return entry.legal ? (entry.costly ? "costly" : "legal") : "illegal";
}

/**
 * "compute_at  −12 % cycles  ×4"; only the primitives if there are two.
 * @param {Drop[]} legal
 */
function offerLabel(legal) {
  const [only, second] = legal;
  return second || !only
    ? legal.map((entry) => entry.primitive).join(" / ")
    : [only.primitive, only.value?.label ?? only.note].filter(Boolean).join("  ");
}

/**
 * An offer as a text for screen readers.
 * @param {Offer} offer
 */
export function offerText(offer) {
  const figures = (/** @type {Figures | undefined} */ value) =>
    (value?.lines ?? []).map((line) => `${line.name} ${line.change} ${line.word}`).join(", ");
  return `${offer.state}. ${offer.reasons.map((r) => [...(r.value?.why ?? []), figures(r.value), r.text].filter(Boolean).join(". ")).join(" ")}`;
}

/**
 * A reason in the tooltip and in the notice: primitive, code, why it is costly, sentence, figures, calls that would help.
 * @param {Reason} reason
 * @param {OfferState} state
 * @param {string} [otherwise] The head of a reason without a primitive.
 */
export function reasonBody(reason, state, otherwise = NO_PRIMITIVE) {
  const head = reason.head || otherwise;
  const { value } = reason;
  return h(
    "div",
    { class: `reason reason-${state}` },
    h(
      "div",
      { class: "reason-head" },
      icon(MARKS[state]),
      head ? h("code", {}, head) : null,
      state === "costly"
        ? h("span", { class: "reason-code" }, "costly")
        : reason.code
          ? h("span", { class: "reason-code" }, reason.code)
          : null,
    ),
    value?.why.length ? h("div", { class: "reason-why" }, value.why.join("\n")) : null,
    value?.others?.length ? h("div", { class: "reason-text" }, `${moveText(value.others)} with it`) : null,
    reason.text ? h("div", { class: "reason-text" }, reason.text) : null,
    value?.lines.length ? figuresBody(value.lines) : null,
    ...(reason.fix ?? []).map((call) => h("code", { class: "reason-fix" }, call)),
  );
}

/**
 * Columns: name, now → then, signed change, word.
 * @param {FigureLine[]} lines
 */
function figuresBody(lines) {
  return h(
    "div",
    { class: "drop-figures" },
    ...lines.flatMap((line) => [
      h("span", { class: "figure-name" }, line.name),
      h("span", { class: "figure-text" }, line.text),
      h(
        "span",
        { class: `figure-change is-${line.trend}` },
        [line.change && SIGNS[line.sign], line.change].filter(Boolean).join(" "),
      ),
      h("span", { class: `figure-word is-${line.trend}` }, line.word),
    ]),
  );
}

/**
 * The button that makes a revision with the later steps switched off that no longer apply; the reasons above it list them.
 * @param {string} label
 * @param {() => void} run
 */
export function switchOffBody(label, run) {
  return h(
    "div",
    { class: "repair", role: "group", "aria-label": label },
    h(
      "div",
      { class: "repair-head" },
      h("span", {}, "The steps stay in the notebook, switched off"),
      h("button", { class: "tw-button tw-button--primary", type: "button", onclick: run }, label),
    ),
  );
}

/**
 * "C moves", "C, D and E move".
 * @param {string[]} names
 */
function moveText(names) {
  const [last, ...others] = [...names].reverse();
  return others.length ? `${others.reverse().join(", ")} and ${last} move` : `${last} moves`;
}

/**
 * "Possible if C and D move too", "Possible after 2 more calls"; `drops` is the number of dragged blocks.
 * @param {Repair} repair
 * @param {number} drops
 */
export function repairText({ calls, blocks }, drops) {
  if (blocks.length) return `Possible if ${moveText(blocks).replace(/ moves?$/, (verb) => `${verb} too`)}`;
  const count = drops > 1 ? calls.length : calls.length - 1;
  if (!count) return `Possible as ${calls[0].replace(/^\w+\./, "")}`;
  return count === 1 ? "Possible after one more call" : `Possible after ${count} more calls`;
}

/**
 * What makes an illegal drop possible, and a button that makes it so: calls, with the drop of a single block as the last one, or other blocks.
 * @param {Repair} repair
 * @param {number} drops The number of dragged blocks.
 * @param {() => void} run
 */
export function repairBody(repair, drops, run) {
  const { calls, blocks } = repair;
  const text = repairText(repair, drops);
  const several =
    calls.length === 1
      ? "Apply the call"
      : calls.length === 2
        ? "Apply both calls"
        : `Apply these ${calls.length} calls`;
  const label = blocks.length ? `Move all ${blocks.length + drops}` : drops > 1 ? "Apply and move" : several;
  return h(
    "div",
    { class: "repair", role: "group", "aria-label": text },
    h(
      "div",
      { class: "repair-head" },
      h("span", {}, text),
      h("button", { class: "tw-button tw-button--primary", type: "button", onclick: run }, label),
    ),
    calls.length
      ? h(
          "ol",
          { class: "repair-calls" },
          ...calls.map((call, n) =>
            h("li", { class: drops === 1 && n === calls.length - 1 ? "is-move" : "" }, h("code", {}, call)),
          ),
        )
      : null,
  );
}
