// What can be done to several rows at once: primitives that all of them take with the same questions, and those that are about several.

/** Menu items for `rows` ({label, key, help, group, run, …}), `id` the row that the menu is opened at. */
export function forSeveral(tree, rows, id, anchor) {
  const kinds = new Set(rows.map((row) => tree.byId.get(row).kind));
  const own = kinds.size > 1 ? [] : kinds.has("loop") ? forLoops(tree, rows, id) : forBlocks(tree, id);
  const shared = sharedEntries(rows.map((row) => tree.sheets.entries(row)));
  return [...own, ...shared.map((entry) => ({ ...entry, run: () => tree.sheets.run(rows, entry, anchor) }))];
}

function forBlocks(tree, id) {
  return [
    {
      label: "Move all to a loop…",
      key: "Enter",
      help: "then arrows and Enter, or click a loop",
      group: "Together",
      run: () => {
        tree.focusRow(id);
        tree.hand.start(id, "click");
      },
    },
  ];
}

function forLoops(tree, rows, id) {
  const name = (row) => tree.byId.get(row).name;
  const picked = tree.chosenInTurn().filter((row) => rows.includes(row));
  const nested = inOneAnother(tree.byId, rows) ? "" : "they do not stand directly in one another";
  return [
    {
      label: "Move together…",
      key: "Enter",
      help: "to the place of another loop of the nest",
      group: "Together",
      run: () => {
        tree.focusRow(id);
        tree.hand.start(id, "click");
      },
    },
    {
      label: `Reorder: ${picked.map(name).join(", ")}`,
      method: "reorder",
      key: "r",
      help: "in the order in which they were chosen",
      group: "Together",
      run: () => tree.send({ kind: "reorder", loops: picked }),
    },
    {
      label: `Fuse ${rows.map(name).join(" × ")}`,
      method: "fuse",
      key: "f",
      help: "into one loop",
      group: "Together",
      disabled: nested,
      run: () => tree.send({ kind: "call", method: "fuse", target: rows[0], arguments: { loops: rows } }),
    },
  ];
}

function inOneAnother(byId, rows) {
  return rows.slice(1).every((row, n) => {
    const parent = byId.get(rows[n]);
    return byId.get(row).parent === parent.id && parent.children.length === 1;
  });
}

/** The entries that every menu has and that none of them rules out; what is asked for differently in each is left out with its default. */
export function sharedEntries(menus) {
  const [first, ...others] = menus;
  return first
    .map((entry) => {
      const same = others.map((menu) =>
        menu.find((item) => item.method === entry.method && item.label === entry.label),
      );
      return [entry, ...same].every((item) => item && !item.disabled) ? common(entry, same) : null;
    })
    .filter(Boolean);
}

function common(entry, others) {
  const fields = [];
  for (const field of entry.fields) {
    const same = others.every((item) => {
      const other = item.fields.find((f) => f.name === field.name);
      return other && other.type === field.type && JSON.stringify(other.choices) === JSON.stringify(field.choices);
    });
    const ofEach = field.stem !== undefined || ["loops", "loop"].includes(field.name) || field.spread;
    if (same && !ofEach) fields.push(field);
    else if (!field.optional) return null;
  }
  return { ...entry, group: "Each of them", fields };
}
