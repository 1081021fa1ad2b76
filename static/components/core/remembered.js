// Choices of the user that the browser keeps between visits.

/** The storage of the browser; a sandboxed frame of a notebook has none. */
function storage() {
  try {
    return localStorage;
  } catch {
    return null;
  }
}

/**
 * The value that was kept under a name, or null.
 * @param {string} name
 */
export function remembered(name) {
  return JSON.parse(storage()?.getItem(`tilewright-${name}`) ?? "null");
}

/**
 * @param {string} name
 * @param {unknown} value A JSON value.
 */
export function remember(name, value) {
  storage()?.setItem(`tilewright-${name}`, JSON.stringify(value));
}
