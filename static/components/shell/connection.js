// A server that does not answer: the page says so at once, waits for it, and opens the notebook again by itself.

import { h } from "../core/dom.js";
import { rootAddress } from "./links.js";

const ASK_MS = 400;

/** `leave()` is called before the page is loaded again. */
export function watchConnection(holder, leave) {
  const bar = h("div", { class: "lost", hidden: true });
  holder.append(bar);
  let asking = 0;

  const again = () => {
    clearInterval(asking);
    leave();
    location.reload();
  };
  const ask = async () => {
    const found = await fetch(new URL("healthz", rootAddress()), { cache: "no-store" }).catch(() => null);
    if (found?.ok && !bar.hidden) again();
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
          h("b", {}, "The server does not answer"),
          h(
            "div",
            {},
            "It was stopped, or the connection broke. Every edit is kept; this page opens again by itself as soon as the server answers.",
          ),
          h(
            "div",
            { class: "lost-bar" },
            h("button", { class: "tool small", type: "button", onclick: again }, "Open it again now"),
          ),
        ),
      ),
    );
    bar.hidden = false;
    asking = setInterval(ask, ASK_MS);
  };

  const listen = () => {
    const page = window.Bokeh?.documents?.[0];
    if (!page) return void setTimeout(listen, 100);
    page.on_event("connection_lost", lost);
    // Bokeh has a connection again, but maybe to another server, whose page has other components.
    page.on_event("client_reconnected", again);
  };
  listen();
}
