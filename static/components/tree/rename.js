// The name of a row, edited in its place. Enter sends it; Escape and leaving the field cancel.

import { h } from "../core/dom.js";

/** @import { Tree } from "./tree.js" */

/**
 * Put a field in the place of the name of row `id`. For a block that a call made, it edits the variable, since the block has its buffer's name.
 * @param {Tree} tree
 * @param {string} id
 */
export function renameField(tree, id) {
  const row = tree.byId.get(id);
  const label = tree.elementOf(id)?.querySelector(".loop-name, .block-name");
  if (!row || !label || label.querySelector("input")) return;
  const ofVariable = row.kind === "block" && row.made;
  const name = ofVariable ? (row.variable ?? row.name) : row.name;
  const title = ofVariable ? `Variable of ${row.name}` : `Name of ${row.kind} ${row.name}`;
  const input = h("input", {
    class: "rename",
    type: "text",
    "aria-label": title,
    title,
    value: name,
    size: Math.max(6, name.length + 2),
    autocomplete: "off",
    spellcheck: "false",
  });
  const shown = [...label.childNodes];
  let closed = false;
  const close = (/** @type {boolean} */ focus) => {
    if (closed) return;
    closed = true;
    label.replaceChildren(...shown);
    if (focus) tree.focusRow(id);
  };
  input.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Escape") close(true);
    if (event.key !== "Enter") return;
    event.preventDefault();
    const wanted = input.value.trim();
    close(true);
    if (!wanted || wanted === name) return;
    tree.after = { id: ofVariable ? id : wanted, focus: true };
    tree.dialogs.hideNotice();
    tree.send({ kind: "rename", id, name: wanted });
  });
  for (const type of ["pointerdown", "pointerup", "dblclick", "click"])
    input.addEventListener(type, (event) => event.stopPropagation());
  input.addEventListener("blur", () => close(false));
  label.replaceChildren(input);
  input.focus();
  input.select();
}
