// Events between the components of a page, without the server. In Jupyter a page has several programs: the views of one program form a group, and
// an event reaches only its group.

/** @import { HoveredDrop } from "./hovered_drop.js" */
/** @import { MenuItem } from "./menu.js" */
/** @import { Moment } from "./playhead.js" */
/** @import { Theme } from "../shell/theme.js" */
/** @import { GuidePage, PrimitiveDoc, Reader } from "../views.js" */

/**
 * The events, each with its value.
 * @typedef {object} Events
 * @property {MenuItem[]} commands The palette collects the commands of the visible views: listeners append theirs.
 * @property {undefined} commands-changed Commands that were being loaded are known.
 * @property {undefined} decide Open the dialog for two texts that changed the same lines.
 * @property {HoveredDrop | null} drop The tree has predicted the hovered drop; null when none is hovered.
 * @property {(pages: PrimitiveDoc[]) => void} explain Call this with the documentation of all primitives.
 * @property {(pages: GuidePage[]) => void} guide Call this with the pages of the guide.
 * @property {HTMLElement} help Open or close the help menu below this button.
 * @property {undefined} keep-typed The page will reload: keep the text of the open editor.
 * @property {Moment | null} moment The timeline's playhead is at this state; null without a playhead.
 * @property {Reader[]} readers The other pages on the file, with what they have selected.
 * @property {{ row?: string, back?: () => void }} problem Show the problems of a row, or all; Escape calls `back`.
 * @property {undefined} save-as Ask for the name of a new file.
 * @property {string} reference Open the documentation of a primitive, or a page of the guide.
 * @property {string} selected The selected row of the tree; "" for none.
 * @property {number} step Highlight a step of the schedule, counted from 1.
 * @property {Theme} theme The reader chose a theme.
 * @property {string} tour Start the tour with this name.
 */

const page = /** @type {Record<string, any>} */ (/** @type {unknown} */ (globalThis));

/** @type {{ target: EventTarget, latest: Map<string, any> }} Of the page: each widget in Jupyter has its own copy of this module. */
const shared = (page.tilewrightBus ??= { target: new EventTarget(), latest: new Map() });

let group = "";

/**
 * Assign the views of this copy of the module to a group.
 * @param {string} name
 */
export function joinGroup(name) {
  group = name;
}

/** @param {keyof Events} event */
const nameInGroup = (event) => `${event} ${group}`;

/**
 * @template {keyof Events} E
 * @param {E} event
 * @param {Events[E] extends undefined ? [] : [value: Events[E]]} value
 */
export function publish(event, ...[value]) {
  shared.latest.set(nameInGroup(event), value);
  shared.target.dispatchEvent(new CustomEvent(nameInGroup(event), { detail: value }));
}

/**
 * Call `listener` with the value of each event. Returns a function that ends this.
 * @template {keyof Events} E
 * @param {E} event
 * @param {(value: Events[E]) => void} listener
 */
export function subscribe(event, listener) {
  const name = nameInGroup(event);
  const receive = (/** @type {Event} */ published) =>
    listener(/** @type {CustomEvent<Events[E]>} */ (published).detail);
  shared.target.addEventListener(name, receive);
  return () => shared.target.removeEventListener(name, receive);
}

/**
 * The value of the last event.
 * @template {keyof Events} E
 * @param {E} event
 * @returns {Events[E] | undefined}
 */
export function latest(event) {
  return shared.latest.get(nameInGroup(event));
}
