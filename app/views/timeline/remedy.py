"""What would end the selected stall: its figures, and the calls that do, tried in the background as the fixes of lints are."""

from __future__ import annotations

from ....engine.hwsim import Report
from ....engine.lint import Fix, Stall, reason
from ...state.derived import Store
from ...state.entries import Derived, Entry
from ...state.model import State
from ..labels.numbers import grouped, percent_text
from ..labels.values import Answer, Value
from ..problems.lints import Linted, of_the_program


class StallFix(Value, frozen=True):
    """Calls that end a stall, the call that they replace, and what they save."""

    calls: tuple[str, ...]
    replaces: str
    text: str


class Remedy(Answer, frozen=True, tag="remedy"):
    """What would end the selected stall: its figures, and the best of the calls that were tried; `looking` while others are tried."""

    reason: str
    looking: bool
    fix: StallFix | None


_REMEDY = Derived[Linted]("remedy")
_SLOTS = Derived[int]("saved by free slots")

UNKNOWN = -1
"""The cycles that free slots save, if they could not be computed."""


def remedy_value(state: State, store: Store) -> Remedy:
    """What would end the selected stall, as far as it is known."""
    entry, report = remedy_entry(state, store), store.known_report(state)
    if entry is None or not isinstance(report, Report):
        return Remedy("", looking=False, fix=None)
    linted = store.known(entry)
    fixes = fixes_now(state, store)
    looking = linted is None or not linted.is_complete
    why = f"{reason(report, stall_of(state))}.{_slots_text(state, store, report)}"
    return Remedy(why, looking, _fix(fixes[0]) if fixes else None)


def _slots_text(state: State, store: Store, report: Report) -> str:
    """Whether the slots are the cause of a stall on a slot: what free ones would save."""
    saved = store.known(slots_entry(state, store))
    if saved is None or saved == UNKNOWN:
        return ""
    buffer = stall_of(state).buffer
    if saved <= 0:
        return f" Free slots of {buffer} would not change the cycles: other work takes as long."
    return f" With free slots of {buffer} the program takes {grouped(saved)} cycles less ({percent_text(saved / report.cycles)})."


def fixes_now(state: State, store: Store) -> tuple[Fix, ...]:
    """The calls that end the selected stall, the best first."""
    linted = store.known(remedy_entry(state, store))
    return () if linted is None else tuple(fix for finding in linted.findings for fix in finding.fixes)


def _fix(fix: Fix) -> StallFix:
    saved = (fix.cycles_before or fix.cycles) - fix.cycles
    return StallFix(fix.calls, fix.replaces, f"saves {grouped(saved)} cycles")


def stall_of(state: State) -> Stall:
    """The selected stall."""
    assert state.blamed is not None
    return Stall(state.blamed.engine, state.blamed.cause, state.blamed.buffer, state.blamed.block)


def slots_entry(state: State, store: Store) -> Entry[int] | None:
    """The entry of the cycles that free slots of the awaited buffer would save; None if no stall on a slot is selected."""
    report = store.known_report(state)
    if state.blamed is None or state.chosen_step is not None or not isinstance(report, Report):
        return None
    stall = stall_of(state)
    return _SLOTS(report, stall.buffer) if stall.cause == "slot" and stall.buffer else None


def remedy_entry(state: State, store: Store) -> Entry[Linted] | None:
    """The entry of the remedies of the selected stall; None if no stall is selected."""
    if state.blamed is None or state.chosen_step is not None:
        return None
    stall = stall_of(state)
    return of_the_program(_REMEDY, state, store, stall.engine, stall.cause, stall.buffer, stall.block)
