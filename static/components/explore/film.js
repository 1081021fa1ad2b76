// The film of a search: its best candidates so far, one after the other, each with what changed against the one before.

import { h, nodes } from "../core/dom.js";
import { plainText } from "../core/hole_text.js";
import { fullAmount } from "./amounts.js";
import { decisionList } from "./deriving.js";
import { framesOf } from "./model.js";
import { changeOf } from "./side.js";

/** @import { Frame, Pane, Row } from "./model.js" */
/** @import { Search } from "../views.js" */

const PLAY_MS = 1200;

export class Film {
  /** @param {Pane} pane */
  constructor(pane) {
    this.pane = pane;
    /** @type {Frame[]} */
    this.frames = [];
    /** @type {Search | null} */
    this.search = null;
    this.at = 0;
    /** @type {ReturnType<typeof setInterval> | undefined} */
    this.playing = undefined;
    this.drawn = "";
    this.position = h("span", { class: "quiet xp-film-at" });
    this.slider = h("input", {
      type: "range",
      min: "1",
      step: "1",
      class: "xp-film-slider",
      "aria-label": "The best so far, from the first to the last",
    });
    this.slider.addEventListener("input", () => this.show(Number(this.slider.value) - 1));
    this.previous = this.button("◂", "The best before this one", () => this.show(this.at - 1));
    this.next = this.button("▸", "The next better one", () => this.show(this.at + 1));
    this.play = this.button("▶", "Play from the first to the last", () => this.toggle());
    this.frame = h("div", { class: "xp-film-frame", "aria-live": "polite" });
    this.element = h(
      "section",
      { class: "xp-film", "aria-label": "Film of the best so far" },
      h("h2", {}, "The best so far", this.position),
      h("div", { class: "xp-film-bar" }, this.previous, this.slider, this.next, this.play),
      this.frame,
    );
  }

  /**
   * @param {string} text
   * @param {string} label
   * @param {() => void} onclick
   */
  button(text, label, onclick) {
    return h("button", { class: "tool small", type: "button", "aria-label": label, title: label, onclick }, text);
  }

  /**
   * Draw the frames of a search. The controls stay in place, so that a drag of the slider goes on while candidates arrive.
   * @param {Search} search
   * @param {Row[]} rows
   */
  draw(search, rows) {
    const isOther = search.key !== this.search?.key;
    this.search = search;
    this.frames = framesOf(search, rows);
    this.element.hidden = !this.frames.length;
    if (isOther) this.stop();
    const selected = this.frames.findIndex((frame) => frame.row.number === search.card?.trial);
    if (this.playing === undefined || isOther) this.at = selected < 0 ? this.frames.length - 1 : selected;
    this.drawFrame();
  }

  /**
   * Select a frame, as a press on its mark does.
   * @param {number} index
   */
  show(index) {
    const frame = this.frames[index];
    if (!frame) return;
    this.at = index;
    this.drawFrame();
    this.pane.choose(frame.row);
  }

  toggle() {
    if (this.playing !== undefined) return this.stop();
    this.show(this.at < this.frames.length - 1 ? this.at : 0);
    this.playing = setInterval(() => {
      if (!this.element.isConnected || this.at >= this.frames.length - 1) this.stop();
      else this.show(this.at + 1);
    }, PLAY_MS);
    return this.drawFrame();
  }

  stop() {
    clearInterval(this.playing);
    this.playing = undefined;
    this.drawFrame();
  }

  drawFrame() {
    const { search, frames, at } = this;
    const frame = frames[at];
    if (!search || !frame) return;
    const isPlaying = this.playing !== undefined;
    this.position.textContent = ` ${at + 1} of ${frames.length}`;
    this.slider.max = String(frames.length);
    this.slider.value = String(at + 1);
    this.slider.disabled = frames.length < 2;
    this.slider.setAttribute("aria-valuetext", `${at + 1} of ${frames.length}, candidate ${frame.row.number}`);
    this.previous.disabled = at === 0;
    this.next.disabled = at >= frames.length - 1;
    this.play.disabled = frames.length < 2;
    this.play.textContent = isPlaying ? "❚❚" : "▶";
    const label = isPlaying ? "Pause" : "Play from the first to the last";
    this.play.title = label;
    this.play.setAttribute("aria-label", label);
    const key = JSON.stringify([search.key, frame.row.number, frame.before?.number, frame.index]);
    if (key === this.drawn) return;
    this.drawn = key;
    this.frame.replaceChildren(...nodes(frameParts(search, frame)));
  }
}

/**
 * The figure and the time of a frame, and the choices that differ from the frame before.
 * @param {Search} search
 * @param {Frame} frame
 */
function frameParts(search, { row, before, index, changes }) {
  const figure = search.figures[index];
  const time = row.seconds ? ` after ${row.seconds.toFixed(1)} s` : "";
  return [
    h(
      "p",
      {},
      h("b", {}, `${figure.label} ${fullAmount(figure.unit, row.figures[index])}`),
      before ? [" ", changeOf(before.figures[index], row.figures[index])] : null,
      h("span", { class: "quiet" }, ` candidate ${row.number}${time}`),
    ),
    before
      ? h(
          "ul",
          { class: "xp-film-changes", "aria-label": "What changed against the one before" },
          changes.map(({ name, from, to, rule }) =>
            h(
              "li",
              {},
              h("span", {}, name),
              h("code", {}, plainText(from)),
              h("span", { "aria-label": "to" }, "→"),
              h("code", { class: "is-new" }, plainText(to)),
              rule ? h("small", { class: "quiet" }, rule) : null,
            ),
          ),
        )
      : [
          h(
            "p",
            { class: "quiet" },
            search.decisions.length ? "The derived schedule:" : "The first candidate that fits.",
          ),
          search.decisions.length ? decisionList(search.decisions, "What the schedule does") : null,
          search.left_out.length ? ["Left out:", decisionList(search.left_out, "What was left out")] : null,
        ],
  ];
}
