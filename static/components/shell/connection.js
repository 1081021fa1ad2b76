// A lost connection: the page reports it at once, polls the server, and reloads the notebook when the server answers.

import { h } from "../core/dom.js";
import { rootAddress } from "./links.js";

/** @typedef {{ on_event: (name: string, listener: () => void) => void }} BokehDocument */

const POLL_MS = 400;

/**
 * @param {Element} holder
 * @param {() => void} leave Called before the page reloads.
 */
export function watchConnection(holder, leave) {
  const bar = h("div", { class: "lost", hidden: true });
  holder.append(bar);
  let timer = 0;

  const reload = () => {
    clearInterval(timer);
    leave();
    location.reload();
  };
  const poll = async () => {
    const found = await fetch(new URL("healthz", rootAddress()), { cache: "no-store" }).catch(() => null);
    if (found?.ok && !bar.hidden) reload();
  };
  const lost = () => {
    if (!bar.hidden) return;
    bar.replaceChildren(
      h(
        "div",
        { class: "notice", role: "alert" },
        h(
          "div",
          { class: "notice-text" },
          h("b", {}, "The server does not respond"),
          h(
            "div",
            {},
            "It was stopped, or the connection was lost. Every edit is saved. This page reloads when the server responds.",
          ),
          h(
            "div",
            { class: "lost-bar" },
            h("button", { class: "tool small", type: "button", onclick: reload }, "Reload now"),
          ),
        ),
      ),
    );
    bar.hidden = false;
    timer = window.setInterval(poll, POLL_MS);
  };

  const listen = () => {
    const { Bokeh } = /** @type {{ Bokeh?: { documents?: BokehDocument[] } }} */ (/** @type {unknown} */ (window));
    const page = Bokeh?.documents?.[0];
    if (!page) return void setTimeout(listen, 100);
    page.on_event("connection_lost", lost);
    // The new connection may be to another server, whose page has other components.
    page.on_event("client_reconnected", reload);
  };
  listen();
}
