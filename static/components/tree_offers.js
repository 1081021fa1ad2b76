// What a grab may end in: for every loop whether the drop is legal, costly or not possible, in words and marks. Pure: no state here.

import { make } from "./popup.js";
import { chainOf, icon, reordered } from "./tree_rows.js";

export const MARKS = {legal: "tick", costly: "costly", illegal: "cross"};

/** Loop id -> offer {state, choices, label, reasons} for a block, from Python's answers; `only` narrows to one primitive. */
export function blockOffers(byId, answers, only) {
  const entries = answers.filter((e) => !only || e.primitive === only);
  const offers = new Map();
  for (const loop of byId.values()) {
    if (loop.kind !== "loop") continue;
    const here = entries.filter((entry) => entry.loop === loop.id);
    const legal = here.filter((entry) => entry.legal);
    const state = !legal.length ? "illegal" : legal.every((entry) => entry.costly) ? "costly" : "legal";
    const reasons = (legal.length ? legal : here).map((entry) => ({head: entry.primitive, text: entry.reason, code: entry.code, fix: entry.fix ?? []}));
    if (!here.length) reasons.push({head: "", text: "no move of this block ends here", code: "", fix: []});
    offers.set(loop.id, {state, choices: legal, label: offerLabel(legal), reasons});
  }
  return offers;
}

/** Loop id -> offer {state, order, label, reasons} for a loop, from the shape of the tree: those in one chain with it can be reordered. */
export function loopOffers(byId, row) {
  const chain = chainOf(byId, row);
  const inChain = new Set(chain.map((loop) => loop.id));
  const offers = new Map();
  for (const loop of byId.values()) {
    if (loop.kind !== "loop" || loop.id === row.id) continue;
    if (inChain.has(loop.id)) {
      const order = reordered(chain, row.id, loop.id);
      const text = `new order: ${order.map((id) => byId.get(id).name).join(", ")}`;
      offers.set(loop.id, {state: "legal", order, label: "reorder", choices: [], reasons: [{head: "reorder", text, code: "", fix: []}]});
    } else {
      const text = `${loop.name} is not in one chain with ${row.name}: only loops that stand directly in one another can be reordered`;
      offers.set(loop.id, {state: "illegal", choices: [], label: "", reasons: [{head: "reorder", text, code: "not-in-one-chain", fix: []}]});
    }
  }
  return offers;
}

/** "compute_at ×4 4 KiB"; both primitives when both fit. */
function offerLabel(legal) {
  const [only, second] = legal;
  return second || !only ? legal.map((entry) => entry.primitive).join(" / ") : [only.primitive, only.note].filter(Boolean).join("  ");
}

/** A reason as it stands in the tip and in the notice: primitive, code, sentence, calls that would help. */
export function reasonBody(reason, state, otherwise = "not here") {
  const head = reason.head || otherwise;
  const mark = icon(MARKS[state]);
  return make(
    "div", {class: `reason reason-${state}`},
    make("div", {class: "reason-head"}, mark, head ? make("code", {}, head) : null, reason.code ? make("span", {class: "reason-code"}, reason.code) : null),
    reason.text ? make("div", {class: "reason-text"}, reason.text) : null,
    ...(reason.fix ?? []).map((call) => make("code", {class: "reason-fix"}, call)),
  );
}

/** What makes a refused drop possible: the calls in their order, the drop itself last, and a button that makes them all. */
export function repairBody(calls, run) {
  const count = calls.length - 1;
  const before = count === 1 ? "Possible after one more call" : `Possible after ${count} more calls`;
  return make(
    "div", {class: "repair", role: "group", "aria-label": before},
    make("div", {class: "repair-head"}, make("span", {}, before),
      make("button", {class: "tw-button tw-button--primary", type: "button", onclick: run}, count === 1 ? "Make both calls" : `Make these ${calls.length} calls`)),
    make("ol", {class: "repair-calls"}, ...calls.map((call, n) => make("li", {class: n === count ? "is-move" : ""}, make("code", {}, call)))),
  );
}
