// What is drawn anew with the elements that stand: they keep focus and scroll, and the browser lays out and paints no more than what is another.

/** Put `elements` before `behind` in this order, moving as few as possible. */
export function inOrder(parent, elements, behind = null) {
  const places = new Map([...parent.children].map((child, n) => [child, n]));
  const staying = rising(elements.map((element) => places.get(element)));
  const root = parent.getRootNode();
  const focused = root.activeElement;
  let next = behind;
  for (let n = elements.length - 1; n >= 0; n -= 1) {
    const element = elements[n];
    if (!staying.has(n))
      parent[places.has(element) && parent.moveBefore ? "moveBefore" : "insertBefore"](element, next);
    next = element;
  }
  // Where the browser cannot move it with the focus.
  if (parent.contains(focused) && root.activeElement !== focused) focused.focus({ preventScroll: true });
}

/** The indices of a longest rising run of `numbers`, without those that are undefined. */
function rising(numbers) {
  const ends = [];
  const before = [];
  numbers.forEach((number, n) => {
    if (number === undefined) return;
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (numbers[ends[middle]] < number) low = middle + 1;
      else high = middle;
    }
    before[n] = ends[low - 1];
    ends[low] = n;
  });
  const found = new Set();
  for (let n = ends.at(-1); n !== undefined; n = before[n]) found.add(n);
  return found;
}

/** Make the children of `parent` as `children` are, which are new or stand there already: nodes, or text. */
export function redraw(parent, ...children) {
  let at = parent.firstChild;
  for (const child of children) {
    const made = child instanceof Node ? child : document.createTextNode(child);
    const like = made.parentNode === parent ? made : laterAlike(at, made);
    while (like && at !== like) at = without(at);
    if (!like) parent.insertBefore(made, at);
    else {
      if (like !== made) takeOn(like, made);
      at = like.nextSibling;
    }
  }
  while (at) at = without(at);
}

function laterAlike(at, made) {
  let like = at;
  while (like && !isAlike(like, made)) like = like.nextSibling;
  return like;
}

function without(node) {
  const next = node.nextSibling;
  node.remove();
  return next;
}

/** Whether the one may become the other. */
export function isAlike(node, made) {
  return node.nodeName === made.nodeName && node.classList?.[0] === made.classList?.[0];
}

/** Make `node` as `made` is, down to the least that is another. */
export function takeOn(node, made) {
  if (node instanceof Text) {
    if (node.data !== made.data) node.data = made.data;
    return node;
  }
  for (const { name } of [...node.attributes]) if (!made.hasAttribute(name)) node.removeAttribute(name);
  for (const { name, value } of made.attributes) if (node.getAttribute(name) !== value) node.setAttribute(name, value);
  hear(node, made.heard);
  redraw(node, ...made.childNodes);
  if (made.value !== undefined && node.value !== made.value) node.value = made.value;
  return node;
}

/** Listen to `listeners`, by their events, and to no others of those given before. */
export function hear(element, listeners) {
  element.heard = listeners;
  for (const name of Object.keys(listeners ?? {})) element.addEventListener(name, heard); // one that is there already stays one
}

function heard(event) {
  event.currentTarget.heard?.[event.type]?.(event);
}
