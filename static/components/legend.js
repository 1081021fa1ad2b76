// The line above the timeline: what it comes to, and which colour is which buffer.

import { h, follow } from "./dom.js";

export function render({ model }) {
  const line = h("div", { class: "timeline-head" });
  follow(model, (data) => {
    const parts = [
      ...data.figures.map(([name, value]) => h("span", {}, `${name} `, h("b", {}, value))),
      h(
        "span",
        { class: "legend" },
        data.buffers.map((buffer) => h("span", {}, h("i", { class: "swatch", style: `background:var(--tw-buffer-${buffer.colour})` }), buffer.name)),
      ),
      data.note ? h("span", { class: "note", role: "status", title: data.note }, data.note) : null,
      h("button", { class: "tool small", title: "All cycles in sight (wheel zooms, drag moves)", onclick: () => model.send_msg({ kind: "fit" }) }, "Fit"),
    ];
    line.replaceChildren(...parts.filter(Boolean));
  });
  return line;
}
