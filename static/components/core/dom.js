// What the page's views share: elements, icons, following the payload.

import { hear } from "./redraw.js";

/** An element with attributes (`on…` are listeners, `class`, `style`, `data-…`), and children: nodes, text, lists of them. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  const listeners = {};
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) listeners[name.slice(2)] = value;
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  hear(element, listeners);
  element.append(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

const ICON_PATHS = {
  undo: "M9 14 4 9l5-5M4 9h10a6 6 0 0 1 0 12h-3",
  redo: "m15 14 5-5-5-5M20 9H10a6 6 0 0 0 0 12h3",
  export: "M12 3v12m0 0 4-4m-4 4-4-4M4 17v3h16v-3",
  back: "M15 5l-7 7 7 7",
  moon: "M20 14a8 8 0 1 1-9-10 6.500 6.500 0 0 0 9 10z",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2m0 16v2M2 12h2m16 0h2M5 5l1.500 1.500m11 11L19 19M5 19l1.500-1.500m11-11L19 5",
  edit: "M4 20h4L19 9l-4-4L4 16z",
  remove: "M6 6l12 12M18 6 6 18",
  save: "M5 4h11l3 3v13H5zM8 4v5h7V4M8 20v-6h8v6",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  compare: "M4 5h7v14H4zM13 5h7v14h-7zM6 9h3M15 9h3M6 13h3M15 13h3",
  swap: "M7 7h12l-3-3M17 17H5l3 3",
  up: "m6 15 6-6 6 6",
  down: "m6 9 6 6 6-6",
  power: "M12 3v9M6.500 7a8 8 0 1 0 11 0",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  add: "M12 5v14M5 12h14",
  branch: "M6 4v16M6 14c0-4 12-2 12-7M18 4a2 2 0 1 0 0 4 2 2 0 0 0 0-4",
};

/** A line icon in the colour of the text; hidden from screen readers, so its button needs a label. */
export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", ICON_PATHS[name]);
  svg.append(path);
  return svg;
}

/** A pane that has nothing to show yet: what it will show, why it cannot now, the next thing to do. `send` takes the messages of the page. */
export function blankState(send, blank) {
  const write = () => send({ kind: "fix", calls: blank.calls, replaces: "" });
  const toProblems = () => window.dispatchEvent(new CustomEvent("tilewright:problem", { detail: {} }));
  return h(
    "div",
    { class: "blank", role: "status" },
    h("p", { class: "quiet" }, blank.shows),
    h("p", { class: "blank-why" }, h("span", { class: "blank-sign", "aria-hidden": "true" }, "✘ "), blank.why),
    blank.expected ? h("p", { class: "quiet" }, "Expected: ", blank.expected, ".") : null,
    blank.calls.length
      ? h(
          "button",
          {
            class: "tool small framed",
            type: "button",
            onclick: write,
            title: "Writes this line into the notebook; change the numbers there",
          },
          "Write ",
          h("code", {}, blank.calls.join("; ")),
        )
      : document.querySelector('[data-pane-tab="problems"]') &&
          h(
            "button",
            { class: "tool small framed", type: "button", onclick: toProblems },
            "Show the problem and its fixes",
          ),
  );
}

/** The button that the mouse holds down, in whichever component. */
function heldButton(root = document) {
  const active = [...root.querySelectorAll(":active")].at(-1);
  return active?.shadowRoot ? heldButton(active.shadowRoot) : (active?.closest("button, a, summary") ?? null);
}

/** Call `draw(data)` with the payload now and whenever it changes; not below a button that is held down, whose click would be lost. */
export function follow(model, draw) {
  let last = null;
  const update = () => {
    if (model.payload === last) return;
    if (heldButton()) {
      requestAnimationFrame(update);
      return;
    }
    last = model.payload;
    draw(JSON.parse(last));
  };
  model.on("payload", update);
  update();
}

/** The reading position of a scrolled element stays while what is in it is drawn anew. The browser sees to it, unless it looks for an anchor, or
 *  has to lay the page out in between, as it does when what has the focus goes; to ask for the position would lay the page out too. */
export function keepingScroll(element, draw) {
  element.style.overflowAnchor = "none";
  if (!element.contains(element.getRootNode().activeElement)) {
    draw();
    return;
  }
  const { scrollTop, scrollLeft } = element;
  draw();
  element.scrollTop = scrollTop;
  element.scrollLeft = scrollLeft;
}

/** Scroll `box`, and nothing around it, so that `element` is in sight: in the middle where it was not. */
export function bringIntoView(box, element) {
  const [frame, spot] = [box.getBoundingClientRect(), element.getBoundingClientRect()];
  if (spot.top < frame.top || spot.bottom > frame.bottom)
    box.scrollTop += (spot.top + spot.bottom - frame.top - frame.bottom) / 2;
}

/** The text of a file that a person chose. Of what is far too large only so much that the server says so: it would close the page over the rest. */
export function textOf(file) {
  return file.slice(0, 8_000_004).text();
}
