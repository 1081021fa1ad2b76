// Links that contain a notebook after the #, in the format of app/links.py. The text is opened like a file and never executed.

import { h } from "../core/dom.js";

export const LINK_KEY = "#notebook=";
const MAX_LINKED = 8_000_000;

/** The address of the start page, the base of relative addresses. */
export const rootAddress = () => document.baseURI;

/**
 * The notebook's text in a fragment, or null. Throws if it is damaged, or too long after decompression.
 * @param {string} fragment
 */
export async function linkedText(fragment) {
  if (!fragment.startsWith(LINK_KEY)) return null;
  const packed = fragment.slice(LINK_KEY.length).replaceAll("-", "+").replaceAll("_", "/");
  const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  for (let size = 0; ;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    size += value.length;
    if (size > MAX_LINKED) {
      await reader.cancel();
      throw new Error("its notebook is too long");
    }
    text += decoder.decode(value, { stream: true });
  }
}

/**
 * Copy the link to the clipboard and confirm it; without permission, show the link for manual copying.
 * @param {Element} holder
 * @param {string} fragment
 */
export async function copyLink(holder, fragment) {
  const link = `${rootAddress()}${fragment}`;
  const size = `${link.length.toLocaleString("en").replaceAll(",", "\u202f")} characters`;
  try {
    await navigator.clipboard.writeText(link);
    showStatus(holder, `Link copied: the whole notebook, in ${size}.`);
  } catch {
    const field = h("input", { type: "text", readonly: true, value: link, "aria-label": "Link to this notebook" });
    showStatus(holder, `The browser does not permit the copy. The link, ${size}:`, field);
    field.focus();
    field.select();
  }
}

/**
 * Show a message at the bottom of the page; it closes after a few seconds unless it has a field.
 * @param {Element} holder
 * @param {string} words
 * @param {HTMLElement} [field]
 */
export function showStatus(holder, words, field) {
  holder.querySelector(".page-word")?.remove();
  const close = () => word.remove();
  /** @type {HTMLElement} */
  const word = h(
    "div",
    { class: "page-word", role: "status" },
    h("span", {}, words),
    field,
    h("button", { class: "tool small", type: "button", "aria-label": "Close", onclick: close }, "✕"),
  );
  word.addEventListener("keydown", (event) => event.key === "Escape" && close());
  holder.append(word);
  if (!field) setTimeout(close, 6000);
}

/**
 * Open the notebook in the page's address, now and after each change that `mayLeave` permits.
 * @param {Element} holder
 * @param {(text: string | null) => void} open
 * @param {() => boolean} mayLeave
 */
export function followLinks(holder, open, mayLeave) {
  const openLink = async (/** @type {boolean} */ first) => {
    if (!location.hash.startsWith(LINK_KEY) || (!first && !mayLeave())) return;
    try {
      open(await linkedText(location.hash));
    } catch (error) {
      showStatus(
        holder,
        `The link cannot be opened: ${error instanceof Error ? error.message : error}. It may be damaged or cut off.`,
      );
    }
  };
  window.addEventListener("hashchange", () => openLink(false));
  openLink(true);
}
