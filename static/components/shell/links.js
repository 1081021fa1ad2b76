// Links that carry a notebook behind the #, as app/links.py makes and reads them. The text is opened as a file would be: never executed.

import { h } from "../core/dom.js";

export const LINK_KEY = "#notebook=";
const MAX_LINKED = 8_000_000;

/** The address of the start page: what relative addresses refer to. */
export const rootAddress = () => document.baseURI;

/** The notebook's text in a fragment; null where there is none. Throws where it is damaged, or unpacks to more than a notebook may have. */
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
      throw new Error("the notebook in it is too long");
    }
    text += decoder.decode(value, { stream: true });
  }
}

/** Put the link into the clipboard, and say so; where that is not allowed, show it to be copied by hand. */
export async function copyLink(holder, fragment) {
  const link = `${rootAddress()}${fragment}`;
  const size = `${link.length.toLocaleString("en").replaceAll(",", "\u202f")} characters`;
  try {
    await navigator.clipboard.writeText(link);
    say(holder, `Link copied: the whole notebook, in ${size}.`);
  } catch {
    const field = h("input", { type: "text", readonly: true, value: link, "aria-label": "Link to this notebook" });
    say(holder, `The browser does not let pages copy. The link, ${size}:`, field);
    field.focus();
    field.select();
  }
}

/** A few words at the bottom of the page; they go by themselves, but for those with a field in them. */
export function say(holder, words, field) {
  holder.querySelector(".page-word")?.remove();
  const close = () => word.remove();
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

/** Open the notebook of the page's address, now and whenever that becomes another; `open(text)` gets it, if `mayLeave()` says so. */
export function followLinks(holder, open, mayLeave) {
  const look = async (first) => {
    if (!location.hash.startsWith(LINK_KEY) || (!first && !mayLeave())) return;
    try {
      open(await linkedText(location.hash));
    } catch (error) {
      say(holder, `The link cannot be opened: ${error.message}. It may be damaged or cut off.`);
    }
  };
  window.addEventListener("hashchange", () => look(false));
  look(true);
}
