// The notebook's cells: prose, machine, workload, and the schedule as steps to look at, to edit and to take out.

import { h, icon, follow, keepingScroll } from "./dom.js";
import { highlighted } from "./python_text.js";

/** Inline markdown: `code`, **bold**, *italic*. */
function inline(text) {
  const parts = [];
  let at = 0;
  for (const match of text.matchAll(/`([^`]+)`|\*\*([^*]+)\*\*|\*([^*]+)\*/g)) {
    if (match.index > at) parts.push(text.slice(at, match.index));
    const [, code, bold, italic] = match;
    parts.push(code ? h("code", {}, code) : bold ? h("b", {}, inline(bold)) : h("em", {}, inline(italic)));
    at = match.index + match[0].length;
  }
  parts.push(text.slice(at));
  return parts;
}

function table(lines) {
  const rows = lines.map((line) => line.replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim()));
  const [head, , ...rest] = rows;
  return h(
    "div",
    { class: "prose-table" },
    h(
      "table",
      {},
      h("thead", {}, h("tr", {}, head.map((cell) => h("th", {}, inline(cell))))),
      h("tbody", {}, rest.map((row) => h("tr", {}, row.map((cell) => h("td", {}, inline(cell)))))),
    ),
  );
}

const ITEM = /^(\d+\.|[-*]) /;

/** A list; a line without a mark goes on with the item before it. */
function bullets(lines) {
  const items = [];
  for (const line of lines) {
    if (ITEM.test(line)) items.push(line.replace(ITEM, ""));
    else items.push(`${items.pop()} ${line.trim()}`);
  }
  return h(/^\d/.test(lines[0]) ? "ol" : "ul", {}, items.map((item) => h("li", {}, inline(item))));
}

/** The markdown that notebooks use: headings, paragraphs, quotes, lists, tables. */
function prose(text) {
  const blocks = [];
  for (const part of text.split(/\n\s*\n/)) {
    const lines = part.split("\n").filter((line) => line.trim());
    while (lines.length && /^#{1,6} /.test(lines[0])) {
      const [marks] = lines[0].split(" ");
      blocks.push(h(marks.length === 1 ? "h2" : "h3", {}, inline(lines.shift().replace(/^#+ /, ""))));
    }
    if (!lines.length) continue;
    if (lines.every((line) => line.startsWith(">"))) blocks.push(h("blockquote", {}, prose(lines.map((l) => l.replace(/^>\s?/, "")).join("\n"))));
    else if (lines.length > 1 && lines.every((line) => line.startsWith("|"))) blocks.push(table(lines));
    else if (ITEM.test(lines[0])) blocks.push(bullets(lines));
    else blocks.push(h("p", {}, inline(lines.join(" "))));
  }
  return blocks;
}

function step(model, data, line) {
  const chosen = line.count === data.chosen;
  const look = () => model.send_msg({ kind: "view", count: line.count });
  return h(
    "li",
    {
      class: `step ${line.status} ${chosen ? "chosen" : ""} ${line.count > data.chosen ? "later" : ""} ${line.query ? "query" : ""}`,
      "data-step": line.index,
    },
    h(
      "button",
      { class: "step-text", title: line.error ?? "Look at the program after this step", "aria-current": chosen ? "step" : null, onclick: look },
      h("span", { class: "step-number" }, line.query ? "" : line.number),
      h("code", {}, highlighted(line.text)),
    ),
    line.change ? h("span", { class: `change ${line.trend}`, title: line.hint }, line.change) : null,
    h(
      "button",
      {
        class: "tool small remove",
        "aria-label": `Remove step ${line.text}`,
        title: "Take this step out; the later ones are made again",
        onclick: () => model.send_msg({ kind: "remove", step: line.index }),
      },
      icon("remove"),
    ),
    line.error ? h("div", { class: "step-error" }, line.error) : null,
  );
}

function editor(model, cell, done) {
  const area = h("textarea", { class: "cell-editor", spellcheck: "false", "aria-label": `Text of the ${cell.kind} cell`, value: cell.body });
  area.rows = Math.min(24, Math.max(3, cell.body.split("\n").length + 1));
  // The page asks before it is left with a half-written edit.
  const marked = document.documentElement.dataset;
  area.addEventListener("input", () => (area.value === cell.body ? delete marked.editing : (marked.editing = "")));
  const apply = () => {
    done();
    model.send_msg({ kind: "edit", cell: cell.index, body: area.value });
  };
  area.addEventListener("keydown", (event) => {
    if (event.key === "Escape") done();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) apply();
    event.stopPropagation();
  });
  requestAnimationFrame(() => area.focus());
  return h(
    "div",
    { class: "cell-edit" },
    area,
    h(
      "div",
      { class: "cell-edit-bar" },
      h("button", { class: "tool primary small", title: "Ctrl+Enter", onclick: apply }, "Apply"),
      h("button", { class: "tool small", title: "Esc", onclick: done }, "Cancel"),
    ),
  );
}

export function render({ model }) {
  const list = h("div", { class: "notebook", tabindex: "-1" });
  let data = null;
  let editing = null;
  let open = false;
  let chosen = null;

  function content(cell) {
    if (editing === cell.index) {
      return editor(model, cell, () => {
        editing = null;
        delete document.documentElement.dataset.editing;
        draw();
      });
    }
    if (cell.kind === "markdown") return h("div", { class: "prose" }, prose(cell.prose));
    if (cell.kind === "schedule") return h("ol", { class: "steps" }, cell.steps.map((line) => step(model, data, line)));
    const lines = cell.body.trim().split("\n");
    const first = Math.max(0, lines.findIndex((line) => line.trim() && !/^(from|import) /.test(line)));
    const shown = open ? lines : cell.kind === "workload" ? lines.slice(first, first + 6) : lines.slice(first);
    return h(
      "div",
      { class: "cell-code" },
      h("pre", { tabindex: "0", role: "group", "aria-label": `Code of the ${cell.kind} cell` }, h("code", {}, shown.flatMap((line) => [...highlighted(line), "\n"]))),
      (lines.length > shown.length && cell.kind === "workload") || (open && cell.kind === "workload")
        ? h(
            "button",
            {
              class: "tool small",
              onclick: () => {
                open = !open;
                draw();
              },
            },
            open ? "less" : `${lines.length - shown.length} more lines`,
          )
        : null,
    );
  }

  function cellView(cell) {
    return h(
      "section",
      { class: `cell ${cell.kind}`, "data-cell": cell.index },
      h(
        "div",
        { class: "cell-head" },
        cell.kind === "markdown" ? null : h("span", { class: "cell-title" }, cell.title || cell.kind),
        h(
          "button",
          {
            class: "tool small edit",
            "aria-label": `Edit the ${cell.kind} cell`,
            title: "Edit this cell",
            onclick: () => {
              editing = cell.index;
              draw();
            },
          },
          icon("edit"),
        ),
      ),
      content(cell),
      cell.error ? h("div", { class: "cell-error", role: "alert" }, cell.error) : null,
    );
  }

  function draw() {
    keepingScroll(list, () =>
      list.replaceChildren(
        ...(data.banner
          ? [
              h(
                "div",
                { class: "banner", role: "status" },
                data.banner,
                h("button", { class: "tool small", onclick: () => model.send_msg({ kind: "view", count: null }) }, "Back to now"),
              ),
            ]
          : []),
        ...data.cells.map(cellView),
      ),
    );
  }

  follow(model, (fresh) => {
    if (data && editing !== null && (fresh.title !== data.title || editing >= fresh.cells.length)) {
      editing = null;
      delete document.documentElement.dataset.editing;
    }
    const opened = data === null || fresh.title !== data.title;
    data = fresh;
    // A half-written edit stays while something else on the page changes.
    if (editing !== null && list.querySelector(".cell-editor")) return;
    draw();
    if (opened) list.scrollTop = 0;
    else if (chosen !== data.chosen) {
      const row = list.querySelector(".step.chosen");
      const [frame, box] = [list.getBoundingClientRect(), row?.getBoundingClientRect()];
      if (box && (box.top < frame.top || box.bottom > frame.bottom)) list.scrollTop += box.top - frame.top - frame.height / 2;
    }
    chosen = data.chosen;
  });
  return list;
}
