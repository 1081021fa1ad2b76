// The server does not answer any more: said at once, for what is done on the page from then on goes nowhere. And the way back.

import { h } from "./dom.js";

const ASK_MS = 1500;

export function watchConnection(holder) {
  const bar = h("div", { class: "lost", hidden: true });
  holder.append(bar);
  let asking = 0;

  const back = () => {
    clearInterval(asking);
    bar.hidden = true;
  };
  const lost = () => {
    if (!bar.hidden) return;
    const again = h("button", { class: "tool primary small", type: "button", disabled: true, onclick: () => location.reload() }, "Waiting for the server…");
    bar.replaceChildren(
      h(
        "div",
        { class: "notice", role: "alert" },
        h(
          "div",
          { class: "notice-text" },
          h("b", {}, "The server does not answer"),
          h("div", {}, "It was stopped, or the connection broke. What was saved is in the file; what is done here now goes nowhere."),
          h("div", { class: "lost-bar" }, again),
        ),
      ),
    );
    bar.hidden = false;
    asking = setInterval(async () => {
      const found = await fetch(location.href, { method: "HEAD", cache: "no-store" }).catch(() => null);
      if (!found || bar.hidden) return;
      again.disabled = false;
      again.textContent = "Open it again";
    }, ASK_MS);
  };

  const listen = () => {
    const page = window.Bokeh?.documents?.[0];
    if (!page) return void setTimeout(listen, 100);
    page.on_event("connection_lost", lost);
    page.on_event("client_reconnected", back);
  };
  listen();
}
