// The notebook's file: its status, its menu, and the dialog for a conflict between two texts.

import { publish, subscribe } from "../core/bus.js";
import { promptName } from "../core/name_prompt.js";
import { initialsOf, placeOf } from "../core/readers.js";
import { keep, kept } from "../core/storage.js";
import { follow, h } from "../core/dom.js";
import { Versions } from "./file_versions.js";
import { menuBody } from "../core/menu.js";
import { Popup } from "../core/popup.js";
import { patch } from "../core/patch.js";

/** @import { PayloadModel } from "../core/dom.js" */
/** @import { MenuItem } from "../core/menu.js" */
/** @import { Clash, ConflictQuestion as Question, FileLabel as FileData, FileVersions as VersionsData } from "../views.js" */

/** @typedef {"ours" | "theirs" | "both"} Choice */

const NAME_KEY = "tw-reader";

const SIGNS = { saved: "✓", saving: "◌", new: "○", failed: "⚠", asking: "⚠", none: "○" };

/** The button with the status of the file, and its menu. */
export class FileChip {
  /**
   * @param {PayloadModel} model
   * @param {Element | ShadowRoot} host
   */
  constructor(model, host) {
    this.model = model;
    /** @type {FileData} */
    this.file = { name: "", status: "none", text: "", hint: "", folder: false, others: [] };
    this.button = h("button", {});
    this.popup = new Popup(host, "menu-pop");
    this.asking = new Popup(host, "file-ask");
    document.addEventListener("pointerdown", (event) => {
      const inside = event.composedPath();
      for (const popup of [this.popup, this.asking])
        if (popup.shown && !inside.includes(popup.element) && !inside.includes(this.button)) popup.hide();
    });
    subscribe("save-as", () => this.button.checkVisibility() && this.saveAs());
    this.others = "[]";
    this.isNamed = false;
  }

  /**
   * The other pages on the file: a sign for each, marks at what they have selected. A page that is alone sends nothing.
   * @param {FileData} file
   */
  readers({ others }) {
    const key = JSON.stringify(others);
    if (key !== this.others) {
      this.others = key;
      publish("readers", [...others]);
    }
    const name = kept("localStorage", NAME_KEY);
    if (others.length && name && !this.isNamed) this.model.send_msg({ kind: "name_reader", name });
    this.isNamed = others.length > 0;
    return others.map((other) => h("span", { class: "reader", title: placeOf(other) }, initialsOf(other)));
  }

  askReader() {
    const value = kept("localStorage", NAME_KEY) ?? "";
    promptName(this.asking, this.button, { title: "My name", value, action: "Use it", most: 40 }, (name) => {
      keep("localStorage", NAME_KEY, name.trim());
      this.model.send_msg({ kind: "name_reader", name });
    });
  }

  /** @param {FileData} file */
  draw(file) {
    this.file = file;
    const name = file.name ? h("span", { class: "file-name" }, file.name) : null;
    const made = h(
      "button",
      {
        class: `file-chip is-${file.status}`,
        type: "button",
        "data-file": file.status,
        "aria-haspopup": "menu",
        "aria-label": `File ${file.name || "none"}: ${file.text}`,
        title: file.hint,
        onclick: () => this.menu(),
      },
      h("span", { class: "sign", "aria-hidden": "true" }, SIGNS[file.status]),
      name,
      h("span", { class: "file-words" }, file.text),
    );
    return patch(this.button, made);
  }

  menu() {
    const { file } = this;
    const body = menuBody(file.name || "No file", this.items(), (back) => {
      this.popup.hide();
      if (back) this.button.focus();
    });
    this.popup.hide();
    this.popup.show(this.button.getBoundingClientRect(), "below", body.element);
    body.focus();
  }

  /** @returns {MenuItem[]} */
  items() {
    const { file, model } = this;
    const noFile = file.name ? undefined : "the notebook has no file";
    /** @type {MenuItem[]} */
    const items = [];
    if (file.status === "asking")
      items.push({ label: "Resolve the conflict…", key: "t", run: () => publish("decide") });
    items.push(
      {
        label: file.status === "failed" ? "Try again" : "Save now",
        key: "s",
        help: "Ctrl+S; edits are saved automatically",
        disabled: noFile,
        run: () => model.send_msg({ kind: "save" }),
      },
      {
        label: "Save as…",
        key: "a",
        help: "Save under another name in the served folder, and continue with that file",
        disabled: file.folder ? undefined : "no folder is served",
        run: () => this.saveAs(),
      },
    );
    if (document.getElementById("area-headline"))
      items.push({
        label: "Earlier versions…",
        key: "v",
        help: "Compare and restore versions from the history of the file",
        disabled: noFile,
        run: () => model.send_msg({ kind: "show_versions" }),
      });
    if (file.others.length)
      items.push({
        label: "My name…",
        key: "n",
        help: `For the others on this file: ${file.others.map(({ name }) => name).join(", ")}`,
        run: () => this.askReader(),
      });
    items.push({
      label: "Download",
      key: "d",
      help: "A copy of the notebook on this page",
      run: () => model.send_msg({ kind: "download" }),
    });
    return items;
  }

  saveAs() {
    const value = this.file.name || "notebook.py";
    promptName(this.asking, this.button, { title: "Save as", value, action: "Save" }, (name) =>
      this.model.send_msg({ kind: "save_as", name }),
    );
  }
}

/** The dialog for two texts that changed the same lines, with a choice for each place. It opens once by itself, later from the menu. */
export class Decision {
  /**
   * @param {PayloadModel} model
   * @param {Element | ShadowRoot} holder
   */
  constructor(model, holder) {
    this.model = model;
    /** @type {Question | null} */
    this.question = null;
    this.dialog = h("dialog", { class: "decision", "aria-labelledby": "decision-title" });
    holder.append(this.dialog);
    this.seen = "";
    subscribe("decide", () => this.question && this.open());
    const versions = new Versions(model, holder);
    follow(model, (/** @type {{ versions: VersionsData | null }} */ data) => versions.draw(data.versions));
  }

  /** @param {Question | null} question */
  draw(question) {
    this.question = question;
    const key = JSON.stringify(question);
    if (!question) {
      if (this.dialog.open) this.dialog.close();
      this.seen = "";
      return;
    }
    if (key === this.seen) return;
    this.seen = key;
    this.fill(question);
    this.open();
  }

  open() {
    if (!this.dialog.open) this.dialog.showModal();
  }

  /** @param {Question} question */
  fill({ who, name, clashes }) {
    const other = who === "page" ? "Another page" : "Another program";
    const places = clashes.map((clash, n) => this.place(clash, n, who));
    const send = (/** @type {Choice[]} */ choices) => {
      this.dialog.close();
      this.model.send_msg({ kind: "resolve", choices });
    };
    const all = (/** @type {Choice} */ choice) => () => send(clashes.map(() => choice));
    const chosen = () => places.map(choiceOf);
    const count = clashes.length === 1 ? "one place" : `${clashes.length} places`;
    this.dialog.replaceChildren(
      h("h2", { id: "decision-title" }, `Two versions of ${name}`),
      h(
        "p",
        {},
        `${other} changed the file while you did, and both changed ${count}. All other changes are merged. Undo restores each version.`,
      ),
      h("div", { class: "decision-places", tabindex: "0", role: "group", "aria-label": "Places" }, places),
      h(
        "div",
        { class: "decision-bar" },
        h("button", { class: "tool primary", type: "button", onclick: () => send(chosen()) }, "Apply choices"),
        h("button", { class: "tool framed", type: "button", onclick: all("ours") }, "All mine"),
        h("button", { class: "tool framed", type: "button", onclick: all("theirs") }, "All theirs"),
        h(
          "button",
          {
            class: "tool",
            type: "button",
            title: "The file stays as it is until then (Escape)",
            onclick: () => this.dialog.close(),
          },
          "Later",
        ),
      ),
    );
  }

  /**
   * @param {Clash} clash
   * @param {number} n
   * @param {Question["who"]} who
   */
  place(clash, n, who) {
    /**
     * @param {Choice} value
     * @param {string} label
     * @param {string[]} lines
     * @param {boolean} checked
     */
    const side = (value, label, lines, checked) =>
      h(
        "label",
        { class: "decision-side" },
        h(
          "span",
          { class: "decision-choice" },
          h("input", {
            type: "radio",
            name: `place-${n}`,
            value,
            checked,
            "aria-label": label,
            autofocus: checked && n === 0,
          }),
          label,
        ),
        h(
          "pre",
          {},
          clash.above.map((line) => h("span", { class: "quiet" }, line, "\n")),
          lines.length
            ? lines.map((line) => h("span", { class: "decision-line" }, line || " ", "\n"))
            : h("i", { class: "quiet" }, "no lines\n"),
          clash.below.map((line) => h("span", { class: "quiet" }, line, "\n")),
        ),
      );
    return h(
      "fieldset",
      { class: "decision-place" },
      h("legend", {}, `Line ${clash.line}`),
      side("ours", "Mine", clash.ours, true),
      side("theirs", who === "page" ? "The other page's" : "On the disk", clash.theirs, false),
      h(
        "label",
        { class: "decision-both" },
        h("input", { type: "radio", name: `place-${n}`, value: "both" }),
        "Both, mine first",
      ),
    );
  }
}

/**
 * @param {Element} place
 * @returns {Choice}
 */
function choiceOf(place) {
  const input = /** @type {HTMLInputElement} */ (place.querySelector("input:checked"));
  return /** @type {Choice} */ (input.value);
}
