// Lists that are drawn again and again: what is the same stays the same element, with its focus, its scroll and what is typed in it.

import { inOrder, isAlike, takeOn } from "./redraw.js";

/** Make `parent` hold one element for each of `items`. `keyOf` says what an item looks like, `make` draws one. An element whose key stays is
 *  kept; of the others each takes on what one of the new items looks like. A key of null is an element that `make` keeps itself. */
export function reconcile(parent, items, keyOf, make) {
  const standing = [...parent.children].filter((child) => child.looks !== undefined);
  const known = Map.groupBy(standing, (child) => child.looks);
  const keys = items.map((item) => keyOf(item));
  const kept = keys.map((key) => (key === null ? undefined : known.get(key)?.shift()));
  const left = [...new Set(standing).difference(new Set(kept))];
  const wanted = items.map((item, n) => kept[n] ?? looking(left, keys[n], make(item)));
  const keep = new Set(wanted);
  for (const child of [...parent.children]) if (!keep.has(child)) child.remove();
  inOrder(parent, wanted);
}

function looking(left, key, made) {
  if (key === null) return made;
  const at = left.findIndex((child) => isAlike(child, made));
  const element = at < 0 ? made : takeOn(left.splice(at, 1)[0], made);
  element.looks = key;
  return element;
}

/** Draw, and give the focus back to the element with the same `data-focus`, or to the one that is wished for. */
export function keepingFocus(root, draw, wish) {
  const focused = root.getRootNode().activeElement;
  const name = wish ?? (root.contains(focused) ? focused.dataset.focus : undefined);
  draw();
  if (name === undefined) return;
  const now = root.getRootNode().activeElement;
  if (!wish && root.contains(now) && now.dataset.focus === name) return;
  root.querySelector(`[data-focus="${CSS.escape(name)}"]`)?.focus({ preventScroll: !wish });
}
