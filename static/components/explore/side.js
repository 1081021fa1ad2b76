// Beside the pictures: the candidate that is looked at and why it costs what it does, the best so far over time, the front as a table.

import { h, icon } from "../core/dom.js";
import { svg } from "../core/svg.js";
import { digits, fullAmount, shortAmount } from "./model.js";
import { plainText } from "../core/hole_text.js";

const TREND = { true: "better", false: "worse" };

function changeOf(now, value) {
  if (now === undefined || now === null) return null;
  if (now === value) return h("span", { class: "change" }, "same");
  if (!now) return h("span", { class: "change worse" }, "new");
  const times = value / now;
  const text =
    times >= 10
      ? `×${Number(times.toPrecision(2))}`
      : times <= 0.1
        ? `÷${Number((1 / times).toPrecision(2))}`
        : `${times < 1 ? "−" : "+"}${Math.abs(100 * (times - 1)).toFixed(Math.abs(times - 1) < 0.1 ? 1 : 0)}\u202f%`;
  return h(
    "span",
    { class: `change ${TREND[value < now]}` },
    text,
    h("span", { class: "tw-hidden" }, ` ${TREND[value < now]}`),
  );
}

export function figureTable(data, figures, label) {
  return h(
    "table",
    { class: "xp-figures", "aria-label": label },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        ["figure", "this", data.now ? "now" : "", ""].map((text, n) =>
          h(
            "th",
            { scope: "col", class: n ? "number" : null },
            n && !text ? h("span", { class: "tw-hidden" }, n === 3 ? "change" : "now") : text,
          ),
        ),
      ),
    ),
    h(
      "tbody",
      {},
      data.figures.map((figure, n) =>
        figures[n] || data.now?.[n]
          ? h(
              "tr",
              {},
              h("th", { scope: "row" }, figure.label),
              h("td", { class: "number" }, fullAmount(figure.unit, figures[n])),
              h("td", { class: "number quiet" }, data.now ? fullAmount(figure.unit, data.now[n]) : ""),
              h("td", { class: "number" }, changeOf(data.now?.[n], figures[n])),
            )
          : null,
      ),
    ),
  );
}

function limitBars(limits) {
  if (!limits.length) return null;
  return h(
    "ul",
    { class: "xp-limits", "aria-label": "What no schedule of these tasks can be below" },
    limits.map((limit) =>
      h(
        "li",
        {},
        h("span", { class: "xp-limit-name" }, limit.name, h("span", { class: "quiet" }, ` ${limit.kind}`)),
        h(
          "span",
          { class: "xp-bar", "aria-hidden": "true" },
          h("i", { style: `width:${Math.max(1, Math.min(100, 100 * limit.share)).toFixed(1)}%` }),
        ),
        h("span", { class: "number" }, `${limit.cycles} (${Math.round(100 * limit.share)}\u202f%)`),
      ),
    ),
  );
}

const VERDICTS = {
  proved: "✔ proved to compute the same",
  tested: "✔ tested to compute the same",
  unknown: "? not checked whether it computes the same",
};

/** The candidate that is looked at. */
export function trialCard(data, row, act) {
  const card = data.card;
  if (!card)
    return h("p", { class: "quiet" }, data.count ? "None fits so far." : "The first candidates are on their way.");
  const tags = [card.is_best ? "best" : card.is_front ? "on the front" : card.status].filter(Boolean);
  return h(
    "section",
    { class: "xp-card", "aria-label": `Candidate ${card.trial}`, "data-trial": card.trial },
    h(
      "h3",
      {},
      `Candidate ${card.trial}`,
      tags.map((tag) => h("span", { class: `tw-badge ${card.is_front ? "tw-badge--good" : ""}` }, tag)),
      h(
        "button",
        {
          class: "tool small primary",
          type: "button",
          "data-key": "open",
          title: "A branch with these choices, compared with what is shown now (Enter, or press twice on the mark)",
          onclick: () => act.open(row ?? { point: card.point }),
        },
        icon("branch"),
        "Open as branch",
      ),
    ),
    card.why ? h("p", { class: "xp-why" }, card.why) : null,
    h(
      "ul",
      { class: "xp-choices", "aria-label": "What it chooses" },
      card.choices.map((choice) =>
        h(
          "li",
          {
            class: choice.changed ? "is-changed" : null,
            title: choice.changed ? "Another than the schedule's own" : "As the schedule has it",
          },
          h("span", {}, choice.name),
          h("code", {}, plainText(choice.text)),
        ),
      ),
    ),
    card.words
      ? h(
          "p",
          { class: "xp-bound" },
          h("b", {}, card.is_best ? "Why it is the best: " : "Its bound: "),
          card.words,
          data.bound && card.is_best ? spaceWords(data) : null,
        )
      : null,
    limitBars(card.limits),
    row?.figures ? figureTable(data, row.figures, `Figures of candidate ${card.trial}`) : null,
    card.verdict
      ? h("p", { class: card.verdict === "unknown" ? "quiet" : "xp-verdict" }, VERDICTS[card.verdict])
      : null,
  );
}

function spaceWords(data) {
  const least = digits(data.bound.cycles);
  return data.bound.whole
    ? ` No candidate of this space can take less than ${least}.`
    : ` The least bound that was met so far is ${least}.`;
}

/** What one says of a candidate under the mouse. */
export function hoverCard(data, row) {
  const holes = data.holes.map((hole, n) =>
    h("div", {}, h("span", { class: "quiet" }, `${hole.name} `), h("code", {}, plainText(hole.values[row.point[n]]))),
  );
  const figures = row.figures
    ? data.figures.map((figure, n) =>
        row.figures[n]
          ? h(
              "div",
              {},
              h("span", { class: "quiet" }, `${figure.label} `),
              `${row.exact ? "" : "≥ "}${fullAmount(figure.unit, row.figures[n])}`,
            )
          : null,
      )
    : [];
  return h(
    "div",
    { class: "xp-hover" },
    h("b", {}, `Candidate ${row.number}`),
    h("div", { class: "xp-hover-parts" }, h("div", {}, holes), h("div", {}, figures)),
    row.why ? h("p", {}, row.why) : null,
  );
}

/** The least of the first objective, as candidates end. */
export function bestSoFar(data, rows, width) {
  const index = data.figures.findIndex((figure) => figure.key === data.objectives[0]);
  const figure = data.figures[index];
  const [tall, left, right, top, bottom] = [92, 52, 8, 8, 18];
  let best = Infinity;
  const steps = [];
  rows.forEach((row, n) => {
    if (row.status !== "fits" || row.figures[index] >= best) return;
    best = row.figures[index];
    steps.push([n + 1, best]);
  });
  if (!steps.length || width < 120) return null;
  const all = Math.max(2, data.total);
  const [low, high] = [steps.at(-1)[1], steps[0][1]];
  const room = (high - low || high || 1) * 0.12;
  const x = (n) => left + ((n - 1) / (all - 1)) * (width - left - right);
  const y = (value) => top + ((high + room - value) / (high - low + 2 * room)) * (tall - top - bottom);
  let path = `M${x(steps[0][0])} ${y(steps[0][1])}`;
  for (const [n, value] of steps.slice(1)) path += `H${x(n).toFixed(1)}V${y(value).toFixed(1)}`;
  path += `H${x(rows.length).toFixed(1)}`;
  const words = `Best so far: ${figure.label.toLowerCase()} from ${fullAmount(figure.unit, high)} to ${fullAmount(figure.unit, low)} in ${rows.length} candidates`;
  return h(
    "section",
    { class: "xp-best picture" },
    h(
      "h3",
      {},
      `Best so far: ${figure.label.toLowerCase()}`,
      h("span", { class: "quiet" }, fullAmount(figure.unit, low)),
    ),
    svg(
      "svg",
      { width, height: tall, viewBox: `0 0 ${width} ${tall}`, role: "img", "aria-label": words },
      svg("line", { class: "grid", x1: left, x2: width - right, y1: tall - bottom, y2: tall - bottom }),
      high === low
        ? null
        : svg("text", { x: left - 5, y: y(high) + 3, "text-anchor": "end" }, shortAmount(figure.unit, high)),
      svg("text", { x: left - 5, y: y(low) + 3, "text-anchor": "end" }, shortAmount(figure.unit, low)),
      svg("text", { x: left, y: tall - 4 }, "1"),
      svg("text", { x: width - right, y: tall - 4, "text-anchor": "end" }, `${digits(all)} candidates`),
      svg("path", { class: "way", d: path }),
      steps.map(([n, value]) => svg("circle", { class: "step", cx: x(n), cy: y(value), r: 2.2 })),
    ),
  );
}

/** The front, for the keyboard and those who do not see the picture. */
export function frontTable(data, rows, act) {
  if (!rows.length) return null;
  const shown = data.figures
    .map((figure, n) => [figure, n])
    .filter(([figure]) => data.objectives.includes(figure.key) || ["cycles", "traffic"].includes(figure.key))
    .slice(0, 4);
  const changing = data.holes
    .map((hole, n) => [hole, n])
    .filter(([, n]) => new Set(rows.map((row) => row.point[n])).size > 1);
  const verdict = (row) => data.checked[row.number];
  return h(
    "section",
    { class: "xp-front" },
    h("h3", {}, data.objectives.length > 1 ? `The front: ${rows.length}` : "The best"),
    h(
      "p",
      { class: "quiet" },
      data.objectives.length > 1
        ? "No other candidate is as good in all that is to be small."
        : "Of those that were tried.",
    ),
    h(
      "div",
      { class: "xp-table", tabindex: "0", role: "group", "aria-label": "Candidates of the front" },
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", { scope: "col" }, "#"),
            shown.map(([figure]) => h("th", { scope: "col", class: "number" }, figure.label)),
            changing.map(([hole]) => h("th", { scope: "col" }, hole.name)),
            h("th", { scope: "col" }, h("span", { class: "tw-hidden" }, "open")),
          ),
        ),
        h(
          "tbody",
          {},
          rows.map((row) =>
            h(
              "tr",
              { class: row.number === data.card?.trial ? "is-chosen" : null },
              h(
                "th",
                { scope: "row" },
                h(
                  "button",
                  {
                    class: "tool small",
                    type: "button",
                    "data-key": `look ${row.number}`,
                    "aria-pressed": String(row.number === data.card?.trial),
                    "aria-label": `Look at candidate ${row.number}`,
                    onclick: () => act.choose(row),
                  },
                  row.number,
                ),
                verdict(row) && verdict(row) !== "unknown"
                  ? h("span", { class: "xp-verdict", title: verdict(row) }, "✔")
                  : null,
              ),
              shown.map(([figure, n]) => h("td", { class: "number" }, fullAmount(figure.unit, row.figures[n]))),
              changing.map(([hole, n]) => h("td", {}, h("code", {}, plainText(hole.values[row.point[n]])))),
              h(
                "td",
                {},
                h(
                  "button",
                  {
                    class: "tool small",
                    type: "button",
                    "data-key": `open ${row.number}`,
                    "aria-label": `Open candidate ${row.number} as a branch`,
                    title: "Open as a branch",
                    onclick: () => act.open(row),
                  },
                  icon("branch"),
                ),
              ),
            ),
          ),
        ),
      ),
    ),
  );
}
