// The browser's key to the server. It is kept for this origin, and thus for this port: servers on other ports never receive it, as they do a
// cookie.

import { keep, kept } from "../core/storage.js";
import { rootAddress } from "./links.js";

/** @typedef {{ token: string } | { entry: string } | { key: string }} Credential */
/** @typedef {{ key: string, ticket: string } | { error: { code: string, message: string, expected: string } }} Answer */

/** The name of the number of loads in a row whose ticket was refused. */
export const TRIES = "tilewright-entry-tries";

const RENEWAL_MS = 3_600_000;

/** The name of the key in the storage: servers below different prefixes may share an origin. */
export const keyName = () => `tilewright-key ${new URL(rootAddress()).pathname}`;

/** @returns {string | null} */
export const keptKey = () => kept("localStorage", keyName());

/** @param {string | null} key null removes it. */
export const keepKey = (key) => keep("localStorage", keyName(), key);

/**
 * Exchange a credential for a key, which is kept, and a ticket for one load of a page.
 * @param {Credential} credential
 * @returns {Promise<Answer>}
 */
export async function login(credential) {
  const answer = await fetch(new URL("login", rootAddress()), {
    method: "POST",
    cache: "no-store",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(credential),
  });
  /** @type {Answer} */
  const said = await answer.json();
  if ("key" in said) keepKey(said.key);
  return said;
}

/** Renew the key, if there is one, while a page is open. */
export function renewKeyOften() {
  setInterval(() => {
    const key = keptKey();
    if (key) login({ key }).catch(() => null); // a server that does not respond is reported elsewhere
  }, RENEWAL_MS);
}
