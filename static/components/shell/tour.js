// The guided tour: a box beside real places of the page, which asks to do something and notices when it was done. What the steps are, and what
// was done, comes from the server (app/views/shell/tour.py); where one is in it is known here only, and forgotten with the page.

import { h } from "../core/dom.js";
import { withCode } from "../core/primitive_card.js";

const AWAY = 14;
const TICK = 200;

/** The first element that `selector` ("#area inner") means, through shadow roots. */
function placeOnPage(selector) {
  const [area, ...inner] = selector.split(" ");
  const root = document.querySelector(area);
  return root && inner.length ? insideOf(root, inner.join(" ")) : root;
}

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
  /** `mayLeave`: whether the notebook that is open may be left. */
  constructor(model, host, mayLeave) {
    this.model = model;
    this.mayLeave = mayLeave;
    this.value = null;
    this.at = null;
    this.noticed = new Set();
    this.rings = h("div", { class: "tour-rings", "aria-hidden": "true" });
    this.box = h("div", { class: "tour", role: "dialog", tabindex: -1, "aria-labelledby": "tour-title", hidden: true });
    this.said = h("div", { class: "tw-hidden", role: "status" });
    host.append(this.rings, this.box, this.said);
    this.box.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("keydown", (event) => this.anywhere(event));
    // What is dragged must be able to go below the box.
    window.addEventListener(
      "pointerdown",
      (event) => this.box.classList.toggle("is-away", !event.composedPath().includes(this.box)),
      true,
    );
    for (const name of ["pointerup", "pointercancel"])
      window.addEventListener(name, () => this.box.classList.remove("is-away"), true);
    for (const name of ["pointermove", "focusin"]) document.addEventListener(name, (event) => this.notice(event), true);
  }

  /** Start it, or start it again; its notebook is opened where another one is. */
  start() {
    if (!this.value && !this.mayLeave()) return;
    this.wanted = true;
    this.model.send_msg({ kind: "go", path: "/example/tour" });
  }

  /** A new value: the steps as they are now, or null where another notebook is open. */
  draw(value) {
    const was = this.current?.done;
    this.value = value;
    if (!value) return this.end();
    if (this.wanted) {
      this.wanted = false;
      this.noticed.clear();
      return this.go(0);
    }
    if (this.at === null) return;
    this.show();
    if (!was && this.current.done) this.told();
  }

  get current() {
    return this.value?.steps[this.at];
  }

  get done() {
    return this.current.done || (this.current.notice && this.noticed.has(this.at));
  }

  go(at) {
    this.at = at;
    this.show();
    this.place();
    clearInterval(this.timer);
    this.timer = setInterval(() => this.place(), TICK);
    this.box.focus({ preventScroll: true });
    placeOnPage(this.current.anchors[0])?.scrollIntoView({ block: "nearest" });
  }

  end() {
    if (this.at === null) return;
    clearInterval(this.timer);
    this.at = null;
    this.box.hidden = true;
    this.rings.replaceChildren();
  }

  /** Esc ends it where the box has the focus; elsewhere it has other meanings. */
  key(event) {
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    this.end();
  }

  anywhere(event) {
    if (this.at === null || !event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.code === "KeyN") this.next();
    else if (event.code === "KeyB" && this.at > 0) this.go(this.at - 1);
    else return;
    event.preventDefault();
  }

  next() {
    if (this.at < this.value.steps.length - 1) this.go(this.at + 1);
    else this.end();
  }

  /** What only the browser sees: the timeline was looked at. */
  notice(event) {
    if (this.at === null || this.current.notice !== "timeline" || this.noticed.has(this.at)) return;
    if (!document.getElementById("area-timeline")?.contains(event.target)) return;
    this.noticed.add(this.at);
    this.show();
    this.told();
  }

  told() {
    this.said.textContent = `Done. ${this.current.told.replaceAll("`", "")} Alt+N for the next step.`;
  }

  show() {
    const { value, at, current } = this;
    const last = at === value.steps.length - 1;
    const open = Boolean(current.task) && !this.done;
    const inside = this.box.contains(this.box.getRootNode().activeElement)
      ? (this.box.getRootNode().activeElement.dataset.part ?? "box")
      : null;
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
      current.told ? h("p", { class: "tour-told" }, withCode(current.told)) : "",
      h(
        "div",
        { class: "tour-buttons" },
        at > 0 ? button("back", "Back", () => this.go(at - 1)) : null,
        open && current.calls.length
          ? button("do", "Do it for me", () => this.model.send_msg({ kind: "fix", calls: current.calls }))
          : null,
        open ? button("there", "Go there", () => this.focusAnchor()) : null,
        h("span", { class: "tour-space" }),
        last
          ? button("example", "The whole example", () => this.model.send_msg({ kind: "open", name: value.example }))
          : null,
        button("next", last ? "Finish" : open ? "Skip" : "Next", () => this.next(), open ? "framed" : "primary"),
      ),
    );
    if (inside)
      (
        this.box.querySelector(`[data-part="${inside}"]`) ??
        (inside === "box" ? this.box : this.box.querySelector('[data-part="next"]'))
      ).focus({ preventScroll: true });
    this.place();
  }

  focusAnchor() {
    const place = placeOnPage(this.current.anchors[0]);
    const inner = place?.matches("[tabindex], button")
      ? place
      : place && insideOf(place, "[tabindex='0'], button, canvas");
    (inner ?? place)?.focus();
  }

  /** Rings around the anchors, the box beside them: they may have moved. */
  place() {
    if (this.at === null) return;
    const rects = this.current.anchors.map((anchor) => visibleRect(placeOnPage(anchor))).filter(Boolean);
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
    const [left, top] = boxPlace(rects, this.box.offsetWidth, this.box.offsetHeight);
    this.box.style.left = `${Math.round(left)}px`;
    this.box.style.top = `${Math.round(top)}px`;
  }
}

/** The part of an element that is on the page and in its scrolled area. */
function visibleRect(element) {
  const rect = element?.getBoundingClientRect();
  if (!rect?.width || !rect.height) return null;
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

/** Where a box covers none of the anchors, the nearest to them; else in the corner. */
function boxPlace(rects, width, height) {
  const corner = [innerWidth - width - AWAY, innerHeight - height - AWAY];
  if (!rects.length) return corner;
  const all = {
    left: Math.min(...rects.map((r) => r.left)),
    top: Math.min(...rects.map((r) => r.top)),
    right: Math.max(...rects.map((r) => r.right)),
    bottom: Math.max(...rects.map((r) => r.bottom)),
  };
  const across = (at, size, room) => Math.max(AWAY, Math.min(at, room - size - AWAY));
  const tries = [
    [all.right + AWAY, across(all.top, height, innerHeight)],
    [all.left - AWAY - width, across(all.top, height, innerHeight)],
    [across(all.left, width, innerWidth), all.bottom + AWAY],
    [across(all.left, width, innerWidth), all.top - AWAY - height],
  ];
  const fits = ([x, y]) =>
    x >= AWAY / 2 && y >= AWAY / 2 && x + width <= innerWidth - AWAY / 2 && y + height <= innerHeight - AWAY / 2;
  const free = tries.find(fits);
  if (free) return free;
  const covers = ([x, y]) => rects.some((r) => x < r.right && r.left < x + width && y < r.bottom && r.top < y + height);
  const corners = [corner, [AWAY, corner[1]], [corner[0], AWAY], [AWAY, AWAY]];
  return corners.find((at) => !covers(at)) ?? corner;
}
