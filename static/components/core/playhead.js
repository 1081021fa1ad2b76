// The playhead of the page: the timeline announces its position, and the other views mark the state of the program there, without the server.
// In Jupyter a page has several programs: the views of one program form a group and receive only its positions.

/**
 * The state of the program at the playhead.
 * @typedef {object} Moment
 * @property {number} cycle
 * @property {Record<string, string>} rows By row of the tree: the iteration of a loop, the engine of a block.
 * @property {number[]} lines Running lines of the TVMScript text.
 * @property {BufferState[]} cells
 */

/** @typedef {{ label: string, buffer: string, state: "filling" | "live" | "free" }} BufferState */

const MOMENT = "tilewright:moment";
const STEP = "tilewright:step";

let group = "";

/** @type {Map<string, Moment | null>} */
const moments = shared("tilewrightMoments", () => new Map());

/**
 * A value that all bundles of the page share.
 * @template T
 * @param {string} name
 * @param {() => T} make
 * @returns {T}
 */
function shared(name, make) {
  const page = /** @type {Record<string, any>} */ (/** @type {unknown} */ (globalThis));
  return (page[name] ??= make());
}

/**
 * Assign the views of this bundle to a group.
 * @param {string} name
 */
export function joinGroup(name) {
  group = name;
}

/** The group of the views of this bundle. */
export function presentGroup() {
  return group;
}

/**
 * Announce the state at the playhead; null without a playhead.
 * @param {Moment | null} moment
 */
export function announceMoment(moment) {
  moments.set(group, moment);
  window.dispatchEvent(new CustomEvent(MOMENT));
}

/** The state at the playhead, or null. */
export function presentMoment() {
  return moments.get(group) ?? null;
}

/**
 * Call `mark(moment)` now and whenever the playhead moves. Returns a function that ends this.
 * @param {(moment: Moment | null) => void} mark
 */
export function followMoment(mark) {
  const update = () => mark(presentMoment());
  window.addEventListener(MOMENT, update);
  update();
  return () => window.removeEventListener(MOMENT, update);
}

/**
 * Highlight a step of the schedule in the notebook.
 * @param {number} step Counted from 1.
 */
export function highlightStep(step) {
  window.dispatchEvent(new CustomEvent(STEP, { detail: step }));
}

/**
 * Show the steps that other views highlight: rows of `root` with `data-step`, counted from 0.
 * @param {Element} root
 */
export function followHighlightedSteps(root) {
  window.addEventListener(STEP, (event) => {
    const row = root.querySelector(`[data-step="${/** @type {CustomEvent<number>} */ (event).detail - 1}"]`);
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
