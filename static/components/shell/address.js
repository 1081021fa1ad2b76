// The page's address: it names the notebook that is open, so that a reload shows it again, and Back and Forward go between notebooks.

import { LINK_KEY, rootAddress } from "./links.js";

/** The path in the address bar behind the server's prefix. */
const currentPath = () => `/${location.pathname.slice(new URL(rootAddress()).pathname.length)}`;

const placeOf = (path) => path.split("/")[1];

/** Follows the server's address (null leaves the browser's as it is: of a link, or while the notebook is opened) and tells the server when the person goes back or forward. */
export function followAddress(model) {
  let isLink = false;
  window.addEventListener("popstate", () => {
    if (!location.hash.startsWith(LINK_KEY)) model.send_msg({ kind: "go", path: currentPath() });
  });
  return (path) => {
    const wasLink = isLink;
    isLink = path === null && location.hash.startsWith(LINK_KEY);
    if (path === null) return;
    const before = currentPath();
    const url = new URL(path.slice(1), rootAddress()).href;
    if (before === path && !wasLink) {
      if (location.search) history.replaceState(history.state, "", url + location.hash);
      return;
    }
    // An example or a link that was edited goes on as a draft, a draft that was saved as a file: Back leads to what was before it.
    const goesOn =
      placeOf(path) === "draft"
        ? wasLink || placeOf(before) === "example"
        : placeOf(path) === "file" && placeOf(before) === "draft";
    if (goesOn) history.replaceState(null, "", url);
    else history.pushState(null, "", url);
  };
}
