// Text that was being typed while the server did not answer: kept in the browser's tab, and put back into its editor once the page is back.

const KEY = "tilewright-typed";

/** `typed`: {cell, item, text}; null where nothing is being typed. */
export function keepTyped(typed) {
  if (typed) sessionStorage.setItem(KEY, JSON.stringify({ ...typed, path: location.pathname }));
}

/** What was kept for this page, once; null where there is nothing. */
export function takeTyped() {
  const kept = JSON.parse(sessionStorage.getItem(KEY) ?? "null");
  sessionStorage.removeItem(KEY);
  return kept?.path === location.pathname ? kept : null;
}
