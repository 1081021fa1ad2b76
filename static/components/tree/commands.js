// The commands of the tree for the command palette: the actions of the cursor's row, and those of the whole tree.

import { publish } from "../core/bus.js";

/** @import { MenuItem } from "../core/menu.js" */
/** @import { Tree } from "./tree.js" */

/**
 * @param {Tree} tree
 * @returns {MenuItem[]}
 */
export function treeCommands(tree) {
  const row = tree.byId.get(tree.cursor);
  if (!tree.element.checkVisibility?.() || !row) return [];
  const rows = tree.together(row.id);
  const known = rows.every((id) => tree.dialogs.entries(id) !== undefined);
  // The palette asks again when the server has sent them.
  if (!known) tree.dialogs.whenKnown(rows, () => publish("commands-changed"));
  const name = rows.length > 1 ? `${rows.length} rows` : row.name;
  const items = known
    ? tree.dialogs.items(rows, row, tree.anchor(row.id)).map((item) => ({ ...item, group: `On ${name}`, rare: false }))
    : [];
  return [
    ...items,
    command("Find in the loop nest", "/", "rows, buffers, primitives", () => tree.search.open()),
    command("Fold or unfold all loops", "", "an overview of the nest with the cost of each part", () => tree.foldAll()),
    command("Cost of rows", "=", "busy cycles, bytes copied, or none", () => tree.nextCosts()),
    command("Loops of a nest in one row", "#", "as T.grid; loops of one iteration are hidden", () => tree.toggleGrid()),
    command("Keys of the tree", "?", "all of them", () => tree.dialogs.openKeys(tree.anchor(tree.cursor))),
  ];
}

/**
 * @param {string} label
 * @param {string} key
 * @param {string} help
 * @param {() => void} run
 * @returns {MenuItem}
 */
function command(label, key, help, run) {
  return { label, key, help, group: "Loop tree", run };
}
