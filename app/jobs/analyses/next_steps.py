"""Calls that are tried on the visible program: fixes of lints, suggestions with the lower bound, and remedies of a stall."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import NamedTuple, TypeVar

from ....engine.explore import program_bound
from ....engine.hwsim import DecisiveCause, Machine, Report, decisive_causes, saved_by_slots
from ....engine.lint import LintFinding, Stall, Subject, linting, remedies
from ....engine.schedule import Schedule
from ....engine.suggest import suggesting
from ...document.editing.kernel_edits import text_of_kernel
from ...state.derived import Store, sizes_of
from ...state.model import State
from ...views.next.suggestions import CAUSES, Suggested, bound_entry, suggested_entry
from ...views.problems.lints import Linted, lints_entry
from ...views.timeline.remedy import UNKNOWN, remedy_entry, slots_entry, stall_of
from .analysis import Analysis, simulated

Found = TypeVar("Found")
Made = TypeVar("Made")


def lint_analysis(state: State, store: Store) -> Analysis | None:
    """The lint findings in the visible program, with their fixes."""
    visible, entry = _visible(state, store), lints_entry(state, store)
    if visible is None or entry is None or _is_complete(store.known(entry)):
        return None
    run = partial(linting, kernel=None if state.looks_back else text_of_kernel(state.notebook))
    return Analysis(entry, lambda: _growing(run, Linted, visible), "pane-problems", "Running lints and testing fixes")


def remedy_analysis(state: State, store: Store) -> Analysis | None:
    """The calls that would end the selected stall."""
    visible, entry = _visible(state, store), remedy_entry(state, store)
    if visible is None or entry is None or visible.report is None or _is_complete(store.known(entry)):
        return None
    stall = stall_of(state)
    return Analysis(entry, lambda: _ending(visible, stall), "area-timeline", "Trying to end the stall")


def slots_analysis(state: State, store: Store) -> Analysis | None:
    """What free slots of the buffer that the selected stall waits for would save."""
    report, entry = store.known_report(state), slots_entry(state, store)
    if entry is None or not isinstance(report, Report) or store.has(entry):
        return None
    stall = stall_of(state)
    return Analysis(entry, lambda: _freeing(report, stall.buffer), "area-timeline", "Replaying with free slots")


def suggestion_analysis(state: State, store: Store) -> Analysis | None:
    """The next steps, then the lower bound of the program, while the Next pane is open."""
    visible = _visible(state, store)
    if visible is None or state.pane != "next" or state.comparison is not None:
        return None
    suggested, bound = suggested_entry(state, store), bound_entry(state, store)
    area, text = "pane-next", "Trying next steps"
    if visible is not None and visible.report is not None and not store.has(CAUSES(visible.report)):
        found = visible.report
        return Analysis(CAUSES(found), lambda: _deciding(found), area, "Replaying without each engine")
    if suggested is not None and not state.looks_back and not _is_complete(store.known(suggested)):
        kernel = text_of_kernel(state.notebook)
        return Analysis(suggested, lambda: _growing(partial(suggesting, kernel=kernel), Suggested, visible), area, text)
    if bound is not None and not store.has(bound):
        return Analysis(bound, lambda: _bounding(visible), area, text)
    return None


class _Visible(NamedTuple):
    """The visible schedule on its machine, with its report if that is known."""

    schedule: Schedule
    machine: Machine
    sizes: Mapping[str, int]
    report: Report | None


def _visible(state: State, store: Store) -> _Visible | None:
    machine = store.machine(state)
    if state.moment is None or not isinstance(machine, Machine):
        return None
    schedule = state.moment.schedule
    report = store.known_report(state, schedule)
    return _Visible(schedule, machine, sizes_of(state, schedule.func), report if isinstance(report, Report) else None)


def _is_complete(found: Linted | Suggested | None) -> bool:
    return found is not None and found.is_complete


def _growing(
    run: Callable[..., Iterator[tuple[Found, ...] | None]],
    made: Callable[[tuple[Found, ...], bool], Made],
    visible: _Visible,
) -> Iterator[Made | None]:
    """The results of `run` as they arrive. An internal error ends them; the page keeps those up to then."""
    found: tuple[Found, ...] = ()
    with suppress(Exception):
        for piece in run(visible.schedule, visible.machine, visible.sizes, simulate=simulated, report=visible.report):
            found = found if piece is None else piece
            yield None if piece is None else made(found, False)
    yield made(found, True)


def _ending(visible: _Visible, stall: Stall) -> Iterator[Linted | None]:
    found: tuple[LintFinding, ...] = ()
    schedule, machine, sizes, report = visible
    for finding in remedies(Subject(schedule, machine, sizes, simulated, report), stall):
        found += () if finding is None else (finding,)
        yield None
    yield Linted(found, is_complete=True)


def _deciding(report: Report) -> Iterator[tuple[DecisiveCause, ...]]:
    try:
        yield decisive_causes(report)
    except Exception:  # the page names no cause after an internal error
        yield ()


def _freeing(report: Report, buffer: str) -> Iterator[int]:
    try:
        yield saved_by_slots(report, buffer)
    except Exception:  # the page names no cause after an internal error
        yield UNKNOWN


def _bounding(visible: _Visible) -> Iterator[int]:
    try:
        yield program_bound(visible.schedule.original, visible.machine, visible.sizes).cycles
    except Exception:  # the page shows no bound after an internal error
        yield 0


__all__ = ["lint_analysis", "remedy_analysis", "slots_analysis", "suggestion_analysis"]
