// The cards over the timeline: a stall with the step that introduced it, and the repetitions of a repeat.

import { h, icon, nodes } from "../core/dom.js";
import { grouped } from "../core/numbers.js";
import { publish } from "../core/bus.js";
import { stallReason, stallTitle } from "./texts.js";
import { advance, copiesOf } from "./time_map.js";

/** @import { Child } from "../core/dom.js" */
/** @import { TimelineModel } from "./model.js" */
/** @import { Remedy as RemedyAnswer, StallKind as WaitKind, StepToBlame as BlamedAnswer } from "../views.js" */
/** @import { Timeline as TimelineData, TimelineRepeat as Repeat } from "../views.js" */

/**
 * `seek` moves the playhead to a copy, `expand` shows a copy in real time, `zoom` shows the repeat.
 * @typedef {{ seek: (copy: number) => void, expand: (copy: number) => void, zoom: () => void }} RepeatActions
 */

export class Card {
  /** The step of the stall; empty in other cards. */
  step = h("div", { class: "card-step quiet", "aria-live": "polite" });

  /** What would end the stall. */
  remedy = h("div", { class: "card-remedy", "aria-live": "polite" });

  /** @param {() => void} onClose Called when the card closes with the focus in it. */
  constructor(onClose) {
    this.onClose = onClose;
    this.element = h("div", {
      class: "timeline-card",
      role: "dialog",
      "aria-label": "Details",
      tabindex: "-1",
      hidden: true,
      onkeydown: (event) => {
        if (event.key !== "Escape") event.stopPropagation();
      },
      onpointerdown: (event) => event.stopPropagation(),
    });
  }

  /**
   * Open beside `x`, inside of the stage.
   * @param {number} x
   * @param {string} title
   * @param {...Child} children
   */
  open(x, title, ...children) {
    const { element } = this;
    const close = h(
      "button",
      { class: "tool small", type: "button", "aria-label": "Close", onclick: () => this.close() },
      icon("remove"),
    );
    element.replaceChildren(h("div", { class: "card-head" }, h("b", {}, title), close), ...nodes(children));
    element.setAttribute("aria-label", title);
    element.hidden = false;
    document.addEventListener("pointerdown", this.outside, true);
    document.addEventListener("keydown", this.escape);
    const room = (element.parentElement?.clientWidth ?? 0) - element.offsetWidth - 8;
    element.style.left = `${Math.max(8, Math.min(x + 12, room))}px`;
    element.focus({ preventScroll: true });
  }

  close() {
    const { element } = this;
    if (element.hidden) return;
    const isFocused = element.matches(":focus-within");
    element.hidden = true;
    document.removeEventListener("pointerdown", this.outside, true);
    document.removeEventListener("keydown", this.escape);
    if (isFocused) this.onClose();
  }

  /** A click elsewhere on the page closes the card. @param {PointerEvent} event */
  outside = (event) => {
    if (!event.composedPath().includes(this.element)) this.close();
  };

  /** @param {KeyboardEvent} event */
  escape = (event) => {
    if (event.key === "Escape") this.close();
  };

  /**
   * Show a stall.
   * @param {number} x
   * @param {TimelineData} data
   * @param {WaitKind} wait
   * @param {number | null} cycles Its length; null if it is part of a bin.
   */
  openStall(x, data, wait, cycles) {
    const engine = data.engines[wait.lane];
    const here = cycles === null ? "" : `${grouped(cycles)} cycles here, `;
    const total = `${grouped(engine.waits[wait.cause] ?? 0)} of ${grouped(data.cycles)} cycles over the run`;
    this.step.replaceChildren();
    this.remedy.replaceChildren();
    this.open(
      x,
      stallTitle(engine.name, wait.cause),
      h("p", {}, stallReason(wait)),
      h("p", { class: "quiet" }, here, total),
      this.step,
      this.remedy,
    );
  }

  /** Whether a stall is shown. */
  get isStall() {
    return !this.element.hidden && this.element.contains(this.remedy);
  }

  /**
   * Show what would end the stall.
   * @param {RemedyAnswer} answer
   * @param {(fix: NonNullable<RemedyAnswer["fix"]>) => void} apply
   */
  showRemedy({ reason, looking, fix }, apply) {
    if (!this.isStall || !reason) return;
    const said = fix ? null : looking ? "Trying calls that end it…" : "No call that was tried ends it";
    const calls = fix?.calls.map((call) => h("code", {}, call)) ?? [];
    const button =
      fix &&
      h(
        "button",
        {
          class: "tool small",
          type: "button",
          title: "Apply: tried and simulated on a copy",
          onclick: () => apply(fix),
        },
        h("b", {}, fix.text),
        fix.replaces
          ? h("span", {}, fix.calls.length ? "in place of " : "without ", h("s", {}, h("code", {}, fix.replaces)))
          : null,
        ...calls,
      );
    this.remedy.replaceChildren(...nodes([h("p", {}, reason), said && h("p", { class: "quiet" }, said), button]));
  }

  /**
   * Show the step that introduced the stall.
   * @param {BlamedAnswer} answer
   */
  showStep({ step, text }) {
    if (this.element.hidden || !this.element.contains(this.step)) return;
    if (!step) {
      this.step.replaceChildren("Part of the original program: no step introduced it");
      return;
    }
    const show = h(
      "button",
      {
        class: "tool small",
        type: "button",
        title: "Show the step in the notebook",
        onclick: () => publish("step", step),
      },
      h("code", {}, text),
    );
    this.step.replaceChildren(h("span", {}, "Introduced by"), show);
    publish("step", step);
  }

  /**
   * Show a repeat: a slider over its copies, and buttons to enlarge it.
   * @param {number} x
   * @param {TimelineModel} model
   * @param {number} number
   * @param {RepeatActions} actions
   */
  openRepeat(x, model, number, actions) {
    const repeat = model.data.repeats[number];
    const count = grouped(copiesOf(repeat, model.copies));
    const place = h("p", { class: "quiet" });
    const chosen = h("output");
    const update = () => {
      const copy = Number(slider.value);
      chosen.textContent = `${grouped(copy + 1)} of ${count}`;
      place.textContent = copyText(model, repeat, number, copy);
      slider.setAttribute("aria-valuetext", `${chosen.textContent}. ${place.textContent}`);
    };
    const slider = h("input", {
      type: "range",
      min: 0,
      max: copiesOf(repeat, model.copies) - 1,
      value: String(model.copies[number] ?? 0),
      "aria-label": `Repetition, of ${count}`,
      oninput: () => {
        update();
        actions.seek(Number(slider.value));
      },
    });
    update();
    const iterations = repeat.iterations === 1 ? "1 iteration" : `${repeat.iterations} iterations`;
    const tool = (/** @type {string} */ label, /** @type {() => void} */ act) =>
      h("button", { class: "tool small", type: "button", onclick: act }, label);
    this.open(
      x,
      `×${count}: ${iterations} of ${repeat.names.join(", ") || "a loop"}`,
      h("label", { class: "card-slider" }, slider, chosen),
      place,
      h(
        "div",
        { class: "card-tools" },
        tool("Zoom in", actions.zoom),
        tool("Expand here", () => actions.expand(Number(slider.value))),
      ),
    );
    slider.focus({ preventScroll: true });
  }
}

/**
 * The iterations and the real time of a copy of a repeat.
 * @param {TimelineModel} model
 * @param {Repeat} repeat
 * @param {number} number
 * @param {number} copy
 */
function copyText(model, repeat, number, copy) {
  const { base, extents, iterations, names, cycles } = repeat;
  const first = advance(base, extents, copy * iterations);
  const start = model.timeMap.real(repeat.start, { ...model.copies, [number]: copy });
  const range = `cycles ${grouped(start)} to ${grouped(start + cycles)}`;
  const indices = names.map((name, k) => `${name} = ${first[k]}`).join(", ");
  return indices ? `Starts at ${indices}: ${range}` : range;
}
