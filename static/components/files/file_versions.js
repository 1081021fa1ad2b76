// The file's earlier versions: a list, what going back to the chosen one would change, and the way back.

import { h } from "../core/dom.js";

const MARKS = { added: "+", removed: "−", gap: "⋯" };

/** When it was: the time alone for today. */
function timeOf(at) {
  const then = new Date(at);
  const time = then.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  return then.toDateString() === new Date().toDateString()
    ? time
    : `${then.toLocaleDateString([], { day: "numeric", month: "short" })}, ${time}`;
}

export class Versions {
  constructor(model, holder) {
    this.model = model;
    this.list = h("div", { class: "versions-list", role: "listbox", "aria-label": "Versions, the newest first" });
    this.lines = h("pre", { class: "versions-lines", tabindex: "0", "aria-label": "What going back would change" });
    this.dialog = h("dialog", { class: "decision versions", "aria-labelledby": "versions-title" });
    this.dialog.addEventListener("close", () => this.data && model.send_msg({ kind: "no_versions" }));
    this.list.addEventListener("keydown", (event) => this.key(event));
    holder.append(this.dialog);
  }

  draw(data) {
    this.data = data;
    if (!data) {
      if (this.dialog.open) this.dialog.close();
      return;
    }
    const had = this.list.contains(document.activeElement);
    this.list.replaceChildren(...data.versions.map((version) => this.row(version)));
    this.lines.replaceChildren(
      ...(data.lines.length ? data.lines.map(line) : [h("i", { class: "quiet" }, "This is how the notebook is now.")]),
    );
    const chosen = data.versions.find((version) => version.number === data.chosen);
    const back = h(
      "button",
      {
        class: "tool primary",
        type: "button",
        disabled: !chosen || chosen.now,
        onclick: () => this.model.send_msg({ kind: "go_back", version: data.chosen }),
      },
      "Go back to this",
    );
    this.dialog.replaceChildren(
      h("h2", { id: "versions-title" }, `Versions of ${data.name}`),
      h(
        "p",
        {},
        data.versions.length
          ? "Every edit is kept beside the file. Going back is an edit as well: undo takes it back."
          : "Nothing was edited here yet.",
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
    if (row && (had || document.activeElement === document.body || document.activeElement === this.dialog)) row.focus();
  }

  row(version) {
    const chosen = version.number === this.data.chosen;
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

  choose(number) {
    if (number !== undefined && number !== this.data.chosen) this.model.send_msg({ kind: "version", version: number });
  }

  key(event) {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -1e9, End: 1e9 }[event.key];
    if (!by) return;
    event.preventDefault();
    const numbers = this.data.versions.map((version) => version.number);
    const at = Math.max(0, Math.min(numbers.length - 1, numbers.indexOf(this.data.chosen) + by));
    this.choose(numbers[at]);
  }
}

function line({ number, text, mark }) {
  return h(
    "span",
    { class: `versions-line ${mark ?? ""}` },
    h("span", { class: "number" }, number ?? ""),
    h("span", { class: "mark" }, MARKS[mark] ?? " "),
    text,
    "\n",
  );
}
