// The lines of a schedule as rows: looked at, edited in place, switched off, dragged, taken out; and the one that does not apply, with the ways on.

import { h, icon } from "../core/dom.js";
import { plainText } from "../core/hole_text.js";
import { highlighted } from "../core/python_text.js";

/** Code with a wavy line under one part of it. */
function underlined(text, range) {
  if (!range) return highlighted(text);
  const [start, end] = range;
  return [
    ...highlighted(text.slice(0, start)),
    h("span", { class: "squiggle" }, highlighted(text.slice(start, end))),
    ...highlighted(text.slice(end)),
  ];
}

const WORD = { better: "better", worse: "worse" };

function cost(line) {
  if (!line.change)
    return line.hint
      ? h(
          "span",
          { class: "change other", title: line.hint },
          h("span", { "aria-hidden": "true" }, "•"),
          h("span", { class: "tw-hidden" }, line.hint),
        )
      : null;
  const word = WORD[line.trend];
  return h(
    "span",
    { class: `change ${line.trend}`, title: line.hint },
    line.change,
    word ? h("span", { class: "tw-hidden" }, ` ${word}`) : null,
  );
}

function figures(list) {
  if (!list.length) return h("p", { class: "quiet" }, "The figures stay as they were.");
  return h(
    "table",
    { class: "step-figures" },
    h("caption", { class: "tw-hidden" }, "What this step changed in figures"),
    h(
      "tbody",
      {},
      list.map((f) =>
        h(
          "tr",
          { "data-figure": f.label },
          h("th", { scope: "row" }, f.label),
          h("td", {}, f.before, h("span", { class: "quiet" }, " → "), f.after),
          h(
            "td",
            {},
            h("span", { class: `change ${f.trend}` }, `${f.change}${WORD[f.trend] ? ` ${WORD[f.trend]}` : ""}`),
          ),
        ),
      ),
    ),
  );
}

/** What the chosen step did: figures, and the difference of the trees. */
function details(line, send) {
  const { figures: list, changes } = line.details;
  return h(
    "div",
    { class: "step-details" },
    line.query ? null : figures(list),
    changes.length
      ? h(
          "ul",
          { class: "step-changes", "aria-label": "What this step changed in the tree" },
          changes.map((c) =>
            h(
              "li",
              { class: { "+": "is-new", "−": "is-gone", "→": "is-moved", "~": "is-other" }[c.sign] },
              h("span", { class: "sign", title: c.word }, c.sign),
              h("span", { class: "tw-hidden" }, c.word),
              c.rows.length
                ? h(
                    "button",
                    {
                      class: "link",
                      type: "button",
                      title: "Choose it in the tree",
                      onclick: () => send({ kind: "select", id: c.rows[0] }),
                    },
                    c.text,
                  )
                : c.text,
            ),
          ),
        )
      : h("p", { class: "quiet" }, line.query ? "It only looks something up." : "The tree stays as it was."),
  );
}

function facts(title, list) {
  if (!list.length) return null;
  return h(
    "div",
    { class: "conflict-facts" },
    h("span", { class: "quiet" }, title),
    h(
      "ul",
      {},
      list.map((fact) => h("li", {}, marks(fact.text))),
    ),
  );
}

/** `code` between back quotes. */
function marks(text) {
  return text.split("`").map((part, n) => (n % 2 ? h("b", { class: "tw-mono" }, part) : part));
}

function conflict(line, act) {
  const found = line.conflict;
  return h(
    "div",
    { class: "conflict", role: "alert" },
    h("div", { class: "conflict-title" }, h("span", { "aria-hidden": "true" }, "✘ "), found.title),
    h("div", {}, found.why),
    found.found ? h("div", { class: "quiet" }, "found ", found.found) : null,
    found.expected ? h("div", { class: "quiet clamped", title: found.expected }, "expected ", found.expected) : null,
    facts("It needs", found.needs),
    facts("Since it last applied", found.changes),
    h(
      "div",
      { class: "conflict-choices", role: "group", "aria-label": "Ways on" },
      found.choices.map((c, n) =>
        h(
          "button",
          {
            class: `tool small ${n ? "" : "primary"}`,
            type: "button",
            title: c.hint,
            onclick: () => act.choice(c, line),
          },
          c.label,
        ),
      ),
    ),
    h(
      "div",
      { class: "quiet code" },
      found.code,
      found.waiting ? ` · ${found.waiting} later ${found.waiting === 1 ? "step waits" : "steps wait"}` : "",
    ),
  );
}

/** A comment of the schedule. */
export function noteRow(line) {
  return h("li", { class: "note-line" }, line.text);
}

/** The values of a hole, in the order of their size; the one in front of the text's holds where nobody searches. */
function holeChips(line, act) {
  const { name, values, order } = line.hole;
  const choose = (position) => act.send({ kind: "default", step: line.index, position });
  return h(
    "span",
    { class: "hole-values", role: "group", "aria-label": `Values of ${name}` },
    order.map((position) =>
      h(
        "button",
        {
          class: "hole-value",
          type: "button",
          "data-focus": `item-${line.item} ${values[position]}`,
          "aria-pressed": String(position === 0),
          title: `${position ? "Take this one where nobody searches" : "Taken where nobody searches"}: ${plainText(values[position])}`,
          onclick: () => position && choose(position),
        },
        plainText(values[position]),
      ),
    ),
  );
}

/** A row. `act`: send(message), view(line), edit(line), toggle(line), menu(line, anchor), key(event, line), choice(choice, line). */
export function stepRow(line, view, act) {
  const off = line.kind === "off";
  const classes = [
    "step",
    off ? "off" : line.status,
    view.chosen && "chosen",
    view.later && "later",
    line.query && "query",
    line.hole && "hole",
  ];
  return h(
    "li",
    {
      class: classes.filter(Boolean).join(" "),
      "data-item": line.item,
      "data-step": off ? null : line.index,
      oncontextmenu: (event) => {
        if (event.target.closest(".cell-edit, .conflict, .step-details")) return;
        event.preventDefault();
        act.menu(line, event.currentTarget);
      },
    },
    h("span", { class: "grip", "aria-hidden": "true", title: "Drag to another place" }, "⠿"),
    h(
      "button",
      {
        class: "step-text",
        type: "button",
        "data-focus": `item-${line.item}`,
        "aria-current": view.chosen ? "step" : null,
        "aria-keyshortcuts": "F2 Delete Alt+ArrowUp Alt+ArrowDown Control+/",
        title: off
          ? "Switched off: it is a comment in the text"
          : (line.error ??
            "Look at the program after this step (F2 edits, Ctrl+/ switches off, Alt+arrows move, Delete removes)"),
        onclick: () => (off ? act.toggle(line) : act.view(line)),
        ondblclick: () => act.edit(line),
        onkeydown: (event) => act.key(event, line),
      },
      h("span", { class: "step-number" }, off ? "off" : line.query ? "" : line.number),
      h(
        "code",
        {},
        line.hole && !line.error
          ? [`${line.hole.target} = `, h("span", { class: "tok-call" }, "choose")]
          : underlined(line.text, line.underline),
      ),
      line.comment ? h("span", { class: "step-comment" }, line.comment) : null,
    ),
    line.hole && !line.error ? holeChips(line, act) : null,
    off ? null : cost(line),
    h(
      "span",
      { class: "step-tools" },
      h(
        "button",
        {
          class: "tool small",
          type: "button",
          "aria-label": `Edit step ${line.text}`,
          title: "Edit (F2)",
          onclick: () => act.edit(line),
        },
        icon("edit"),
      ),
      h(
        "button",
        {
          class: "tool small switch",
          type: "button",
          role: "switch",
          "aria-checked": off ? "false" : "true",
          "aria-label": `Step ${line.text} counts`,
          title: off ? "Switch it on again" : "Switch it off; it stays in the text",
          onclick: () => act.toggle(line),
        },
        icon("power"),
      ),
      h(
        "button",
        {
          class: "tool small more",
          type: "button",
          "aria-haspopup": "menu",
          "aria-label": `More for step ${line.text}`,
          title: "More",
          onclick: (event) => act.menu(line, event.currentTarget),
        },
        icon("more"),
      ),
      off
        ? null
        : h(
            "button",
            {
              class: "tool small remove",
              type: "button",
              "aria-label": `Remove step ${line.text}`,
              title: "Take this step out; the later ones are made again (Delete)",
              onclick: () => act.send({ kind: "remove_item", item: line.item }),
            },
            icon("remove"),
          ),
    ),
    line.conflict ? conflict(line, act) : line.error ? h("div", { class: "step-error" }, line.error) : null,
    line.details ? details(line, act.send) : null,
  );
}

const FAR_ENOUGH = 5;

/** Dragging rows of `list` to another place, over all of its cells; `moved(item, {target, after} or {cell})` when one is dropped. While it lasts the
 * list has the class "is-dragging" and is not to be drawn anew; then it says "letgo". */
export function dragRows(list, moved) {
  const line = h("div", { class: "drop-line", hidden: true });
  let grab = null;
  let justDropped = false;

  function targetAt(y) {
    const rows = [...list.querySelectorAll(".step[data-item]")].filter((row) => row !== grab.row);
    let best = null;
    for (const empty of list.querySelectorAll(".no-steps[data-cell]")) {
      const box = empty.getBoundingClientRect();
      const far = Math.max(0, box.top - y, y - box.bottom);
      if (!best || far < best.far) best = { far, empty, edge: box.bottom, to: { cell: Number(empty.dataset.cell) } };
    }
    for (const row of rows) {
      const box = row.getBoundingClientRect();
      for (const [edge, after] of [
        [box.top, false],
        [box.bottom, true],
      ]) {
        const far = Math.abs(edge - y);
        if (!best || far < best.far) best = { far, edge, to: { target: Number(row.dataset.item), after } };
      }
    }
    return best;
  }

  function move(event) {
    if (!grab) return;
    if (!grab.moving) {
      if (Math.hypot(event.clientX - grab.x, event.clientY - grab.y) < FAR_ENOUGH) return;
      grab.moving = true;
      grab.row.setPointerCapture?.(event.pointerId);
      grab.row.classList.add("dragged");
      list.classList.add("is-dragging");
      list.append(line);
    }
    event.preventDefault();
    const frame = list.getBoundingClientRect();
    if (event.clientY < frame.top + 24) list.scrollTop -= 12;
    if (event.clientY > frame.bottom - 24) list.scrollTop += 12;
    grab.target?.empty?.classList.remove("is-target");
    grab.target = targetAt(event.clientY);
    if (!grab.target) return;
    grab.target.empty?.classList.add("is-target");
    line.hidden = Boolean(grab.target.empty);
    line.style.top = `${grab.target.edge - frame.top + list.scrollTop - 1}px`;
  }

  function end(drop) {
    if (!grab) return;
    const { moving, target, item, row } = grab;
    row.classList.remove("dragged");
    target?.empty?.classList.remove("is-target");
    list.classList.remove("is-dragging");
    line.remove();
    line.hidden = true;
    grab = null;
    window.removeEventListener("pointermove", move);
    window.removeEventListener("pointerup", up);
    window.removeEventListener("pointercancel", cancel);
    window.removeEventListener("keydown", keys, true);
    if (!moving) return;
    justDropped = true;
    setTimeout(() => (justDropped = false));
    if (drop && target) moved(item, target.to);
    list.dispatchEvent(new Event("letgo"));
  }

  const up = () => end(true);
  const cancel = () => end(false);
  function keys(event) {
    if (event.key !== "Escape" || !grab?.moving) return;
    event.preventDefault();
    event.stopPropagation();
    end(false);
  }

  list.addEventListener("pointerdown", (event) => {
    const row = event.target.closest?.(".step[data-item]");
    if (!row || event.button || event.target.closest(".step-tools, .hole-values, .conflict, .step-details, .cell-edit"))
      return;
    grab = { row, item: Number(row.dataset.item), x: event.clientX, y: event.clientY, moving: false, target: null };
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", up);
    window.addEventListener("pointercancel", cancel);
    window.addEventListener("keydown", keys, true);
  });
  // The click that ends a drag is none.
  list.addEventListener(
    "click",
    (event) => {
      if (!justDropped) return;
      event.stopPropagation();
      event.preventDefault();
    },
    true,
  );
}
