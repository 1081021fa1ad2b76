// The components that the page's root and Jupyter's widgets can mount, by name: how each is drawn, and its style sheets. A bundle contains
// only the components that its entry names.

import appSheet from "../styles/app.css";
import exploreSheet from "../styles/explore.css";
import figuresSheet from "../styles/figures.css";
import filesSheet from "../styles/files.css";
import gallerySheet from "../styles/gallery.css";
import helpSheet from "../styles/help.css";
import inspectorSheet from "../styles/inspector.css";
import loopTreeSheet from "../styles/loop_tree.css";
import modelSheet from "../styles/model.css";
import notebookSheet from "../styles/notebook.css";
import themeSheet from "../styles/tilewright.css";
import timelineSheet from "../styles/timeline.css";
import { render as renderCompare } from "./compare/compare.js";
import { render as renderOverlay } from "./compare/overlay.js";
import { render as renderExplore } from "./explore/explore.js";
import { render as renderGallery } from "./files/gallery.js";
import { render as renderInspector } from "./inspector/inspector.js";
import { render as renderMachine } from "./machine/machine.js";
import { render as renderTraffic } from "./machine/traffic.js";
import { render as renderModel } from "./model/model.js";
import { render as renderCode } from "./notebook/code_view.js";
import { render as renderNotebook } from "./notebook/notebook.js";
import { render as renderHeadline } from "./shell/headline.js";
import { render as renderNext } from "./shell/next.js";
import { render as renderFrame } from "./shell/page.js";
import { render as renderPalette } from "./shell/palette.js";
import { render as renderProblems } from "./shell/problems.js";
import { render as renderTimeline } from "./timeline/timeline.js";
import { render as renderTree } from "./tree/loop_tree.js";

/**
 * @typedef {object} Root
 * @property {(options: { model: any }) => HTMLElement} render Draw the component of a model (core/dom.js) in an element.
 * @property {string[]} sheets
 */

/** @type {Root} */
export const code = { render: renderCode, sheets: [themeSheet, appSheet] };
/** @type {Root} */
export const commands = { render: renderPalette, sheets: [themeSheet, appSheet, loopTreeSheet] };
/** @type {Root} */
export const compare = { render: renderCompare, sheets: [themeSheet, appSheet, figuresSheet] };
/** @type {Root} */
export const explore = {
  render: renderExplore,
  sheets: [loopTreeSheet, themeSheet, appSheet, figuresSheet, exploreSheet],
};
/** @type {Root} */
export const gallery = { render: renderGallery, sheets: [themeSheet, appSheet, gallerySheet, filesSheet] };
/** @type {Root} */
export const headline = { render: renderHeadline, sheets: [loopTreeSheet, themeSheet, appSheet, filesSheet] };
/** @type {Root} */
export const inspector = { render: renderInspector, sheets: [themeSheet, appSheet, inspectorSheet] };
/** @type {Root} */
export const machine = { render: renderMachine, sheets: [themeSheet, appSheet, figuresSheet] };
/** @type {Root} */
export const model = {
  render: renderModel,
  sheets: [loopTreeSheet, themeSheet, appSheet, figuresSheet, gallerySheet, modelSheet],
};
/** @type {Root} */
export const next = { render: renderNext, sheets: [themeSheet, appSheet] };
/** @type {Root} */
export const notebook = { render: renderNotebook, sheets: [loopTreeSheet, themeSheet, appSheet, notebookSheet] };
/** @type {Root} */
export const overlay = { render: renderOverlay, sheets: [themeSheet, appSheet, figuresSheet] };
/** @type {Root} */
export const page = { render: renderFrame, sheets: [themeSheet, appSheet, loopTreeSheet, helpSheet, filesSheet] };
/** @type {Root} */
export const problems = { render: renderProblems, sheets: [themeSheet, appSheet] };
/** @type {Root} */
export const timeline = { render: renderTimeline, sheets: [themeSheet, appSheet, timelineSheet] };
/** @type {Root} */
export const traffic = { render: renderTraffic, sheets: [themeSheet, appSheet, figuresSheet] };
/** @type {Root} */
export const tree = { render: renderTree, sheets: [themeSheet, loopTreeSheet] };
