// The cells of the notebook: prose, machine, workload, and the schedule as steps; its branches; errors at their places.

import { publish, subscribe } from "../core/bus.js";
import { follow, h, icon, keepScroll } from "../core/dom.js";
import { highlighted } from "../core/python_text.js";
import { prose } from "../core/markdown.js";
import { menuBody } from "../core/menu.js";
import { promptName } from "../core/name_prompt.js";
import { importText } from "../core/import_text.js";
import { CellEditor } from "./cell_editor.js";
import { branchItems, cellItems, nameBranch, newCellItems, stepItems } from "./menus.js";
import { Popup } from "../core/popup.js";
import { problemLine } from "./problem_line.js";
import { keepFocus, reconcile } from "../core/reconcile.js";
import { dragRows, noteRow, stepRow } from "./steps.js";
import { followHighlightedSteps } from "../core/playhead.js";
import { keepTyped, takeTyped } from "./typed_text.js";

/** @import { MenuItem } from "../core/menu.js" */
/** @import { Banner, NotebookCell as Cell, NotebookColumn as NotebookData } from "../views.js" */
/** @import { CellProblem } from "./cell_editor.js" */
/** @import { Message, PayloadModel } from "../core/dom.js" */
/** @import { Reader, ScheduleLine as Step, ScheduleNote as Note } from "../views.js" */
/** @import { StepActions } from "./steps.js" */

/** @typedef {typeof import("./code_area.js")} CodeAreaModule */
/** @typedef {{ cell: number } | { cell: number, item: number, text: string, line: number }} EditTarget A cell, or a step. */

/**
 * @typedef {object} Editing
 * @property {number} cell
 * @property {number} [item]
 * @property {CellEditor} editor
 * @property {"python" | "prose" | "line"} kind
 * @property {number} line
 * @property {HTMLElement | null} element
 * @property {HTMLElement} [row]
 * @property {boolean} takesWords Whether it completes the words of the notebook.
 * @property {boolean} [drafted]
 */

/** @type {NotebookData} */
const EMPTY = {
  title: "",
  revision: 0,
  cells: [],
  chosen: 0,
  examined: false,
  banners: [],
  branches: [],
  problems: [],
  draft: false,
};

/** The most characters of another program's label on a button; longer ones are in a list. */
const LONGEST_BUTTON = 40;

/** The component; `menus.js` calls it. */
export class Notebook {
  /** @param {PayloadModel} model */
  constructor(model) {
    this.model = model;
    this.list = h("div", { class: "notebook", tabindex: "-1" });
    this.banners = h("div", { class: "banners" });
    this.view = h("div", { class: "notebook-view" }, this.list, this.banners);
    followHighlightedSteps(this.list);
    this.popup = new Popup(this.view, "menu-pop");
    this.data = EMPTY;
    this.isEmpty = true;
    /** @type {Editing | null} */
    this.editing = null;
    /** @type {CellEditor[]} Closed editors, which stay on the page until the next draw. */
    this.closed = [];
    /** @type {Set<number>} Cells with all lines. */
    this.open = new Set();
    /** @type {Set<number> | undefined} The open cells before a print. */
    this.before = undefined;
    /** @type {string | undefined} The `data-focus` of the element that gets the focus. */
    this.pendingFocus = undefined;
    /** @type {number | undefined} The cell to edit once it exists. */
    this.newCell = undefined;
    this.held = false;
    this.hasDrawn = false;
    /** @type {PromiseWithResolvers<CodeAreaModule> | undefined} */
    this.codeArea = undefined;
    // The module of the editor is as large as that of all other views: it is loaded shortly before the first edit.
    for (const name of ["pointerenter", "focusin"])
      this.list.addEventListener(name, () => this.loadCodeArea(), { once: true });
    dragRows(this.list, (item, to) => this.send({ kind: "cell" in to ? "move_item_into" : "move_item", item, ...to }));
    this.list.addEventListener("letgo", () => this.draw());
    document.addEventListener("pointerdown", (event) => {
      if (this.popup.shown && !event.composedPath().includes(this.popup.element)) this.popup.hide();
    });
    model.on("msg:custom", (data) => {
      if (data.kind === "words") this.editing?.editor.setWords(data);
      else if (data.kind === "editor") this.codeArea?.resolve(importText(data.module));
    });
    // A print shows all lines.
    window.addEventListener("beforeprint", () => this.openAll(true));
    window.addEventListener("afterprint", () => this.openAll(false));
    subscribe("keep-typed", () =>
      keepTyped(this.editing && { cell: this.editing.cell, item: this.editing.item, text: this.editing.editor.text }),
    );
    /** @type {Reader[]} */
    this.readers = [];
    subscribe("readers", (readers) => {
      this.readers = readers;
      this.draw();
    });
    follow(model, (fresh) => this.take(fresh));
  }

  /** Reopen the editor of a lost connection with its text. */
  putTypedBack() {
    const typed = takeTyped();
    const cell = typed && this.data.cells.find((one) => one.index === typed.cell);
    const line = cell?.rows?.find((row) => row.kind !== "note" && row.item === typed?.item);
    if (!typed || !cell || (typed.item !== undefined && !line)) return;
    this.edit(line && line.kind !== "note" ? stepTarget(cell, line) : { cell: cell.index });
    this.editing?.editor.retype(typed.text);
  }

  /** @param {Message} message */
  send(message) {
    // Another action cancels the editor for a new cell.
    if (message.kind !== "insert_cell") this.newCell = undefined;
    // The displayed revision detects changes by other pages.
    this.model.send_msg({ base: this.data.revision, ...message });
  }

  /** @param {NotebookData} fresh */
  take(fresh) {
    const old = this.data;
    const isFirst = this.isEmpty;
    this.isEmpty = false;
    // The title also changes while the user types the heading.
    const opened = isFirst || (fresh.title !== old.title && !fresh.draft && !old.draft);
    if (opened && this.editing) this.stopEditing();
    this.data = fresh;
    if (this.editing?.takesWords) this.askForWords();
    if (this.held || this.list.classList.contains("is-dragging")) return;
    this.draw();
    if (fresh.cells.length && !this.hasDrawn) {
      this.hasDrawn = true;
      this.putTypedBack();
    }
    if (this.newCell !== undefined && !isFirst && fresh.cells.length > old.cells.length) {
      this.edit({ cell: this.newCell });
      this.newCell = undefined;
    }
    if (opened) this.list.scrollTop = 0;
    else if (this.editing) return;
    else if (!old.banners.length && fresh.banners.length && this.list.querySelector(".conflict"))
      this.reveal(".conflict");
    else if (old.chosen !== fresh.chosen) this.reveal(".step.chosen");
  }

  /**
   * Scroll to an element in the next frame, so that the page is laid out once.
   * @param {string} selector
   */
  reveal(selector) {
    requestAnimationFrame(() => {
      const row = this.list.querySelector(selector);
      const [frame, box] = [this.list.getBoundingClientRect(), row?.getBoundingClientRect()];
      if (box && (box.top < frame.top || box.bottom > frame.bottom))
        this.list.scrollTop += box.top - frame.top - frame.height / 3;
    });
  }

  draw() {
    const { data } = this;
    // First, since they take space from the cells.
    keepFocus(this.banners, () =>
      reconcile(
        this.banners,
        data.banners,
        (banner) => JSON.stringify([banner, data.draft]),
        (banner) => this.banner(banner),
      ),
    );
    keepFocus(
      this.list,
      () =>
        keepScroll(this.list, () => {
          reconcile(
            this.list,
            data.cells,
            (cell) => this.keyOf(cell),
            (cell) => this.section(cell),
          );
          for (const cell of data.cells) this.drawRows(cell);
        }),
      this.pendingFocus,
    );
    this.pendingFocus = undefined;
    for (const editor of this.closed.splice(0)) editor.area.destroy();
    if (this.editing) this.editing.editor.showProblems(this.editorProblems(this.editing));
  }

  // Editors.

  /** The module of the editor, which the server sends once. */
  loadCodeArea() {
    if (!this.codeArea) {
      this.codeArea = Promise.withResolvers();
      this.model.send_msg({ kind: "editor" });
    }
    return this.codeArea.promise;
  }

  /** @param {EditTarget} what */
  edit(what) {
    this.editing?.editor.finish();
    const cell = this.data.cells.find((c) => c.index === what.cell);
    if (!cell) return;
    const step = "item" in what ? what : null;
    const isProse = cell.kind === "markdown" && !step;
    const text = step ? step.text : isProse ? (cell.prose ?? "") : cell.body;
    const kind = step ? "line" : isProse ? "prose" : "python";
    const focus = step ? `item-${step.item}` : `edit-${what.cell}`;
    const draft = (/** @type {string} */ typed) => {
      if (this.editing) this.editing.drafted = true;
      this.send(
        step
          ? { kind: "draft_item", base, item: step.item, text: typed }
          : { kind: "draft_cell", base, cell: what.cell, text: typed },
      );
    };
    const done = (/** @type {string} */ typed, /** @type {boolean} */ byKey) => {
      const { drafted } = this.editing ?? {};
      this.stopEditing(byKey ? focus : undefined);
      if (typed !== text) {
        if (step) this.send({ kind: "edit_item", base, item: step.item, text: typed });
        else if (isProse) this.send({ kind: "edit_prose", base, cell: what.cell, text: typed });
        else this.send({ kind: "edit", base, cell: what.cell, body: typed });
      } else if (drafted) this.send({ kind: "drop_draft" });
    };
    const dropped = () => {
      const { drafted } = this.editing ?? {};
      this.stopEditing(focus);
      if (drafted) this.send({ kind: "drop_draft" });
    };
    const base = this.data.revision;
    const label = step ? `Step ${text}` : `Text of the ${cell.kind} cell`;
    const editor = new CellEditor(text, {
      label,
      kind,
      host: this.view,
      comment: cell.kind === "schedule" ? "# off:" : "#",
      draft,
      done,
      dropped,
      left: () => this.hold(),
    });
    const takesWords = ["schedule", "machine"].includes(cell.kind);
    this.editing = { ...what, editor, kind, line: step ? step.line : cell.first_line, element: null, takesWords };
    this.draw();
    editor.focus();
    // The keys that are pressed meanwhile land in the plain text area.
    this.loadCodeArea().then(({ CodeArea }) => {
      editor.continueIn(CodeArea);
      if (takesWords) this.askForWords();
    });
  }

  /** Request the words for completion; handles change with each step. */
  askForWords() {
    this.model.send_msg({ kind: "words" });
  }

  /** Draw nothing while a button is pressed: it must not move before its release. */
  hold() {
    if (!document.querySelector(":active")) return;
    this.held = true;
    const letGo = () =>
      setTimeout(() => {
        this.held = false;
        this.draw();
      });
    window.addEventListener("pointerup", letGo, { once: true, capture: true });
    window.addEventListener("pointercancel", letGo, { once: true, capture: true });
  }

  /** @param {string} [focus] */
  stopEditing(focus) {
    if (!this.editing) return;
    this.editing.editor.end();
    this.closed.push(this.editing.editor);
    this.editing = null;
    this.pendingFocus = focus;
    if (!this.held) this.draw();
  }

  /**
   * @param {Editing} editing
   * @returns {CellProblem[]}
   */
  editorProblems({ editor, line, kind }) {
    if (kind === "prose" || !this.data.draft) return [];
    return this.problemsOf(line, editor.text.split("\n").length);
  }

  /**
   * Problems in `count` lines from `first` on; their lines count from there.
   * @param {number} first
   * @param {number} count
   * @returns {CellProblem[]}
   */
  problemsOf(first, count) {
    return this.data.problems.flatMap((problem) => {
      const { line, column, end_line, end_column } = problem;
      if (line === null || column === null || end_line === null || end_column === null) return [];
      if (line < first - 1 || line >= first + count) return [];
      const from = (/** @type {number} */ n) => Math.max(1, n - first + 1);
      return [{ ...problem, column, end_column, line: from(line), end_line: from(end_line), in_file: line }];
    });
  }

  // Parts of the page.

  /** @param {Cell} cell */
  keyOf(cell) {
    if (this.editing?.cell === cell.index) return null;
    const { rows, body, first_line: _first, lines: _lines, ...rest } = cell;
    const problems = this.problemsOf(cell.first_line, cell.lines);
    const first = this.isFirstSchedule(cell) ? this.data.branches : null;
    return JSON.stringify([rest, rows ? null : body, rows ? null : problems, first, this.open.has(cell.index)]);
  }

  /** @param {Cell} cell */
  isFirstSchedule(cell) {
    return cell.kind === "schedule" && this.data.cells.find((c) => c.kind === "schedule") === cell;
  }

  /** @param {Banner} banner */
  banner({ kind, text, count, others = [], model = false, links = [], guide = [], calls = [] }) {
    const tool = (/** @type {string} */ words, /** @type {Message} */ message) =>
      h("button", { class: "tool small", type: "button", onclick: () => this.send(message) }, words);
    const event = (/** @type {string} */ words, /** @type {"save-as" | "decide"} */ name) =>
      h("button", { class: "tool small", type: "button", onclick: () => publish(name) }, words);
    const now = h(
      "button",
      { class: "tool small", type: "button", onclick: () => this.send({ kind: "view", count: null }) },
      "Back to now",
    );
    const branch = h(
      "button",
      {
        class: "tool small",
        type: "button",
        title: "A branch that continues from here; the present branch is kept",
        onclick: (e) => nameBranch(this, /** @type {HTMLElement} */ (e.currentTarget), count),
      },
      "Branch from here…",
    );
    const show = h("button", { class: "tool small", type: "button", onclick: () => this.showError() }, "Show");
    const undo = h(
      "button",
      { class: "tool small", type: "button", onclick: () => this.send({ kind: "undo" }) },
      "Undo the edit",
    );
    /** @type {Record<string, HTMLElement[]>} */
    const files = {
      unsaved: [tool("Try again", { kind: "save" }), event("Save as…", "save-as")],
      conflict: [event("Decide…", "decide")],
      programs: [
        ...(others.length > 2 || others.some(({ label }) => label.length > LONGEST_BUTTON)
          ? [this.programList(others)]
          : others.map(({ number, label }) => tool(`Open ${label}`, { kind: "open_program", number }))),
        ...(model ? [tool("Open as a model", { kind: "open_as_model" })] : []),
      ],
      related: [
        ...links.map(({ path, title }) => tool(title, { kind: "go", path })),
        ...guide.map(({ path, title }) =>
          this.referenceButton(path, `Guide: ${title}`, `A page of the guide: ${title}`),
        ),
        ...calls.map((name) => this.referenceButton(name, `${name}?`, `Documentation of ${name}`)),
      ],
      notice: [tool("Undo", { kind: "undo" }), tool("OK", { kind: "dismiss_file_message" })],
    };
    const tools = files[kind] ?? (kind === "back" ? [branch, now] : this.data.draft ? [] : [show, undo]);
    return h(
      "div",
      { class: `banner is-${kind}`, role: kind === "unsaved" || kind === "conflict" ? "alert" : "status" },
      h("span", {}, text),
      h("span", { class: "banner-tools" }, tools),
    );
  }

  /**
   * @param {string} name Of a primitive or of a page of the guide.
   * @param {string} words
   * @param {string} title
   */
  referenceButton(name, words, title) {
    const open = () => publish("reference", name);
    return h("button", { class: "tool small", type: "button", title, onclick: open }, words);
  }

  /** @param {NonNullable<Banner["others"]>} others */
  programList(others) {
    const open = (/** @type {Event} */ e) =>
      this.send({ kind: "open_program", number: Number(/** @type {HTMLSelectElement} */ (e.currentTarget).value) });
    return h(
      "select",
      { class: "tool small", "aria-label": "Open another program", onchange: open },
      h("option", { value: "", disabled: true, selected: true }, "Open another program…"),
      others.map(({ number, label }) => h("option", { value: String(number) }, label)),
    );
  }

  showError() {
    const place = this.list.querySelector(".conflict, .inline-problem");
    place?.scrollIntoView({ block: "center" });
    place?.querySelector("button")?.focus({ preventScroll: true });
  }

  /**
   * The element with a `data-focus`; the list if it is gone.
   * @param {string} name
   * @returns {HTMLElement}
   */
  focusable(name) {
    return this.list.querySelector(`[data-focus="${name}"]`) ?? this.list;
  }

  /**
   * @param {Step} line
   * @returns {HTMLElement}
   */
  rowOf(line) {
    return this.list.querySelector(`[data-item="${line.item}"]`) ?? this.list;
  }

  /** @param {Cell} cell */
  section(cell) {
    const editing = this.editing?.cell === cell.index ? this.editing : null;
    if (editing?.element) return editing.element;
    const whole = editing && editing.item === undefined;
    const made = h(
      "div",
      { class: `cell ${cell.kind}`, "data-cell": cell.index, role: "group", "aria-label": `${cell.kind} cell` },
      this.gap(cell),
      this.head(cell),
      editing && whole ? editing.editor.element : this.content(cell),
    );
    if (editing) editing.element = made;
    return made;
  }

  /**
   * The place for a new cell before `cell`.
   * @param {Cell} cell
   */
  gap(cell) {
    const add = (/** @type {MouseEvent} */ event) =>
      this.menu(/** @type {HTMLElement} */ (event.currentTarget), "New cell", newCellItems(this, cell.index));
    return h(
      "div",
      { class: "cell-gap" },
      h(
        "button",
        {
          class: "tool small",
          type: "button",
          "aria-label": "Add a cell here",
          "aria-haspopup": "menu",
          title: "Add a cell here",
          "data-focus": `gap-${cell.index}`,
          onclick: add,
        },
        icon("add"),
      ),
    );
  }

  /** @param {Cell} cell */
  head(cell) {
    const title =
      cell.kind === "markdown"
        ? null
        : h("span", { class: "cell-title" }, cell.title || (cell.kind === "code" ? "python" : cell.kind));
    return h(
      "div",
      { class: "cell-head" },
      title,
      this.isFirstSchedule(cell) && cell.rows ? this.branchButton() : null,
      h(
        "span",
        { class: "cell-tools" },
        h(
          "button",
          {
            class: "tool small edit",
            type: "button",
            "aria-label": `Edit the ${cell.kind} cell`,
            title: "Edit this cell (or double-click it)",
            "data-focus": `edit-${cell.index}`,
            onclick: () => this.edit({ cell: cell.index }),
          },
          icon("edit"),
        ),
        h(
          "button",
          {
            class: "tool small",
            type: "button",
            "aria-label": `More for the ${cell.kind} cell`,
            "aria-haspopup": "menu",
            title: "More",
            "data-focus": `more-${cell.index}`,
            onclick: (e) => this.menu(/** @type {HTMLElement} */ (e.currentTarget), "Cell", cellItems(this, cell)),
          },
          icon("more"),
        ),
      ),
    );
  }

  /** @param {Cell} cell */
  content(cell) {
    const edit = () => this.edit({ cell: cell.index });
    if (cell.kind === "markdown")
      return h(
        "div",
        { class: "prose", ondblclick: edit },
        cell.prose?.trim() ? prose(cell.prose) : h("p", { class: "quiet" }, "This cell is empty."),
      );
    if (cell.rows) {
      const steps = h("ol", { class: "steps" });
      const none =
        cell.takes_steps &&
        h(
          "p",
          { class: "quiet no-steps", "data-cell": cell.index },
          "No steps yet. Drag a block onto a loop in the tree, drop a step of another cell here, or double-click to write one.",
        );
      return h("div", { ondblclick: cell.takes_steps ? edit : null }, steps, none);
    }
    return this.code(cell, edit);
  }

  /**
   * @param {Cell} cell
   * @param {() => void} edit
   */
  code(cell, edit) {
    const problems = this.problemsOf(cell.first_line, cell.lines);
    const lines = cell.body.split(/\r\n|\r|\n/);
    while (lines.length > 1 && !lines[lines.length - 1].trim()) lines.pop();
    const lead = Math.max(
      0,
      lines.findIndex((line) => line.trim()),
    );
    const first =
      cell.kind === "schedule"
        ? lead
        : Math.max(
            lead,
            lines.findIndex((line) => line.trim() && !/^(from|import) /.test(line)),
          );
    const last = cell.kind === "workload" ? first + 6 : lines.length;
    const open = this.open.has(cell.index) || problems.some((p) => p.line <= first || p.line > last);
    const [from, to] = open ? [lead, lines.length] : [first, Math.min(last, lines.length)];
    const hidden = lines.length - lead - (to - from);
    const body = lines.slice(from, to).flatMap((line, n) => {
      const here = problems.filter((p) => p.line === from + n + 1);
      return [
        this.codeLine(line, here),
        ...here.map((p) => problemLine(p, p.in_file, { mend: () => this.send({ kind: "apply_suggestion" }) })),
      ];
    });
    return h(
      "div",
      { class: "cell-code", ondblclick: edit },
      h(
        "pre",
        { class: "cell-pre", tabindex: "0", role: "group", "aria-label": `Code of the ${cell.kind} cell` },
        body,
      ),
      cell.kind === "workload" && (hidden > 0 || this.open.has(cell.index))
        ? h(
            "button",
            {
              class: "tool small",
              type: "button",
              "data-focus": `open-${cell.index}`,
              onclick: () => this.toggleOpen(cell),
            },
            this.open.has(cell.index) ? "less" : `${hidden} more lines`,
          )
        : null,
    );
  }

  /** @param {Cell} cell */
  toggleOpen(cell) {
    if (!this.open.delete(cell.index)) this.open.add(cell.index);
    this.draw();
  }

  /** @param {boolean} all */
  openAll(all) {
    this.before ??= this.open;
    this.open = all ? new Set(this.data.cells.map((cell) => cell.index)) : this.before;
    if (!all) this.before = undefined;
    this.draw();
  }

  /**
   * @param {string} line
   * @param {CellProblem[]} problems
   */
  codeLine(line, problems) {
    const [problem] = problems;
    if (!problem) return h("code", {}, highlighted(line), "\n");
    const start = Math.min(problem.column - 1, Math.max(0, line.length - 1));
    const end = problem.end_line > problem.line ? line.length : Math.max(start + 1, problem.end_column - 1);
    const mark = h("span", { class: "squiggle" }, line.slice(start, end) || " ");
    return h("code", { class: "is-bad" }, highlighted(line.slice(0, start)), mark, highlighted(line.slice(end)), "\n");
  }

  // Steps.

  /** @param {Cell} cell */
  drawRows(cell) {
    const { rows } = cell;
    /** @type {HTMLElement | null} */
    const steps = this.list.querySelector(`.cell[data-cell="${cell.index}"] .steps`);
    if (!rows || !steps) return;
    const { chosen } = this.data;
    const viewOf = (/** @type {Step} */ line) => ({
      chosen: line.kind === "step" && line.count === chosen,
      later: line.status === "applied" && line.count > chosen,
      readers: line.kind === "step" ? this.readers.filter(({ step }) => step === line.count) : [],
    });
    reconcile(
      steps,
      rows,
      (line) => (this.isEdited(line) ? null : JSON.stringify([line, line.kind === "note" ? null : viewOf(line)])),
      (line) =>
        line.kind === "note"
          ? noteRow(line)
          : this.isEdited(line)
            ? this.editedRow(line)
            : stepRow(line, viewOf(line), this.actions(cell)),
    );
  }

  /** @param {Step | Note} line */
  isEdited(line) {
    return line.kind !== "note" && this.editing?.item !== undefined && this.editing.item === line.item;
  }

  /** @param {Step} line */
  editedRow(line) {
    const editing = /** @type {Editing} */ (this.editing);
    editing.row ??= h("li", { class: "step edited", "data-item": line.item }, editing.editor.element);
    return editing.row;
  }

  /**
   * @param {Cell} cell
   * @returns {StepActions}
   */
  actions(cell) {
    const edit = (/** @type {Step} */ line) => this.edit(stepTarget(cell, line));
    return {
      send: (message) => this.send(message),
      view: (line) => this.send({ kind: "view", count: line.count }),
      edit,
      toggle: (line) => this.toggle(line),
      menu: (line, anchor) => this.menu(anchor, line.text, stepItems(this, cell, line)),
      comment: (line, anchor) => this.comment(line, anchor),
      key: (event, line) => this.stepKey(event, cell, line),
      choice: (choice, line) => {
        if (choice.message.kind === "edit") edit(line);
        else this.send(/** @type {Message} */ (choice.message));
      },
    };
  }

  /**
   * Ask for the comment above a step.
   * @param {Step} line
   * @param {HTMLElement} anchor
   */
  comment(line, anchor) {
    const back = () => this.focusable(`item-${line.item}`);
    const options = { title: "Comment of the step", value: line.note, action: "Save", most: 2000, lines: 3, back };
    promptName(this.popup, anchor, options, (text) => this.send({ kind: "comment_item", item: line.item, text }));
  }

  /** @param {Step} line */
  toggle(line) {
    this.pendingFocus = `item-${line.item}`;
    this.send({ kind: "switch_item", item: line.item, on: line.kind === "off" });
  }

  /**
   * The step above or below, or a cell without steps in between.
   * @param {Step} line
   * @param {1 | -1} by
   */
  beside(line, by) {
    /** @typedef {{ cell: number, item?: undefined } | { item: number }} Place */
    const places = this.data.cells.flatMap((cell) => {
      /** @type {Place[]} */
      const own = cell.takes_steps ? [{ cell: cell.index }] : [];
      for (const row of cell.rows ?? []) if (!cell.takes_steps && row.kind !== "note") own.push({ item: row.item });
      return own;
    });
    return places[places.findIndex((place) => place.item === line.item) + by];
  }

  /**
   * Move a step by one place, also into the next cell.
   * @param {Step} line
   * @param {1 | -1} by
   */
  shift(line, by) {
    const next = this.beside(line, by);
    if (!next) return;
    const { item } = line;
    const isCell = next.item === undefined;
    this.pendingFocus = `item-${item + (isCell ? 0 : by)}`;
    if (isCell) this.send({ kind: "move_item_into", item, cell: next.cell });
    else this.send({ kind: "move_item", item, target: next.item, after: by > 0 });
  }

  /**
   * @param {KeyboardEvent} event
   * @param {Cell} cell
   * @param {Step} line
   */
  stepKey(event, cell, line) {
    const control = event.ctrlKey || event.metaKey;
    const target = /** @type {HTMLElement} */ (event.currentTarget);
    const by = event.key === "ArrowUp" ? -1 : event.key === "ArrowDown" ? 1 : null;
    if (by && event.altKey) this.shift(line, by);
    else if (by && !control && !event.shiftKey) {
      const texts = /** @type {HTMLElement[]} */ ([...this.list.querySelectorAll(".step-text")]);
      texts[texts.indexOf(target) + by]?.focus();
    } else if (event.key === "F2") this.edit(stepTarget(cell, line));
    else if (event.key === "Delete") {
      this.pendingFocus = `item-${line.item}`;
      this.send({ kind: "remove_item", item: line.item });
    } else if (event.key === "/" && control) this.toggle(line);
    else if (event.key === "#" && !control) this.comment(line, target);
    else if (event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey))
      this.menu(target, line.text, stepItems(this, cell, line));
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // Menus and branches.

  /**
   * @param {HTMLElement} anchor
   * @param {string} title
   * @param {MenuItem[]} items
   */
  menu(anchor, title, items) {
    const name = anchor.dataset.focus;
    const close = () => {
      this.popup.hide();
      (name ? this.focusable(name) : anchor).focus();
    };
    const body = menuBody(title, items, close);
    this.popup.hide();
    this.popup.show(anchor.getBoundingClientRect(), "below", body.element);
    body.focus();
  }

  branchButton() {
    const current = this.data.branches.find((branch) => branch.current);
    const label = current ? current.name : "main";
    return h(
      "button",
      {
        class: "tool small branch",
        type: "button",
        "aria-haspopup": "menu",
        "aria-label": `Branch ${label}`,
        title: "Branches: alternatives of the schedule, kept in the file",
        "data-focus": "branch",
        onclick: (e) => this.menu(/** @type {HTMLElement} */ (e.currentTarget), "Branches", branchItems(this)),
      },
      icon("branch"),
      h("span", { class: "branch-name" }, label),
      this.data.branches.length > 1 ? h("span", { class: "quiet" }, `of ${this.data.branches.length}`) : null,
    );
  }
}

/**
 * @param {Cell} cell
 * @param {Step} line
 * @returns {EditTarget}
 */
function stepTarget(cell, line) {
  return { cell: cell.index, item: line.item, text: line.text, line: line.line };
}
