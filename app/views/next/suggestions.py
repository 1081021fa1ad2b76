"""Background search for the next steps of the displayed program; results are cached by program and machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import msgspec

from ....engine.explore import program_bound
from ....engine.hwsim import Report
from ....engine.ir import TilewrightError
from ....engine.lint import Fix
from ....engine.suggest import Suggestion, best_first, from_findings, suggesting
from ...state.derived import Store, sizes_of
from ...state.model import State
from ..problems.lints import LintWork, fix_among, lints_now, question, simulated
from ..timeline.remedy import fixes_now


class Suggested(msgspec.Struct, frozen=True, eq=False):
    """The suggestions of the rules so far, and whether they are complete."""

    suggestions: tuple[Suggestion, ...]
    is_complete: bool


def suggested_now(state: State, store: Store) -> Suggested | None:
    """The current suggestions of the rules; None before the first ones."""
    found = question("suggestions", state, store)
    return None if found is None else store.known(*found)


def bound_now(state: State, store: Store) -> int | None:
    """The cycles that every schedule of the program needs at least; None before they are known."""
    found = _bound_question(state, store)
    return None if found is None else store.known(*found)


def bound_work(state: State, store: Store) -> LintWork | None:
    """The computation of the lower bound; None if it is known."""
    found, machine = _bound_question(state, store), store.machine(state)
    if found is None or state.moment is None or isinstance(machine, TilewrightError) or store.has(*found):
        return None
    original = state.moment.schedule.original
    sizes = sizes_of(state, state.moment.schedule.func)

    def pieces() -> Iterator[int]:
        try:
            yield program_bound(original, machine, sizes).cycles
        except Exception:  # the page shows no bound after an internal error
            yield 0

    return LintWork(*found, pieces)


def _bound_question(state: State, store: Store) -> tuple[str, tuple[object, ...]] | None:
    if state.moment is None:
        return None
    schedule = state.moment.schedule
    return f"program bound {sizes_of(state, schedule.func)}", (schedule.original, store.machine(state))


def ranked_now(state: State, store: Store) -> tuple[Suggestion, ...]:
    """The suggestions of the rules and the fixes of the lints, the best first."""
    suggested, linted = suggested_now(state, store), lints_now(state, store)
    found = () if suggested is None else suggested.suggestions
    fixes = () if linted is None else from_findings(linted.findings)
    return best_first((*found, *fixes))


def offered_fix(state: State, store: Store, calls: tuple[str, ...], replaces: str) -> Fix | None:
    """The fix with these call texts among the suggestions, or among all fixes of the lints."""
    linted = lints_now(state, store)
    fixes = () if linted is None else (fix for finding in linted.findings for fix in finding.fixes)
    found = (*(one.fix for one in ranked_now(state, store)), *fixes, *fixes_now(state, store))
    return fix_among(found, calls, replaces)


def suggestion_work(state: State, store: Store) -> LintWork | None:
    """The search for the current state; None if it is complete or there is nothing to improve."""
    found, machine = question("suggestions", state, store), store.machine(state)
    if found is None or state.moment is None or state.looks_back or isinstance(machine, TilewrightError):
        return None
    known = store.known(*found)
    if isinstance(known, Suggested) and known.is_complete:
        return None
    schedule = state.moment.schedule
    report = store.known_report(state, schedule)
    sizes = sizes_of(state, schedule.func)

    def pieces() -> Iterator[Suggested | None]:
        now: tuple[Suggestion, ...] = ()
        with suppress(Exception):  # the page keeps the suggestions up to an internal error
            known_report = report if isinstance(report, Report) else None
            for piece in suggesting(schedule, machine, sizes, simulate=simulated, report=known_report):
                now = now if piece is None else piece
                yield None if piece is None else Suggested(now, is_complete=False)
        yield Suggested(now, is_complete=True)

    return LintWork(*found, pieces)
