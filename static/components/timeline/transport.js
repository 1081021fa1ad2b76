// Playback: play, pause, speed, steps from task to task, and a slider for each loop around the tasks of one block.

import { h, lineIcon } from "../core/dom.js";
import { grouped } from "../core/numbers.js";
import { foldNote } from "./texts.js";

/** @import { TimelineModel } from "./model.js" */
/** @import { ChipCores, Timeline as TimelineData } from "../views.js" */

const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4, 8];
const SECONDS = 10; // that the visible range takes at speed 1
/** The time between two frames if the reader prefers reduced motion. */
const REDUCED_MOTION_MS = 250;
const MAX_FRAME_MS = 500;

const SHAPES = {
  play: "M7 5v14l12-7z",
  pause: "M8 5v14M16 5v14",
  previous: "M17 6l-8 6 8 6zM6 6v12",
  next: "M7 6l8 6-8 6zM18 6v12",
};

/**
 * The timeline that is played. `find` moves the playhead to the task of a template at given iterations.
 * @typedef {object} Player
 * @property {TimelineModel} model
 * @property {{ note: string }} path
 * @property {(cycle: number, options?: { follow?: boolean }) => void} seek
 * @property {(direction: 1 | -1) => void} step
 * @property {(template: number, place: number[]) => void} find
 * @property {(folded: boolean) => void} chooseFolded
 * @property {(core: number) => void} showCore
 */

/** @typedef {{ slider: HTMLInputElement, output: HTMLOutputElement, extent: number }} LoopSlider */

export class Transport {
  playing = false;
  speed = 1;
  /** When the last frame was played. */
  last = 0;
  /** The template whose loops have sliders. */
  template = 0;
  /** @type {LoopSlider[]} */
  sliders = [];
  /** @type {ReturnType<Transport["coreSlider"]> | null} The slider of a chip's core. */
  core = null;
  /** The loops of the sliders and their positions. */
  sliderKey = "";
  /** Whether a search for the chosen iterations is under way; the sliders then do not follow the playhead. */
  isChoosing = false;

  /** @param {Player} player */
  constructor(player) {
    this.player = player;
    const tool = (
      /** @type {string} */ label,
      /** @type {string} */ title,
      /** @type {() => void} */ act,
      /** @type {keyof typeof SHAPES} */ shape,
    ) =>
      h(
        "button",
        { class: "tool small", type: "button", "aria-label": label, title, onclick: act },
        lineIcon(SHAPES[shape]),
      );
    this.play = tool("Play", "Play (Space)", () => this.toggle(), "play");
    /** @type {HTMLSelectElement} */
    this.speeds = h(
      "select",
      {
        class: "speed",
        "aria-label": "Speed",
        title: `Speed: at 1× the visible range takes ${SECONDS} seconds ( , and . )`,
        onchange: () => {
          this.speed = Number(this.speeds.value);
        },
      },
      SPEEDS.map((speed) => h("option", { value: String(speed) }, `${speed}×`)),
    );
    this.speeds.value = "1";
    this.clock = h("span", { class: "clock" });
    this.indices = h("div", { class: "indices", role: "group", "aria-label": "Iterations" });
    this.fold = h(
      "button",
      {
        class: "tool small fold-repeats",
        type: "button",
        title: "Draw what repeats once: the axis is then not to scale (E)",
        onclick: () => player.chooseFolded(!player.model.folded),
      },
      "Fold repeats",
    );
    this.foldNote = h("span", { class: "fold-note", role: "status" });
    this.element = h(
      "div",
      { class: "transport", role: "toolbar", "aria-label": "Playback" },
      tool("Previous edge", "To the previous start or end of a task (Shift+Left)", () => player.step(-1), "previous"),
      this.play,
      tool("Next edge", "To the next start or end of a task (Shift+Right)", () => player.step(1), "next"),
      this.speeds,
      this.clock,
      this.indices,
      this.foldNote,
      this.fold,
    );
  }

  /** @param {TimelineData} data */
  show(data) {
    this.isChoosing = false;
    this.element.hidden = !data.cycles;
    if (!data.cycles) return this.stop();
    this.fold.hidden = !data.repeats.length;
    this.template = mainTemplate(data);
    this.drawSliders();
  }

  /** Show the present time, mode and iterations. */
  update() {
    const { model } = this.player;
    this.clock.replaceChildren(h("b", {}, grouped(model.cycle)), ` / ${grouped(model.data.cycles)}`);
    this.fold.setAttribute("aria-pressed", String(model.folded));
    const note = foldNote(model) || this.player.path.note;
    if (this.foldNote.textContent !== note) this.foldNote.textContent = this.foldNote.title = note;
    this.updateIndices();
  }

  // ---- Iterations.

  /**
   * Give the sliders to the loops of another template.
   * @param {number} template
   */
  showLoopsOf(template) {
    this.template = template;
    this.drawSliders();
  }

  drawSliders() {
    const { data } = this.player.model;
    const key = `${this.template} of ${data.report}`;
    if (key === this.sliderKey) return;
    this.sliderKey = key;
    const { block, loops } = data.templates[this.template] ?? { block: "", loops: [] };
    this.sliders = loops.map(({ name, extent }) => ({
      slider: h("input", {
        type: "range",
        min: 0,
        max: extent - 1,
        value: "0",
        "aria-label": `${name} of ${block}`,
        "data-loop": name,
        oninput: () => this.choose(),
      }),
      output: h("output"),
      extent,
    }));
    this.core = data.chip?.numbers ? this.coreSlider(data.chip) : null;
    this.indices.replaceChildren(
      ...(this.core ? [this.core.label] : []),
      ...this.sliders.map(({ slider, output, extent }, n) =>
        h(
          "label",
          { hidden: extent < 2, title: `Iteration of ${loops[n].name}` },
          h("span", {}, loops[n].name),
          slider,
          output,
        ),
      ),
    );
    this.updateIndices();
  }

  /**
   * The slider of the core whose tasks are shown.
   * @param {ChipCores} chip
   */
  coreSlider({ level, cores }) {
    const output = h("output");
    /** @type {HTMLInputElement} */
    const slider = h("input", {
      type: "range",
      min: 0,
      max: cores - 1,
      value: "0",
      "aria-label": `Shown ${level}`,
      "data-loop": level,
      oninput: () => this.player.showCore(Number(slider.value)),
    });
    const title = `The ${level} whose blocks are shown. All run the same tasks, some cycles apart`;
    return { slider, output, cores, label: h("label", { title }, h("span", {}, level), slider, output) };
  }

  /** Move the playhead to the iterations that the sliders show. */
  choose() {
    this.isChoosing = true;
    this.player.find(
      this.template,
      this.sliders.map(({ slider }) => Number(slider.value)),
    );
    this.updateIndices();
  }

  /** The sliders follow the playhead. */
  updateIndices() {
    if (this.core) {
      this.core.slider.value = String(this.player.model.core);
      this.core.output.textContent = `${this.core.slider.value} of ${this.core.cores}`;
    }
    const task = this.sliders.length && !this.isChoosing ? this.player.model.latestTask(this.template) : null;
    this.sliders.forEach(({ slider, output, extent }, n) => {
      if (task) slider.value = String(task.place[n]);
      output.textContent = `${slider.value} of ${extent}`;
    });
  }

  // ---- Playing.

  toggle() {
    if (this.playing) this.stop();
    else this.start();
  }

  start() {
    const { model } = this.player;
    if (!model.data.cycles) return;
    if (model.cycle >= model.data.cycles - 1) this.player.seek(0);
    this.playing = true;
    this.last = performance.now();
    this.drawButton();
    requestAnimationFrame((now) => this.frame(now));
  }

  stop() {
    if (!this.playing) return;
    this.playing = false;
    this.drawButton();
  }

  drawButton() {
    const label = this.playing ? "Pause" : "Play";
    this.play.replaceChildren(lineIcon(this.playing ? SHAPES.pause : SHAPES.play));
    this.play.setAttribute("aria-label", label);
    this.play.title = `${label} (Space)`;
  }

  /** @param {number} now */
  frame(now) {
    if (!this.playing) return;
    const { model } = this.player;
    const isReduced = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const passed = Math.min(now - this.last, MAX_FRAME_MS);
    if (!isReduced || passed >= REDUCED_MOTION_MS) {
      this.last = now;
      const by = (model.span * this.speed * passed) / (1000 * SECONDS);
      const cycle = model.toReal(model.toDrawn(model.cycle) + by);
      this.player.seek(cycle, { follow: true });
      if (cycle >= model.data.cycles - 1) return this.stop();
    }
    requestAnimationFrame((later) => this.frame(later));
  }

  /** @param {1 | -1} direction */
  changeSpeed(direction) {
    const at = Math.min(Math.max(0, SPEEDS.indexOf(this.speed) + direction), SPEEDS.length - 1);
    this.speed = SPEEDS[at];
    this.speeds.value = String(this.speed);
  }
}

/**
 * The template with the most loops; of equal ones the first that computes.
 * @param {TimelineData} data
 */
function mainTemplate({ templates, engines }) {
  const rank = templates.map(({ loops, lane }) => 2 * loops.length + (engines[lane].kind === "dma" ? 0 : 1));
  return Math.max(0, rank.indexOf(Math.max(...rank)));
}
