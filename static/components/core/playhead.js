// One moment for the whole page: the timeline tells where its playhead is, the other views mark what runs then. No server in between.
//
// A moment is {cycle, rows: {row id of the tree: "3" for a loop, the engine for a block}, lines: [numbers of the TVMScript text],
// cells: [{label, buffer, state: "filling" | "live" | "free"}]}.
//
// In a notebook a page has many programs: views that show the same one are of a group, and hear of its moments only.

const MOMENT = "tilewright:moment";
const STEP = "tilewright:step";

let group = "";

/** From now on this view is of a group. */
export function joinGroup(name) {
  group = name;
}

/** Tell all views what runs now; null while nothing is looked at. */
export function announceMoment(moment) {
  window[`tilewrightMoment${group}`] = moment;
  window.dispatchEvent(new CustomEvent(MOMENT));
}

/** What runs at the playhead, or null. */
export function presentMoment() {
  return window[`tilewrightMoment${group}`] ?? null;
}

/** Call `mark(moment)` now and whenever the playhead moves; returns what ends that. */
export function followMoment(mark) {
  const update = () => mark(presentMoment());
  window.addEventListener(MOMENT, update);
  update();
  return () => window.removeEventListener(MOMENT, update);
}

/** Point at a step of the schedule, counted from 1: the notebook shows it. */
export function pointAtStep(step) {
  window.dispatchEvent(new CustomEvent(STEP, { detail: step }));
}

/** Show the steps that are pointed at in `root`: rows with `data-step`, counted from 0. */
export function showPointedSteps(root) {
  window.addEventListener(STEP, (event) => {
    const row = root.querySelector(`[data-step="${event.detail - 1}"]`);
    if (!row) return;
    row.scrollIntoView({ block: "nearest" });
    row.classList.add("is-pointed");
    const look = [
      { outline: "2px solid var(--tw-accent)", backgroundColor: "var(--tw-accent-soft)" },
      { outline: "2px solid transparent" },
    ];
    row.animate(look, { duration: 2500, easing: "ease-in" }).onfinish = () => row.classList.remove("is-pointed");
  });
}
