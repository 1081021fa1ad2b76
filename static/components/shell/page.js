// What belongs to the page as a whole: which screen shows, the theme, the tabs, the notice of a refusal, keys, downloads.

import { followAddress } from "./address.js";
import { h, icon, follow } from "../core/dom.js";
import { Doing } from "./running_jobs.js";
import { Decision } from "../files/files.js";
import { Help } from "./help.js";
import { copyLink, followLinks } from "./links.js";
import { watchConnection } from "./connection.js";
import { splitters, unfold } from "./splitters.js";
import { Tour } from "./tour.js";

const TYPING = new Set(["INPUT", "TEXTAREA", "SELECT"]);

/** The element that the keys go to, through shadow roots. */
function focused() {
  let element = document.activeElement;
  while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
  return element;
}

/** A file for the person: its text, or a data: address of what is none. */
function download(name, text) {
  const url = text.startsWith("data:") ? text : URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  URL.revokeObjectURL(url);
}

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

/** The pages of primitives: asked for once, when the first one is wanted. */
function primitivePages(model) {
  let pages = null;
  const waiting = [];
  window.addEventListener("tilewright:explain", ({ detail }) => {
    if (pages) return detail(pages);
    if (!waiting.length) model.send_msg({ kind: "primitives" });
    waiting.push(detail);
  });
  return (found) => {
    pages = found;
    for (const tell of waiting.splice(0)) tell(pages);
  };
}

/** At once, and not when the server has time: its answer says the same. */
function choosePane(pane) {
  document.documentElement.dataset.pane = pane;
  for (const tab of document.querySelectorAll("[data-pane-tab]")) {
    const chosen = tab.dataset.paneTab === pane;
    tab.setAttribute("aria-selected", chosen);
    tab.tabIndex = chosen ? 0 : -1;
  }
}

/** Below the "?" of the screen that is shown. */
function openHelp(event) {
  const button = [...document.querySelectorAll("#screen-gallery, #screen-notebook #area-headline")]
    .map((area) => helpButton(area))
    .find((found) => found?.checkVisibility());
  if (!button) return;
  event.preventDefault();
  window.dispatchEvent(new CustomEvent("tilewright:help", { detail: button }));
}

function helpButton(root) {
  const found = root.querySelector("[data-help]");
  if (found) return found;
  return [...root.querySelectorAll("*")].reduce(
    (inner, element) => inner ?? (element.shadowRoot && helpButton(element.shadowRoot)),
    null,
  );
}

/** Arrows go from tab to tab, as the tab pattern has it. */
function tabKeys(event) {
  const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  const tabs = [...document.querySelectorAll("[data-pane-tab]")];
  const at = tabs.indexOf(event.target);
  if (!by || at < 0) return;
  event.preventDefault();
  const next = tabs[(at + by + tabs.length) % tabs.length];
  next.focus();
  next.click();
}

const PAPER = 690; // pixels between the margins of a sheet

/** The timeline is drawn for its place on the screen: on paper it keeps that width, and is made smaller. */
function measureForPaper() {
  const root = document.documentElement;
  const area = document.getElementById(root.dataset.mode === "compare" ? "area-overlay" : "area-timeline");
  const { width, height } = area.getBoundingClientRect();
  if (!width || matchMedia("print").matches) return;
  root.style.setProperty("--print-width", `${Math.round(width)}px`);
  root.style.setProperty("--print-height", `${Math.round(height)}px`);
  root.style.setProperty("--print-zoom", Math.min(1, PAPER / width).toFixed(3));
}

export function render({ model }) {
  const root = document.documentElement;
  const notices = h("div", { class: "page-notice" });
  const holder = h("div", {}, notices);
  // The tab that was chosen last: until the server says so too, its answers are about the one before.
  let wished = null;
  const wish = (pane) => {
    wished = pane;
    choosePane(pane);
    model.send_msg({ kind: "pane", pane });
  };
  for (const tab of document.querySelectorAll("[data-pane-tab]")) {
    tab.onclick = () => wish(tab.dataset.paneTab);
  }
  document.querySelector(".pane-tabs")?.addEventListener("keydown", tabKeys);
  splitters();
  window.addEventListener("beforeprint", measureForPaper);
  document.addEventListener("keydown", (event) => {
    const saves = (event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "s";
    if (saves && root.dataset.screen === "notebook") {
      event.preventDefault();
      if (event.shiftKey || asksName) window.dispatchEvent(new CustomEvent("tilewright:save-as"));
      else model.send_msg({ kind: "save" });
      return;
    }
    if (TYPING.has(focused()?.tagName) || event.defaultPrevented) return;
    if (event.key === "?" && !event.altKey) return openHelp(event);
    if (!(event.ctrlKey || event.metaKey)) return;
    const key = event.key.toLowerCase();
    const kind = { y: "redo", z: event.shiftKey ? "redo" : "undo" }[key];
    if (!kind || event.defaultPrevented) return;
    event.preventDefault();
    model.send_msg({ kind });
  });
  let unsaved = false;
  let asksName = false;
  const decision = new Decision(model, holder);
  const showAddress = followAddress(model);
  let leaving = false;
  watchConnection(holder, () => {
    leaving = true;
    window.dispatchEvent(new CustomEvent("tilewright:keep-typed"));
  });
  window.addEventListener("beforeunload", (event) => {
    if (leaving) return;
    if (!unsaved && root.dataset.editing === undefined) return;
    event.preventDefault();
    event.returnValue = "";
  });
  const learnt = primitivePages(model);
  const doing = new Doing((message) => model.send_msg(message));
  const mayLeave = () =>
    (!unsaved && root.dataset.editing === undefined) ||
    window.confirm("Leave the notebook? Its changes are not saved.");
  const tour = new Tour(model, holder, mayLeave);
  followLinks(holder, (text) => model.send_msg({ kind: "open_text", text, linked: true }), mayLeave);
  window.addEventListener("tilewright:problem", () => {
    unfold("lower", "panes");
    wish("problems");
  });
  new Help(holder, tour);
  window.addEventListener("tilewright:tour", () => tour.start());
  model.on("msg:custom", (message) => {
    const data = message.data ?? message;
    if (data.kind === "primitives") learnt(data.pages);
    else if (data.kind === "doing") doing.draw(data.doing);
    else if (data.kind === "link") copyLink(holder, data.fragment);
    else download(data.name, data.text);
  });
  let screen = null;
  follow(model, (data) => {
    const said = { theme: data.theme, screen: data.screen, mode: data.comparing ? "compare" : "" };
    // What is said again is heard again: all colours would be read anew.
    for (const [name, value] of Object.entries(said)) if (root.dataset[name] !== value) root.dataset[name] = value;
    if (root.style.colorScheme !== data.theme) root.style.colorScheme = data.theme;
    document.title = data.title;
    showAddress(data.address);
    unsaved = data.unsaved;
    asksName = data.save_as;
    decision.draw(data.question);
    for (const tab of document.querySelectorAll("[data-pane-tab]")) {
      tab.querySelector(".count").textContent =
        tab.dataset.paneTab === "problems" && data.problem_count ? data.problem_count : "";
    }
    if (data.pane === wished) wished = null;
    if (wished === null) choosePane(data.pane);
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
