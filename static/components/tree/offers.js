// What a grab may end in: for every loop whether the drop is legal, costly or not possible, in words, figures and marks. Pure: no state here.

import { h } from "../core/dom.js";
import { icon } from "./rows.js";

export const MARKS = { legal: "tick", costly: "costly", illegal: "cross" };
const SIGNS = { better: "▼", worse: "▲", same: "=" };

/** Loop id -> offer {state, choices, label, reasons} from Python's answers; `only` narrows to one primitive. `known` has the predictions
 *  that have arrived, by `predictionKey`. */
export function offersOf(byId, answers, only, known) {
  const entries = answers.filter((entry) => !only || entry.primitive === only);
  const places = new Map();
  for (const entry of entries) {
    for (const loop of entry.loops ?? [entry.loop]) {
      if (!places.has(loop)) places.set(loop, []);
      places.get(loop).push({ ...entry, loop });
    }
  }
  const offers = new Map();
  for (const loop of byId.values()) {
    if (loop.kind === "loop") offers.set(loop.id, offerOf(places.get(loop.id) ?? [], loop.id, known));
  }
  return offers;
}

export function predictionKey(loop, primitive) {
  return `${primitive} ${loop}`;
}

function offerOf(here, loop, known) {
  const entries = here.map((entry) => foretold(entry, known.get(predictionKey(loop, entry.primitive))));
  const legal = entries.filter((entry) => entry.legal);
  const state = !legal.length ? "illegal" : legal.every((entry) => entry.costly) ? "costly" : "legal";
  const reasons = (legal.length ? legal : entries).map((entry) => ({
    head: entry.primitive,
    text: entry.reason,
    code: entry.code,
    fix: entry.fix ?? [],
    value: entry.value,
    state: stateOf(entry),
  }));
  if (!entries.length) reasons.push({ head: "", text: "no move ends here", code: "", fix: [], state: "illegal" });
  return {
    state,
    choices: legal,
    label: offerLabel(legal),
    reasons,
    order: legal[0]?.order,
    trend: legal[0]?.value?.trend ?? "",
  };
}

/** An answer with what was found out since: the report has the last word on whether it is costly. */
function foretold(entry, value) {
  if (!value || !entry.legal) return entry;
  if (value.refused !== undefined)
    return { ...entry, legal: false, reason: value.refused, code: value.code ?? "", fix: [] };
  return { ...entry, value, costly: value.costly, reason: entry.held ?? entry.reason };
}

function stateOf(entry) {
  return entry.legal ? (entry.costly ? "costly" : "legal") : "illegal";
}

/** "compute_at  −12 % cycles  ×4"; both primitives when both fit. */
function offerLabel(legal) {
  const [only, second] = legal;
  return second || !only
    ? legal.map((entry) => entry.primitive).join(" / ")
    : [only.primitive, only.value?.label ?? only.note].filter(Boolean).join("  ");
}

/** What an offer says, for those who hear it. */
export function spokenOffer(offer) {
  const figures = (value) => (value?.lines ?? []).map((line) => `${line.name} ${line.change} ${line.word}`).join(", ");
  return `${offer.state}. ${offer.reasons.map((r) => [...(r.value?.why ?? []), figures(r.value), r.text].filter(Boolean).join(". ")).join(" ")}`;
}

/** A reason as it stands in the tip and in the notice: primitive, code, why it costs, sentence, figures, calls that would help. */
export function reasonBody(reason, state, otherwise = "not here") {
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
    reason.text ? h("div", { class: "reason-text" }, reason.text) : null,
    value?.lines.length ? figuresBody(value.lines) : null,
    ...(reason.fix ?? []).map((call) => h("code", { class: "reason-fix" }, call)),
  );
}

/** name, now → then, change with its sign, and the word for it. */
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

/** What makes a refused drop possible: the calls in their order, the drop itself last, and a button that makes them all. */
export function repairBody(calls, run) {
  const count = calls.length - 1;
  const before = count === 1 ? "Possible after one more call" : `Possible after ${count} more calls`;
  return h(
    "div",
    { class: "repair", role: "group", "aria-label": before },
    h(
      "div",
      { class: "repair-head" },
      h("span", {}, before),
      h(
        "button",
        { class: "tw-button tw-button--primary", type: "button", onclick: run },
        count === 1 ? "Make both calls" : `Make these ${calls.length} calls`,
      ),
    ),
    h(
      "ol",
      { class: "repair-calls" },
      ...calls.map((call, n) => h("li", { class: n === count ? "is-move" : "" }, h("code", {}, call))),
    ),
  );
}
