// The playhead of the page: the timeline tells its position, and the other views mark the state of the program there.

import { latest, subscribe } from "./bus.js";

/**
 * The state of the program at the playhead.
 * @typedef {object} Moment
 * @property {number} cycle
 * @property {Record<string, string>} rows By row of the tree: the iteration of a loop, the engine of a block.
 * @property {number[]} lines Running lines of the TVMScript text.
 * @property {BufferState[]} cells
 */

/** @typedef {{ label: string, buffer: string, state: "filling" | "live" | "free" }} BufferState */

/**
 * Call `mark(moment)` now and whenever the playhead moves. Returns a function that ends this.
 * @param {(moment: Moment | null) => void} mark
 */
export function followMoment(mark) {
  mark(latest("moment") ?? null);
  return subscribe("moment", mark);
}

/**
 * Show the steps that other views highlight: rows of `root` with `data-step`, counted from 0.
 * @param {Element} root
 */
export function followHighlightedSteps(root) {
  subscribe("step", (step) => {
    const row = root.querySelector(`[data-step="${step - 1}"]`);
    if (!row) return;
    row.scrollIntoView({ block: "nearest" });
    row.classList.add("is-pointed");
    const fade = [
      { outline: "2px solid var(--tw-accent)", backgroundColor: "var(--tw-accent-soft)" },
      { outline: "2px solid transparent" },
    ];
    row.animate(fade, { duration: 2500, easing: "ease-in" }).onfinish = () => row.classList.remove("is-pointed");
  });
}
