// The notebook's file: how it stands, its menu, and the choice where two texts clash.

import { promptName } from "../core/name_prompt.js";
import { follow, h } from "../core/dom.js";
import { Versions } from "./file_versions.js";
import { menuBody } from "../core/menu.js";
import { Popup } from "../core/popup.js";
import { patch } from "../core/patch.js";

const SIGNS = { saved: "✓", saving: "◌", new: "○", failed: "⚠", asking: "⚠", none: "○" };

/** The button that says how the file stands, and its menu. */
export class FileChip {
  constructor(model, host) {
    this.model = model;
    this.host = host;
    this.button = h("button", {});
    this.popup = new Popup(host, "menu-pop");
    this.asking = new Popup(host, "file-ask");
    document.addEventListener("pointerdown", (event) => {
      const inside = event.composedPath();
      for (const popup of [this.popup, this.asking])
        if (popup.shown && !inside.includes(popup.element) && !inside.includes(this.button)) popup.hide();
    });
    window.addEventListener("tilewright:save-as", () => this.button.checkVisibility() && this.saveAs());
  }

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
    const { file, model } = this;
    const items = [
      file.status === "asking"
        ? {
            label: "Decide between two versions…",
            key: "t",
            run: () => window.dispatchEvent(new CustomEvent("tilewright:decide")),
          }
        : null,
      {
        label: file.status === "failed" ? "Try again" : "Save now",
        key: "s",
        help: "Ctrl+S; edits are saved by themselves",
        disabled: file.name ? undefined : "it is in no file",
        run: () => model.send_msg({ kind: "save" }),
      },
      {
        label: "Save as…",
        key: "a",
        help: "Under another name in the served folder; the page goes on there",
        disabled: file.folder ? undefined : "no folder is served",
        run: () => this.saveAs(),
      },
      document.getElementById("area-headline")
        ? {
            label: "Earlier versions…",
            key: "v",
            help: "What the history of the file has: look at one, go back to it",
            disabled: file.name ? undefined : "it is in no file",
            run: () => model.send_msg({ kind: "versions" }),
          }
        : null,
      {
        label: "Download",
        key: "d",
        help: "A copy of the notebook as it is on this page",
        run: () => model.send_msg({ kind: "download" }),
      },
    ].filter(Boolean);
    const body = menuBody(file.name || "Not in a file", items, (back) => {
      this.popup.hide();
      if (back !== false) this.button.focus();
    });
    this.popup.hide();
    this.popup.show(this.button.getBoundingClientRect(), "below", body.element);
    body.focus();
  }

  saveAs() {
    const value = this.file.name || "notebook.py";
    promptName(this.asking, this.button, { title: "Save as", value, action: "Save" }, (name) =>
      this.model.send_msg({ kind: "save_as", name }),
    );
  }
}

/** Two texts that changed the same lines: both shown, each place chosen. Opens by itself once, and again when it is asked for. */
export class Decision {
  constructor(model, holder) {
    this.model = model;
    this.dialog = h("dialog", { class: "decision", "aria-labelledby": "decision-title" });
    holder.append(this.dialog);
    this.seen = "";
    window.addEventListener("tilewright:decide", () => this.question && this.open());
    const versions = new Versions(model, holder);
    follow(model, (data) => versions.draw(data.versions));
  }

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

  fill({ who, name, clashes }) {
    const other = who === "page" ? "Another page" : "Another program";
    const places = clashes.map((clash, n) => this.place(clash, n, who));
    const send = (choices) => {
      this.dialog.close();
      this.model.send_msg({ kind: "resolve", choices });
    };
    const all = (choice) => () => send(clashes.map(() => choice));
    const chosen = () => places.map((place) => place.querySelector("input:checked").value);
    const count = clashes.length === 1 ? "one place" : `${clashes.length} places`;
    this.dialog.replaceChildren(
      h("h2", { id: "decision-title" }, `Two versions of ${name}`),
      h(
        "p",
        {},
        `${other} changed the file while you did, and both changed ${count}. Everything else is brought together already. Undo leads back to each version.`,
      ),
      h("div", { class: "decision-places", tabindex: "0", role: "group", "aria-label": "Places" }, places),
      h(
        "div",
        { class: "decision-bar" },
        h("button", { class: "tool primary", type: "button", onclick: () => send(chosen()) }, "Keep what is chosen"),
        h("button", { class: "tool framed", type: "button", onclick: all("ours") }, "All mine"),
        h("button", { class: "tool framed", type: "button", onclick: all("theirs") }, "All theirs"),
        h(
          "button",
          {
            class: "tool",
            type: "button",
            title: "Nothing is written meanwhile (Escape)",
            onclick: () => this.dialog.close(),
          },
          "Later",
        ),
      ),
    );
  }

  place(clash, n, who) {
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
            : h("i", { class: "quiet" }, "nothing here\n"),
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
