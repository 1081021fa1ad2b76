// The pointer on the tree: press, drag, click-move-click, rest. What they mean is the tree's business.

import { h } from "../core/dom.js";
import { Popup, pointRect } from "../core/popup.js";
import { markTip } from "./problems.js";
import { rowOf } from "./rows.js";

const DRAG_PIXELS = 4;
const FINGER_PIXELS = 9;
const HOLD_DELAY = 380;
const TIP_DELAY = 650;
const SIGN_DELAY = 150;
const ASK_DELAY = 60;
const EDGE = 30;

export class Pointer {
  constructor(tree) {
    this.tree = tree;
    this.press = null;
    this.pointed = "";
    this.ghost = new Popup(tree.element, "ghost", { "aria-hidden": "true" });
    const { list } = tree;
    list.addEventListener("pointerdown", (e) => this.down(e));
    list.addEventListener("pointerover", (e) => this.over(e));
    list.addEventListener("pointerleave", () => this.left());
    // A finger scrolls, until it has taken hold of something.
    list.addEventListener("touchmove", (e) => tree.hand.grab?.by === "pointer" && e.cancelable && e.preventDefault(), {
      passive: false,
    });
    list.addEventListener("contextmenu", (e) => this.contextMenu(e));
    list.addEventListener("click", (e) => this.click(e));
    list.addEventListener("dblclick", (e) => this.doubleClick(e));
    list.addEventListener("scroll", () => this.hideTip(), { passive: true });
    this.anywhere = {
      pointermove: (e) => this.move(e),
      pointerup: (e) => this.up(e),
      pointercancel: () => this.cancelled(),
      pointerdown: (e) => this.elsewhere(e),
    };
    for (const [name, handler] of Object.entries(this.anywhere)) window.addEventListener(name, handler, true);
  }

  remove() {
    for (const [name, handler] of Object.entries(this.anywhere)) window.removeEventListener(name, handler, true);
    clearTimeout(this.tipTimer);
    clearTimeout(this.askTimer);
    clearTimeout(this.holdTimer);
    this.ghost.hide();
  }

  /** A grab has ended. */
  rest() {
    this.press = null;
    this.pointed = "";
    this.ghost.hide();
    this.tint(null);
  }

  down(event) {
    // Browsers give a finger to what can be pressed nearby: here a name is no caret.
    const finger = event.pointerType !== "mouse";
    const target =
      (finger && this.tree.list.getRootNode().elementFromPoint?.(event.clientX, event.clientY)) || event.target;
    const id = rowOf(target);
    if (!id || event.button !== 0) return undefined;
    const act = target.closest("[data-act]")?.dataset.act;
    if (act === "menu") return this.toggleMenu(event, id, target);
    if (act === "fold") return this.tree.fold(id, !this.tree.folded.has(id));
    if (this.tree.hand.grab?.by === "click" || act === "problem") return undefined;
    const { buffer } = target.closest("[data-buffer]")?.dataset ?? {};
    this.press = {
      id,
      act,
      buffer,
      finger,
      scrolls: finger && act !== "grip",
      x: event.clientX,
      y: event.clientY,
      pointer: event.pointerId,
    };
    clearTimeout(this.holdTimer);
    if (finger) this.holdTimer = setTimeout(() => this.hold(), HOLD_DELAY);
    return undefined;
  }

  /** A finger that rests takes hold of the row: it can be drawn to a loop then, or let go of, to press a loop next. */
  hold() {
    const {
      press,
      tree: { hand },
    } = this;
    if (!press || hand.grab) return;
    hand.start(press.id, "pointer");
    if (hand.grab) this.showGhost({ x: press.x, y: press.y });
    else this.press = null;
  }

  cancelled() {
    clearTimeout(this.holdTimer);
    this.press = null;
    this.tree.hand.cancel();
  }

  toggleMenu(event, id, target) {
    event.preventDefault();
    event.stopPropagation();
    const anchor = target.closest("[data-act]").getBoundingClientRect();
    if (this.tree.sheets.shown && this.tree.sheets.of === id) this.tree.sheets.close(true);
    else this.tree.sheets.rowMenu(id, anchor);
  }

  move(event) {
    const { hand } = this.tree;
    if (this.press && !hand.grab) {
      const far = Math.hypot(event.clientX - this.press.x, event.clientY - this.press.y);
      if (far < (this.press.finger ? FINGER_PIXELS : DRAG_PIXELS)) return undefined;
      clearTimeout(this.holdTimer);
      if (this.press.scrolls) {
        this.press = null;
        return undefined;
      }
      hand.start(this.press.id, "pointer");
      if (!hand.grab) this.press = null;
    }
    if (!hand.grab || hand.grab.by === "keyboard") return undefined;
    const point = { x: event.clientX, y: event.clientY };
    if (hand.grab.by === "pointer") {
      if (event.buttons === 0) return hand.cancel(); // it was let go of outside of the window
      event.preventDefault();
      this.showGhost(point);
      this.scrollAtEdge(point);
    }
    const id = this.rowAt(point);
    if (id !== hand.grab.over || hand.grab.by === "click") hand.hover(id);
    return undefined;
  }

  up(event) {
    const {
      press,
      tree: { hand },
    } = this;
    const { grab } = hand;
    this.press = null;
    clearTimeout(this.holdTimer);
    const point = { x: event.clientX, y: event.clientY };
    if (grab?.by === "pointer" && press?.finger && this.rowAt(point) === grab.row.id) {
      grab.by = "click";
      this.ghost.hide();
      return;
    }
    if (grab?.by === "pointer") {
      hand.drop(this.rowAt(point), point);
      return;
    }
    if (grab?.by === "click") {
      const id = this.rowAt(point);
      if (id === grab.row.id || !id) hand.cancel();
      else hand.drop(id, point);
      return;
    }
    if (!press || this.rowAt(point) !== press.id) return;
    const several = event.ctrlKey || event.metaKey || event.shiftKey;
    // A grip of several chosen rows takes them all.
    if (press.act !== "grip" || several || this.tree.together(press.id).length < 2) this.tree.pick(press.id, event);
    if (press.act === "grip" && !several) hand.start(press.id, "click");
    if (press.buffer && !several) this.tree.send({ kind: "select", id: press.id, buffer: press.buffer });
  }

  rowAt({ x, y }) {
    const root = this.tree.list.getRootNode();
    const hit = root.elementFromPoint?.(x, y);
    return hit && this.tree.list.contains(hit) ? rowOf(hit) : "";
  }

  showGhost(point) {
    const { row, name } = this.tree.hand.grab;
    const anchor = pointRect(point.x + 10, point.y + 6);
    if (this.ghost.shown) {
      this.ghost.element.style.left = `${anchor.left}px`;
      this.ghost.element.style.top = `${anchor.top}px`;
      return;
    }
    const colour = row.writes?.[0] ? `--tw-colour: var(--tw-buffer-${row.writes[0].colour})` : "";
    this.ghost.element.style.cssText = colour;
    this.ghost.show(anchor, "below", h("i", { class: "tw-swatch" }), name);
  }

  scrollAtEdge({ y }) {
    const { top, bottom } = this.tree.list.getBoundingClientRect();
    const speed = y < top + EDGE ? y - top - EDGE : y > bottom - EDGE ? y - bottom + EDGE : 0;
    this.speed = speed / 3;
    if (!speed || this.scrolling) return;
    const step = () => {
      this.scrolling = Boolean(this.tree.hand.grab?.by === "pointer" && this.speed);
      if (!this.scrolling) return;
      this.tree.list.scrollTop += this.speed;
      requestAnimationFrame(step);
    };
    this.scrolling = true;
    requestAnimationFrame(step);
  }

  over(event) {
    const id = rowOf(event.target);
    if (!id || this.tree.hand.grab || this.press || id === this.pointed) return;
    this.pointed = id;
    const row = this.tree.byId.get(id);
    this.tint(row);
    this.askSoon(id);
    clearTimeout(this.tipTimer);
    this.tree.tip.hide();
    const mark = this.tree.marks[id];
    if (!row.tooltip && !mark) return;
    this.tipTimer = setTimeout(
      () => {
        if (this.tree.hand.grab || this.tree.sheets.shown || this.pointed !== id) return;
        delete this.tree.tip.element.dataset.offer;
        this.tree.tip.show(
          this.tree.elements.get(id).getBoundingClientRect(),
          "beside",
          ...markTip(mark),
          row.tooltip && h("div", { class: "tip-text" }, row.tooltip),
        );
      },
      event.target.closest("[data-act=problem]") ? SIGN_DELAY : TIP_DELAY,
    );
  }

  /** Ask ahead, so that the answer is here when the block is grabbed. */
  askSoon(id) {
    clearTimeout(this.askTimer);
    this.askTimer = setTimeout(() => {
      const { tree } = this;
      if ((this.pointed !== id && tree.cursor !== id) || !tree.byId.has(id)) return;
      const rows = tree.together(id);
      if (!tree.hand.knows(rows)) tree.hand.ask(rows);
      tree.sheets.ask(id);
    }, ASK_DELAY);
  }

  left() {
    this.pointed = "";
    this.tint(null);
    const { grab } = this.tree.hand;
    if (!grab) this.hideTip();
    else if (grab.by !== "keyboard") this.tree.hand.hover("");
  }

  hideTip() {
    clearTimeout(this.tipTimer);
    if (!this.tree.hand.grab) this.tree.tip.hide();
  }

  /** Bring out the guide line of the loop that is pointed at. */
  tint(row) {
    for (const line of this.tree.list.querySelectorAll(".guide.is-lit")) line.classList.remove("is-lit");
    if (!row) return;
    const id = row.kind === "loop" ? row.id : row.parent;
    for (const line of this.tree.list.querySelectorAll(`.guide[data-of="${CSS.escape(id)}"]`))
      line.classList.add("is-lit");
  }

  click(event) {
    if (this.tree.hand.grab || !event.target.closest("[data-act=problem]")) return;
    this.hideTip();
    this.tree.toProblem(rowOf(event.target));
  }

  doubleClick(event) {
    const id = rowOf(event.target);
    if (!id || event.target.closest("[data-act]")) return;
    if (event.target.closest(".loop-name, .block-name, .variable")) this.tree.rename(id);
    else this.tree.fold(id, !this.tree.folded.has(id));
  }

  elsewhere(event) {
    const path = event.composedPath();
    const { tree } = this;
    if (tree.sheets.shown && !path.includes(tree.sheets.popup.element) && !path[0]?.closest?.("[data-act=menu]"))
      tree.sheets.close(false);
    const { hand } = tree;
    if (hand.grab?.by === "click" && !path.includes(tree.list)) hand.cancel();
    if (hand.grab?.by !== "keyboard") return;
    // A grab by keyboard may end with a click on a loop.
    if (path.includes(tree.list)) hand.grab.by = "click";
    else hand.cancel();
  }

  contextMenu(event) {
    const id = rowOf(event.target);
    if (!id) return;
    event.preventDefault();
    if (this.tree.hand.grab) return; // a finger that rests has taken hold
    this.press = null;
    this.tree.sheets.rowMenu(id, pointRect(event.clientX, event.clientY));
  }
}
