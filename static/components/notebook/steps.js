// The steps of a schedule as rows, with their costs, details and conflicts; a drag moves them.

import { h, icon } from "../core/dom.js";
import { plainText } from "../core/hole_text.js";
import { highlighted } from "../core/python_text.js";
import { readerMarks } from "../core/readers.js";

/** @import { ConflictChoice as Choice, ScheduleLine as Step, ScheduleNote as Note } from "../views.js" */
/** @import { Send } from "../core/dom.js" */
/** @import { StepConflict as Conflict, StepFigure as Figure, StepHole as Hole, Reader } from "../views.js" */

/**
 * What a row calls.
 * @typedef {object} StepActions
 * @property {Send} send
 * @property {(line: Step) => void} view
 * @property {(line: Step) => void} edit
 * @property {(line: Step) => void} toggle
 * @property {(line: Step, anchor: HTMLElement) => void} menu
 * @property {(line: Step, anchor: HTMLElement) => void} comment
 * @property {(event: KeyboardEvent, line: Step) => void} key
 * @property {(choice: Choice, line: Step) => void} choice
 */

/** @typedef {{ target: number, after: boolean } | { cell: number }} Destination Beside a step, or into a cell without steps. */

/**
 * Code with a wavy line under a range.
 * @param {string} text
 * @param {[start: number, end: number] | null} range
 */
function underlined(text, range) {
  if (!range) return highlighted(text);
  const [start, end] = range;
  return [
    ...highlighted(text.slice(0, start)),
    h("span", { class: "squiggle" }, highlighted(text.slice(start, end))),
    ...highlighted(text.slice(end)),
  ];
}

/** @type {Record<string, string>} */
const WORD = { better: "better", worse: "worse" };

/** @param {Step} line */
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
  const word = WORD[line.trend ?? ""];
  return h(
    "span",
    { class: `change ${line.trend}`, title: line.hint },
    line.change,
    word ? h("span", { class: "tw-hidden" }, ` ${word}`) : null,
  );
}

/** @param {Figure[]} list */
function figures(list) {
  if (!list.length) return h("p", { class: "quiet" }, "The figures are unchanged.");
  return h(
    "table",
    { class: "step-figures" },
    h("caption", { class: "tw-hidden" }, "Changes of figures by this step"),
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

const CHANGE_CLASSES = { "+": "is-new", "−": "is-gone", "→": "is-moved", "~": "is-other" };

/**
 * The changes by the selected step: figures and the tree.
 * @param {Step} line
 * @param {NonNullable<Step["details"]>} details
 * @param {Send} send
 */
function details(line, { figures: list, changes }, send) {
  return h(
    "div",
    { class: "step-details" },
    line.query ? null : figures(list),
    changes.length
      ? h(
          "ul",
          { class: "step-changes", "aria-label": "Changes of the tree by this step" },
          changes.map((c) =>
            h(
              "li",
              { class: CHANGE_CLASSES[c.sign] },
              h("span", { class: "sign", title: c.word }, c.sign),
              h("span", { class: "tw-hidden" }, c.word),
              c.rows.length
                ? h(
                    "button",
                    {
                      class: "link",
                      type: "button",
                      title: "Select it in the tree",
                      onclick: () => send({ kind: "select", id: c.rows[0] }),
                    },
                    c.text,
                  )
                : c.text,
            ),
          ),
        )
      : h("p", { class: "quiet" }, line.query ? "This step only queries the program." : "The tree is unchanged."),
  );
}

/**
 * @param {string} title
 * @param {{ text: string }[]} list
 */
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

/**
 * Text with `code` in it.
 * @param {string} text
 */
function marks(text) {
  return text.split("`").map((part, n) => (n % 2 ? h("b", { class: "tw-mono" }, part) : part));
}

/**
 * @param {Step} line
 * @param {Conflict} found
 * @param {StepActions} act
 */
function conflict(line, found, act) {
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
      { class: "conflict-choices", role: "group", "aria-label": "Ways to continue" },
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

/**
 * A comment of the schedule.
 * @param {Note} line
 */
export function noteRow(line) {
  return h("li", { class: "note-line" }, line.text);
}

/**
 * The values of a hole by size. The first value in the text is the default, used outside of a search.
 * @param {Step} line
 * @param {Hole} hole
 * @param {StepActions} act
 */
function holeChips(line, { name, values, order }, act) {
  const choose = (/** @type {number} */ position) => act.send({ kind: "set_default", step: line.index, position });
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
          title: `${position ? "Make it the default" : "The default"}: ${plainText(values[position])}`,
          onclick: () => position && choose(position),
        },
        plainText(values[position]),
      ),
    ),
  );
}

/**
 * A row of the schedule.
 * @param {Step} line
 * @param {{ chosen: boolean, later: boolean, readers: Reader[] }} view Whether it is the displayed step, or a later one; who else shows it.
 * @param {StepActions} act
 */
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
        if (/** @type {Element} */ (event.target).closest(".cell-edit, .conflict, .step-details")) return;
        event.preventDefault();
        act.menu(line, /** @type {HTMLElement} */ (event.currentTarget));
      },
    },
    line.note
      ? h(
          "button",
          {
            class: "note-line",
            type: "button",
            "aria-label": `Comment of step ${line.text}: ${line.note}`,
            title: "The comment of this step; a click changes it",
            onclick: (event) => act.comment(line, /** @type {HTMLElement} */ (event.currentTarget)),
          },
          line.note,
        )
      : null,
    h("span", { class: "grip", "aria-hidden": "true", title: "Drag to another place" }, "⠿"),
    h(
      "button",
      {
        class: "step-text",
        type: "button",
        "data-focus": `item-${line.item}`,
        "aria-current": view.chosen ? "step" : null,
        "aria-keyshortcuts": "F2 Delete Alt+ArrowUp Alt+ArrowDown Control+/ #",
        title: off
          ? "Disabled: a comment in the text"
          : (line.error ??
            "Show the program after this step (F2 edits, # comments, Ctrl+/ disables, Alt+arrows move, Delete removes)"),
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
    line.hole && !line.error ? holeChips(line, line.hole, act) : null,
    off ? null : cost(line),
    readerMarks(view.readers),
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
          "aria-label": `Step ${line.text} enabled`,
          title: off ? "Enable" : "Disable; the step stays in the text",
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
          onclick: (event) => act.menu(line, /** @type {HTMLElement} */ (event.currentTarget)),
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
              title: "Remove this step and apply the later ones again (Delete)",
              onclick: () => act.send({ kind: "remove_item", item: line.item }),
            },
            icon("remove"),
          ),
    ),
    line.conflict
      ? conflict(line, line.conflict, act)
      : line.error
        ? h("div", { class: "step-error" }, line.error)
        : null,
    line.details ? details(line, line.details, act.send) : null,
  );
}

const DRAG_DISTANCE = 5; // px

/** @typedef {{ distance: number, edge: number, empty?: Element, to: Destination }} DropPlace */
/** @typedef {{ row: HTMLElement, item: number, x: number, y: number, moving: boolean, target: DropPlace | null }} Drag */

/**
 * Let the user drag rows of `list`, over all of its cells, and call `moved` after a drop. During a drag the list has the class "is-dragging" and
 * must not be redrawn; the event "letgo" ends it.
 * @param {HTMLElement} list
 * @param {(item: number, to: Destination) => void} moved
 */
export function dragRows(list, moved) {
  const line = h("div", { class: "drop-line", hidden: true });
  /** @type {Drag | null} */
  let grab = null;
  let justDropped = false;

  /**
   * @param {number} y
   * @returns {DropPlace | null}
   */
  function targetAt(y) {
    const all = /** @type {HTMLElement[]} */ ([...list.querySelectorAll(".step[data-item]")]);
    const rows = all.filter((row) => row !== grab?.row);
    /** @type {DropPlace | null} */
    let best = null;
    for (const empty of /** @type {NodeListOf<HTMLElement>} */ (list.querySelectorAll(".no-steps[data-cell]"))) {
      const box = empty.getBoundingClientRect();
      const distance = Math.max(0, box.top - y, y - box.bottom);
      if (!best || distance < best.distance)
        best = { distance, empty, edge: box.bottom, to: { cell: Number(empty.dataset.cell) } };
    }
    for (const row of rows) {
      const box = row.getBoundingClientRect();
      for (const after of [false, true]) {
        const edge = after ? box.bottom : box.top;
        const distance = Math.abs(edge - y);
        if (!best || distance < best.distance)
          best = { distance, edge, to: { target: Number(row.dataset.item), after } };
      }
    }
    return best;
  }

  /** @param {PointerEvent} event */
  function move(event) {
    if (!grab) return;
    if (!grab.moving) {
      if (Math.hypot(event.clientX - grab.x, event.clientY - grab.y) < DRAG_DISTANCE) return;
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

  /** @param {boolean} drop */
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
  /** @param {KeyboardEvent} event */
  function keys(event) {
    if (event.key !== "Escape" || !grab?.moving) return;
    event.preventDefault();
    event.stopPropagation();
    end(false);
  }

  list.addEventListener("pointerdown", (event) => {
    const pressed = event.target instanceof Element ? event.target : null;
    const row = pressed?.closest(".step[data-item]");
    if (!(row instanceof HTMLElement) || event.button) return;
    if (pressed?.closest(".step-tools, .hole-values, .conflict, .step-details, .cell-edit")) return;
    grab = { row, item: Number(row.dataset.item), x: event.clientX, y: event.clientY, moving: false, target: null };
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", up);
    window.addEventListener("pointercancel", cancel);
    window.addEventListener("keydown", keys, true);
  });
  // Suppress the click at the end of a drag.
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
