"""A/B: two programs beside each other: the lines of both trees, the differences in figures, the step that explains most, both timelines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from ....engine.hwsim import Report
from ....engine.ir import PrimFunc, TilewrightError
from ....engine.schedule import PRIMITIVES
from ...document.editing.branches import branches
from ...state.comparison import side_state
from ...state.derived import Store
from ...state.entries import Derived
from ...state.model import Side, State
from ..labels.fitness import cycles_text
from ..labels.palette import BUFFER_COLOURS, OTHER, colours_by_name
from ..labels.values import Value
from ..notebook.code import MARKS, Code, marked
from ..shell.gallery import Example
from ..timeline.explanation import Explanation, explanation_value
from ..timeline.value import timeline_data
from ..tree.rows import BufferChip
from .alignment import Pair, Status, TreeItem, aligned, items_of
from .differences import DifferenceGroup, difference_table
from .overlay import Overlay, overlay_value

MAX_LINES = 2_000
"""The maximum number of lines sent; a browser lays out more too slowly."""


_ALIGNED = Derived["AlignedTrees"]("aligned programs")
_OVERLAY = Derived["Overlay"]("overlay")


class ComparedSide(Value, frozen=True):
    """A side of the comparison: its key and label, its machine, its cycles as text, or the error."""

    key: str
    label: str
    machine: str
    cycles: str
    error: str
    waiting: bool


class SideChoice(Value, frozen=True):
    """A possible side."""

    key: str
    text: str


class SideGroup(Value, frozen=True):
    """Possible sides of one kind."""

    title: str
    items: list[SideChoice]


class ComparedBuffer(Value, frozen=True):
    """A buffer that a compared block reads or writes."""

    name: str
    scope: str
    colour: int


class ComparedRow(Value, frozen=True, kw_only=True):
    """A loop or a block of one side."""

    name: str
    kind: Literal["loop", "block"]
    depth: int
    extent: str
    detail: str
    badges: list[str]
    reads: list[ComparedBuffer]
    writes: list[ComparedBuffer]


class ComparedLine(Value, frozen=True):
    """A line of the comparison, and what differs."""

    a: ComparedRow | None
    b: ComparedRow | None
    status: Status
    words: tuple[str, ...]


class AlignedTrees(Value, frozen=True):
    """The lines of both trees, how many `more` there are, and how many of each status."""

    lines: Sequence[ComparedLine]
    more: int
    counts: dict[Status, int]


class Comparison(Value, frozen=True, kw_only=True):
    """Two programs with their aligned trees, the differences in figures, and the step that explains most."""

    sides: Sequence[ComparedSide] = ()
    choices: Sequence[SideGroup] = ()
    lines: Sequence[ComparedLine] = ()
    more: int = 0
    counts: dict[Status, int] = msgspec.field(default_factory=dict)
    table: Sequence[DifferenceGroup] = ()
    explanation: Explanation | None = None


def compare_value(state: State, store: Store, examples: Sequence[Example]) -> Comparison:
    """The comparison; empty without one."""
    if state.comparison is None or state.shown is None:
        return Comparison()
    sides = (state.comparison.a, state.comparison.b)
    states = tuple(side_state(state, side) for side in sides)
    reports = [store.known_report(side) for side in states]
    funcs = [side.moment.schedule.func for side in states if side.moment is not None]
    trees = store.remember(_ALIGNED(*funcs), lambda: aligned_programs(*funcs))
    a, b = reports
    table = store.once(difference_table, a, b) if isinstance(a, Report) and isinstance(b, Report) else []
    return Comparison(
        sides=[_side(*pair, store) for pair in zip(sides, states, reports, strict=True)],
        choices=choices(state, examples),
        lines=trees.lines,
        more=trees.more,
        counts=trees.counts,
        table=table,
        explanation=explanation_value(state, store),
    )


def overlay_now(state: State, store: Store) -> Overlay:
    """Both timelines on one scale, once both reports are known; else a note."""
    if state.comparison is None:
        return Overlay(engines=[], memories=[], note="")
    states = [side_state(state, side) for side in (state.comparison.a, state.comparison.b)]
    a, b = (store.known_report(side) for side in states)
    if not isinstance(a, Report) or not isinstance(b, Report):
        failed = [f"{name}: {r.refusal.message}" for name, r in (("A", a), ("B", b)) if isinstance(r, TilewrightError)]
        return Overlay(engines=[], memories=[], note="; ".join(failed) or "Simulating…")
    funcs = [side.moment.schedule.func for side in states if side.moment is not None]
    span = state.comparison.span
    return store.remember(
        _OVERLAY(span, a, b, *funcs),
        lambda: overlay_value(timeline_data(a, store), timeline_data(b, store), common_colours(*funcs), span),
    )


def compared_script(state: State, store: Store) -> Code:
    """B as TVMScript; lines that A does not have are "added", lines that only A has "removed"."""
    assert state.comparison is not None
    sides = [side_state(state, side) for side in (state.comparison.a, state.comparison.b)]
    a, b = (side.moment.schedule for side in sides if side.moment is not None)
    lines = store.remember(MARKS(a.func, b.func), lambda: marked(store.script(a), store.script(b)))
    return Code("Marked: changes from A to B", None, reveal=True, lines=lines)


def _side(side: Side, state: State, report: Report | TilewrightError | None, store: Store) -> ComparedSide:
    machine = store.machine(state)
    return ComparedSide(
        side.key,
        side_label(side, state),
        machine.refusal.message if isinstance(machine, TilewrightError) else machine.name,
        cycles_text(report) if isinstance(report, Report) else "",
        report.refusal.message if isinstance(report, TilewrightError) else "",
        report is None,
    )


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


def choices(state: State, examples: Sequence[Example]) -> list[SideGroup]:
    """The possible sides, in groups."""
    assert state.shown is not None
    numbers = state.shown.step_numbers
    steps = [
        SideChoice(f"step:{step.index + 1}", f"{numbers[step.index]}  {' '.join(step.text.split())}"[:90])
        for step in state.shown.steps[: len(state.shown.states) - 1]
        if step.call.method in PRIMITIVES
    ]
    opened = [SideChoice("opened", "as opened")] if state.past else []
    here = [SideChoice("now", "now"), SideChoice("step:0", "original program"), *opened]
    known = branches(state.notebook.document) if state.notebook is not None else ()
    own = [SideChoice(f"branch:{b.name}", b.name) for b in known]
    others = [SideChoice(f"example:{e.name}", e.title) for e in examples if not e.model and e.obstacle is None]
    groups = {
        "This notebook": here, "After a step": steps, "Branches": own, "Files": _files(state), "Examples": others,
    }  # fmt: skip
    return [SideGroup(title, items) for title, items in groups.items() if items]


def _files(state: State) -> list[SideChoice]:
    """The files that were opened for the comparison that is shown."""
    assert state.comparison is not None
    sides = {side.key: side.label for side in (state.comparison.a, state.comparison.b) if side.key.startswith("file:")}
    return [SideChoice(key, label) for key, label in sides.items()]


def aligned_programs(a: PrimFunc, b: PrimFunc) -> AlignedTrees:
    """The lines of both trees, and how many of each status."""
    pairs = aligned(items_of(a), items_of(b))
    colours = common_colours(a, b)
    statuses = [pair.status for pair in pairs]
    names: tuple[Status, ...] = ("changed", "moved", "only_a", "only_b", "same")
    counts: dict[Status, int] = {name: statuses.count(name) for name in names}
    counts["moved"] = len({pair.b.place for pair in pairs if pair.status == "moved" and pair.b is not None})
    return AlignedTrees([_line(p, colours) for p in pairs[:MAX_LINES]], max(0, len(pairs) - MAX_LINES), counts)


def _line(pair: Pair, colours: dict[str, int]) -> ComparedLine:
    return ComparedLine(_row(pair.a, colours), _row(pair.b, colours), pair.status, pair.words)


def _row(item: TreeItem | None, colours: dict[str, int]) -> ComparedRow | None:
    if item is None:
        return None
    row = item.row
    return ComparedRow(
        name=row.name,
        kind=row.kind,
        depth=row.depth,
        extent=row.extent,
        detail=row.detail,
        badges=[badge.text for badge in row.badges],
        reads=[_buffer(buffer, colours) for buffer in row.reads],
        writes=[_buffer(buffer, colours) for buffer in row.writes],
    )


def _buffer(buffer: BufferChip, colours: dict[str, int]) -> ComparedBuffer:
    return ComparedBuffer(buffer.name, buffer.scope, colours.get(buffer.name, OTHER))


def common_colours(a: PrimFunc, b: PrimFunc) -> dict[str, int]:
    """One colour for each name in both programs: that in B; of a name only in A its own, or a free one if B uses that."""
    colours = colours_by_name(b)
    count = len(BUFFER_COLOURS)
    free = [n for n in range(count) if n not in colours.values()]
    for name, index in colours_by_name(a).items():
        if name in colours:
            continue
        colours[name] = index if index in free or not free else free[0]
        free = [n for n in free if n != colours[name]]
    return colours
