// A derivation before its search: the fastest schedule so far, and what its lines do.

import { h } from "../core/dom.js";
import { grouped } from "../core/numbers.js";
import { changeOf } from "./side.js";

/** @import { Send } from "../core/dom.js" */
/** @import { Derivation as Deriving } from "../views.js" */

/** The button that derives a schedule, opens it and searches its values; for a schedule with tiles, they can be kept. */
export class MakeFast {
  /**
   * @param {Send} send
   * @param {string} text What it does.
   */
  constructor(send, text) {
    this.keeps = h("input", { type: "checkbox" });
    this.tiles = h("span");
    this.label = h(
      "label",
      {
        class: "keep-tiles",
        title:
          "Only schedules with these tiles are derived and searched. Orders, copies, layouts and pipelines are new.",
        hidden: true,
      },
      this.keeps,
      this.tiles,
    );
    const press = () => send({ kind: "make_fast", keep_tiles: this.keeps.checked && !this.label.hidden });
    const button = h(
      "button",
      {
        class: "tool primary",
        type: "button",
        "data-key": "fast",
        title:
          "Derives a schedule from program and machine, opens it as a branch, and searches its values for a minute. Stop ends it at any time.",
        onclick: press,
      },
      "Make it fast",
    );
    this.element = h("p", { class: "make-fast" }, button, h("span", { class: "quiet" }, text), this.label);
  }

  /** @param {string} tiles Those of the schedule; "" without any. */
  draw(tiles) {
    this.label.hidden = !tiles;
    this.tiles.textContent = `Keep my tiles: ${tiles}`;
  }
}

/**
 * @param {string[]} decisions
 * @param {string} label
 */
export const decisionList = (decisions, label) =>
  h(
    "ul",
    { class: "xp-decisions", "aria-label": label },
    decisions.map((text) => h("li", {}, text)),
  );

/** @param {Deriving} deriving */
export function derivingParts({ machine, cycles, now, seconds, decisions }) {
  if (cycles === null)
    return [h("p", { class: "quiet" }, `Rules write schedules for ${machine}, and the first ones are simulated.`)];
  return [
    h("h2", {}, "The best so far"),
    h(
      "p",
      {},
      h("b", {}, `Cycles ${grouped(cycles)}`),
      now === null ? null : [" ", changeOf(now, cycles)],
      h("span", { class: "quiet" }, ` after ${seconds.toFixed(1)} s; others are being tried`),
    ),
    decisionList(decisions, "What the schedule does"),
  ];
}
