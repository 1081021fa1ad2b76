"""The next steps of the displayed program, ranked with the fixes of its lints, and its lower bound."""

from __future__ import annotations

import msgspec

from ....engine.hwsim import DecisiveCause
from ....engine.lint import Fix
from ....engine.suggest import Suggestion, best_first, from_findings
from ...state.derived import Store, sizes_of
from ...state.entries import Derived, Entry
from ...state.model import State
from ..problems.lints import fix_among, lints_now, of_the_program
from ..timeline.remedy import fixes_now


class Suggested(msgspec.Struct, frozen=True, eq=False):
    """The suggestions of the rules so far, and whether they are complete."""

    suggestions: tuple[Suggestion, ...]
    is_complete: bool


CAUSES = Derived[tuple[DecisiveCause, ...]]("decisive causes")
"""Of a report."""

_SUGGESTED = Derived[Suggested]("suggestions")
_BOUND = Derived[int]("program bound")


def suggested_now(state: State, store: Store) -> Suggested | None:
    """The current suggestions of the rules; None before the first ones."""
    return store.known(suggested_entry(state, store))


def suggested_entry(state: State, store: Store) -> Entry[Suggested] | None:
    """The entry of the suggestions of the displayed program; None if nothing is displayed."""
    return of_the_program(_SUGGESTED, state, store)


def bound_now(state: State, store: Store) -> int | None:
    """The cycles that every schedule of the program needs at least; None before they are known."""
    return store.known(bound_entry(state, store))


def bound_entry(state: State, store: Store) -> Entry[int] | None:
    """The entry of the lower bound of the displayed program; None if nothing is displayed."""
    if state.moment is None:
        return None
    schedule = state.moment.schedule
    return _BOUND(schedule.original, sizes_of(state, schedule.func), store.machine(state))


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
