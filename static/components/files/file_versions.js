// Earlier versions of the file: a list, the difference to the selected version, and its restoration.

import { focusIn, h } from "../core/dom.js";

/** @import { PayloadModel } from "../core/dom.js" */
/** @import { CodeLine as Line, FileVersion as Version, FileVersions as VersionsData } from "../views.js" */

/** @type {Record<string, number>} */
const STEPS = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -1e9, End: 1e9 };
const MARKS = { added: "+", removed: "−", gap: "⋯" };

/**
 * Date and time; for today only the time.
 * @param {number} at
 */
function timeOf(at) {
  const then = new Date(at);
  const time = then.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  return then.toDateString() === new Date().toDateString()
    ? time
    : `${then.toLocaleDateString([], { day: "numeric", month: "short" })}, ${time}`;
}

export class Versions {
  /**
   * @param {PayloadModel} model
   * @param {Element | ShadowRoot} holder
   */
  constructor(model, holder) {
    this.model = model;
    /** @type {VersionsData | null} */
    this.data = null;
    this.list = h("div", { class: "versions-list", role: "listbox", "aria-label": "Versions, newest first" });
    this.lines = h("pre", { class: "versions-lines", tabindex: "0", "aria-label": "Changes of the restoration" });
    this.dialog = h("dialog", { class: "decision versions", "aria-labelledby": "versions-title" });
    this.dialog.addEventListener("close", () => this.data && model.send_msg({ kind: "hide_versions" }));
    this.list.addEventListener("keydown", (event) => this.key(event));
    holder.append(this.dialog);
  }

  /** @param {VersionsData | null} data */
  draw(data) {
    this.data = data;
    if (!data) {
      if (this.dialog.open) this.dialog.close();
      return;
    }
    const had = this.list.contains(focusIn(this.list));
    this.list.replaceChildren(...data.versions.map((version) => this.row(version)));
    this.lines.replaceChildren(
      ...(data.lines.length ? data.lines.map(line) : [h("i", { class: "quiet" }, "This is the present notebook.")]),
    );
    const chosen = data.versions.find((version) => version.number === data.chosen);
    const back = h(
      "button",
      {
        class: "tool primary",
        type: "button",
        disabled: chosen?.now ?? true,
        onclick: () => this.model.send_msg({ kind: "restore_version", version: data.chosen }),
      },
      "Restore this version",
    );
    this.dialog.replaceChildren(
      h("h2", { id: "versions-title" }, `Versions of ${data.name}`),
      h(
        "p",
        {},
        data.versions.length
          ? "Every edit is kept in the history of the file. A restoration is an edit too: undo reverts it."
          : "There are no edits yet.",
      ),
      h("div", { class: "versions-both" }, this.list, this.lines),
      h(
        "div",
        { class: "decision-bar" },
        back,
        h("button", { class: "tool framed", type: "button", onclick: () => this.dialog.close() }, "Close"),
      ),
    );
    if (!this.dialog.open) this.dialog.showModal();
    const row = this.list.querySelector("[aria-selected=true]");
    if (
      row instanceof HTMLElement &&
      (had || document.activeElement === document.body || document.activeElement === this.dialog)
    )
      row.focus();
  }

  /** @param {Version} version */
  row(version) {
    const chosen = version.number === this.data?.chosen;
    return h(
      "div",
      {
        class: "versions-row",
        role: "option",
        "aria-selected": String(chosen),
        tabindex: chosen ? "0" : "-1",
        "data-version": String(version.number),
        onclick: () => this.choose(version.number),
      },
      h("span", { class: "versions-time" }, timeOf(version.at)),
      h("span", { class: "versions-what" }, version.what),
      version.now ? h("span", { class: "tw-badge tw-badge--accent" }, "now") : null,
    );
  }

  /** @param {number | undefined} number */
  choose(number) {
    if (number !== undefined && number !== this.data?.chosen) this.model.send_msg({ kind: "version", version: number });
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const by = STEPS[event.key];
    if (!by || !this.data) return;
    event.preventDefault();
    const numbers = this.data.versions.map((version) => version.number);
    const at = Math.max(0, Math.min(numbers.length - 1, numbers.indexOf(this.data.chosen ?? -1) + by));
    this.choose(numbers[at]);
  }
}

/** @param {Line} line */
function line({ number, text, mark }) {
  return h(
    "span",
    { class: `versions-line ${mark ?? ""}` },
    h("span", { class: "number" }, number ?? ""),
    h("span", { class: "mark" }, mark ? MARKS[mark] : " "),
    text,
    "\n",
  );
}
