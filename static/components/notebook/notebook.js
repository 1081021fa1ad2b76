// The notebook's cells: prose, machine, workload, and the schedule as steps; the branches; what is wrong in the text, at its place.

import { h, icon, follow, keepScroll } from "../core/dom.js";
import { highlighted } from "../core/python_text.js";
import { CellEditor, problemLine } from "./cell_editor.js";
import { prose } from "../core/markdown.js";
import { menuBody } from "../core/menu.js";
import { branchItems, cellItems, nameBranch, newCellItems, stepItems } from "./menus.js";
import { Popup } from "../core/popup.js";
import { keepFocus, reconcile } from "../core/reconcile.js";
import { dragRows, noteRow, stepRow } from "./steps.js";
import { followHighlightedSteps } from "../core/playhead.js";
import { keepTyped, takeTyped } from "./typed_text.js";

class Notebook {
  constructor(model) {
    this.model = model;
    this.list = h("div", { class: "notebook", tabindex: "-1" });
    this.banners = h("div", { class: "banners" });
    this.view = h("div", { class: "notebook-view" }, this.list, this.banners);
    followHighlightedSteps(this.list);
    this.popup = new Popup(this.view, "menu-pop");
    this.data = null;
    this.editing = null;
    this.open = new Set();
    this.wish = undefined;
    dragRows(this.list, (item, to) =>
      this.send({ kind: to.cell === undefined ? "move_item" : "move_item_into", item, ...to }),
    );
    this.list.addEventListener("letgo", () => this.draw());
    document.addEventListener("pointerdown", (event) => {
      if (this.popup.shown && !event.composedPath().includes(this.popup.element)) this.popup.hide();
    });
    model.on("msg:custom", (message) => {
      const data = message.data ?? message;
      if (data.kind === "words") this.editing?.editor.help?.tell(data);
    });
    // On paper nothing can be pressed open.
    window.addEventListener("beforeprint", () => this.openAll(true));
    window.addEventListener("afterprint", () => this.openAll(false));
    window.addEventListener("tilewright:keep-typed", () =>
      keepTyped(this.editing && { cell: this.editing.cell, item: this.editing.item, text: this.editing.editor.text }),
    );
    follow(model, (fresh) => this.take(fresh));
  }

  /** An editor that was open when the connection was lost is open again, with what was typed. */
  putTypedBack() {
    const typed = takeTyped();
    const cell = typed && this.data.cells.find((one) => one.index === typed.cell);
    const line = cell?.rows?.find((row) => row.item === typed.item);
    if (!cell || (typed.item !== undefined && !line)) return;
    this.edit(line ? { cell: cell.index, item: line.item, text: line.text, line: line.line } : { cell: cell.index });
    this.editing.editor.retype(typed.text);
  }

  send(message) {
    // An editor opens on a new cell once it is there, unless something else was done since.
    if (message.kind !== "insert_cell") this.newCell = undefined;
    // What is shown is said too: another page may have changed it meanwhile.
    this.model.send_msg({ base: this.data.revision, ...message });
  }

  take(fresh) {
    const old = this.data;
    // The title changes too while the heading is being typed.
    const opened = old === null || (fresh.title !== old.title && !fresh.draft && !old.draft);
    if (opened && this.editing) this.stopEditing();
    this.data = fresh;
    if (this.editing?.editor.help?.words) this.askForWords();
    if (this.held || this.list.classList.contains("is-dragging")) return;
    this.draw();
    if (fresh.cells.length && !this.hasDrawn) {
      this.hasDrawn = true;
      this.putTypedBack();
    }
    if (this.newCell !== undefined && old && fresh.cells.length > old.cells.length) {
      this.edit({ cell: this.newCell });
      this.newCell = undefined;
    }
    if (opened) this.list.scrollTop = 0;
    else if (this.editing) return;
    else if (!old.banners.length && fresh.banners.length && this.list.querySelector(".conflict"))
      this.reveal(".conflict");
    else if (old.chosen !== fresh.chosen) this.reveal(".step.chosen");
  }

  /** In the frame to come, when the page is laid out once for all that changed. */
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
    // First, for they take room from the cells.
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
      this.wish,
    );
    this.wish = undefined;
    this.editing?.editor?.tell(...this.editorProblems());
  }

  // Editors.

  /** `what`: {cell} or {cell, item, text, line}. */
  edit(what) {
    if (this.editing) this.editing.editor?.finish();
    const cell = this.data.cells.find((c) => c.index === what.cell);
    if (!cell) return;
    const isItem = what.item !== undefined;
    const isProse = cell.kind === "markdown" && !isItem;
    const text = isItem ? what.text : isProse ? cell.prose : cell.body;
    const kind = isItem ? "line" : isProse ? "prose" : "python";
    const draft = (typed) => {
      if (this.editing) this.editing.drafted = true;
      this.send(
        isItem
          ? { kind: "draft_item", base, item: what.item, text: typed }
          : { kind: "draft_cell", base, cell: what.cell, text: typed },
      );
    };
    const done = (typed, byKey) => {
      const { drafted } = this.editing ?? {};
      this.stopEditing(byKey ? (isItem ? `item-${what.item}` : `edit-${what.cell}`) : undefined);
      if (typed !== text) {
        if (isItem) this.send({ kind: "edit_item", base, item: what.item, text: typed });
        else if (isProse) this.send({ kind: "edit_prose", base, cell: what.cell, text: typed });
        else this.send({ kind: "edit", base, cell: what.cell, body: typed });
      } else if (drafted) this.send({ kind: "drop_draft" });
    };
    const dropped = () => {
      const { drafted } = this.editing ?? {};
      this.stopEditing(isItem ? `item-${what.item}` : `edit-${what.cell}`);
      if (drafted) this.send({ kind: "drop_draft" });
    };
    const base = this.data.revision;
    const label = isItem ? `Step ${text}` : `Text of the ${cell.kind} cell`;
    const editor = new CellEditor(text, {
      label,
      kind,
      comment: cell.kind === "schedule" ? "# off: " : "# ",
      draft,
      done,
      dropped,
    });
    this.editing = { ...what, editor, kind, line: isItem ? what.line : cell.first_line, element: null };
    editor.area.addEventListener("focusout", () => this.hold());
    this.draw();
    editor.focus();
    if (["schedule", "machine"].includes(cell.kind)) this.askForWords();
  }

  /** What the editor may offer: handles are other ones after every change. */
  askForWords() {
    this.model.send_msg({ kind: "words" });
  }

  /** What is pressed now must not move away below the mouse before it is let go. */
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

  stopEditing(focus) {
    if (!this.editing) return;
    this.editing.editor.end();
    this.editing = null;
    this.wish = focus;
    if (!this.held) this.draw();
  }

  editorProblems() {
    const { editor, line, kind } = this.editing;
    if (kind === "prose") return [[]];
    const count = editor.text.split("\n").length;
    const mine = this.data.draft ? this.problemsOf(line, count) : [];
    return [mine, undefined];
  }

  /** Problems on `count` lines from `first` on, with lines that count from there. */
  problemsOf(first, count) {
    return this.data.problems
      .filter((p) => p.line !== null && p.line >= first - 1 && p.line < first + count)
      .map((p) => ({
        ...p,
        line: Math.max(1, p.line - first + 1),
        end_line: Math.max(1, p.end_line - first + 1),
        in_file: p.line,
      }));
  }

  // Parts of the page.

  keyOf(cell) {
    if (this.editing?.cell === cell.index) return null;
    const { rows, body, first_line: _first, lines: _lines, ...rest } = cell;
    const problems = this.problemsOf(cell.first_line, cell.lines);
    const first = this.isFirstSchedule(cell) ? this.data.branches : null;
    return JSON.stringify([rest, rows ? null : body, rows ? null : problems, first, this.open.has(cell.index)]);
  }

  isFirstSchedule(cell) {
    return cell.kind === "schedule" && this.data.cells.find((c) => c.kind === "schedule") === cell;
  }

  banner({ kind, text, count }) {
    const tool = (words, message) =>
      h("button", { class: "tool small", type: "button", onclick: () => this.send(message) }, words);
    const event = (words, name) =>
      h(
        "button",
        { class: "tool small", type: "button", onclick: () => window.dispatchEvent(new CustomEvent(name)) },
        words,
      );
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
        title: "A branch that goes on from here; what is there now is kept",
        onclick: (e) => nameBranch(this, e.currentTarget, count),
      },
      "Branch from here…",
    );
    const show = h("button", { class: "tool small", type: "button", onclick: () => this.showError() }, "Show");
    const undo = h(
      "button",
      { class: "tool small", type: "button", onclick: () => this.send({ kind: "undo" }) },
      "Undo the edit",
    );
    const files = {
      unsaved: [tool("Try again", { kind: "save" }), event("Save as…", "tilewright:save-as")],
      clash: [event("Decide…", "tilewright:decide")],
      told: [tool("Undo it", { kind: "undo" }), tool("OK", { kind: "heard" })],
    };
    const tools = files[kind] ?? (kind === "back" ? [branch, now] : this.data.draft ? [] : [show, undo]);
    return h(
      "div",
      { class: `banner is-${kind}`, role: kind === "unsaved" || kind === "clash" ? "alert" : "status" },
      h("span", {}, text),
      h("span", { class: "banner-tools" }, tools),
    );
  }

  showError() {
    const place = this.list.querySelector(".conflict, .inline-problem");
    place?.scrollIntoView({ block: "center" });
    place?.querySelector("button")?.focus({ preventScroll: true });
  }

  section(cell) {
    const editing = this.editing?.cell === cell.index ? this.editing : null;
    if (editing?.element) return editing.element;
    const whole = editing && editing.item === undefined;
    const made = h(
      "div",
      { class: `cell ${cell.kind}`, "data-cell": cell.index, role: "group", "aria-label": `${cell.kind} cell` },
      this.gap(cell),
      this.head(cell),
      whole ? editing.editor.element : this.content(cell),
    );
    if (editing) editing.element = made;
    return made;
  }

  /** Between two cells: where a new one goes. */
  gap(cell) {
    const add = (event) => this.menu(event.currentTarget, "New cell", newCellItems(this, cell.index));
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
            title: "Edit this cell (or press twice on it)",
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
            onclick: (e) => this.menu(e.currentTarget, "Cell", cellItems(this, cell)),
          },
          icon("more"),
        ),
      ),
    );
  }

  content(cell) {
    const edit = () => this.edit({ cell: cell.index });
    if (cell.kind === "markdown")
      return h(
        "div",
        { class: "prose", ondblclick: edit },
        cell.prose.trim() ? prose(cell.prose) : h("p", { class: "quiet" }, "Nothing is written here yet."),
      );
    if (cell.rows) {
      const steps = h("ol", { class: "steps" });
      const none =
        cell.takes_steps &&
        h(
          "p",
          { class: "quiet no-steps", "data-cell": cell.index },
          "No steps yet. Drag a block onto a loop in the tree, drop a step of another cell here, or press twice to write one.",
        );
      return h("div", { ondblclick: cell.takes_steps ? edit : null }, steps, none);
    }
    return this.code(cell, edit);
  }

  code(cell, edit) {
    const problems = this.problemsOf(cell.first_line, cell.lines);
    const lines = cell.body.split(/\r\n|\r|\n/);
    while (lines.length > 1 && !lines.at(-1).trim()) lines.pop();
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
        ...here.map((p) => problemLine(p, p.in_file, { mend: () => this.send({ kind: "mend" }) })),
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

  toggleOpen(cell) {
    if (!this.open.delete(cell.index)) this.open.add(cell.index);
    this.draw();
  }

  openAll(all) {
    this.before ??= this.open;
    this.open = all ? new Set(this.data.cells.map((cell) => cell.index)) : this.before;
    if (!all) this.before = undefined;
    this.draw();
  }

  codeLine(line, problems) {
    const [problem] = problems;
    if (!problem) return h("code", {}, highlighted(line), "\n");
    const start = Math.min(problem.column - 1, Math.max(0, line.length - 1));
    const end = problem.end_line > problem.line ? line.length : Math.max(start + 1, problem.end_column - 1);
    const mark = h("span", { class: "squiggle" }, line.slice(start, end) || " ");
    return h("code", { class: "is-bad" }, highlighted(line.slice(0, start)), mark, highlighted(line.slice(end)), "\n");
  }

  // Steps.

  drawRows(cell) {
    const steps = cell.rows && this.list.querySelector(`.cell[data-cell="${cell.index}"] .steps`);
    if (!steps) return;
    const { chosen } = this.data;
    const viewOf = (line) => ({
      chosen: line.kind === "step" && line.count === chosen,
      later: line.status === "applied" && line.count > chosen,
    });
    reconcile(
      steps,
      cell.rows,
      (line) => (this.isEdited(line) ? null : JSON.stringify([line, viewOf(line)])),
      (line) =>
        line.kind === "note"
          ? noteRow(line)
          : this.isEdited(line)
            ? this.editedRow(line)
            : stepRow(line, viewOf(line), this.actions(cell)),
    );
  }

  isEdited(line) {
    return line.kind !== "note" && this.editing?.item !== undefined && this.editing.item === line.item;
  }

  editedRow(line) {
    this.editing.row ??= h("li", { class: "step edited", "data-item": line.item }, this.editing.editor.element);
    return this.editing.row;
  }

  actions(cell) {
    const edit = (line) => this.edit({ cell: cell.index, item: line.item, text: line.text, line: line.line });
    return {
      send: (message) => this.send(message),
      view: (line) => this.send({ kind: "view", count: line.count }),
      edit,
      toggle: (line) => this.toggle(line),
      menu: (line, anchor) => this.menu(anchor, line.text, stepItems(this, cell, line)),
      key: (event, line) => this.stepKey(event, cell, line),
      choice: (choice, line) => {
        if (choice.message.kind === "edit") edit(line);
        else this.send(choice.message);
      },
    };
  }

  toggle(line) {
    this.wish = `item-${line.item}`;
    this.send({ kind: "switch_item", item: line.item, on: line.kind === "off" });
  }

  /** The step above or below, or the cell without steps that lies between. */
  beside(line, by) {
    const places = this.data.cells.flatMap((cell) =>
      cell.takes_steps ? [cell] : (cell.rows ?? []).filter((row) => row.kind !== "note"),
    );
    return places[places.findIndex((place) => place.item === line.item) + by];
  }

  /** One place up or down, over the borders of cells. */
  shift(line, by) {
    const next = this.beside(line, by);
    if (!next) return;
    const isCell = next.takes_steps;
    this.wish = `item-${line.item + (isCell ? 0 : by)}`;
    this.send({
      kind: isCell ? "move_item_into" : "move_item",
      item: line.item,
      ...(isCell ? { cell: next.index } : { target: next.item, after: by > 0 }),
    });
  }

  stepKey(event, cell, line) {
    const control = event.ctrlKey || event.metaKey;
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (by && event.altKey) this.shift(line, by);
    else if (by && !control && !event.shiftKey) {
      const texts = [...this.list.querySelectorAll(".step-text")];
      texts[texts.indexOf(event.currentTarget) + by]?.focus();
    } else if (event.key === "F2") this.edit({ cell: cell.index, item: line.item, text: line.text, line: line.line });
    else if (event.key === "Delete") {
      this.wish = `item-${line.item}`;
      this.send({ kind: "remove_item", item: line.item });
    } else if (event.key === "/" && control) this.toggle(line);
    else if (event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey))
      this.menu(event.currentTarget, line.text, stepItems(this, cell, line));
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // Menus and branches.

  menu(anchor, title, items) {
    const name = anchor.dataset?.focus;
    const close = () => {
      this.popup.hide();
      (name ? this.list.querySelector(`[data-focus="${name}"]`) : anchor)?.focus();
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
        onclick: (e) => this.menu(e.currentTarget, "Branches", branchItems(this)),
      },
      icon("branch"),
      h("span", { class: "branch-name" }, label),
      this.data.branches.length > 1 ? h("span", { class: "quiet" }, `of ${this.data.branches.length}`) : null,
    );
  }
}

export function render({ model }) {
  return new Notebook(model).view;
}
