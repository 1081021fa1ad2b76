// The comparison of two programs, A and B: aligned loop nests, and differences of figures. Selects above choose the programs; Escape closes it.

import { bringIntoView, focusIn, follow, h, icon, textOf } from "../core/dom.js";

/** @import { PayloadModel } from "../core/dom.js" */
/** @import { ComparedBuffer as BufferName, ComparedLine as Line, ComparedRow as Cell, ComparedSide as Side, Comparison as CompareData, DifferenceLine as Figure, Explanation } from "../views.js" */

/** @typedef {keyof typeof SIGNS} Status */
const SIGNS = {
  changed: ["≠", "changed"],
  moved: ["↷", "moved"],
  only_a: ["−", "only A"],
  only_b: ["+", "only B"],
  same: ["", ""],
};
/** @type {Record<Figure["trend"], string>} */
const TRENDS = { better: "✓ better", worse: "✗ worse", same: "", "": "" };
const TYPING = new Set(["INPUT", "TEXTAREA", "SELECT"]);

/** @param {Cell} cell */
function buffers(cell) {
  const chips = (/** @type {BufferName[]} */ list) =>
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
    {
      class: "ab-buffers",
      title: [cell.reads, cell.writes].map((list) => list.map((b) => b.name).join(", ")).join(" → "),
    },
    chips(cell.reads),
    cell.reads.length ? h("span", { class: "ab-arrow" }, "→") : null,
    chips(cell.writes),
  );
}

/**
 * @param {Cell | null} cell
 * @param {string[]} words
 */
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

/**
 * @param {Line} item
 * @param {number} number
 */
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

/**
 * All lines, or only different ones with the number of equal lines between them.
 * @param {CompareData} data
 * @param {boolean} onlyDifferences
 */
function linesOf(data, onlyDifferences) {
  if (!onlyDifferences) return data.lines.map(line);
  /** @type {HTMLElement[]} */
  const rows = [];
  let equal = 0;
  const endRun = () => {
    if (equal) rows.push(h("tr", { class: "ab-alike" }, h("td", { colspan: 3 }, `${equal} equal`)));
    equal = 0;
  };
  data.lines.forEach((item, number) => {
    if (item.status === "same") equal++;
    else {
      endRun();
      rows.push(line(item, number));
    }
  });
  endRun();
  return rows;
}

/**
 * @param {PayloadModel} model
 * @param {CompareData} data
 * @param {number} n
 */
function picker(model, data, n) {
  const name = "ab"[n];
  const side = data.sides[n];
  const known = data.choices.some((group) => group.items.some((item) => item.key === side.key));
  /** @type {HTMLSelectElement} */
  const select = h(
    "select",
    { "aria-label": `Side ${name.toUpperCase()}`, "data-key": `side-${name}`, onchange: () => choose() },
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
  /** @type {HTMLInputElement} */
  const file = h("input", {
    type: "file",
    accept: ".py,.txt,text/x-python,text/plain",
    hidden: true,
    onchange: () => sendFirst(file.files),
  });
  /** @param {FileList | null | undefined} files */
  async function sendFirst(files) {
    const chosen = files?.[0];
    if (!chosen) return;
    model.send_msg({
      kind: "compare_text",
      side: name,
      name: chosen.name.replace(/\.\w+$/, ""),
      text: await textOf(chosen),
    });
  }
  function choose() {
    if (select.value !== "file…") return model.send_msg({ kind: "compare", [name]: select.value });
    select.value = side.key;
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
    sendFirst(event.dataTransfer?.files);
  });
  return box;
}

/** @param {Explanation | null} found */
function explanation(found) {
  if (!found?.text) return null;
  const most = Math.max(1, ...found.effects.map((effect) => effect.size));
  return h(
    "section",
    { class: "ab-explanation", "aria-label": "Explanation of the difference", role: "status" },
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

/** @param {CompareData["table"]} groups */
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

/** @param {CompareData} data */
function summary(data) {
  /** @type {[number | undefined, string][]} */
  const parts = [
    [data.counts.changed, "changed"],
    [data.counts.moved, "moved"],
    [data.counts.only_a, "only in A"],
    [data.counts.only_b, "only in B"],
  ];
  const texts = parts.filter(([count]) => count).map(([count, words]) => `${count} ${words}`);
  return texts.length ? texts.join(", ") : "the same loop nest";
}

/** @param {{ model: PayloadModel }} options */
export function render({ model }) {
  const view = h("section", { class: "ab", tabindex: "-1", "aria-label": "Comparison of A and B" });
  /** @type {CompareData} */
  let data = {
    sides: [],
    choices: [],
    lines: [],
    more: 0,
    counts: { changed: 0, moved: 0, only_a: 0, only_b: 0 },
    table: [],
    explanation: null,
  };
  let onlyDifferences = false;

  /** @param {1 | -1} by */
  function step(by) {
    const rows = /** @type {HTMLElement[]} */ ([...view.querySelectorAll(".ab-line[tabindex]")]);
    if (!rows.length) return;
    const focused = focusIn(view);
    const at = rows.findIndex((row) => row === focused);
    const next = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : (at + by + rows.length) % rows.length];
    next.focus({ preventScroll: true });
    bringIntoView(/** @type {Element} */ (view.querySelector(".ab-trees")), next);
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
          "aria-label": "Close the comparison (Escape)",
          title: "Close the comparison (Esc)",
          onclick: close,
        },
        icon("remove"),
        "Esc",
      ),
    );
  }

  const close = () => model.send_msg({ kind: "end_compare" });

  function draw() {
    if (!data.sides.length) return view.replaceChildren();
    const key = focusIn(view)?.dataset.key;
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
            { class: "ab-lines", "aria-label": "Aligned loop nests of A and B" },
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
    const again = key && view.querySelector(`[data-key="${key}"]`);
    if (again instanceof HTMLElement) again.focus();
  }

  document.addEventListener("keydown", (event) => {
    if (!data.sides.length || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const path = event.composedPath();
    const target = path[0];
    if (!(target instanceof HTMLElement)) return;
    const typing = TYPING.has(target.tagName) || target.isContentEditable;
    const here = path.includes(view) || target === document.body;
    if (event.key === "Escape" && (!typing || target.tagName === "SELECT")) close();
    else if (typing || !here) return;
    else if (event.key === "n") step(1);
    else if (event.key === "p") step(-1);
    else return;
    event.preventDefault();
  });

  follow(model, (/** @type {CompareData} */ fresh) => {
    const entered = fresh.sides.length && !data.sides.length;
    data = fresh;
    draw();
    // The comparison handles the next key, and a screen reader announces it.
    if (entered) requestAnimationFrame(() => view.focus({ preventScroll: true }));
  });
  return view;
}
