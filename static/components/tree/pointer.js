// The pointer on the tree: press, drag, click-move-click, hover.

import { h } from "../core/dom.js";
import { Popup, pointRect } from "../core/popup.js";
import { markTip } from "./problems.js";
import { rowOf } from "./rows.js";

/** @import { Grab } from "./drag.js" */
/** @import { IndexedRow, Point } from "./tree.js" */
/** @import { Tree } from "./tree.js" */

/**
 * A button or finger that is down on a row.
 * @typedef {object} Press
 * @property {string} id
 * @property {string | null} act The part of the row: "grip", "buffer", "revise".
 * @property {Element | null} part The element of that part.
 * @property {string | null} buffer
 * @property {boolean} finger
 * @property {boolean} scrolls Whether a movement scrolls the list.
 * @property {number} x
 * @property {number} y
 */

const DRAG_PIXELS = 4;
const FINGER_PIXELS = 9;
const HOLD_DELAY = 380; // ms, like the next three
const TIP_DELAY = 650;
const SIGN_DELAY = 150;
const REQUEST_DELAY = 60;
const EDGE = 30; // pixels at the edges of the list where a drag scrolls

export class Pointer {
  /** @param {Tree} tree */
  constructor(tree) {
    this.tree = tree;
    /** @type {Press | null} */
    this.press = null;
    this.hovered = "";
    this.speed = 0;
    this.scrolling = false;
    /** @type {number | undefined} */
    this.tipTimer = undefined;
    /** @type {number | undefined} */
    this.requestTimer = undefined;
    /** @type {number | undefined} */
    this.holdTimer = undefined;
    this.ghost = new Popup(tree.element, "ghost", { "aria-hidden": "true" });
    this.listeners = new AbortController();
    this.listen();
  }

  listen() {
    const { list } = this.tree;
    list.addEventListener("pointerdown", (event) => this.down(event));
    list.addEventListener("pointerover", (event) => this.over(event));
    list.addEventListener("pointerleave", () => this.left());
    // A finger scrolls the list, except during a drag.
    const preventScroll = (/** @type {TouchEvent} */ event) => {
      if (this.tree.drag.grab?.by === "pointer" && event.cancelable) event.preventDefault();
    };
    list.addEventListener("touchmove", preventScroll, { passive: false });
    list.addEventListener("contextmenu", (event) => this.contextMenu(event));
    list.addEventListener("click", (event) => this.click(event));
    list.addEventListener("dblclick", (event) => this.doubleClick(event));
    list.addEventListener("scroll", () => this.hideTip(), { passive: true });
    const options = { capture: true, signal: this.listeners.signal };
    window.addEventListener("pointermove", (event) => this.move(event), options);
    window.addEventListener("pointerup", (event) => this.up(event), options);
    window.addEventListener("pointercancel", () => this.cancelled(), options);
    window.addEventListener("pointerdown", (event) => this.elsewhere(event), options);
  }

  remove() {
    this.listeners.abort();
    clearTimeout(this.tipTimer);
    clearTimeout(this.requestTimer);
    clearTimeout(this.holdTimer);
    this.ghost.hide();
  }

  endGrab() {
    this.press = null;
    this.hovered = "";
    this.ghost.hide();
    this.highlightGuide(null);
  }

  /** @param {PointerEvent} event */
  down(event) {
    const { tree } = this;
    this.hideTip(); // it would cover what a click fills
    const finger = event.pointerType !== "mouse";
    // For a finger, browsers choose a pressable element nearby as the target: take the one below the finger.
    const target = (finger && this.elementAt({ x: event.clientX, y: event.clientY })) || event.target;
    const id = rowOf(target);
    if (!id || !(target instanceof Element) || event.button !== 0) return;
    const part = target.closest("[data-act]");
    const act = part?.getAttribute("data-act") ?? null;
    if (part && act === "menu") this.toggleMenu(event, id, part);
    else if (act === "fold") tree.fold(id, !tree.folded.has(id));
    if (act === "menu" || act === "fold" || act === "problem" || tree.drag.grab?.by === "click") return;
    const buffer = target.closest("[data-buffer]")?.getAttribute("data-buffer") ?? null;
    const scrolls = finger && act !== "grip";
    this.press = { id, act, part, buffer, finger, scrolls, x: event.clientX, y: event.clientY };
    clearTimeout(this.holdTimer);
    if (finger) this.holdTimer = window.setTimeout(() => this.hold(), HOLD_DELAY);
  }

  /** A long press of a finger grabs the row. The finger drags it to a loop, or is lifted and taps a loop next. */
  hold() {
    const { press } = this;
    const { drag } = this.tree;
    if (!press || drag.grab) return;
    drag.start(press.id, "pointer");
    if (drag.grab) this.showGhost(drag.grab, press);
    else this.press = null;
  }

  cancelled() {
    clearTimeout(this.holdTimer);
    this.press = null;
    this.tree.drag.cancel();
  }

  /**
   * @param {PointerEvent} event
   * @param {string} id
   * @param {Element} button
   */
  toggleMenu(event, id, button) {
    const { dialogs } = this.tree;
    event.preventDefault();
    event.stopPropagation();
    if (dialogs.shown && dialogs.of === id) dialogs.close(true);
    else dialogs.rowMenu(id, button.getBoundingClientRect());
  }

  /** @param {PointerEvent} event */
  move(event) {
    const { drag } = this.tree;
    const point = { x: event.clientX, y: event.clientY };
    if (this.press && !drag.grab && !this.startDrag(this.press, point)) return;
    const { grab } = drag;
    if (!grab || grab.by === "keyboard") return;
    if (grab.by === "pointer") {
      if (event.buttons === 0) {
        drag.cancel(); // released outside of the window
        return;
      }
      event.preventDefault();
      this.showGhost(grab, point);
      this.scrollAtEdge(point);
    }
    const id = this.rowAt(point);
    if (id !== grab.over || grab.by === "click") drag.hover(id);
  }

  /**
   * Start a drag if the pointer has moved far enough. Returns whether it has.
   * @param {Press} press
   * @param {Point} point
   */
  startDrag(press, { x, y }) {
    const { drag } = this.tree;
    if (Math.hypot(x - press.x, y - press.y) < (press.finger ? FINGER_PIXELS : DRAG_PIXELS)) return false;
    clearTimeout(this.holdTimer);
    if (press.scrolls) {
      this.press = null;
      return false;
    }
    drag.start(press.id, "pointer");
    if (!drag.grab) this.press = null;
    return true;
  }

  /** @param {PointerEvent} event */
  up(event) {
    const { press, tree } = this;
    const { drag } = tree;
    const { grab } = drag;
    this.press = null;
    clearTimeout(this.holdTimer);
    const point = { x: event.clientX, y: event.clientY };
    const id = this.rowAt(point);
    if (grab?.by === "pointer" && press?.finger && id === grab.row.id) {
      grab.by = "click";
      this.ghost.hide();
    } else if (grab?.by === "pointer") drag.drop(id, point);
    else if (grab?.by === "click") {
      if (id === grab.row.id || !id) drag.cancel();
      else drag.drop(id, point);
    } else if (press && id === press.id) this.clicked(press, event);
  }

  /**
   * @param {Press} press
   * @param {PointerEvent} event
   */
  clicked({ id, act, part, buffer }, event) {
    const { tree } = this;
    if (part && act === "revise") {
      tree.dialogs.revise(id, part.getAttribute("data-method") ?? "", part.getBoundingClientRect());
      return;
    }
    const several = event.ctrlKey || event.metaKey || event.shiftKey;
    // The grip of one of several selected rows grabs them all.
    if (act !== "grip" || several || tree.together(id).length < 2) tree.pick(id, event);
    if (act === "grip" && !several) tree.drag.start(id, "click");
    if (buffer && !several) tree.send({ kind: "select", id, buffer });
  }

  /** @param {Point} point */
  elementAt({ x, y }) {
    const root = this.tree.list.getRootNode();
    return root instanceof Document || root instanceof ShadowRoot ? root.elementFromPoint(x, y) : null;
  }

  /** @param {Point} point */
  rowAt(point) {
    const hit = this.elementAt(point);
    return hit && this.tree.list.contains(hit) ? rowOf(hit) : "";
  }

  /**
   * @param {Grab} grab
   * @param {Point} point
   */
  showGhost({ row, name }, { x, y }) {
    const anchor = pointRect(x + 10, y + 6);
    const { style } = this.ghost.element;
    if (this.ghost.shown) {
      style.left = `${anchor.left}px`;
      style.top = `${anchor.top}px`;
      return;
    }
    style.cssText = row.writes?.[0] ? `--tw-colour: var(--tw-buffer-${row.writes[0].colour})` : "";
    this.ghost.show(anchor, "below", h("i", { class: "tw-swatch" }), name);
  }

  /** @param {Point} point */
  scrollAtEdge({ y }) {
    const { tree } = this;
    const { top, bottom } = tree.list.getBoundingClientRect();
    const speed = y < top + EDGE ? y - top - EDGE : y > bottom - EDGE ? y - bottom + EDGE : 0;
    this.speed = speed / 3;
    if (!speed || this.scrolling) return;
    const step = () => {
      this.scrolling = tree.drag.grab?.by === "pointer" && this.speed !== 0;
      if (!this.scrolling) return;
      tree.list.scrollTop += this.speed;
      requestAnimationFrame(step);
    };
    this.scrolling = true;
    requestAnimationFrame(step);
  }

  /** @param {PointerEvent} event */
  over(event) {
    const { tree } = this;
    const id = rowOf(event.target);
    const row = tree.byId.get(id);
    if (!row || tree.drag.grab || this.press || id === this.hovered) return;
    this.hovered = id;
    this.highlightGuide(row);
    this.requestSoon(id);
    clearTimeout(this.tipTimer);
    tree.tip.hide();
    if (!row.tooltip && !tree.marks[id]) return;
    const onSign = event.target instanceof Element && event.target.closest("[data-act=problem]");
    this.tipTimer = window.setTimeout(() => this.showTip(row), onSign ? SIGN_DELAY : TIP_DELAY);
  }

  /** @param {IndexedRow} row */
  showTip({ id, tooltip }) {
    const { tree } = this;
    if (tree.drag.grab || tree.dialogs.shown || this.hovered !== id) return;
    delete tree.tip.element.dataset.offer;
    const text = tooltip && h("div", { class: "tip-text" }, tooltip);
    tree.tip.show(tree.anchor(id), "inside", ...markTip(tree.marks[id]), text);
  }

  /**
   * Request targets and menu of a row in advance, so that they are known when it is grabbed.
   * @param {string} id
   */
  requestSoon(id) {
    clearTimeout(this.requestTimer);
    this.requestTimer = window.setTimeout(() => {
      const { tree } = this;
      if ((this.hovered !== id && tree.cursor !== id) || !tree.byId.has(id)) return;
      const rows = tree.together(id);
      if (!tree.drag.hasTargets(rows)) tree.drag.requestTargets(rows);
      tree.dialogs.request(id);
    }, REQUEST_DELAY);
  }

  left() {
    this.hovered = "";
    this.highlightGuide(null);
    const { grab } = this.tree.drag;
    if (!grab) this.hideTip();
    else if (grab.by !== "keyboard") this.tree.drag.hover("");
  }

  hideTip() {
    clearTimeout(this.tipTimer);
    if (!this.tree.drag.grab) this.tree.tip.hide();
  }

  /**
   * Highlight the guide line of a loop, or of the loop around a block.
   * @param {IndexedRow | null} row
   */
  highlightGuide(row) {
    const { list } = this.tree;
    for (const line of list.querySelectorAll(".guide.is-lit")) line.classList.remove("is-lit");
    if (!row) return;
    const id = row.kind === "loop" ? row.id : row.parent;
    for (const line of list.querySelectorAll(`.guide[data-of="${CSS.escape(id)}"]`)) line.classList.add("is-lit");
  }

  /** @param {MouseEvent} event */
  click({ target }) {
    if (this.tree.drag.grab || !(target instanceof Element) || !target.closest("[data-act=problem]")) return;
    this.hideTip();
    this.tree.showProblem(rowOf(target));
  }

  /** @param {MouseEvent} event */
  doubleClick({ target }) {
    const id = rowOf(target);
    if (!id || !(target instanceof Element) || target.closest("[data-act]")) return;
    if (target.closest(".loop-name, .block-name, .variable")) this.tree.rename(id);
    else this.tree.fold(id, !this.tree.folded.has(id));
  }

  /** @param {PointerEvent} event A press anywhere on the page. */
  elsewhere(event) {
    const path = event.composedPath();
    const { dialogs, drag, list } = this.tree;
    const onMenuButton = path[0] instanceof Element && path[0].closest("[data-act=menu]");
    if (dialogs.shown && !path.includes(dialogs.popup.element) && !onMenuButton) dialogs.close(false);
    if (drag.grab?.by === "click" && !path.includes(list)) drag.cancel();
    if (drag.grab?.by !== "keyboard") return;
    // A grab by keyboard can end with a click on a loop.
    if (path.includes(list)) drag.grab.by = "click";
    else drag.cancel();
  }

  /** @param {MouseEvent} event */
  contextMenu(event) {
    const id = rowOf(event.target);
    if (!id) return;
    event.preventDefault();
    if (this.tree.drag.grab) return; // a long press has grabbed the row
    this.press = null;
    this.tree.dialogs.rowMenu(id, pointRect(event.clientX, event.clientY));
  }
}
