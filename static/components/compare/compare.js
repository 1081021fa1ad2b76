// A/B: two programs in line with each other, row by row, and in figures. Which they are is chosen above; Escape leads back.

import { h, icon, follow, bringIntoView, textOf } from "../core/dom.js";

const SIGNS = {
  changed: ["≠", "changed"],
  moved: ["↷", "moved"],
  only_a: ["−", "only A"],
  only_b: ["+", "only B"],
  same: ["", ""],
};
const TRENDS = { better: "✓ better", worse: "✗ worse", same: "" };
const TYPING = new Set(["INPUT", "TEXTAREA", "SELECT"]);

function buffers(cell) {
  const chips = (list) =>
    list.map((b) =>
      h(
        "span",
        { class: "ab-buffer", title: `${b.name} in ${b.scope}` },
        h("i", { class: "swatch", style: `background:var(--tw-buffer-${b.colour})` }),
        b.name,
      ),
    );
  if (!cell.reads.length && !cell.writes.length) return null;
  return h(
    "span",
    { class: "ab-buffers" },
    chips(cell.reads),
    cell.reads.length ? h("span", { class: "ab-arrow" }, "→") : null,
    chips(cell.writes),
  );
}

function cellOf(cell, words) {
  if (!cell) return h("td", { class: "ab-none" });
  return h(
    "td",
    { class: `ab-cell is-${cell.kind}`, style: `padding-left:${8 + 12 * cell.depth}px` },
    h("span", { class: "ab-name" }, cell.name),
    cell.extent ? h("span", { class: "ab-extent" }, cell.extent) : null,
    cell.kind === "loop" && cell.detail ? h("span", { class: "tw-badge" }, cell.detail) : null,
    cell.badges.map((text) => h("span", { class: "tw-badge tw-badge--accent" }, text)),
    cell.kind === "block" ? buffers(cell) : null,
    words.length ? h("span", { class: "ab-words" }, words.join("; ")) : null,
  );
}

function line(item, number) {
  const [sign, word] = SIGNS[item.status];
  const onA = item.a && !item.b;
  return h(
    "tr",
    {
      class: `ab-line is-${item.status}`,
      "data-line": number,
      "data-status": item.status,
      tabindex: item.status === "same" ? null : "-1",
    },
    cellOf(item.a, onA ? item.words : []),
    h("td", { class: "ab-sign" }, h("b", { "aria-hidden": "true" }, sign), h("span", {}, word)),
    cellOf(item.b, onA ? [] : item.words),
  );
}

/** All lines, or those that differ, with how many alike were left out between them. */
function linesOf(data, onlyDifferences) {
  if (!onlyDifferences) return data.lines.map(line);
  const rows = [];
  let alike = 0;
  const told = () => alike && rows.push(h("tr", { class: "ab-alike" }, h("td", { colspan: 3 }, `${alike} alike`)));
  data.lines.forEach((item, number) => {
    if (item.status === "same") return alike++;
    told();
    alike = 0;
    rows.push(line(item, number));
  });
  told();
  return rows;
}

function picker(model, data, n) {
  const name = "ab"[n];
  const side = data.sides[n];
  const known = data.choices.some((group) => group.items.some((item) => item.key === side.key));
  const select = h(
    "select",
    {
      "aria-label": `Side ${name.toUpperCase()}`,
      "data-key": `side-${name}`,
      onchange: (event) => choose(event.target),
    },
    known ? null : h("option", { value: side.key }, side.label),
    data.choices.map((group) =>
      h(
        "optgroup",
        { label: group.title },
        group.items.map((item) => h("option", { value: item.key }, item.text)),
      ),
    ),
    h("optgroup", { label: "Another file" }, h("option", { value: "file…" }, "Open a file…")),
  );
  select.value = side.key;
  const file = h("input", {
    type: "file",
    accept: ".py,.txt,text/x-python,text/plain",
    hidden: true,
    onchange: () => file.files[0] && send(file.files[0]),
  });
  async function send(chosen) {
    model.send_msg({
      kind: "compare_text",
      side: name,
      name: chosen.name.replace(/\.\w+$/, ""),
      text: await textOf(chosen),
    });
  }
  function choose(element) {
    if (element.value !== "file…") return model.send_msg({ kind: "compare", [name]: element.value });
    element.value = side.key;
    file.click();
  }
  const box = h(
    "div",
    { class: `ab-side is-${name}` },
    h("span", { class: "ab-letter", "aria-hidden": "true" }, name.toUpperCase()),
    h(
      "div",
      { class: "ab-what" },
      select,
      h(
        "span",
        { class: side.error ? "ab-error" : "quiet", title: `${side.label} on ${side.machine}` },
        side.error || (side.waiting ? "simulating…" : `${side.cycles} · ${side.machine}`),
      ),
    ),
    file,
  );
  box.addEventListener("dragover", (event) => event.preventDefault());
  box.addEventListener("drop", (event) => {
    event.preventDefault();
    if (event.dataTransfer.files[0]) send(event.dataTransfer.files[0]);
  });
  return box;
}

function explanation(found) {
  if (!found?.text) return null;
  const most = Math.max(1, ...found.effects.map((effect) => effect.size));
  return h(
    "section",
    { class: "ab-explanation", "aria-label": "What explains the difference", role: "status" },
    h("p", {}, h("b", {}, found.text)),
    found.total ? h("progress", { max: found.total, value: found.done, "aria-label": "Steps tried" }) : null,
    found.effects.length
      ? h(
          "ul",
          {},
          found.effects.map((effect) =>
            h(
              "li",
              { "data-effect": `${effect.side}${effect.number}` },
              h(
                "span",
                { class: "ab-step", title: effect.text },
                h("span", { class: "quiet" }, `${effect.side}${effect.number} `),
                h("code", {}, effect.text),
              ),
              h(
                "span",
                { class: `ab-bar ${effect.trend}`, "aria-hidden": "true" },
                h("i", { style: `width:${Math.max(2, (100 * effect.size) / most)}%` }),
              ),
              h("span", { class: `change ${effect.trend}` }, effect.change),
            ),
          ),
        )
      : null,
    h("p", { class: "quiet" }, `${found.how}.`),
  );
}

function table(groups) {
  if (!groups.length) return null;
  return h(
    "table",
    { class: "ab-table", "aria-label": "Differences in figures" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        ["", "A", "B", "change"].map((text) =>
          h("th", { scope: "col" }, text || h("span", { class: "tw-hidden" }, "figure")),
        ),
      ),
    ),
    groups.map((group) =>
      h(
        "tbody",
        {},
        h("tr", { class: "ab-group" }, h("th", { colspan: 4, scope: "rowgroup" }, group.title)),
        group.lines.map((item) =>
          h(
            "tr",
            { title: item.hint || null, "data-figure-line": `${group.title}: ${item.label}` },
            h("th", { scope: "row" }, item.label),
            h("td", {}, item.a),
            h("td", {}, item.b),
            h(
              "td",
              { class: `ab-change ${item.trend}` },
              h("b", {}, item.change),
              TRENDS[item.trend] ? h("span", {}, ` ${TRENDS[item.trend]}`) : null,
            ),
          ),
        ),
      ),
    ),
  );
}

function summary(data) {
  const parts = [
    [data.counts.changed, "changed"],
    [data.counts.moved, "moved"],
    [data.counts.only_a, "only in A"],
    [data.counts.only_b, "only in B"],
  ];
  const said = parts.filter(([count]) => count).map(([count, words]) => `${count} ${words}`);
  return said.length ? said.join(", ") : "the same loop nest";
}

export function render({ model }) {
  const view = h("section", { class: "ab", tabindex: "-1", "aria-label": "Comparison of A and B" });
  let data = null;
  let onlyDifferences = false;

  function step(by) {
    const rows = [...view.querySelectorAll(".ab-line[tabindex]")];
    if (!rows.length) return;
    const at = rows.indexOf(view.getRootNode().activeElement);
    const next = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : (at + by + rows.length) % rows.length];
    next.focus({ preventScroll: true });
    bringIntoView(view.querySelector(".ab-trees"), next);
  }

  function tools() {
    const swap = () => model.send_msg({ kind: "compare", a: data.sides[1].key, b: data.sides[0].key });
    return h(
      "div",
      { class: "ab-tools" },
      h("span", { class: "quiet ab-summary", role: "status" }, summary(data)),
      h(
        "button",
        {
          class: "tool small",
          "data-key": "only",
          "aria-pressed": String(onlyDifferences),
          onclick: () => ((onlyDifferences = !onlyDifferences), draw()),
        },
        "Differences only",
      ),
      h(
        "button",
        {
          class: "tool small",
          "aria-label": "Previous difference (p)",
          title: "Previous difference (p)",
          onclick: () => step(-1),
        },
        icon("up"),
      ),
      h(
        "button",
        {
          class: "tool small",
          "aria-label": "Next difference (n)",
          title: "Next difference (n)",
          onclick: () => step(1),
        },
        icon("down"),
      ),
      h(
        "button",
        { class: "tool small", "data-key": "swap", "aria-label": "Swap A and B", title: "Swap A and B", onclick: swap },
        icon("swap"),
      ),
      h(
        "button",
        {
          class: "tool small",
          "aria-label": "Leave the comparison (Escape)",
          title: "Leave the comparison (Esc)",
          onclick: leave,
        },
        icon("remove"),
        "Esc",
      ),
    );
  }

  const leave = () => model.send_msg({ kind: "uncompare" });

  function draw() {
    if (!data?.sides.length) return view.replaceChildren();
    const key = view.getRootNode().activeElement?.dataset?.key;
    const scrolled = [...view.querySelectorAll(".ab-scroll")].map((box) => box.scrollTop);
    view.replaceChildren(
      h("div", { class: "ab-head" }, picker(model, data, 0), picker(model, data, 1), tools()),
      h(
        "div",
        { class: "ab-body" },
        h(
          "div",
          { class: "ab-scroll ab-trees", tabindex: "0", role: "group", "aria-label": "Loop nests of A and B" },
          h(
            "table",
            { class: "ab-lines", "aria-label": "Loop nests of A and B, in line" },
            h("colgroup", {}, h("col"), h("col", { class: "ab-sign-column" }), h("col")),
            h(
              "thead",
              {},
              h(
                "tr",
                {},
                ["A", "difference", "B"].map((text) =>
                  h("th", { scope: "col" }, h("span", { class: "tw-hidden" }, text)),
                ),
              ),
            ),
            h("tbody", {}, linesOf(data, onlyDifferences)),
          ),
          data.more ? h("p", { class: "quiet" }, `${data.more} more lines`) : null,
        ),
        h(
          "div",
          { class: "ab-scroll ab-figures", tabindex: "0", role: "group", "aria-label": "Figures of A and B" },
          explanation(data.explanation),
          table(data.table),
        ),
      ),
    );
    [...view.querySelectorAll(".ab-scroll")].forEach((box, n) => (box.scrollTop = scrolled[n] ?? 0));
    if (key) [...view.querySelectorAll("[data-key]")].find((element) => element.dataset.key === key)?.focus();
  }

  document.addEventListener("keydown", (event) => {
    if (!data?.sides.length || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const path = event.composedPath();
    const typing = TYPING.has(path[0].tagName) || path[0].isContentEditable;
    const here = path.includes(view) || path[0] === document.body;
    if (event.key === "Escape" && (!typing || path[0].tagName === "SELECT")) leave();
    else if (typing || !here) return;
    else if (event.key === "n") step(1);
    else if (event.key === "p") step(-1);
    else return;
    event.preventDefault();
  });

  follow(model, (fresh) => {
    const entered = fresh.sides.length && !data?.sides.length;
    data = fresh;
    draw();
    // So that the next key is the comparison's, and a screen reader says where one is.
    if (entered) requestAnimationFrame(() => view.focus({ preventScroll: true }));
  });
  return view;
}
