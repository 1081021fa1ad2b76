// Play, pause, speed, steps from task to task, and a slider for each loop around the tasks of one block.

import { h } from "../core/dom.js";
import { grouped } from "./clock.js";

const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4, 8];
const SECONDS = 10;
const CALM_MS = 250;

const SHAPES = {
  play: "M7 5v14l12-7z",
  pause: "M8 5v14M16 5v14",
  before: "M17 6l-8 6 8 6zM6 6v12",
  after: "M7 6l8 6-8 6zM18 6v12",
};

function shape(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", SHAPES[name]);
  svg.append(path);
  return svg;
}

export class Transport {
  /** `host` has model, seek(cycle), step(way), find(template, place), setFolded(flag), fit(), toggleTable(). */
  constructor(host) {
    Object.assign(this, { host, playing: false, speed: 1, lead: 0 });
    const tool = (label, title, onclick, ...children) =>
      h("button", { class: "tool small", type: "button", "aria-label": label, title, onclick }, ...children);
    this.play = tool("Play", "Play (Space)", () => this.toggle(), shape("play"));
    this.speeds = h(
      "select",
      {
        class: "speed",
        "aria-label": "Speed",
        title: `Speed: at 1× what is in sight takes ${SECONDS} seconds ( , and . )`,
      },
      SPEEDS.map((speed) => h("option", { value: String(speed) }, `${speed}×`)),
    );
    this.speeds.value = "1";
    this.speeds.addEventListener("change", () => (this.speed = Number(this.speeds.value)));
    this.clock = h("span", { class: "clock" });
    this.sliders = h("div", { class: "indices", role: "group", "aria-label": "Iterations" });
    this.mode = h(
      "div",
      { class: "mode", role: "group", "aria-label": "What repeats" },
      h(
        "button",
        {
          class: "tool small",
          type: "button",
          "data-mode": "folded",
          title: "What repeats is drawn once (E)",
          onclick: () => host.setFolded(true),
        },
        "Folded",
      ),
      h(
        "button",
        {
          class: "tool small",
          type: "button",
          "data-mode": "clock",
          title: "By the clock: every repeat at its time (E)",
          onclick: () => host.setFolded(false),
        },
        "By the clock",
      ),
    );
    this.element = h(
      "div",
      { class: "transport", role: "toolbar", "aria-label": "Replay" },
      tool("Task before", "To where a task begins or ends before (Shift+Left)", () => host.step(-1), shape("before")),
      this.play,
      tool("Task after", "To where a task begins or ends next (Shift+Right)", () => host.step(1), shape("after")),
      this.speeds,
      this.clock,
      this.sliders,
      this.mode,
    );
  }

  show(data) {
    this.element.hidden = !data.cycles;
    if (!data.cycles) return this.stop();
    this.mode.hidden = !data.repeats.length;
    this.lead = leading(data);
    this.drawSliders();
  }

  /** The sliders of the leading block's loops. */
  drawSliders() {
    const { data } = this.host.model;
    const template = data.templates[this.lead];
    const key = JSON.stringify([data.report, this.lead]);
    if (key === this.sliderKey) return;
    this.sliderKey = key;
    this.inputs = (template?.loops ?? []).map((loop, n) => {
      const input = h("input", {
        type: "range",
        min: 0,
        max: loop.extent - 1,
        value: "0",
        "aria-label": `${loop.name} of ${template.block}`,
        "data-loop": loop.name,
      });
      input.addEventListener("input", () => this.choose(n));
      const said = h("output", {});
      return {
        input,
        said,
        loop,
        element: h(
          "label",
          { hidden: loop.extent < 2, title: `Which iteration of ${loop.name}` },
          h("span", {}, loop.name),
          input,
          said,
        ),
      };
    });
    this.sliders.replaceChildren(...this.inputs.map((one) => one.element));
    this.tellIndices();
  }

  choose(n) {
    const place = this.inputs.map(({ input }) => Number(input.value));
    this.choosing = n;
    this.host.find(this.lead, place);
    this.say();
  }

  say() {
    for (const { input, said, loop } of this.inputs) said.textContent = `${input.value} of ${loop.extent}`;
  }

  /** The sliders follow the playhead, but for the one that is held. */
  tellIndices() {
    const task = this.inputs?.length ? this.host.model.latest(this.lead) : null;
    if (task && this.choosing === undefined) this.inputs.forEach(({ input }, n) => (input.value = task.place[n]));
    this.say();
  }

  follow(number) {
    if (number === this.lead || !this.host.model.data.templates[number]) return;
    this.lead = number;
    this.drawSliders();
  }

  tell() {
    const { model } = this.host;
    this.clock.replaceChildren(h("b", {}, grouped(model.cycle)), ` / ${grouped(model.data.cycles)}`);
    for (const button of this.mode.children)
      button.setAttribute("aria-pressed", String((button.dataset.mode === "folded") === model.folded));
    if (this.inputs) this.tellIndices();
  }

  // ---- Playing.

  toggle() {
    if (this.playing) this.stop();
    else this.start();
  }

  start() {
    const { model } = this.host;
    if (!model.data?.cycles) return;
    if (model.cycle >= model.data.cycles - 1) this.host.seek(0);
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
    this.play.replaceChildren(shape(this.playing ? "pause" : "play"));
    this.play.setAttribute("aria-label", this.playing ? "Pause" : "Play");
    this.play.title = this.playing ? "Pause (Space)" : "Play (Space)";
  }

  frame(now) {
    if (!this.playing) return;
    const { model } = this.host;
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const passed = Math.min(now - this.last, 500);
    if (!calm || passed >= CALM_MS) {
      this.last = now;
      const by = (model.span * this.speed * passed) / (1000 * SECONDS);
      const next = model.drawn(model.cycle) + by;
      const cycle = model.folded ? model.folding.clock(next, model.chosen) : next;
      this.host.seek(cycle, { follow: true });
      if (cycle >= model.data.cycles - 1) return this.stop();
    }
    requestAnimationFrame((later) => this.frame(later));
  }

  slower(way) {
    const at = Math.min(Math.max(0, SPEEDS.indexOf(this.speed) + way), SPEEDS.length - 1);
    this.speed = SPEEDS[at];
    this.speeds.value = String(this.speed);
  }
}

/** The block whose loops the sliders are of: the one with the most loops, of these one that computes. */
function leading(data) {
  const worth = (template) => template.loops.length * 2 + (data.engines[template.lane].kind === "dma" ? 0 : 1);
  return data.templates.reduce((best, template, n) => (worth(template) > worth(data.templates[best]) ? n : best), 0);
}
