// Lists that are drawn repeatedly: an equal item keeps its element, with focus, scroll and text that is being typed.

import { focusIn } from "./dom.js";
import { arrange, isSameKind, patch } from "./patch.js";

/** @import { Managed } from "./patch.js" */

/**
 * Make `parent` hold one element per item. An element whose key is unchanged is kept; other elements are patched to new items of the same
 * kind. A key of null marks an element that `make` itself keeps.
 * @template T
 * @param {HTMLElement} parent
 * @param {T[]} items
 * @param {(item: T) => string | null} keyOf Two items with the same key look the same.
 * @param {(item: T) => HTMLElement} make
 */
export function reconcile(parent, items, keyOf, make) {
  const present = [.../** @type {HTMLCollectionOf<Managed>} */ (parent.children)].filter(
    (child) => child.key !== undefined,
  );
  const known = Map.groupBy(present, (child) => child.key);
  const keys = items.map((item) => keyOf(item));
  const kept = keys.map((key) => (key === null ? undefined : known.get(key)?.shift()));
  const left = [...new Set(present).difference(new Set(kept))];
  const wanted = items.map((item, n) => kept[n] ?? elementFor(left, keys[n], make(item)));
  const keep = new Set(wanted);
  for (const child of [...parent.children]) if (!keep.has(/** @type {HTMLElement} */ (child))) child.remove();
  arrange(parent, wanted);
}

/**
 * An element of `left` that was patched to `made`, or `made` itself.
 * @param {Managed[]} left
 * @param {string | null} key
 * @param {Managed} made
 * @returns {Managed}
 */
function elementFor(left, key, made) {
  if (key === null) return made;
  const at = left.findIndex((child) => isSameKind(child, made));
  const element = at < 0 ? made : patch(left.splice(at, 1)[0], made);
  element.key = key;
  return element;
}

/**
 * Draw, then focus the element with the same `data-focus` as before, or with `wanted`.
 * @param {HTMLElement} root
 * @param {() => void} draw
 * @param {string} [wanted]
 */
export function keepFocus(root, draw, wanted) {
  const focused = focusIn(root);
  const name = wanted ?? (root.contains(focused) ? focused?.dataset.focus : undefined);
  draw();
  if (name === undefined) return;
  const now = focusIn(root);
  if (!wanted && root.contains(now) && now?.dataset.focus === name) return;
  const found = root.querySelector(`[data-focus="${CSS.escape(name)}"]`);
  if (found instanceof HTMLElement) found.focus({ preventScroll: !wanted });
}
