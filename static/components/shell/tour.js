// The guided tour: a box beside elements of the page with a task and its completion. The server has the steps and their completion
// (app/views/shell/tour.py); the current step is a state of this page.

import { focusIn, h } from "../core/dom.js";
import { withCode } from "../core/primitive_card.js";
import { boxPlace } from "./tour_place.js";

/** @import { PayloadModel, Rect } from "../core/dom.js" */
/** @import { Tour as TourData, TourStep as Step } from "../views.js" */

const TICK = 200; // ms between two placements

/**
 * The first element of a selector ("#area inner"), through shadow roots.
 * @param {string} selector
 * @returns {Element | null}
 */
function placeOnPage(selector) {
  const [area, ...inner] = selector.split(" ");
  const root = document.querySelector(area);
  return root && inner.length ? insideOf(root, inner.join(" ")) : root;
}

/**
 * @param {Element | ShadowRoot} root
 * @param {string} selector
 * @returns {Element | null}
 */
function insideOf(root, selector) {
  const found = root.querySelector(selector);
  if (found) return found;
  for (const element of root.querySelectorAll("*")) {
    const deeper = element.shadowRoot && insideOf(element.shadowRoot, selector);
    if (deeper) return deeper;
  }
  return null;
}

export class Tour {
  /**
   * @param {PayloadModel} model
   * @param {Element} host
   * @param {() => boolean} mayLeave Whether the page may leave the open notebook.
   */
  constructor(model, host, mayLeave) {
    this.model = model;
    this.mayLeave = mayLeave;
    /** @type {TourData | null} */
    this.value = null;
    /** @type {number | null} The current step. */
    this.at = null;
    /** @type {Set<number>} Steps whose task the browser saw. */
    this.noticed = new Set();
    this.wanted = "";
    this.placed = "";
    /** @type {number | undefined} */
    this.timer = undefined;
    this.rings = h("div", { class: "tour-rings", "aria-hidden": "true" });
    this.box = h("div", { class: "tour", role: "dialog", tabindex: -1, "aria-labelledby": "tour-title", hidden: true });
    this.status = h("div", { class: "tw-hidden", role: "status" });
    host.append(this.rings, this.box, this.status);
    this.box.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("resize", () => this.place());
    window.addEventListener("keydown", (event) => this.pageKey(event));
    // A drag must be able to pass below the box.
    window.addEventListener(
      "pointerdown",
      (event) => this.box.classList.toggle("is-away", !event.composedPath().includes(this.box)),
      true,
    );
    for (const name of ["pointerup", "pointercancel"])
      window.addEventListener(name, () => this.box.classList.remove("is-away"), true);
    for (const name of ["pointermove", "focusin"]) document.addEventListener(name, (event) => this.notice(event), true);
  }

  /**
   * Start a tour at its first step, in its notebook.
   * @param {string} name
   */
  start(name) {
    if (!this.value && !this.mayLeave()) return;
    this.wanted = name;
    this.model.send_msg({ kind: "go", path: `/example/${name}` });
  }

  /**
   * Show the present steps; null if another notebook is open.
   * @param {TourData | null} value
   */
  draw(value) {
    const was = this.current?.done;
    this.value = value;
    if (!value) return this.end();
    if (this.wanted === value.name) {
      this.wanted = "";
      this.noticed.clear();
      return this.go(0);
    }
    if (this.at === null) return;
    this.show();
    if (!was && this.current?.done) this.announce();
  }

  get current() {
    return this.at === null ? undefined : this.value?.steps[this.at];
  }

  get done() {
    return this.current?.done || (Boolean(this.current?.notice) && this.noticed.has(this.at ?? -1));
  }

  /** @param {number} at */
  go(at) {
    this.at = at;
    this.show();
    this.place();
    clearInterval(this.timer);
    this.timer = window.setInterval(() => this.place(), TICK);
    this.box.focus({ preventScroll: true });
    placeOnPage(this.current?.anchors[0] ?? "body")?.scrollIntoView({ block: "nearest" });
  }

  end() {
    if (this.at === null) return;
    clearInterval(this.timer);
    this.at = null;
    this.box.hidden = true;
    this.rings.replaceChildren();
  }

  /**
   * Escape ends the tour while the box has the focus.
   * @param {KeyboardEvent} event
   */
  key(event) {
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    this.end();
  }

  /** @param {KeyboardEvent} event */
  pageKey(event) {
    if (this.at === null || !event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.code === "KeyN") this.next();
    else if (event.code === "KeyB" && this.at > 0) this.go(this.at - 1);
    else return;
    event.preventDefault();
  }

  next() {
    if (this.at === null || !this.value) return;
    if (this.at < this.value.steps.length - 1) this.go(this.at + 1);
    else this.end();
  }

  /**
   * Complete a task that only the browser sees: a visit to the timeline.
   * @param {Event} event
   */
  notice(event) {
    if (this.at === null || this.current?.notice !== "timeline" || this.noticed.has(this.at)) return;
    if (!(event.target instanceof Node && document.getElementById("area-timeline")?.contains(event.target))) return;
    this.noticed.add(this.at);
    this.show();
    this.announce();
  }

  announce() {
    this.status.textContent = `Done. ${this.current?.result.replaceAll("`", "")} Alt+N for the next step.`;
  }

  show() {
    const { value, at, current } = this;
    if (!value || at === null || !current) return;
    const last = at === value.steps.length - 1;
    const open = Boolean(current.task) && !this.done;
    const focused = focusIn(this.box);
    const inside = focused && this.box.contains(focused) ? (focused.dataset.part ?? "box") : null;
    /**
     * @param {string} part
     * @param {string} label
     * @param {() => void} run
     */
    const button = (part, label, run, kind = "framed") =>
      h("button", { class: `tool ${kind}`, type: "button", "data-part": part, onclick: run }, label);
    this.box.hidden = false;
    this.box.replaceChildren(
      h(
        "div",
        { class: "tour-head" },
        h("span", { class: "quiet" }, `Step ${at + 1} of ${value.steps.length}`),
        h(
          "button",
          {
            class: "tool small",
            type: "button",
            "data-part": "end",
            "aria-label": "End the tour",
            title: "End the tour (Esc)",
            onclick: () => this.end(),
          },
          "✕",
        ),
      ),
      h("h2", { id: "tour-title" }, current.title),
      h("p", {}, withCode(current.text)),
      current.task
        ? h(
            "div",
            { class: open ? "tour-task" : "tour-task is-done" },
            h("span", { class: "tour-sign", "aria-hidden": "true" }, open ? "☞" : "✔"),
            h(
              "div",
              {},
              h("p", {}, open ? null : h("b", {}, "Done. "), withCode(current.task)),
              open && current.keys ? h("p", { class: "quiet" }, withCode(current.keys)) : null,
            ),
          )
        : "",
      current.result ? h("p", { class: "tour-result" }, withCode(current.result)) : "",
      h(
        "div",
        { class: "tour-buttons" },
        at > 0 ? button("back", "Back", () => this.go(at - 1)) : null,
        open && (current.calls.length || current.edit) ? button("do", "Do it for me", () => this.do(current)) : null,
        open ? button("there", "Go there", () => this.focusAnchor()) : null,
        h("span", { class: "tour-space" }),
        last
          ? button("example", "The whole example", () => this.model.send_msg({ kind: "open", name: value.example }))
          : null,
        button("next", last ? "Finish" : open ? "Skip" : "Next", () => this.next(), open ? "framed" : "primary"),
      ),
    );
    if (inside) {
      const again = this.box.querySelector(`[data-part="${inside}"]`) ?? this.box.querySelector('[data-part="next"]');
      const target = inside === "box" ? this.box : again;
      if (target instanceof HTMLElement) target.focus({ preventScroll: true });
    }
    this.place();
  }

  /** @param {Step} step */
  do({ edit, calls }) {
    this.model.send_msg(edit ? { kind: "call", ...edit } : { kind: "fix", calls });
  }

  focusAnchor() {
    const place = placeOnPage(this.current?.anchors[0] ?? "body");
    const inner = place?.matches("[tabindex], button")
      ? place
      : place && insideOf(place, "[tabindex='0'], button, canvas");
    const target = inner ?? place;
    if (target instanceof HTMLElement) target.focus();
  }

  /** Place rings around the anchors and the box beside them; anchors move. */
  place() {
    if (!this.current) return;
    const rects = this.current.anchors.flatMap((anchor) => visibleRect(placeOnPage(anchor)) ?? []);
    const key = JSON.stringify([this.at, rects, innerWidth, innerHeight, this.box.offsetHeight]);
    if (key === this.placed) return;
    this.placed = key;
    this.rings.replaceChildren(
      ...rects.map((r, n) =>
        h("div", {
          class: n ? "tour-ring is-goal" : "tour-ring",
          style: `left:${r.left - 3}px;top:${r.top - 3}px;width:${r.right - r.left + 6}px;height:${r.bottom - r.top + 6}px`,
        }),
      ),
    );
    const [left, top] = boxPlace(rects, this.box.offsetWidth, this.box.offsetHeight, innerWidth, innerHeight);
    this.box.style.left = `${Math.round(left)}px`;
    this.box.style.top = `${Math.round(top)}px`;
  }
}

/**
 * The visible part of an element in its scrolled area.
 * @param {Element | null} element
 * @returns {Rect | null}
 */
function visibleRect(element) {
  const rect = element?.getBoundingClientRect();
  if (!element || !rect?.width || !rect.height) return null;
  const area = element.closest(".list")?.getBoundingClientRect() ?? {
    left: 0,
    top: 0,
    right: innerWidth,
    bottom: innerHeight,
  };
  const cut = {
    left: Math.max(rect.left, area.left, 0),
    top: Math.max(rect.top, area.top, 0),
    right: Math.min(rect.right, area.right, innerWidth),
    bottom: Math.min(rect.bottom, area.bottom, innerHeight),
  };
  return cut.right > cut.left && cut.bottom > cut.top ? cut : null;
}
