// The menus of the notebook: between two cells, of a cell, of a step, of branches.

import { promptName } from "../core/name_prompt.js";

/** @import { MenuItem } from "../core/menu.js" */
/** @import { Notebook } from "./column.js" */
/** @import { NotebookCell as Cell, ScheduleLine as Step } from "../views.js" */

const NEW_CELLS = [
  ["markdown", "Text", "Prose in Markdown"],
  ["schedule", "Schedule", "More steps"],
  ["machine", "Machine", "The machine and its parameters"],
  ["workload", "Workload", "The program"],
  ["intrinsic", "Intrinsic", "A tensor instruction"],
  ["code", "Python", "Python for `python file.py` only"],
];

/**
 * @param {Notebook} notebook
 * @param {number} index
 * @returns {MenuItem[]}
 */
export function newCellItems(notebook, index) {
  const present = new Set(notebook.data.cells.map((c) => String(c.kind)));
  return NEW_CELLS.map(([kind, label, help]) => ({
    label,
    help,
    disabled: ["machine", "workload"].includes(kind) && present.has(kind) ? "the notebook has one" : undefined,
    run: () => {
      notebook.newCell = index;
      notebook.send({ kind: "insert_cell", cell: index, cell_kind: kind });
    },
  }));
}

/**
 * @param {Notebook} notebook
 * @param {Cell} cell
 * @returns {MenuItem[]}
 */
export function cellItems(notebook, cell) {
  const { cells } = notebook.data;
  const at = cells.findIndex((c) => c.index === cell.index);
  const to = (/** @type {Cell | undefined} */ other) => () => {
    if (!other) return;
    notebook.pendingFocus = `more-${other.index}`;
    notebook.send({ kind: "move_cell", cell: cell.index, to: other.index });
  };
  const fixed = cell.kind === "preamble" ? "it is the start of the file" : undefined;
  const above = cells[at - 1]?.kind === "preamble" ? undefined : cells[at - 1];
  return [
    { label: "Edit", key: "e", run: () => notebook.edit({ cell: cell.index }) },
    { label: "Move up", key: "u", disabled: fixed ?? (above ? undefined : "it is the first"), run: to(above) },
    {
      label: "Move down",
      key: "d",
      disabled: fixed ?? (cells[at + 1] ? undefined : "it is the last"),
      run: to(cells[at + 1]),
    },
    {
      label: "Add a cell below",
      key: "a",
      run: () =>
        notebook.menu(notebook.focusable(`more-${cell.index}`), "New cell", newCellItems(notebook, cell.index + 1)),
    },
    {
      label: "Remove",
      key: "r",
      help: "Undo restores it",
      run: () => notebook.send({ kind: "remove_cell", cell: cell.index }),
    },
  ];
}

/**
 * @param {Notebook} notebook
 * @param {Cell} cell
 * @param {Step} line
 * @returns {MenuItem[]}
 */
export function stepItems(notebook, cell, line) {
  const off = line.kind === "off";
  const failed = off || line.status !== "applied" ? "the step is not applied" : undefined;
  return [
    {
      label: "Show the program after it",
      key: "v",
      disabled: failed,
      run: () => notebook.send({ kind: "view", count: line.count }),
    },
    {
      label: "Compare with now",
      key: "c",
      disabled: failed,
      help: "A/B: trees, timelines and figures side by side",
      run: () => notebook.send({ kind: "compare", a: `step:${line.count}`, b: "now" }),
    },
    {
      label: "Edit",
      key: "e",
      run: () => notebook.edit({ cell: cell.index, item: line.item, text: line.text, line: line.line }),
    },
    {
      label: line.note ? "Change the comment…" : "Comment…",
      key: "m",
      help: "The comment above the step in the text (#)",
      run: () => notebook.comment(line, notebook.rowOf(line)),
    },
    { label: off ? "Enable" : "Disable", key: "o", run: () => notebook.toggle(line) },
    {
      label: "Move up",
      key: "u",
      disabled: notebook.beside(line, -1) ? undefined : "it is the first",
      run: () => notebook.shift(line, -1),
    },
    {
      label: "Move down",
      key: "d",
      disabled: notebook.beside(line, 1) ? undefined : "it is the last",
      run: () => notebook.shift(line, 1),
    },
    {
      label: "Branch from here…",
      key: "b",
      disabled: failed,
      run: () => nameBranch(notebook, notebook.rowOf(line), line.count),
    },
    { label: "Remove", key: "r", run: () => notebook.send({ kind: "remove_item", item: line.item }) },
  ];
}

/**
 * @param {Notebook} notebook
 * @returns {MenuItem[]}
 */
export function branchItems(notebook) {
  const { branches } = notebook.data;
  const current = branches.find((branch) => branch.current)?.name ?? "main";
  const anchor = () => notebook.focusable("branch");
  /** @type {MenuItem[]} */
  const items = branches.map((branch) => ({
    label: `${branch.current ? "● " : ""}${branch.name}`,
    disabled: branch.current ? "shown" : undefined,
    help: branch.shared === null ? "" : `The first ${branch.shared} lines are equal`,
    run: () => notebook.send({ kind: "choose_branch", name: branch.name }),
  }));
  items.push({
    label: "New branch…",
    key: "n",
    help: "From the displayed step; the present branch is kept",
    run: () =>
      nameBranch(
        notebook,
        anchor(),
        notebook.data.banners.some((b) => b.kind === "back") ? notebook.data.chosen : null,
      ),
  });
  if (branches.length)
    items.push({
      label: `Rename ${current}…`,
      key: "r",
      run: () =>
        askBranch(notebook, anchor(), "Rename branch", "Rename", current, (name) =>
          notebook.send({ kind: "rename_branch", name: current, new: name }),
        ),
    });
  for (const branch of branches.filter((b) => !b.current)) {
    items.push({
      label: `Compare ${branch.name} with now`,
      help: "A/B: trees, timelines and figures side by side",
      run: () => notebook.send({ kind: "compare", a: `branch:${branch.name}`, b: "now" }),
    });
    items.push({
      label: `Delete ${branch.name}`,
      help: "Undo restores it",
      run: () => notebook.send({ kind: "delete_branch", name: branch.name }),
    });
  }
  return items;
}

/**
 * Ask for the name of a new branch.
 * @param {Notebook} notebook
 * @param {HTMLElement} anchor
 * @param {number | null} steps The number of its first steps; null: all.
 */
export function nameBranch(notebook, anchor, steps) {
  const taken = new Set(["main", ...notebook.data.branches.map((branch) => branch.name)]);
  let number = 2;
  while (taken.has(`branch ${number}`)) number += 1;
  askBranch(
    notebook,
    anchor,
    steps === null ? "New branch" : "New branch from here",
    "Create",
    `branch ${number}`,
    (name) => notebook.send({ kind: "add_branch", name, steps }),
  );
}

/**
 * @param {Notebook} notebook
 * @param {HTMLElement} anchor
 * @param {string} title
 * @param {string} action
 * @param {string} value
 * @param {(name: string) => void} done
 */
function askBranch(notebook, anchor, title, action, value, done) {
  const back = () => notebook.focusable("branch");
  promptName(notebook.popup, anchor, { title, value, action, most: 60, back }, done);
}
