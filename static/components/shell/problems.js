// What is wrong, where, and what to do about it: a button for each fix, with what it would change. Also tells apart "nothing is wrong".

import { h, bringIntoView, follow, keepScroll } from "../core/dom.js";
import { highlighted } from "../core/python_text.js";

const SIGNS = { error: "✘", warning: "!", info: "i" };
const WORDS = { error: ["error", "errors"], warning: ["warning", "warnings"], info: ["note", "notes"] };
const TRENDS = { better: "fewer cycles", worse: "more cycles", same: "as many cycles" };

function places(model, rows) {
  return rows.map((row) =>
    h(
      "button",
      {
        class: "tool small place",
        title: `Choose ${row} in the tree`,
        onclick: () => model.send_msg({ kind: "select", id: row }),
      },
      row,
    ),
  );
}

function lines(fix) {
  const calls = fix.calls.map((call) => h("code", {}, highlighted(call)));
  if (!fix.replaces) return calls;
  const word = fix.calls.length ? "in place of " : "without ";
  return [h("span", { class: "quiet" }, word, h("s", {}, h("code", {}, fix.replaces))), calls];
}

function gain(fix) {
  if (!fix.change) return null;
  return h(
    "span",
    { class: `change ${fix.change.trend}`, title: `${fix.detail}: ${TRENDS[fix.change.trend]}` },
    fix.change.text,
  );
}

function fixBox(model, fix, first) {
  const apply = () => model.send_msg({ kind: "fix", calls: fix.calls, replaces: fix.replaces });
  const what = fix.replaces
    ? "Writes this line of the schedule anew; undo takes it back"
    : "Adds to the end of the schedule; undo takes it back";
  return h(
    "div",
    { class: "fix" },
    h("div", { class: "fix-calls" }, lines(fix)),
    fix.applicable
      ? h("button", { class: `tool small${first ? " primary" : ""}`, title: what, onclick: apply }, "Apply")
      : null,
    fix.detail ? h("div", { class: "fix-detail" }, gain(fix), h("span", { class: "quiet" }, fix.detail)) : null,
  );
}

function problem(model, item) {
  return h(
    "li",
    { class: `problem is-${item.severity}`, "data-code": item.code, tabindex: "-1" },
    h("span", { class: "sign", role: "img", "aria-label": WORDS[item.severity][0] }, SIGNS[item.severity]),
    h(
      "div",
      { class: "problem-text" },
      h("b", {}, item.message),
      h(
        "span",
        { class: "quiet code" },
        [item.code, item.place].filter(Boolean).join(" · "),
        item.rows.length ? " · " : "",
        places(model, item.rows),
      ),
      item.found ? h("div", {}, h("span", { class: "quiet" }, "found "), item.found) : null,
      item.expected ? h("div", {}, h("span", { class: "quiet" }, "expected "), item.expected) : null,
      item.fixes.map((fix, n) => fixBox(model, fix, n === 0)),
    ),
  );
}

function summary(data) {
  const counts = Object.entries(WORDS).map(([severity, words]) => [
    data.problems.filter((item) => item.severity === severity).length,
    words,
  ]);
  const said = counts.filter(([count]) => count).map(([count, [one, many]]) => `${count} ${count === 1 ? one : many}`);
  const looking = data.looking ? "looking for fixes…" : "";
  if (!said.length)
    return (
      looking ||
      "Nothing to report: every line of the notebook applies, the machine can run it, and no lint knows better. What is wrong or wasteful stands here, with calls that mend it."
    );
  return [said.join(", "), looking].filter(Boolean).join(" · ");
}

/** Go to what is said of a row of the tree, or of anything; Escape leads back. */
function showProblemsOf(view, drawn, row) {
  const about = [...view.querySelectorAll(".problem")].filter(
    (_, n) => row === undefined || drawn.problems[n].rows.includes(row),
  );
  if (!about.length) return;
  bringIntoView(view, about[0]);
  about[0].focus({ preventScroll: true });
  for (const item of about)
    item.animate([{ backgroundColor: "var(--tw-accent-soft)" }, { backgroundColor: "transparent" }], {
      duration: 1600,
      easing: "ease-in",
    });
}

/** The keyboard stays at the problem that it is at while the list is drawn anew. */
function keepingFocus(list, draw) {
  const focused = list.getRootNode().activeElement;
  const at = focused?.closest?.(".problem");
  const [code, place] = at ? [at.dataset.code, [at, ...at.querySelectorAll("button")].indexOf(focused)] : [];
  draw();
  if (!code) return;
  const item = list.querySelector(`.problem[data-code="${CSS.escape(code)}"]`);
  if (item) ([item, ...item.querySelectorAll("button")][place] ?? item).focus({ preventScroll: true });
}

export function render({ model }) {
  const view = h("section", { class: "problems", tabindex: "0", "aria-label": "Problems" });
  const head = h("p", { class: "quiet problems-head", role: "status" });
  const list = h("ul", {});
  view.append(head, list);
  let drawn = { problems: [] };
  let back = null;
  window.addEventListener("tilewright:problem", ({ detail }) => {
    back = detail.back ?? null;
    requestAnimationFrame(() => showProblemsOf(view, drawn, detail.row));
  });
  list.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !back) return;
    event.stopPropagation();
    back();
  });
  follow(model, (data) => {
    drawn = data;
    const said = summary(data);
    if (head.textContent !== said) head.textContent = said;
    keepScroll(view, () => {
      list.hidden = !data.problems.length;
      keepingFocus(list, () => list.replaceChildren(...data.problems.map((item) => problem(model, item))));
    });
  });
  return view;
}
