// What is wrong, where, and what to do about it. Also tells apart "nothing is wrong".

import { h, follow } from "./dom.js";

function places(model, rows) {
  return rows.map((row) => h("button", { class: "tool small place", title: `Choose ${row} in the tree`, onclick: () => model.send_msg({ kind: "select", id: row }) }, row));
}

function fix(model, item) {
  if (!item.fix?.length) return null;
  const apply = () => model.send_msg({ kind: "fix", calls: item.fix });
  return h(
    "div",
    { class: "fix" },
    h("span", { class: "quiet" }, "try "),
    h("div", { class: "fix-calls" }, item.fix.map((call) => h("code", {}, call))),
    item.applicable ? h("button", { class: "tool small primary", title: "Add to the end of the schedule; undo takes it back", onclick: apply }, "Apply") : null,
  );
}

function problem(model, item) {
  return h(
    "li",
    { class: `problem is-${item.severity}`, "data-code": item.code },
    h("span", { class: "sign", role: "img", "aria-label": item.severity }, { error: "✘", warning: "!", info: "i" }[item.severity]),
    h(
      "div",
      {},
      h("b", {}, item.message),
      h("span", { class: "quiet code" }, [item.code, item.place].filter(Boolean).join(" · "), item.rows.length ? " · " : "", places(model, item.rows)),
      item.found ? h("div", {}, h("span", { class: "quiet" }, "found "), item.found) : null,
      item.expected ? h("div", {}, h("span", { class: "quiet" }, "expected "), item.expected) : null,
      fix(model, item),
    ),
  );
}

export function render({ model }) {
  const view = h("section", { class: "problems", tabindex: "0", "aria-label": "Problems" });
  follow(model, (data) => {
    view.replaceChildren(
      data.problems.length
        ? h("ul", {}, data.problems.map((item) => problem(model, item)))
        : h("p", { class: "quiet" }, "Nothing to report: every line of the notebook applies and the machine can run it."),
    );
  });
  return view;
}
