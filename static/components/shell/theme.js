// The theme of the page: the reader's choice, which the browser keeps, else the one of the operating system.

import { publish, subscribe } from "../core/bus.js";
import { keep, kept } from "../core/storage.js";

/** @import { PayloadModel } from "../core/dom.js" */

/** @typedef {"light" | "dark"} Theme */

const KEY = "tilewright-theme";

/**
 * Choose a theme.
 * @param {Theme} theme
 */
export function chooseTheme(theme) {
  publish("theme", theme);
}

/**
 * Request the theme of the page now and after each change of the system's preference. Returns a function that shows the server's theme:
 * one that was not requested here is the reader's choice, too.
 * @param {PayloadModel} model
 */
export function followTheme(model) {
  const root = document.documentElement;
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const wanted = () => kept("localStorage", KEY) ?? (prefersDark.matches ? "dark" : "light");
  /** @type {Theme | null} The requested theme until the server confirms it. */
  let pending = null;
  /** @type {Theme | null} The server's theme. */
  let now = null;
  const show = (/** @type {Theme} */ theme) => {
    // An equal assignment would also notify observers, which read all colours again.
    if (root.dataset.theme !== theme) root.dataset.theme = theme;
    if (root.style.colorScheme !== theme) root.style.colorScheme = theme;
  };
  const request = () => {
    const theme = wanted();
    show(theme);
    if (theme === now && pending === null) return;
    pending = theme;
    model.send_msg({ kind: "theme", theme });
  };
  prefersDark.addEventListener("change", request);
  subscribe("theme", (theme) => {
    keep("localStorage", KEY, theme);
    request();
  });
  return (/** @type {Theme} */ theme) => {
    const isFirst = now === null;
    const isChanged = now !== theme;
    now = theme;
    if (isFirst) return request();
    const isAnswer = pending === theme;
    if (isAnswer) pending = null;
    if (isAnswer || pending !== null || !isChanged) return;
    if (theme !== wanted()) keep("localStorage", KEY, theme);
    show(theme);
  };
}
