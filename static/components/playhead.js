// One moment for the whole page: the timeline tells where its playhead is, the other views mark what runs then. No server in between.
//
// A moment is {cycle, rows: {row id of the tree: words, as "ko = 3"}, lines: [numbers of the TVMScript text], cells: [{label, state}]}.

const MOMENT = "tilewright-moment";
const POINTED = "tilewright-pointed";

/** Tell all views what runs now; null when nothing is looked at. */
export function announceMoment(moment) {
  window.tilewrightMoment = moment;
  window.dispatchEvent(new CustomEvent(MOMENT));
}

/** Call `mark(moment or null)` now, whenever the playhead moves and, by way of what is returned, after a view was drawn anew. */
export function followMoment(mark) {
  const update = () => mark(window.tilewrightMoment ?? null);
  window.addEventListener(MOMENT, update);
  update();
  return update;
}

/** Point at a step of the schedule: the notebook shows it. */
export function pointAtStep(step) {
  window.dispatchEvent(new CustomEvent(POINTED, { detail: step }));
}

export function followPointed(show) {
  window.addEventListener(POINTED, (event) => show(event.detail));
}
