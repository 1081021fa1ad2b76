// Program text with line numbers; lines that the chosen step changed are marked, lines it took away are listed where they stood.

import { h, icon, follow, keepingScroll } from "./dom.js";
import { followMoment, presentMoment } from "./playhead.js";
import { highlighted } from "./python_text.js";
import { reconcile } from "./reconcile.js";
import { redraw } from "./redraw.js";

function row(line) {
  const sign = { added: "+", removed: "−" }[line.mark] ?? "";
  return h(
    "div",
    { class: `code-line ${line.mark ?? ""} ${line.error ? "error" : ""}`, title: line.error },
    h("span", { class: "number" }, line.number ?? ""),
    h("span", { class: "mark", "aria-label": line.mark }, sign),
    h("code", {}, highlighted(line.text)),
  );
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

/** The lines in `body`: of one that only stands elsewhere, no more than its number is drawn. */
function drawLines(body, lines) {
  reconcile(body, lines, ({ number: _, ...line }) => JSON.stringify(line), row);
  lines.forEach(({ number }, n) => {
    const place = body.children[n].firstChild;
    if (place.textContent !== String(number ?? "")) place.textContent = number ?? "";
  });
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
    if (places.length && this.body.clientHeight) this.rest = setTimeout(() => reveal(this.body, Math.min(...places)), REST_MS);
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
        { class: "tool small", onclick: () => navigator.clipboard?.writeText(data.lines.filter((l) => l.mark !== "removed").map((l) => l.text).join("\n")) },
        icon("copy"),
        "Copy",
      ),
      data.file
        ? h("button", { class: "tool small", onclick: () => model.send_msg({ kind: "export" }) }, icon("export"), `Download ${data.file}`)
        : null,
    ];
    redraw(bar, ...tools.filter(Boolean));
    body.setAttribute("aria-label", data.caption);
    keepingScroll(body, () => drawLines(body, data.lines));
    now.drawn(data.lines, data.playhead);
    const change = data.lines.findIndex((line) => line.mark);
    // In the frame to come, when the page is laid out once for all that changed.
    if (data.reveal && change >= 0) requestAnimationFrame(() => reveal(body, change));
  });
  return view;
}
