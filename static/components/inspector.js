// Facts about the chosen loop or block, and about the memory of the program.

import { h, follow, keepingScroll } from "./dom.js";

function section(part) {
  return h(
    "section",
    { class: "facts-section" },
    h("h3", {}, part.swatch !== null ? h("i", { class: "swatch", style: `background:var(--tw-buffer-${part.swatch})` }) : null, part.title, part.kind ? h("span", { class: "kind" }, part.kind) : null),
    part.rows.length
      ? h("dl", {}, part.rows.map(([name, value, hint]) => [h("dt", { title: hint }, name), h("dd", { title: hint }, value)]).flat())
      : null,
    part.note ? h("p", { class: "quiet" }, part.note) : null,
  );
}

function traffic(rows) {
  return h(
    "table",
    { class: "traffic" },
    h("thead", {}, h("tr", {}, ["buffer", "from", "to", "bytes"].map((name) => h("th", {}, name)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, h("td", {}, h("i", { class: "swatch", style: `background:var(--tw-buffer-${row.colour})` }), row.buffer), h("td", {}, row.source), h("td", {}, row.destination), h("td", { class: "number" }, row.bytes)))),
  );
}

export function render({ model }) {
  const view = h("aside", { class: "inspector", tabindex: "0", "aria-label": "Inspector" });
  follow(model, (data) => {
    keepingScroll(view, () =>
      view.replaceChildren(
        ...data.sections.map(section),
        ...(data.traffic.length ? [h("section", { class: "facts-section" }, h("h3", {}, "Traffic"), traffic(data.traffic))] : []),
      ),
    );
  });
  return view;
}
