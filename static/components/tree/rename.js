// The name of a row, edited in its place. Enter sends it, Escape and leaving it do not.

import { h } from "../core/dom.js";

/** A field in the place of the name of row `id`. Of a block that a call made, the variable is edited: its name is its buffer's. */
export function renameField(tree, id) {
  const row = tree.byId.get(id);
  const label = tree.elements.get(id)?.querySelector(".loop-name, .block-name");
  if (!label || label.querySelector("input")) return;
  const ofVariable = row.kind === "block" && row.made;
  const name = ofVariable ? (row.variable ?? row.name) : row.name;
  const what = ofVariable ? `Variable of ${row.name}` : `Name of ${row.kind} ${row.name}`;
  const input = h("input", {
    class: "rename",
    type: "text",
    "aria-label": what,
    title: what,
    value: name,
    size: Math.max(6, name.length + 2),
    autocomplete: "off",
    spellcheck: "false",
  });
  const shown = [...label.childNodes];
  let over = false;
  const close = (focus) => {
    if (over) return;
    over = true;
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
    tree.after = ofVariable ? { id, focus: true } : { id: wanted, focus: true };
    tree.sheets.hideNotice();
    tree.send({ kind: "rename", id, name: wanted });
  });
  for (const type of ["pointerdown", "pointerup", "dblclick", "click"])
    input.addEventListener(type, (event) => event.stopPropagation());
  input.addEventListener("blur", () => close(false));
  label.replaceChildren(input);
  input.focus();
  input.select();
}
