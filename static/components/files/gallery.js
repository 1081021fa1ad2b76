// The start screen: a field for a program, drafts, recent files, and worked examples with a search by word and kind.

import { publish } from "../core/bus.js";
import { promptName } from "../core/name_prompt.js";
import { follow, h, icon } from "../core/dom.js";
import { Popup } from "../core/popup.js";
import { keep, kept } from "../core/storage.js";
import { patchChildren } from "../core/patch.js";
import { helpButton, themeButton } from "../shell/bar_parts.js";
import { ago } from "./ago.js";
import { closedFile } from "./closed_file.js";
import { Drafts } from "./drafts.js";
import { OwnProgram } from "./own_program.js";
import { thumbnail } from "./thumbnail.js";
import { isModel } from "./upload.js";

/** @import { ExampleCard as Card, Gallery as GalleryData } from "../views.js" */
/** @import { PayloadModel } from "../core/dom.js" */

const FORUM = "forum";
const PLACE_KEY = "tilewright-gallery";

/**
 * @param {PayloadModel} model
 * @param {Card} example
 * @param {boolean} [featured]
 */
function card(model, example, featured) {
  const id = `card-${example.name.replace(/\W/g, "-")}`;
  return h(
    "button",
    {
      class: `card${featured ? " is-featured" : ""}`,
      type: "button",
      "data-example": example.name,
      "aria-labelledby": `${id}-title`,
      "aria-describedby": `${id}-about`,
      onclick: () => model.send_msg({ kind: "open", name: example.name }),
    },
    thumbnail(example.thumbnail, featured ? 208 : undefined),
    h(
      "span",
      { class: "card-words" },
      h("span", { class: "card-title", id: `${id}-title` }, example.title),
      h(
        "span",
        { class: "card-about", id: `${id}-about` },
        example.question
          ? h(
              "span",
              { class: "card-question" },
              h("q", {}, example.question),
              example.discussion ? h("cite", {}, example.discussion) : null,
            )
          : null,
        h("span", { class: "card-sentence" }, example.sentence),
        h(
          "span",
          { class: "card-facts" },
          example.figures.map((text) => h("b", {}, text)),
          example.facts.map((text) => h("span", {}, text)),
        ),
      ),
    ),
  );
}

/**
 * A file of the user: a line with a small picture.
 * @param {PayloadModel} model
 * @param {Card} example
 */
function fileRow(model, example) {
  if (example.obstacle) return h("li", {}, closedFile(example));
  return h(
    "li",
    {},
    h(
      "button",
      {
        class: "file card",
        type: "button",
        "data-example": example.name,
        onclick: () => model.send_msg({ kind: "open", name: example.name }),
      },
      thumbnail(example.thumbnail),
      h(
        "span",
        { class: "card-words" },
        h("span", { class: "card-title" }, example.title),
        h(
          "span",
          { class: "quiet" },
          [
            example.name,
            ago(example.changed ?? 0),
            ...example.figures,
            ...(example.model ? example.facts : []),
            isModel(example.name) ? example.sentence : null,
          ]
            .filter(Boolean)
            .join(" · "),
        ),
      ),
    ),
  );
}

/**
 * The button that creates a notebook in the folder; it asks for a name.
 * @param {PayloadModel} model
 * @param {Popup} popup
 */
function newButton(model, popup) {
  const done = (/** @type {string} */ name) => model.send_msg({ kind: "new_file", name });
  /** @type {HTMLButtonElement} */
  const button = h(
    "button",
    { class: "tool framed", type: "button", onclick: () => ask() },
    icon("add"),
    "New notebook…",
  );
  const ask = () => promptName(popup, button, { title: "New notebook", value: "notebook.py", action: "Create" }, done);
  return button;
}

/** The search field and the kinds that filter the cards. */
class Finder {
  /** @param {() => void} changed */
  constructor(changed) {
    this.kind = "";
    this.changed = changed;
    this.field = h("input", {
      class: "find",
      type: "search",
      placeholder: "Find an example",
      "aria-label": "Find an example: a word, a call, a machine",
      autocomplete: "off",
      oninput: changed,
    });
    this.kinds = h("div", { class: "kinds", role: "group", "aria-label": "Kinds of examples" });
    this.found = h("span", { class: "quiet found", role: "status" });
    this.element = h("div", { class: "finder" }, this.field, this.kinds, this.found);
    this.field.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.field.value) this.clear();
    });
  }

  /**
   * Show all kinds: the forum's, and one per machine.
   * @param {Card[]} examples
   */
  offer(examples) {
    const machines = [...new Set(examples.map((e) => e.machine).filter(Boolean))];
    const entries = [["", "All"], [FORUM, "From the forum"], ...machines.map((name) => [name, name])];
    patchChildren(
      this.kinds,
      ...entries.map(([kind, label]) =>
        h(
          "button",
          {
            class: "kind",
            type: "button",
            "aria-pressed": String(kind === this.kind),
            onclick: () => this.choose(kind, examples),
          },
          label,
        ),
      ),
    );
  }

  /**
   * @param {string} kind
   * @param {Card[]} examples
   */
  choose(kind, examples) {
    this.kind = kind;
    this.offer(examples);
    this.changed();
  }

  clear() {
    this.field.value = "";
    this.changed();
  }

  get query() {
    return { text: this.field.value, kind: this.kind };
  }

  /** @param {{ text: string, kind: string }} query */
  restore({ text, kind }) {
    this.field.value = text;
    this.kind = kind;
  }

  get active() {
    return Boolean(this.kind || this.field.value.trim());
  }

  /**
   * Whether an example has every word and the kind.
   * @param {Card} example
   */
  fits(example) {
    const words = this.field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const kind = !this.kind || (this.kind === FORUM ? example.question : example.machine === this.kind);
    return kind && words.every((word) => example.words.includes(word));
  }

  /**
   * @param {number} count
   * @param {number} all
   */
  showCount(count, all) {
    this.found.textContent = this.active ? `${count} of ${all}` : "";
  }
}

/**
 * Keep the search and the scroll position in the tab, and return to them whenever the gallery is shown. Returns a function that records the
 * search.
 * @param {HTMLElement} view
 * @param {Finder} finder
 */
function keepPlace(view, finder) {
  const place = kept("sessionStorage", PLACE_KEY) ?? { ...finder.query, top: 0 };
  finder.restore(place);
  const narrow = matchMedia("(max-width: 980px), (max-height: 520px)"); // the page scrolls, as in the style sheet
  const scroller = () => (narrow.matches ? document.documentElement : view);
  let isShown = false;
  const record = () => {
    if (!isShown) return;
    Object.assign(place, finder.query, { top: scroller().scrollTop });
    keep("sessionStorage", PLACE_KEY, place);
  };
  new ResizeObserver(() => {
    const shows = view.clientHeight > 0;
    if (shows && !isShown) scroller().scrollTop = place.top;
    isShown = shows;
  }).observe(view);
  view.addEventListener("scroll", record, { passive: true });
  window.addEventListener("scroll", record, { passive: true });
  return record;
}

/** @param {{ model: PayloadModel }} options */
export function render({ model }) {
  const view = h("main", { class: "gallery" });
  const own = new OwnProgram(model, view);
  const first = h("div", { class: "first" });
  const cards = h("div", { class: "cards" });
  const files = h("section", { class: "files", "aria-labelledby": "files-title" });
  const pageTools = h("span", { class: "page-tools" });
  const none = h("p", { class: "quiet none" }, "No example matches.");
  const popup = new Popup(view, "file-ask");
  const drafts = new Drafts(model, popup);
  /** @type {Card[]} */
  let shown = [];
  const narrow = () => {
    const found = shown.filter((example) => finder.fits(example));
    const featured = !finder.active && found.length > 0;
    first.replaceChildren(...(featured ? [card(model, found[0], true)] : []));
    view.classList.toggle("is-finding", finder.active);
    cards.replaceChildren(
      ...(featured ? found.slice(1) : found).map((example) => card(model, example)),
      ...(found.length ? [] : [none]),
    );
    finder.showCount(found.length, shown.length);
  };
  const finder = new Finder(() => {
    narrow();
    recordPlace();
  });
  view.append(
    h(
      "div",
      { class: "gallery-head" },
      h(
        "div",
        {},
        h("h1", {}, "Tilewright"),
        h("p", {}, "Drag a block onto a loop. See what memory and time do. Take the code to TVM."),
      ),
      h(
        "div",
        { class: "gallery-tools" },
        h(
          "button",
          { class: "tool framed tour-button", type: "button", onclick: () => publish("tour", "tour") },
          "Guided tour, 2 minutes",
        ),
        h(
          "button",
          { class: "tool framed tour-button", type: "button", onclick: () => publish("tour", "tile_tour") },
          "TileLang tour",
        ),
        pageTools,
      ),
    ),
    h("div", { class: "begin" }, first, own.part),
    drafts.element,
    files,
    h(
      "section",
      { class: "worked", "aria-labelledby": "worked-title" },
      h("div", { class: "worked-head" }, h("h2", { id: "worked-title" }, "Worked examples"), finder.element),
      cards,
    ),
  );
  const recordPlace = keepPlace(view, finder);
  follow(model, (/** @type {GalleryData} */ data) => {
    const mine = data.examples.filter((example) => example.changed !== null);
    shown = data.examples.filter((example) => example.changed === null);
    finder.offer(shown);
    narrow();
    drafts.draw(data.drafts, data.more_drafts);
    files.hidden = !data.folder;
    files.replaceChildren(
      h(
        "div",
        { class: "files-head" },
        h("h2", { id: "files-title" }, `Recent files in ${data.folder}`),
        data.can_make ? newButton(model, popup) : null,
      ),
      mine.length
        ? h(
            "ul",
            {},
            mine.map((example) => fileRow(model, example)),
          )
        : h(
            "p",
            { class: "quiet" },
            "This folder is empty. It will list notebooks and programs (.py files with TVMScript or TE) and models (.onnx, .pt2), the most recently changed first. Open an example below, or paste a program above.",
          ),
    );
    patchChildren(pageTools, helpButton(), themeButton(data.theme));
    own.draw(data.problem, data.templates);
  });
  return view;
}
