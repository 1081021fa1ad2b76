// The frame of the page: the visible screen, the theme, tabs, notices, keys, downloads.

import { programChoice } from "../files/program_choice.js";
import { publish, subscribe } from "../core/bus.js";
import { followAddress } from "./address.js";
import { areas } from "./areas.js";
import { download, focusedElement, follow, h, icon } from "../core/dom.js";
import { RunningJobs } from "./running_jobs.js";
import { Decision } from "../files/files.js";
import { Help } from "./help.js";
import { copyLink, followLinks } from "./links.js";
import { watchConnection } from "./connection.js";
import { renewKeyOften } from "./key.js";
import { splitters, unfold } from "./splitters.js";
import { followTheme } from "./theme.js";
import { Tour } from "./tour.js";

const TYPING = new Set(["INPUT", "TEXTAREA", "SELECT"]);

/** @import { Events } from "../core/bus.js" */
/** @import { Notice, PageFrame as PageData, ProgramChoice } from "../views.js" */
/** @import { PayloadModel } from "../core/dom.js" */

/** @param {Element | Document} root */
function tabsIn(root = document) {
  return /** @type {HTMLElement[]} */ ([...root.querySelectorAll("[data-pane-tab]")]);
}

/**
 * @param {PayloadModel} model
 * @param {Notice} notice
 */
function noticeBox(model, notice) {
  return h(
    "div",
    { class: "notice", role: "alert" },
    h(
      "div",
      { class: "notice-text" },
      h("b", {}, notice.message),
      notice.found ? h("div", {}, h("span", { class: "quiet" }, "found "), notice.found) : null,
      notice.expected ? h("div", {}, h("span", { class: "quiet" }, "expected "), notice.expected) : null,
      notice.fix.length
        ? h(
            "div",
            {},
            h("span", { class: "quiet" }, "try "),
            notice.fix.map((call) => h("code", {}, call)),
          )
        : null,
      notice.choice
        ? programChoice(notice.choice, (number, values) => {
            const { listed, is_model } = /** @type {ProgramChoice} */ (notice.choice);
            if (listed) model.send_msg({ kind: "open", name: listed, program: number, values });
            else if (is_model) model.send_msg({ kind: "open_as_model", values });
            else model.send_msg({ kind: "open_program", number, values });
          })
        : null,
      notice.code === "file-exists"
        ? h(
            "button",
            {
              class: "tool framed small",
              type: "button",
              onclick: () => model.send_msg({ kind: "save_as", name: notice.found, replacing: true }),
            },
            "Replace it",
          )
        : null,
      h("span", { class: "quiet code" }, [notice.code, notice.place].filter(Boolean).join(" · ")),
    ),
    h(
      "button",
      { class: "tool small", "aria-label": "Close", onclick: () => model.send_msg({ kind: "dismiss" }) },
      icon("remove"),
    ),
  );
}

/**
 * Request pages of the documentation from the server at the first event that asks for them. Returns the function for the answer.
 * @template {"explain" | "guide"} E
 * @param {PayloadModel} model
 * @param {E} event
 * @param {"primitives" | "guide"} kind Of the request.
 * @returns {(pages: Parameters<Events[E]>[0]) => void}
 */
function documentation(model, event, kind) {
  /** @type {Parameters<Events[E]>[0] | null} */
  let pages = null;
  /** @type {Events[E][]} */
  const waiting = [];
  subscribe(event, (found) => {
    if (pages) return found(/** @type {any} */ (pages));
    if (!waiting.length) model.send_msg({ kind });
    waiting.push(found);
  });
  return (found) => {
    pages = found;
    for (const listener of waiting.splice(0)) listener(/** @type {any} */ (pages));
  };
}

/**
 * Show a pane at once; the server confirms it later.
 * @param {string} pane
 */
function choosePane(pane) {
  document.documentElement.dataset.pane = pane;
  for (const tab of tabsIn()) {
    const chosen = tab.dataset.paneTab === pane;
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
  }
}

/**
 * Open the help below the "?" of the visible screen.
 * @param {KeyboardEvent} event
 */
function openHelp(event) {
  const button = [...document.querySelectorAll("#screen-gallery, #screen-model, #screen-notebook #area-headline")]
    .map((area) => helpButton(area))
    .find((found) => found?.checkVisibility());
  if (!(button instanceof HTMLElement)) return;
  event.preventDefault();
  publish("help", button);
}

/**
 * @param {Element | ShadowRoot} root
 * @returns {Element | null}
 */
function helpButton(root) {
  const found = root.querySelector("[data-help]");
  if (found) return found;
  for (const { shadowRoot } of root.querySelectorAll("*")) {
    const inner = shadowRoot && helpButton(shadowRoot);
    if (inner) return inner;
  }
  return null;
}

/**
 * Arrow keys switch between tabs (the ARIA pattern for tabs).
 * @param {KeyboardEvent} event
 */
function tabKeys(event) {
  const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
  const tabs = tabsIn();
  const at = tabs.findIndex((tab) => tab === event.target);
  if (!by || at < 0) return;
  event.preventDefault();
  const next = tabs[(at + by + tabs.length) % tabs.length];
  next.focus();
  next.click();
}

const PAPER = 690; // px between the margins of a sheet

/** Record the size of the timeline on the screen; a print scales it down. */
function measureForPaper() {
  const root = document.documentElement;
  const area = document.getElementById(root.dataset.mode === "compare" ? "area-overlay" : "area-timeline");
  const { width, height } = area?.getBoundingClientRect() ?? new DOMRect();
  if (!width || matchMedia("print").matches) return;
  root.style.setProperty("--print-width", `${Math.round(width)}px`);
  root.style.setProperty("--print-height", `${Math.round(height)}px`);
  root.style.setProperty("--print-zoom", Math.min(1, PAPER / width).toFixed(3));
}

/** @param {{ model: PayloadModel }} options */
export function render({ model }) {
  const root = document.documentElement;
  const notices = h("div", { class: "page-notice" });
  const holder = h("div", {}, notices);
  /** @type {string | null} The selected pane until the server confirms it. */
  let pendingPane = null;
  const requestPane = (/** @type {string} */ pane) => {
    pendingPane = pane;
    choosePane(pane);
    model.send_msg({ kind: "pane", pane });
  };
  for (const tab of tabsIn()) {
    tab.onclick = () => requestPane(tab.dataset.paneTab ?? "");
  }
  const bar = document.querySelector(".pane-tabs");
  if (bar instanceof HTMLElement) bar.addEventListener("keydown", tabKeys);
  splitters();
  areas();
  window.addEventListener("beforeprint", measureForPaper);
  document.addEventListener("keydown", (event) => {
    const saves = (event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "s";
    if (saves && root.dataset.screen === "notebook") {
      event.preventDefault();
      if (event.shiftKey || asksName) publish("save-as");
      else model.send_msg({ kind: "save" });
      return;
    }
    if (TYPING.has(focusedElement()?.tagName ?? "") || event.defaultPrevented) return;
    if (event.key === "?" && !event.altKey) return openHelp(event);
    if (!(event.ctrlKey || event.metaKey)) return;
    const key = event.key.toLowerCase();
    const kind = key === "y" || (key === "z" && event.shiftKey) ? "redo" : key === "z" ? "undo" : null;
    if (!kind || event.defaultPrevented) return;
    event.preventDefault();
    model.send_msg({ kind });
  });
  let unsaved = false;
  let asksName = false;
  const decision = new Decision(model, holder);
  const showAddress = followAddress(model);
  const showTheme = followTheme(model);
  renewKeyOften();
  let leaving = false;
  watchConnection(holder, () => {
    leaving = true;
    publish("keep-typed");
  });
  window.addEventListener("beforeunload", (event) => {
    if (leaving) return;
    if (!unsaved && root.dataset.editing === undefined) return;
    event.preventDefault();
    event.returnValue = "";
  });
  const receivePrimitives = documentation(model, "explain", "primitives");
  const receiveGuide = documentation(model, "guide", "guide");
  const jobs = new RunningJobs((message) => model.send_msg(message));
  const mayLeave = () =>
    (!unsaved && root.dataset.editing === undefined) ||
    window.confirm("Leave the notebook? Its changes are not saved.");
  const tour = new Tour(model, holder, mayLeave);
  followLinks(holder, (text) => model.send_msg({ kind: "open_text", text, linked: true }), mayLeave);
  subscribe("problem", () => {
    unfold("lower", "panes");
    requestPane("problems");
  });
  new Help(holder, tour);
  subscribe("tour", (name) => tour.start(name));
  model.on("msg:custom", (data) => {
    if (data.kind === "primitives") receivePrimitives(data.pages);
    else if (data.kind === "guide") receiveGuide(data.pages);
    else if (data.kind === "doing") jobs.draw(data.doing);
    else if (data.kind === "link") copyLink(holder, data.fragment);
    else if (data.kind === "download") download(data.name, data.text);
  });
  /** @type {string | null} */
  let screen = null;
  follow(model, (/** @type {PageData} */ data) => {
    const attributes = { screen: data.screen, mode: data.comparing ? "compare" : "" };
    for (const [name, value] of Object.entries(attributes))
      if (root.dataset[name] !== value) root.dataset[name] = value;
    showTheme(data.theme);
    document.title = data.title;
    showAddress(data.address);
    unsaved = data.unsaved;
    asksName = data.save_as;
    decision.draw(data.question);
    for (const tab of tabsIn()) {
      const count = tab.querySelector(".count");
      if (count) count.textContent = tab.dataset.paneTab === "problems" ? String(data.problem_count || "") : "";
    }
    if (data.pane === pendingPane) pendingPane = null;
    if (pendingPane === null) choosePane(data.pane);
    notices.replaceChildren(...(data.notice ? [noticeBox(model, data.notice)] : []));
    tour.draw(data.tour);
    const place = `${data.screen} ${data.comparing}`;
    if (screen !== place) {
      screen = place;
      // Bokeh measures its figures when they come into sight.
      requestAnimationFrame(() => window.dispatchEvent(new Event("resize")));
    }
  });
  return holder;
}
