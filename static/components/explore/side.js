// Beside the plots: the selected candidate with its lower bounds, the best figure over time, and the Pareto front as a table.

import { h, icon } from "../core/dom.js";
import { plainText } from "../core/hole_text.js";
import { grouped } from "../core/numbers.js";
import { svg } from "../core/svg.js";
import { fullAmount, shortAmount } from "./amounts.js";

/** @import { Frame, MeasuredRow, Pane, Row } from "./model.js" */
/** @import { CandidateChoice as Choice, CandidateLimit as Limit, Search } from "../views.js" */

const VERDICTS = {
  proved: "✔ proved to compute the same",
  tested: "✔ tested to compute the same",
  failed: "✘ computes something else",
  unknown: "? not checked whether it computes the same",
};
const EQUAL = ["proved", "tested"];
const MOST_FIGURES = 4;
const BEST = { height: 92, left: 52, right: 8, top: 8, bottom: 18, least: 120 };

/**
 * The change of a figure, all of which are to be small.
 * @param {number | undefined} now
 * @param {number} value
 */
export function changeOf(now, value) {
  if (now === undefined) return null;
  if (now === value) return h("span", { class: "change" }, "same");
  if (!now) return h("span", { class: "change worse" }, "new");
  const trend = value < now ? "better" : "worse";
  return h(
    "span",
    { class: `change ${trend}` },
    ratioText(value / now),
    h("span", { class: "tw-hidden" }, ` ${trend}`),
  );
}

/** @param {number} ratio */
function ratioText(ratio) {
  if (ratio >= 10) return `×${Number(ratio.toPrecision(2))}`;
  if (ratio <= 0.1) return `1/${Number((1 / ratio).toPrecision(2))}`;
  const change = Math.abs(ratio - 1);
  return `${ratio < 1 ? "−" : "+"}${(100 * change).toFixed(change < 0.1 ? 1 : 0)}\u202f%`;
}

/**
 * @param {Search} search
 * @param {number[]} figures
 * @param {string} label
 */
function figureTable(search, figures, label) {
  return h(
    "table",
    { class: "xp-figures", "aria-label": label },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        ["figure", "this", search.now ? "now" : "", ""].map((text, n) =>
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
      search.figures.map((figure, n) =>
        figures[n] || search.now?.[n]
          ? h(
              "tr",
              {},
              h("th", { scope: "row" }, figure.label),
              h("td", { class: "number" }, fullAmount(figure.unit, figures[n])),
              h("td", { class: "number quiet" }, search.now ? fullAmount(figure.unit, search.now[n]) : ""),
              h("td", { class: "number" }, changeOf(search.now?.[n], figures[n])),
            )
          : null,
      ),
    ),
  );
}

/** @param {Limit[]} limits */
function limitBars(limits) {
  if (!limits.length) return null;
  return h(
    "ul",
    { class: "xp-limits", "aria-label": "Lower bounds on the cycles of any schedule of these tasks" },
    limits.map((limit) =>
      h(
        "li",
        {},
        h(
          "span",
          { class: "xp-limit-name", title: `${limit.name} ${limit.kind}` },
          limit.name,
          h("span", { class: "quiet" }, ` ${limit.kind}`),
        ),
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

/**
 * The selected candidate.
 * @param {Search} search
 * @param {Row | undefined} row Undefined until the row is here.
 * @param {Pane} pane
 */
export function trialCard(search, row, pane) {
  const card = search.card;
  if (!card)
    return h("p", { class: "quiet" }, search.count ? "No candidate fits so far." : "Waiting for the first candidates.");
  const tags = [card.is_best ? "best" : card.is_front ? "on the front" : card.status].filter(Boolean);
  return h(
    "section",
    { class: "xp-card", "aria-label": `Candidate ${card.trial}`, "data-trial": card.trial },
    h(
      "h2",
      {},
      `Candidate ${card.trial}`,
      tags.map((tag) => h("span", { class: `tw-badge ${card.is_front ? "tw-badge--good" : ""}` }, tag)),
      h(
        "button",
        {
          class: "tool small primary",
          type: "button",
          "data-key": "open",
          title:
            "Opens a branch with these choices and compares it with the present schedule (Enter, or a double click on its mark)",
          onclick: () => pane.open(row ?? { point: card.point }),
        },
        icon("branch"),
        "Open as branch",
      ),
    ),
    card.why ? h("p", { class: "xp-why" }, card.why) : null,
    choiceList(card.choices),
    card.choices.some((choice) => choice.worth) ? worthTable(card.choices) : null,
    card.reach ? h("p", { class: "xp-reach" }, card.reach) : null,
    card.words
      ? h(
          "p",
          { class: "xp-bound" },
          h("b", {}, card.is_best ? "Why it is the best: " : "Lower bound: "),
          card.words,
          search.bound && card.is_best ? spaceText(search.bound) : null,
        )
      : null,
    limitBars(card.limits),
    row?.figures ? figureTable(search, row.figures, `Figures of candidate ${card.trial}`) : null,
    card.verdict
      ? h("p", { class: EQUAL.includes(card.verdict) ? "xp-verdict" : "quiet" }, VERDICTS[card.verdict])
      : null,
  );
}

/** @param {Choice[]} choices */
function choiceList(choices) {
  return h(
    "ul",
    { class: "xp-choices", "aria-label": "Choices" },
    choices.map((choice) =>
      h(
        "li",
        {
          class: choice.changed ? "is-changed" : null,
          title: choice.changed ? "Differs from the default" : "The default",
        },
        h("span", {}, choice.name),
        h("code", {}, plainText(choice.text)),
      ),
    ),
  );
}

/**
 * What each choice is worth, one changed at a time.
 * @param {Choice[]} choices
 */
function worthTable(choices) {
  return h(
    "table",
    { class: "xp-worth", "aria-label": "What each choice is worth" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        ["one changed", "next best", "cycles more"].map((text, n) =>
          h("th", { scope: "col", class: n === 2 ? "number" : null }, text),
        ),
      ),
    ),
    h(
      "tbody",
      {},
      choices.map((choice) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, choice.name),
          h("td", {}, choice.next ? h("code", {}, plainText(choice.next)) : null),
          h("td", { class: "number" }, choice.worth),
        ),
      ),
    ),
  );
}

/** @param {NonNullable<Search["bound"]>} bound */
function spaceText({ cycles, whole }) {
  return whole
    ? ` No candidate of this space can take less than ${grouped(cycles)} cycles.`
    : ` The lowest bound of a candidate so far is ${grouped(cycles)} cycles.`;
}

/**
 * The card of a candidate under the mouse.
 * @param {Search} search
 * @param {Row} row
 */
export function hoverCard(search, row) {
  const holes = search.holes.map((hole, n) =>
    h("div", {}, h("span", { class: "quiet" }, `${hole.name} `), h("code", {}, plainText(hole.values[row.point[n]]))),
  );
  const figures = search.figures.map((figure, n) => {
    const value = row.figures?.[n];
    if (!value) return null;
    const text = `${row.exact ? "" : "≥ "}${fullAmount(figure.unit, value)}`;
    return h("div", {}, h("span", { class: "quiet" }, `${figure.label} `), text);
  });
  return h(
    "div",
    { class: "xp-hover" },
    h("b", {}, `Candidate ${row.number}`),
    h("div", { class: "xp-hover-parts" }, h("div", {}, holes), h("div", {}, figures)),
    row.why ? h("p", {}, row.why) : null,
  );
}

/**
 * The best value of the first objective over the number of candidates; null without room or values.
 * @param {Search} search
 * @param {Frame[]} frames
 * @param {number} count The number of candidates.
 * @param {number} width
 */
export function bestSoFar(search, frames, count, width) {
  if (!frames.length || width < BEST.least) return null;
  const figure = search.figures[frames[0].index];
  const steps = frames.map(({ row, count: n, index }) => ({ n, value: row.figures[index], number: row.number }));
  const total = Math.max(2, search.total);
  const [high, low] = [steps[0].value, steps[steps.length - 1].value];
  const margin = (high - low || high || 1) * 0.12;
  const { height, left, top } = BEST;
  const [right, bottom] = [width - BEST.right, height - BEST.bottom];
  const x = (/** @type {number} */ n) => left + ((n - 1) / (total - 1)) * (right - left);
  const y = (/** @type {number} */ value) =>
    top + ((high + margin - value) / (high - low + 2 * margin)) * (bottom - top);
  const path = [
    `M${x(steps[0].n)} ${y(high)}`,
    ...steps.slice(1).map(({ n, value }) => `H${x(n).toFixed(1)}V${y(value).toFixed(1)}`),
    `H${x(count).toFixed(1)}`,
  ];
  const title = `Best so far: ${figure.label.toLowerCase()}`;
  const label = `${title} from ${fullAmount(figure.unit, high)} to ${fullAmount(figure.unit, low)} in ${count} candidates`;
  return h(
    "section",
    { class: "xp-best picture" },
    svg(
      "svg",
      { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
      svg("line", { class: "grid", x1: left, x2: right, y1: bottom, y2: bottom }),
      high === low
        ? null
        : svg("text", { x: left - 5, y: y(high) + 3, "text-anchor": "end" }, shortAmount(figure.unit, high)),
      svg("text", { x: left - 5, y: y(low) + 3, "text-anchor": "end" }, shortAmount(figure.unit, low)),
      svg("text", { x: left, y: height - 4 }, "1"),
      svg("text", { x: right, y: height - 4, "text-anchor": "end" }, `${grouped(total)} candidates`),
      svg("path", { class: "way", d: path.join("") }),
      steps.map(({ n, value, number }) =>
        svg("circle", {
          class: number === search.card?.trial ? "improvement is-chosen" : "improvement",
          cx: x(n),
          cy: y(value),
          r: number === search.card?.trial ? 4 : 2.2,
        }),
      ),
    ),
  );
}

/**
 * The Pareto front, for the keyboard and for screen readers.
 * @param {Search} search
 * @param {MeasuredRow[]} rows
 * @param {Pane} pane
 */
export function frontTable(search, rows, pane) {
  if (!rows.length) return null;
  const several = search.objectives.length > 1;
  const shown = search.figures
    .map((figure, n) => ({ figure, n }))
    .filter(({ figure }) => search.objectives.includes(figure.key) || ["cycles", "traffic"].includes(figure.key))
    .slice(0, MOST_FIGURES);
  const changing = search.holes
    .map((hole, n) => ({ hole, n }))
    .filter(({ n }) => new Set(rows.map((row) => row.point[n])).size > 1);
  return h(
    "section",
    { class: "xp-front" },
    h("h2", {}, several ? `Pareto front: ${rows.length}` : "The best"),
    h(
      "p",
      { class: "quiet" },
      several ? "No other candidate is as good in every objective." : "The best of the candidates that were tried.",
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
            shown.map(({ figure }) => h("th", { scope: "col", class: "number" }, figure.label)),
            changing.map(({ hole }) => h("th", { scope: "col" }, hole.name)),
            h("th", { scope: "col" }, h("span", { class: "tw-hidden" }, "open")),
          ),
        ),
        h(
          "tbody",
          {},
          rows.map((row) =>
            h(
              "tr",
              { class: row.number === search.card?.trial ? "is-chosen" : null },
              numberCell(search, row, pane),
              shown.map(({ figure, n }) => h("td", { class: "number" }, fullAmount(figure.unit, row.figures[n]))),
              changing.map(({ hole, n }) => h("td", {}, h("code", {}, plainText(hole.values[row.point[n]])))),
              openCell(row, pane),
            ),
          ),
        ),
      ),
    ),
  );
}

/**
 * @param {Search} search
 * @param {Row} row
 * @param {Pane} pane
 */
function numberCell(search, row, pane) {
  const verdict = search.checked[row.number];
  return h(
    "th",
    { scope: "row" },
    h(
      "button",
      {
        class: "tool small",
        type: "button",
        "data-key": `look ${row.number}`,
        "aria-pressed": String(row.number === search.card?.trial),
        "aria-label": `Show candidate ${row.number}`,
        onclick: () => pane.choose(row),
      },
      row.number,
    ),
    EQUAL.includes(verdict) ? h("span", { class: "xp-verdict", title: verdict }, "✔") : null,
  );
}

/**
 * @param {Row} row
 * @param {Pane} pane
 */
function openCell(row, pane) {
  return h(
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
        onclick: () => pane.open(row),
      },
      icon("branch"),
    ),
  );
}
