// The page's address: it names the open notebook, so that a reload restores it, and Back and Forward switch between notebooks.

import { keep } from "../core/storage.js";
import { TRIES } from "./key.js";
import { LINK_KEY, rootAddress } from "./links.js";

/** @import { Model } from "../core/dom.js" */

/** The path in the address bar after the server's prefix. */
const currentPath = () => `/${location.pathname.slice(new URL(rootAddress()).pathname.length)}`;

/** @param {string} path */
const placeOf = (path) => path.split("/")[1];

/**
 * Send Back and Forward to the server. Returns a function that shows the server's address; null keeps the browser's, of a link or while a
 * notebook opens.
 * @param {Model} model
 */
export function followAddress(model) {
  let isLink = false;
  keep("sessionStorage", TRIES, null);
  // The ticket of this load is used up.
  if (location.search) history.replaceState(history.state, "", location.pathname + location.hash);
  window.addEventListener("popstate", () => {
    if (!location.hash.startsWith(LINK_KEY)) model.send_msg({ kind: "go", path: currentPath() });
  });
  return (/** @type {string | null} */ path) => {
    const wasLink = isLink;
    isLink = path === null && location.hash.startsWith(LINK_KEY);
    if (path === null) return;
    const before = currentPath();
    const url = new URL(path.slice(1), rootAddress()).href;
    if (before === path && !wasLink) return;
    // An edited example or link continues as a draft, a saved draft as a file: it replaces its entry in the history.
    const continues =
      placeOf(path) === "draft"
        ? wasLink || placeOf(before) === "example"
        : placeOf(path) === "file" && placeOf(before) === "draft";
    if (continues) history.replaceState(null, "", url);
    else history.pushState(null, "", url);
  };
}
