// Program text with line numbers; lines that the chosen step changed are marked, lines it took away are listed where they stood.

import { h, icon, follow, keepScroll } from "../core/dom.js";
import { followMoment, presentMoment } from "../core/playhead.js";
import { highlighted } from "../core/python_text.js";
import { reconcile } from "../core/reconcile.js";
import { patchChildren } from "../core/patch.js";

const SIGN = { added: "+", removed: "−" };

/** A line by its text alone: what else is said of it may change while it stands. */
function row({ text }) {
  return h(
    "div",
    { class: "code-line" },
    h("span", { class: "number" }),
    h("span", { class: "mark" }),
    h("code", {}, highlighted(text)),
  );
}

function tellOf(row, { number, mark, error }) {
  const [place, sign] = row.children;
  const kind = ["code-line", mark, error && "error"].filter(Boolean).join(" ");
  if (row.className !== kind) row.className = kind;
  if (row.title !== (error ?? "")) row.title = error ?? "";
  if (place.textContent !== String(number ?? "")) place.textContent = number ?? "";
  if (sign.ariaLabel === (mark ?? null)) return;
  sign.ariaLabel = mark;
  sign.textContent = SIGN[mark] ?? "";
}

/** Bring line `n` into sight; a body that is not shown yet has no height, so it waits for one. */
function reveal(body, n) {
  if (!body.clientHeight) {
    const watch = new ResizeObserver(() => {
      if (!body.clientHeight) return;
      watch.disconnect();
      reveal(body, n);
    });
    watch.observe(body);
    return;
  }
  const target = body.children[n];
  if (!target) return;
  const above = target.offsetTop < body.scrollTop;
  const below = target.offsetTop > body.scrollTop + body.clientHeight - 40;
  if (above || below) body.scrollTop = Math.max(0, target.offsetTop - 40);
}

function drawLines(body, lines) {
  reconcile(body, lines, (line) => line.text, row);
  lines.forEach((line, n) => tellOf(body.children[n], line));
}

const REST_MS = 350;

/** Marks the lines of the blocks that run at the playhead; once it rests, the first of them comes into sight. */
class PlayheadLines {
  constructor(body) {
    Object.assign(this, { body, marked: [], numbers: new Map() });
    followMoment((moment) => this.mark(moment));
  }

  /** The text is another one: `lines` follow the playhead where the view says so. */
  drawn(lines, follows) {
    this.numbers = new Map(follows ? lines.map((line, n) => [line.number, n]) : []);
    this.mark(presentMoment());
  }

  mark(moment) {
    for (const row of this.marked) row.classList.remove("is-now");
    const places = (moment?.lines ?? []).map((number) => this.numbers.get(number)).filter((n) => n !== undefined);
    this.marked = places.map((n) => this.body.children[n]).filter(Boolean);
    for (const row of this.marked) row.classList.add("is-now");
    clearTimeout(this.rest);
    if (places.length && this.body.clientHeight)
      this.rest = setTimeout(() => reveal(this.body, Math.min(...places)), REST_MS);
  }
}

export function render({ model }) {
  const body = h("div", { class: "code-body", tabindex: "0", role: "group" });
  const bar = h("div", { class: "code-bar" });
  const view = h("section", { class: "code-view" }, bar, body);
  const now = new PlayheadLines(body);
  follow(model, (data) => {
    const tools = [
      h("span", { class: "quiet", title: data.caption }, data.caption),
      h(
        "button",
        {
          class: "tool small",
          onclick: () =>
            navigator.clipboard?.writeText(
              data.lines
                .filter((l) => l.mark !== "removed")
                .map((l) => l.text)
                .join("\n"),
            ),
        },
        icon("copy"),
        "Copy",
      ),
      data.file
        ? h(
            "button",
            { class: "tool small", onclick: () => model.send_msg({ kind: "export" }) },
            icon("export"),
            `Download ${data.file}`,
          )
        : null,
    ];
    patchChildren(bar, ...tools.filter(Boolean));
    body.setAttribute("aria-label", data.caption);
    keepScroll(body, () => drawLines(body, data.lines));
    now.drawn(data.lines, data.playhead);
    const change = data.lines.findIndex((line) => line.mark);
    // In the frame to come, when the page is laid out once for all that changed.
    if (data.reveal && change >= 0) requestAnimationFrame(() => reveal(body, change));
  });
  return view;
}
