// Updates of existing DOM nodes: they keep focus and scroll, and the browser lays out and paints only changed nodes.

/** @typedef {{ [event: string]: (event: any) => unknown }} ListenersByEvent */

/**
 * An element that this module or `h` manages: its present listeners, and the key of `reconcile`.
 * @typedef {HTMLElement & { listeners?: ListenersByEvent, key?: string, value?: string }} Managed
 */

/**
 * Put `elements` before `behind` in this order with the fewest moves.
 * @param {HTMLElement} parent
 * @param {HTMLElement[]} elements
 * @param {Node | null} behind
 */
export function arrange(parent, elements, behind = null) {
  const places = new Map([...parent.children].map((child, n) => [child, n]));
  const unmoved = longestRisingRun(elements.map((element) => places.get(element)));
  const root = /** @type {Document | ShadowRoot} */ (parent.getRootNode());
  const focused = root.activeElement;
  let next = behind;
  for (let n = elements.length - 1; n >= 0; n -= 1) {
    const element = elements[n];
    if (!unmoved.has(n)) move(parent, element, next, places.has(element));
    next = element;
  }
  // Browsers without moveBefore lose the focus of a moved element.
  if (focused instanceof HTMLElement && parent.contains(focused) && root.activeElement !== focused)
    focused.focus({ preventScroll: true });
}

/**
 * @param {HTMLElement & { moveBefore?: (node: Node, child: Node | null) => void }} parent
 * @param {HTMLElement} element
 * @param {Node | null} next
 * @param {boolean} isChild
 */
function move(parent, element, next, isChild) {
  if (isChild && parent.moveBefore) parent.moveBefore(element, next);
  else parent.insertBefore(element, next);
}

/**
 * The indices of a longest rising run of `numbers`; undefined ones are skipped.
 * @param {(number | undefined)[]} numbers
 * @returns {Set<number>}
 */
export function longestRisingRun(numbers) {
  /** @type {number[]} */
  const ends = []; // the index of the least last number of a run of each length
  /** @type {(number | undefined)[]} */
  const before = [];
  numbers.forEach((number, n) => {
    if (number === undefined) return;
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (/** @type {number} */ (numbers[ends[middle]]) < number) low = middle + 1;
      else high = middle;
    }
    before[n] = ends[low - 1];
    ends[low] = n;
  });
  /** @type {Set<number>} */
  const found = new Set();
  for (let n = ends.at(-1); n !== undefined; n = before[n]) found.add(n);
  return found;
}

/**
 * Make the children of `parent` equal to `children`: new nodes, texts, or nodes that are children already.
 * @param {Node} parent
 * @param {...(Node | string)} children
 */
export function patchChildren(parent, ...children) {
  /** @type {ChildNode | null} */
  let at = parent.firstChild;
  for (const child of children) {
    const made = child instanceof Node ? child : document.createTextNode(child);
    const like = made.parentNode === parent ? /** @type {ChildNode} */ (made) : laterOfSameKind(at, made);
    while (like && at && at !== like) at = removed(at);
    if (!like) parent.insertBefore(made, at);
    else {
      if (like !== made) patch(like, made);
      at = like.nextSibling;
    }
  }
  while (at) at = removed(at);
}

/**
 * @param {ChildNode | null} at
 * @param {Node} made
 */
function laterOfSameKind(at, made) {
  let like = at;
  while (like && !isSameKind(like, made)) like = like.nextSibling;
  return like;
}

/**
 * Remove a node and return the next one.
 * @param {ChildNode} node
 */
function removed(node) {
  const next = node.nextSibling;
  node.remove();
  return next;
}

/**
 * Whether `node` can be patched to `made`: both have the same tag and the same first class.
 * @param {Node} node
 * @param {Node} made
 */
export function isSameKind(node, made) {
  return node.nodeName === made.nodeName && firstClass(node) === firstClass(made);
}

/** @param {Node} node */
function firstClass(node) {
  return node instanceof Element ? node.classList[0] : undefined;
}

/**
 * Make `node` equal to `made` with the fewest changes.
 * @template {Node} N
 * @param {N} node
 * @param {Node} made
 * @returns {N}
 */
export function patch(node, made) {
  if (node instanceof Text && made instanceof Text) {
    if (node.data !== made.data) node.data = made.data;
  } else if (node instanceof Element && made instanceof Element) {
    for (const { name } of [...node.attributes]) if (!made.hasAttribute(name)) node.removeAttribute(name);
    for (const { name, value } of made.attributes)
      if (node.getAttribute(name) !== value) node.setAttribute(name, value);
    const [old, fresh] = [/** @type {Managed} */ (/** @type {Element} */ (node)), /** @type {Managed} */ (made)];
    listen(old, fresh.listeners);
    patchChildren(old, ...fresh.childNodes);
    if (fresh.value !== undefined && old.value !== fresh.value) old.value = fresh.value;
  }
  return node;
}

/**
 * Replace the listeners of an earlier call by `listeners`.
 * @param {Managed} element
 * @param {ListenersByEvent} [listeners]
 */
export function listen(element, listeners) {
  element.listeners = listeners;
  for (const name of Object.keys(listeners ?? {})) element.addEventListener(name, dispatch); // adding it again has no effect
}

/** @param {Event} event */
function dispatch(event) {
  /** @type {Managed} */ (event.currentTarget).listeners?.[event.type]?.(event);
}
