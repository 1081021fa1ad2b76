// Lists that are drawn again and again: what is the same stays the same element, with its focus, its scroll and what is typed in it.

/** Make `parent` hold one element for each of `items`. `keyOf` says what an item looks like, `make` draws one. An element whose key stays is
 *  kept; a key of null is an element that `make` keeps itself. */
export function reconcile(parent, items, keyOf, make) {
  const old = new Map();
  for (const child of [...parent.children]) if (child.dataset.key) old.set(child.dataset.key, child);
  const wanted = items.map((item) => {
    const key = keyOf(item);
    if (key === null) return make(item);
    const kept = old.get(key);
    if (kept) {
      old.delete(key);
      return kept;
    }
    const fresh = make(item);
    fresh.dataset.key = key;
    return fresh;
  });
  const keep = new Set(wanted);
  for (const child of [...parent.children]) if (!keep.has(child)) child.remove();
  wanted.forEach((element, n) => {
    if (parent.children[n] !== element) parent.insertBefore(element, parent.children[n] ?? null);
  });
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
