// The section for a program of one's own: typed, chosen, or dropped anywhere on the start page.

import { h, nodes } from "../core/dom.js";
import { programChoice } from "./program_choice.js";
import { ACCEPTED, Uploads, droppedFiles, shownText } from "./upload.js";

/** @import { Notice, ProgramChoice, TemplateChoice } from "../views.js" */
/** @import { PayloadModel } from "../core/dom.js" */
/** @import { NamedFile } from "./upload.js" */

export class OwnProgram {
  /**
   * @param {PayloadModel} model
   * @param {HTMLElement} view
   */
  constructor(model, view) {
    this.model = model;
    this.uploads = new Uploads(model);
    /** @type {Record<string, unknown>} The message that the server answers about. */
    this.sent = {};
    /** @type {{ choice: ProgramChoice, sent: Record<string, unknown> } | null} The programs and models of the last files, which stay on offer. */
    this.several = null;
    this.area = h("textarea", {
      class: "paste",
      spellcheck: "false",
      "aria-label": "A TVMScript program or a notebook",
      placeholder:
        'from tvm.script import tirx as T\n\n@T.prim_func(s_tir=True)\ndef main(A: T.Buffer((64,), "float32"), …):\n    …',
    });
    this.problem = h("div", { class: "paste-problem", role: "alert" });
    this.progress = h("div", { class: "upload", role: "status", hidden: true });
    /** @type {HTMLInputElement} */
    const chooser = h("input", {
      type: "file",
      accept: ACCEPTED,
      multiple: true,
      hidden: true,
      "aria-label": "A file",
      onchange: () => this.take([...(chooser.files ?? [])].map((file) => ({ name: file.name, file }))),
    });
    this.area.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.open();
    });
    /** @type {HTMLSelectElement} */
    this.templates = h("select", {
      class: "tool framed",
      "aria-label": "Begin with a typical kernel",
      onchange: () => model.send_msg({ kind: "open_template", name: this.templates.value }),
    });
    this.acceptDrops(view);
    this.part = h(
      "section",
      { class: "own", "aria-labelledby": "own-title" },
      h("h2", { id: "own-title" }, "Your own program"),
      h(
        "p",
        { class: "quiet" },
        "Paste TVMScript, TE, TileLang, a notebook or a whole post, or drop a file, a folder, a zip archive or a model (.onnx, .pt2) on this page. The text is never executed.",
      ),
      this.area,
      this.progress,
      this.problem,
      h(
        "div",
        { class: "own-buttons" },
        h("button", { class: "tool primary", type: "button", title: "Ctrl+Enter", onclick: () => this.open() }, "Open"),
        h("button", { class: "tool framed", type: "button", onclick: () => chooser.click() }, "Choose a file…"),
        chooser,
        this.templates,
      ),
    );
  }

  /** @param {HTMLElement} view */
  acceptDrops(view) {
    view.addEventListener("dragover", (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      view.classList.add("is-dropping");
    });
    view.addEventListener("dragleave", (event) => {
      if (!(event.relatedTarget instanceof Node && view.contains(event.relatedTarget)))
        view.classList.remove("is-dropping");
    });
    view.addEventListener("drop", async (event) => {
      event.preventDefault();
      view.classList.remove("is-dropping");
      if (event.dataTransfer) this.take(await droppedFiles(event.dataTransfer));
    });
  }

  open() {
    this.send({ kind: "open_text", text: this.area.value });
  }

  /** @param {Record<string, unknown>} message */
  send(message) {
    this.sent = message;
    this.model.send_msg(/** @type {any} */ (message));
  }

  /** @param {NamedFile[]} files */
  async take(files) {
    if (!files.length) return this.fail("There is no file of text and no model in it.");
    const text = await shownText(files);
    this.area.value = text ?? "";
    this.several = null;
    if (text !== null)
      return this.send({ kind: "open_text", text, title: files[0].name.match(/([^/]+)\.py$/)?.[1] ?? "" });
    this.problem.replaceChildren();
    const done = await this.uploads.send(files, (sent, all) => this.showProgress(files, sent, all));
    this.progress.hidden = true;
    if (done?.error) this.fail(done.error);
    else if (done) this.send({ kind: "open_upload", upload: done.number });
  }

  /**
   * @param {NamedFile[]} files
   * @param {number} sent
   * @param {number} all
   */
  showProgress(files, sent, all) {
    const what = files.length > 1 ? `${files.length} files` : files[0].name;
    const mebi = (/** @type {number} */ bytes) => (bytes / (1 << 20)).toFixed(1);
    const cancel = () => {
      this.uploads.cancel();
      this.progress.hidden = true;
    };
    this.progress.hidden = all < 1 << 20;
    this.progress.replaceChildren(
      h("span", {}, `Sending ${what}: ${mebi(sent)} of ${mebi(all)} MiB`),
      h("progress", { max: Math.max(all, 1), value: sent, "aria-label": "Sent" }),
      h("button", { class: "tool small", type: "button", onclick: cancel }, "Cancel"),
    );
  }

  /** @param {string} words */
  fail(words) {
    this.problem.replaceChildren(h("b", {}, words));
  }

  /**
   * @param {Notice | null} problem
   * @param {TemplateChoice[]} templates
   */
  draw(problem, templates) {
    this.templates.replaceChildren(
      h("option", { value: "", selected: true, disabled: true }, "Begin with a kernel…"),
      ...templates.map(({ name, title }) => h("option", { value: name }, title)),
    );
    if (problem?.choice && problem.code === "several-programs")
      this.several = { choice: problem.choice, sent: this.sent };
    const choice = problem ? problem.choice : this.several?.choice;
    const sent = problem || !this.several ? this.sent : this.several.sent;
    const again = (/** @type {number} */ program, /** @type {Record<string, string>} */ values) =>
      this.send({ ...(choice?.listed ? { kind: "open", name: choice.listed } : sent), program, values });
    this.problem.replaceChildren(
      ...(problem ? nodes(errorOf(problem)) : []),
      ...(choice ? [programChoice(choice, again)] : []),
    );
  }
}

/**
 * The error of a text that did not open.
 * @param {Notice} problem
 */
function errorOf(problem) {
  return [
    h("b", {}, problem.place ? `${problem.place}: ` : "", problem.message),
    problem.found ? h("div", {}, `found: ${problem.found}`) : null,
    problem.expected ? h("div", {}, `expected: ${problem.expected}`) : null,
    problem.fix.length ? h("div", {}, "try: ", h("code", {}, problem.fix.join(" or "))) : null,
  ];
}
