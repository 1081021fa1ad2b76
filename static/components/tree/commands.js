// What the tree can do, for the command palette: the actions of the row at the cursor, all other primitives with why they are not there,
// and what concerns the tree as a whole.

/** [{label, method, key, help, group, disabled, run}]. */
export function treeCommands(tree) {
  const row = tree.byId.get(tree.cursor);
  if (!tree.element.checkVisibility?.() || !row) return [];
  const anchor = () => (tree.elements.get(tree.cursor) ?? tree.list).getBoundingClientRect();
  const rows = tree.together(row.id);
  const known = rows.every((id) => tree.sheets.entries(id) !== undefined);
  // They come when they are known: the palette asks again.
  if (!known) tree.sheets.whenKnown(rows, () => window.dispatchEvent(new CustomEvent("tilewright:commands-changed")));
  const name = rows.length > 1 ? `${rows.length} rows` : row.name;
  const items = known
    ? tree.sheets.items(rows, row.id, anchor()).map((item) => ({ ...item, group: `On ${name}`, rare: false }))
    : [];
  const own = (label, key, help, run) => ({ label, key, help, group: "Loop tree", run });
  return [
    ...items,
    own("Find in the loop nest", "/", "rows, buffers, primitives", () => tree.search.open()),
    own("Fold or unfold all loops", "", "the nest at a glance, with what each part costs", () => tree.foldAll()),
    own("Cost of rows", "=", "busy cycles, bytes copied, or none", () => tree.nextCosts()),
    own("Keys of the tree", "?", "all of them", () =>
      tree.sheets.openKeys(tree.elements.get(tree.cursor) ?? tree.list),
    ),
  ];
}
