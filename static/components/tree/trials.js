// Predicted effects of calls: of the entries of an open menu, or of the choices of an open form. Closing it cancels the rest.

import { h } from "../core/dom.js";

/** @import { Effect, TreeMessage } from "./tree.js" */
/** @import { CallOnRow, ReviseOnRow } from "../messages.js" */
/** @import { Tree } from "./tree.js" */

/** @typedef {(index: number, effect: Effect) => void} OnEffect */

const SIGNS = { better: "▼", worse: "▲", same: "", "": "" };

let tickets = 0;

export class Trials {
  /** @param {Tree} tree */
  constructor(tree) {
    this.tree = tree;
    this.ticket = 0;
    this.left = 0;
    /** @type {OnEffect} */
    this.show = () => {};
  }

  /**
   * Predict each of `calls`; `show` receives the effects as they arrive.
   * @param {(CallOnRow | ReviseOnRow)[]} calls
   * @param {OnEffect} show
   */
  begin(calls, show) {
    this.stop();
    if (!calls.length) return;
    this.ticket = ++tickets;
    this.left = calls.length;
    this.show = show;
    this.tree.send({ kind: "try_calls", ticket: this.ticket, calls });
  }

  /** @param {Extract<TreeMessage, { kind: "tried" }>} message */
  receive({ ticket, index, value }) {
    if (ticket !== this.ticket) return;
    this.left -= 1;
    this.show(index, value);
  }

  /** Cancel the predictions that have not arrived. */
  stop() {
    if (this.left > 0) this.tree.send({ kind: "try_calls", ticket: ++tickets, calls: [] });
    this.ticket = 0;
    this.left = 0;
  }
}

/**
 * The effect in a few characters: cycles and on-chip memory, or that the call is refused.
 * @param {Effect} effect
 */
export function effectElement(effect) {
  if ("refused" in effect) return h("span", { class: "effect is-refused", title: effect.refused }, "not possible");
  const { cycles, trend, memory } = effect.brief;
  const lines = effect.lines.map((line) => `${line.name}: ${line.text} ${line.change}`);
  return h(
    "span",
    { class: "effect", title: lines.join("\n") },
    h("span", { class: `is-${trend}` }, [SIGNS[trend], cycles].filter(Boolean).join(" ")),
    memory ? h("span", { class: "effect-memory" }, memory) : null,
  );
}
