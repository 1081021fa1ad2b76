// What is wrong, where, and what to do about it. Also tells apart "nothing is wrong".

import { h, follow } from "./dom.js";

function problem(item) {
  return h(
    "li",
    { class: `problem ${item.severity}` },
    h("span", { class: "sign", "aria-label": item.severity }, { error: "✘", warning: "!", info: "i" }[item.severity]),
    h(
      "div",
      {},
      h("b", {}, item.message),
      h("span", { class: "quiet code" }, [item.code, item.place].filter(Boolean).join(" · ")),
      item.found ? h("div", {}, h("span", { class: "quiet" }, "found "), item.found) : null,
      item.expected ? h("div", {}, h("span", { class: "quiet" }, "expected "), item.expected) : null,
      item.fix?.length ? h("div", {}, h("span", { class: "quiet" }, "try "), item.fix.map((call) => h("code", {}, call))) : null,
    ),
  );
}

export function render({ model }) {
  const view = h("section", { class: "problems", tabindex: "0", "aria-label": "Problems" });
  follow(model, (data) => {
    view.replaceChildren(
      data.problems.length
        ? h("ul", {}, data.problems.map(problem))
        : h("p", { class: "quiet" }, "Nothing to report: every line of the notebook applies and the machine can run it."),
    );
  });
  return view;
}
