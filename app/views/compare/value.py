"""A/B: two programs beside each other: the lines of both trees, the differences in figures, the step that explains most, both timelines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....engine.hwsim import Report
from ....engine.ir import PrimFunc, TilewrightError
from ....engine.schedule import PRIMITIVES
from ...document.editing.branches import branches
from ...state.comparison import side_state
from ...state.derived import Store
from ...state.model import Side, State
from ..labels.fitness import cycles_text
from ..labels.palette import BUFFER_COLOURS, colours_by_name
from ..notebook.code import marked
from ..shell.gallery import Example
from ..timeline.explanation import explanation_value
from .alignment import Pair, TreeItem, aligned, items_of
from .differences import difference_table
from .overlay import overlay_value

MAX_LINES = 2_000
"""The maximum number of lines sent; a browser lays out more too slowly."""

Value = dict[str, Any]


def compare_value(state: State, store: Store, examples: Sequence[Example]) -> Value:
    """sides [key, label, about, error], choices, lines, counts, table, explanation; empty without a comparison."""
    if state.comparison is None or state.shown is None:
        return {"sides": [], "choices": [], "lines": [], "counts": {}, "table": [], "explanation": None, "more": 0}
    sides = (state.comparison.a, state.comparison.b)
    states = tuple(side_state(state, side) for side in sides)
    reports = [store.known_report(side) for side in states]
    funcs = [side.moment.schedule.func for side in states if side.moment is not None]
    lines = store.remember("aligned", tuple(funcs), lambda: aligned_programs(funcs[0], funcs[1], store.colours))
    a, b = reports
    table = (
        store.remember("differences", (a, b), lambda: difference_table(a, b))
        if isinstance(a, Report) and isinstance(b, Report)
        else []
    )
    return {
        "sides": [_side(*pair, store) for pair in zip(sides, states, reports, strict=True)],
        "choices": choices(state, examples),
        "lines": lines["lines"],
        "more": lines["more"],
        "counts": lines["counts"],
        "table": table,
        "explanation": explanation_value(state, store),
    }


def overlay_now(state: State, store: Store) -> Value:
    """Both timelines on one scale, once both reports are known; else a note."""
    if state.comparison is None:
        return {"engines": [], "memories": [], "note": ""}
    states = [side_state(state, side) for side in (state.comparison.a, state.comparison.b)]
    a, b = (store.known_report(side) for side in states)
    if not isinstance(a, Report) or not isinstance(b, Report):
        failed = [f"{name}: {r.refusal.message}" for name, r in (("A", a), ("B", b)) if isinstance(r, TilewrightError)]
        return {"engines": [], "memories": [], "note": "; ".join(failed) or "Simulating…"}
    funcs = [side.moment.schedule.func for side in states if side.moment is not None]
    span = state.comparison.span
    made = store.remember(
        f"overlay {span}",
        (a, b, *funcs),
        lambda: overlay_value(a, b, common_colours(funcs[0], funcs[1], store.colours), span),
    )
    return {**made, "note": ""}


def compared_script(state: State, store: Store) -> Value:
    """B as TVMScript; lines that A does not have are "added", lines that only A has "removed"."""
    assert state.comparison is not None
    sides = [side_state(state, side) for side in (state.comparison.a, state.comparison.b)]
    a, b = (side.moment.schedule for side in sides if side.moment is not None)
    lines = store.remember("marks", (a.func, b.func), lambda: marked(store.script(a), store.script(b)))
    return {"caption": "Marked: changes from A to B", "file": None, "reveal": True, "lines": lines}


def _side(side: Side, state: State, report: Report | TilewrightError | None, store: Store) -> Value:
    machine = store.machine(state)
    return {
        "key": side.key,
        "label": side_label(side, state),
        "machine": machine.refusal.message if isinstance(machine, TilewrightError) else machine.name,
        "cycles": cycles_text(report) if isinstance(report, Report) else "",
        "error": report.refusal.message if isinstance(report, TilewrightError) else "",
        "waiting": report is None,
    }


def side_label(side: Side, state: State) -> str:
    """The label of a side; `state` is the page's state with this side displayed."""
    if side.label:
        return side.label
    if side.count is None or state.shown is None:
        return "now"
    if side.count == 0:
        return "original program"
    step = state.shown.steps[min(side.count, len(state.shown.steps)) - 1]
    number = state.shown.step_numbers.get(step.index)
    return f"after {f'step {number}' if number else 'line'}: {' '.join(step.text.split())}"


def choices(state: State, examples: Sequence[Example]) -> list[Value]:
    """The possible sides, in groups: {title, items: [{key, text}]}."""
    assert state.shown is not None
    numbers = state.shown.step_numbers
    steps = [
        {"key": f"step:{step.index + 1}", "text": f"{numbers[step.index]}  {' '.join(step.text.split())}"[:90]}
        for step in state.shown.steps[: len(state.shown.states) - 1]
        if step.call.method in PRIMITIVES
    ]
    opened = [{"key": "opened", "text": "as opened"}] if state.past else []
    here = [{"key": "now", "text": "now"}, {"key": "step:0", "text": "original program"}, *opened]
    known = branches(state.notebook.document) if state.notebook is not None else ()
    own = {"title": "Branches", "items": [{"key": f"branch:{b.name}", "text": b.name} for b in known]}
    others = {
        "title": "Examples",
        "items": [
            {"key": f"example:{e.name}", "text": e.title} for e in examples if not e.model and e.obstacle is None
        ],
    }
    files = {"title": "Files", "items": _files(state)}
    groups = [{"title": "This notebook", "items": here}, {"title": "After a step", "items": steps}, own, files, others]
    return [group for group in groups if group["items"]]


def _files(state: State) -> list[Value]:
    """The files that were opened for the comparison that is shown."""
    assert state.comparison is not None
    sides = {side.key: side.label for side in (state.comparison.a, state.comparison.b) if side.key.startswith("file:")}
    return [{"key": key, "text": label} for key, label in sides.items()]


def aligned_programs(a: PrimFunc, b: PrimFunc, known: dict[str, int]) -> Value:
    """The lines of both trees, and how many of each kind."""
    pairs = aligned(items_of(a), items_of(b))
    colours = common_colours(a, b, known)
    statuses = [pair.status for pair in pairs]
    names = ("changed", "moved", "only_a", "only_b", "same")
    counts: Value = {name: statuses.count(name) for name in names}
    counts["moved"] = len({pair.b.place for pair in pairs if pair.status == "moved" and pair.b is not None})
    return {
        "lines": [_line(p, colours) for p in pairs[:MAX_LINES]],
        "more": max(0, len(pairs) - MAX_LINES),
        "counts": counts,
    }


def _line(pair: Pair, colours: dict[str, int]) -> Value:
    return {"a": _cell(pair.a, colours), "b": _cell(pair.b, colours), "status": pair.status, "words": pair.words}


def _cell(item: TreeItem | None, colours: dict[str, int]) -> Value | None:
    if item is None:
        return None
    row = item.row
    is_block = row["kind"] == "block"
    reads, writes = ([_buffer(b, colours) for b in row[name]] if is_block else [] for name in ("reads", "writes"))
    return {
        "name": row["name"],
        "kind": row["kind"],
        "depth": row["depth"],
        "extent": "" if is_block else row["extent"],
        "detail": row["detail"],
        "badges": [badge["text"] for badge in row["badges"]],
        "reads": reads,
        "writes": writes,
    }


def _buffer(buffer: Value, colours: dict[str, int]) -> Value:
    return {"name": buffer["name"], "scope": buffer["scope"], "colour": colours.get(buffer["name"], 9)}


def common_colours(a: PrimFunc, b: PrimFunc, known: dict[str, int]) -> dict[str, int]:
    """One colour for each name in both programs: the session's, or a free one where a name only in A has the colour of one in B."""
    colours = colours_by_name(b, known)
    count = len(BUFFER_COLOURS)
    free = [n for n in range(count) if n not in colours.values()]
    for name, index in colours_by_name(a, known).items():
        if name in colours:
            continue
        colours[name] = index if index in free or not free else free[0]
        free = [n for n in free if n != colours[name]]
    return colours
