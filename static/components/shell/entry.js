// The page of a visitor without a ticket. It exchanges what the browser has for a ticket, and loads the requested page with it: the entry from
// the printed address, or the key of an earlier visit. Without them it asks for the server's token.

import { h } from "../core/dom.js";
import { keep, kept } from "../core/storage.js";
import { rootAddress } from "./links.js";
import { keepKey, keptKey, keyName, login, TRIES } from "./key.js";

/** @import { Credential } from "./key.js" */

const MOST_TRIES = 5;

const why = h("p", { role: "alert", hidden: true });
const field = h("input", { type: "password", name: "token", autocomplete: "current-password", required: true });
const form = h("form", {}, h("label", {}, "Token of this server", field), h("button", {}, "Open"));
const main = h(
  "main",
  {},
  h("h1", {}, "Tilewright"),
  why,
  form,
  h("p", { class: "quiet" }, "The address that ", h("code", {}, "tilewright serve"), " printed contains the token."),
);

/** @param {string} text */
function ask(text) {
  why.textContent = text;
  why.hidden = !text;
  if (!main.isConnected) document.body.append(main);
  field.focus();
}

/**
 * Load the requested page; the fragment may contain a notebook.
 * @param {string} ticket
 */
function load(ticket) {
  const tries = kept("sessionStorage", TRIES) ?? 0;
  keep("sessionStorage", TRIES, tries >= MOST_TRIES ? null : tries + 1);
  if (tries >= MOST_TRIES) {
    ask("The server did not accept its own tickets: is there more than one server behind this address?");
    return;
  }
  const isForm = location.pathname === new URL("login", rootAddress()).pathname;
  const url = new URL(isForm ? rootAddress() : location.href);
  url.search = new URLSearchParams({ ticket }).toString();
  location.replace(url);
}

/**
 * Load the page with a credential. Returns the reason if it is refused, "" otherwise.
 * @param {Credential} credential
 */
async function enter(credential) {
  const said = await login(credential).catch(() => null);
  if (said === null) return "The server does not respond.";
  if ("error" in said) {
    const { message, expected } = said.error;
    return expected ? `${message}. Use ${expected}.` : `${message}.`;
  }
  load(said.ticket);
  return "";
}

/** Load the page with the kept key. Returns the reason if there is one that is refused, "" otherwise. */
async function enterWithKey() {
  const key = keptKey();
  if (!key) return null;
  const reason = await enter({ key });
  if (reason && keptKey() === key) keepKey(null);
  return reason;
}

async function start() {
  const entry = new URLSearchParams(location.search).get("entry");
  const refused = entry ? await enter({ entry }) : null;
  if (refused === "") return;
  const reason = await enterWithKey();
  if (reason !== "") ask(reason ?? refused ?? "");
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const reason = await enter({ token: field.value });
  if (reason) ask(reason);
});
// The printed address was opened in another tab.
window.addEventListener("storage", (event) => {
  if (event.key === keyName()) enterWithKey();
});
start();
