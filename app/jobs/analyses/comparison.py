"""Why two schedules differ: each step that only one of them has is left out alone, the rest is replayed, and the result is simulated."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

from ....engine.hwsim import Machine, Report
from ....engine.ir import PrimFunc, TilewrightError
from ....engine.lower import with_sizes
from ....engine.schedule import PRIMITIVES
from ...document import Notebook, NotebookStep, sizes_for
from ...document.editing.remove_step import remove_steps
from ...state.comparison import side_state
from ...state.derived import REPORT, Store, attempt, report_of
from ...state.model import State
from ...views.timeline.explanation import Explained, StepEffect, explained_entry, explained_now, explains_most
from .analysis import Analysis

MOST_STEPS = 60
"""The maximum number of steps that are removed one by one."""

MOST_PAIRS = 40
"""The maximum number of pairs of steps that are removed if no single step explains most."""


def comparison_analysis(state: State, store: Store) -> Analysis | None:
    """The reports of both sides of a comparison, then, if they show different notebooks, the step that explains the difference."""
    if state.comparison is None:
        return None
    a, b = (side_state(state, side) for side in (state.comparison.a, state.comparison.b))
    reports: list[Any] = []
    for side in (a, b):
        if side.moment is None:
            return None
        report = store.known_report(side)
        if report is None:
            of = store.costed(side, side.moment.schedule), store.machine(side)
            return Analysis(REPORT(*of), lambda of=of: _reported(*of), "area-compare", "Simulating")
        reports.append(report)
    if a.shown is b.shown:
        return None  # the background analysis simulates the steps between them
    first, second = store.machine(a), store.machine(b)
    known = explained_now(a, b, store)
    if (
        isinstance(first, TilewrightError)
        or isinstance(second, TilewrightError)
        or (known and known.done == known.total)
    ):
        return None
    if not all(isinstance(report, Report) for report in reports):
        return None
    machines = first, second
    return Analysis(
        explained_entry(a, b, store),
        lambda: _explaining(a, b, machines, (reports[0], reports[1])),
        "compare",
        "Explaining the difference",
    )


def _reported(func: PrimFunc, machine: Machine | TilewrightError) -> Iterator[Report | TilewrightError]:
    yield report_of(func, machine)


def _explaining(
    a: State, b: State, machines: tuple[Machine, Machine], reports: tuple[Report, Report]
) -> Iterator[Explained]:
    """The results after each trial."""
    own = list(_own_steps(a, b))
    todo = own[:MOST_STEPS]
    effects: list[StepEffect] = []
    if not todo:
        yield Explained((), 0, 0)
    pairs: list[StepEffect] = []
    more = len(own) - len(todo)

    def effect_of(which: int, *steps: NotebookStep) -> Iterator[StepEffect]:
        side = (a, b)[which]
        assert side.shown is not None
        effect = _effect_of_removal(side.shown, side.step_count, steps, machines[which], reports[which], "AB"[which])
        if effect is not None:
            yield effect

    for done, (which, step) in enumerate(todo, 1):
        effects += effect_of(which, step)
        if done < len(todo):
            yield Explained(tuple(effects), done, len(todo), more)
    difference = reports[1].cycles - reports[0].cycles
    wanted = [] if explains_most(effects, difference, 1) else list(_pairs_of(todo))
    total = len(todo) + len(wanted)
    yield Explained(tuple(effects), len(todo), total, more)
    for done, (which, *both) in enumerate(wanted, len(todo) + 1):
        pairs += effect_of(which, *both)
        yield Explained(tuple(effects), done, total, more, tuple(pairs))


def _pairs_of(own: Sequence[tuple[int, NotebookStep]]) -> Iterator[tuple[int, NotebookStep, NotebookStep]]:
    """Two steps of one side: of one primitive first, then neighbouring ones."""
    pairs = [(which, one, other) for (which, one), (at, other) in combinations(own, 2) if which == at]
    pairs.sort(key=lambda pair: (pair[1].call.method != pair[2].call.method, abs(pair[2].index - pair[1].index)))
    yield from pairs[:MOST_PAIRS]


def _own_steps(a: State, b: State) -> Iterator[tuple[int, NotebookStep]]:
    """The steps that only one side has, those of B first: which side, which step."""
    assert a.shown is not None and b.shown is not None
    steps = tuple(
        [s for s in side.shown.steps[: side.step_count] if s.call.method in PRIMITIVES] for side in (a, b) if side.shown
    )
    texts = [[" ".join(step.text.split()) for step in own] for own in steps]
    codes = difflib.SequenceMatcher(None, texts[0], texts[1], autojunk=False).get_opcodes()
    changed = [code for code in codes if code[0] != "equal"]
    yield from ((1, step) for _, _, _, low, high in changed for step in steps[1][low:high])
    yield from ((0, step) for _, low, high, _, _ in changed for step in steps[0][low:high])


def _effect_of_removal(
    notebook: Notebook, count: int, steps: Sequence[NotebookStep], machine: Machine, report: Report, side: str
) -> StepEffect | None:
    remaining = attempt("remove steps", lambda: remove_steps(notebook, count, *(step.index for step in steps)))
    if isinstance(remaining, TilewrightError):
        return None
    found = report_of(_sized(notebook, remaining.moment.schedule.described), machine)
    if not isinstance(found, Report):
        return None
    numbers = notebook.step_numbers
    removed = tuple((numbers.get(step.index, 0), " ".join(step.text.split())) for step in steps)
    return StepEffect(side, removed, found.cycles, report.cycles, len(remaining.dropped))


def _sized(notebook: Notebook, func: PrimFunc) -> PrimFunc:
    """The program with the notebook's sizes."""
    return with_sizes(func, sizes_for(func, notebook.sizes)).func
