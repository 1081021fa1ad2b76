// The actions on several rows: primitives that all of them have with the same fields, and those that take several rows.

/** @import { MenuItem } from "../core/menu.js" */
/** @import { Anchor, RowIndex } from "./tree.js" */
/** @import { Entry as MenuEntry, Field } from "../views.js" */
/** @import { Tree } from "./tree.js" */

const GROUP = "All selected";

/**
 * Menu items for `rows`, whose entries are known.
 * @param {Tree} tree
 * @param {string[]} rows
 * @param {string} id The row that the menu opens at.
 * @param {Anchor} anchor
 * @returns {MenuItem[]}
 */
export function sharedItems(tree, rows, id, anchor) {
  const kinds = new Set(rows.map((row) => tree.byId.get(row)?.kind));
  const own = kinds.size > 1 ? [] : kinds.has("loop") ? loopItems(tree, rows, id) : blockItems(tree, id);
  const shared = sharedEntries(rows.map((row) => tree.dialogs.entries(row) ?? []));
  return [...own, ...shared.map((entry) => ({ ...entry, run: () => tree.dialogs.call(rows, entry, anchor) }))];
}

/**
 * @param {Tree} tree
 * @param {string} id
 * @returns {MenuItem[]}
 */
function blockItems(tree, id) {
  return [
    {
      label: "Move all to a loop…",
      key: "Enter",
      help: "then arrows and Enter, or click a loop",
      group: GROUP,
      run: () => tree.grabByClick(id),
    },
  ];
}

/**
 * @param {Tree} tree
 * @param {string[]} rows
 * @param {string} id
 * @returns {MenuItem[]}
 */
function loopItems(tree, rows, id) {
  const names = (/** @type {string[]} */ ids) => ids.map((row) => tree.nameOf(row));
  const order = [...tree.selection.rows].filter((row) => rows.includes(row));
  return [
    {
      label: "Move together…",
      key: "Enter",
      help: "to the place of another loop of the nest",
      group: GROUP,
      run: () => tree.grabByClick(id),
    },
    {
      label: `Reorder: ${names(order).join(", ")}`,
      method: "reorder",
      key: "r",
      help: "in the order in which they were selected",
      group: GROUP,
      run: () => tree.send({ kind: "reorder", loops: order }),
    },
    {
      label: `Fuse ${names(rows).join(" × ")}`,
      method: "fuse",
      key: "f",
      help: "into one loop",
      group: GROUP,
      disabled: arePerfectlyNested(tree.byId, rows) ? "" : "they are not perfectly nested",
      run: () => tree.send({ kind: "call", method: "fuse", target: rows[0], arguments: { loops: rows } }),
    },
  ];
}

/**
 * @param {RowIndex} byId
 * @param {string[]} rows
 */
function arePerfectlyNested(byId, rows) {
  return rows.slice(1).every((row, n) => byId.get(row)?.parent === rows[n] && byId.get(rows[n])?.children.length === 1);
}

/**
 * The entries that are enabled in every menu, with the fields that are equal in all of them. Other fields keep their defaults.
 * @param {MenuEntry[][]} menus
 */
export function sharedEntries([first, ...others]) {
  return first
    .filter((entry) => !entry.revises)
    .flatMap((entry) => {
      const same = others.map((menu) =>
        menu.find((item) => item.method === entry.method && item.label === entry.label),
      );
      const enabled = same.filter((item) => item !== undefined && !item.disabled);
      const fields = entry.disabled || enabled.length < same.length ? null : sharedFields(entry, enabled);
      return fields ? [{ ...entry, group: "Each row", fields }] : [];
    });
}

/**
 * The fields that `entry` shares with all `others`; null if a required field differs.
 * @param {MenuEntry} entry
 * @param {(MenuEntry | undefined)[]} others
 */
function sharedFields(entry, others) {
  /** @type {Field[]} */
  const fields = [];
  for (const field of entry.fields) {
    const same = others.every((item) => {
      const other = item?.fields.find(({ name }) => name === field.name);
      return other?.type === field.type && JSON.stringify(other.choices) === JSON.stringify(field.choices);
    });
    const ofOneRow = field.stem !== undefined || ["loops", "loop"].includes(field.name) || field.spread;
    if (same && !ofOneRow) fields.push(field);
    else if (!field.optional) return null;
  }
  return fields;
}
