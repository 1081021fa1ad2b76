// The small cards over the timeline: what an engine waited for, with the step that brought it in; an iteration of what repeats.

import { h, icon } from "../core/dom.js";
import { CAUSES } from "../core/colors.js";
import { grouped } from "./clock.js";
import { highlightStep } from "../core/playhead.js";

const WHY = {
  data: (w) => `Until ${w.block} has filled ${w.what}`,
  slot: (w) => `Until ${w.block} is done with ${w.what}: no slot of it is free`,
  issue: (w) => `Its task had not been issued yet: the ${w.what} was full`,
  unit: (w) => `While ${w.what} had its turn: both are one unit`,
  port: (w) => `While it ran, for bursts of other engines on the ${w.what}`,
  idle: () => "Its last task is done",
};

export class Card {
  constructor(onClose) {
    this.onClose = onClose;
    this.element = h("div", {
      class: "timeline-card",
      role: "dialog",
      "aria-label": "Details",
      tabindex: "-1",
      hidden: true,
    });
    this.element.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Escape") this.close();
    });
    this.element.addEventListener("pointerdown", (event) => event.stopPropagation());
  }

  /** Beside `x`, within the stage; `give` is what the keys go to when it closes. */
  open(x, label, ...children) {
    this.element.replaceChildren(
      h(
        "div",
        { class: "card-head" },
        h("b", {}, label),
        h(
          "button",
          { class: "tool small", type: "button", "aria-label": "Close", onclick: () => this.close() },
          icon("remove"),
        ),
      ),
      ...children.filter(Boolean),
    );
    this.element.setAttribute("aria-label", label);
    this.element.hidden = false;
    const { offsetWidth } = this.element;
    const room = this.element.parentElement.clientWidth - offsetWidth - 8;
    this.element.style.left = `${Math.max(8, Math.min(x + 12, room))}px`;
    this.element.focus({ preventScroll: true });
  }

  close() {
    if (this.element.hidden) return;
    this.element.hidden = true;
    this.onClose();
  }

  /** What an engine waits for. `cycles` is this wait's length, null where many are drawn as one. */
  openWait(x, data, wait, cycles) {
    const engine = data.engines[wait.lane];
    const total = engine.waits[wait.cause] ?? 0;
    this.step = h("div", { class: "card-step quiet", "aria-live": "polite" });
    this.open(
      x,
      `${engine.name} waits: ${CAUSES[wait.cause].word}`,
      h("p", {}, `${WHY[wait.cause](wait)}.`),
      h(
        "p",
        { class: "quiet" },
        [
          cycles === null ? "" : `${grouped(cycles)} cycles here, `,
          `${grouped(total)} of ${grouped(data.cycles)} for this cause in all`,
        ].join(""),
      ),
      this.step,
    );
  }

  /** The step of the schedule that the server blames. */
  tellStep({ step, text }) {
    if (this.element.hidden || !this.step) return;
    if (!step) {
      this.step.replaceChildren("Of the program as it was written: no step brought it in");
      return;
    }
    this.step.replaceChildren(
      h("span", {}, "Brought in by"),
      h(
        "button",
        {
          class: "tool small",
          type: "button",
          title: "Show the step in the notebook",
          onclick: () => highlightStep(step),
        },
        h("code", {}, text),
      ),
    );
    highlightStep(step);
  }

  /** A repeat: a slider over its iterations, its place by the clock, and ways to see it larger. */
  openRepeat(x, model, number, { seek, unfold, zoom }) {
    const repeat = model.data.repeats[number];
    const copy = model.chosen[number] ?? 0;
    const place = h("p", { class: "quiet" });
    const input = h("input", {
      type: "range",
      min: 0,
      max: repeat.extra,
      value: String(copy),
      "aria-label": `Which of ${grouped(repeat.extra + 1)} times`,
    });
    const said = h("output", {});
    const tell = () => {
      const n = Number(input.value);
      said.textContent = `${grouped(n + 1)} of ${grouped(repeat.extra + 1)}`;
      const digits = digitsOf(repeat, n);
      const start = model.folding.clock(repeat.start, { ...model.chosen, [number]: n });
      const indices = repeat.names.map((name, k) => `${name} = ${digits[k]}`).join(", ");
      place.textContent = `${indices ? `From ${indices}: c` : "C"}ycles ${grouped(start)} to ${grouped(start + repeat.cycles)}`;
      input.setAttribute("aria-valuetext", `${said.textContent}. ${place.textContent}`);
    };
    input.addEventListener("input", () => {
      tell();
      seek(Number(input.value));
    });
    tell();
    const times = repeat.iterations === 1 ? "1 iteration" : `${repeat.iterations} iterations`;
    this.open(
      x,
      `×${grouped(repeat.extra + 1)}: ${times} of ${repeat.names.join(", ") || "a loop"}`,
      h("label", { class: "card-slider" }, input, said),
      place,
      h(
        "div",
        { class: "card-tools" },
        h("button", { class: "tool small", type: "button", onclick: () => zoom() }, "Zoom to it"),
        h("button", { class: "tool small", type: "button", onclick: () => unfold(Number(input.value)) }, "Unfold here"),
      ),
    );
    input.focus({ preventScroll: true });
  }
}

/** The iterations of a repeat's loops where its copy `n` begins. */
function digitsOf(repeat, n) {
  const digits = repeat.base.slice();
  let on = n * repeat.iterations;
  for (let k = digits.length - 1; k >= 0; k--) {
    const sum = digits[k] + on;
    digits[k] = sum % repeat.extents[k];
    on = Math.floor(sum / repeat.extents[k]);
  }
  return digits;
}
