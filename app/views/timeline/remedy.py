"""What would end the selected stall: its figures, and the calls that do, tried in the background as the fixes of lints are."""

from __future__ import annotations

from collections.abc import Iterator

from ....engine.hwsim import Report
from ....engine.ir import TilewrightError
from ....engine.lint import Fix, LintFinding, Stall, Subject, reason, remedies
from ...state.derived import Store, sizes_of
from ...state.model import State
from ..labels.numbers import grouped
from ..labels.values import Answer, Value
from ..problems.lints import Linted, LintWork, question, simulated


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


def remedy_work(state: State, store: Store) -> LintWork | None:
    """The trials for the selected stall; None if they are complete or no stall is selected."""
    found = _question(state, store)
    if found is None or state.moment is None:
        return None
    known = store.known(*found)
    report, machine = store.known_report(state), store.machine(state)
    if not isinstance(report, Report) or isinstance(machine, TilewrightError):
        return None
    if isinstance(known, Linted) and known.is_complete:
        return None
    schedule = state.moment.schedule
    subject = Subject(schedule, machine, sizes_of(state, schedule.func), simulated, report)
    return LintWork(*found, lambda: _pieces(subject, _stall(state)))


def remedy_value(state: State, store: Store) -> Remedy:
    """What would end the selected stall, as far as it is known."""
    found, report = _question(state, store), store.report_now(state)
    if found is None or not isinstance(report, Report):
        return Remedy("", looking=False, fix=None)
    linted = store.known(*found)
    fixes = fixes_now(state, store)
    looking = linted is None or not linted.is_complete
    return Remedy(f"{reason(report, _stall(state))}.", looking, _fix(fixes[0]) if fixes else None)


def fixes_now(state: State, store: Store) -> tuple[Fix, ...]:
    """The calls that end the selected stall, the best first."""
    found = _question(state, store)
    linted = None if found is None else store.known(*found)
    return () if linted is None else tuple(fix for finding in linted.findings for fix in finding.fixes)


def _fix(fix: Fix) -> StallFix:
    saved = (fix.cycles_before or fix.cycles) - fix.cycles
    return StallFix(fix.calls, fix.replaces, f"saves {grouped(saved)} cycles")


def _stall(state: State) -> Stall:
    assert state.blamed is not None
    return Stall(state.blamed.engine, state.blamed.cause, state.blamed.buffer, state.blamed.block)


def _question(state: State, store: Store) -> tuple[str, tuple[object, ...]] | None:
    if state.moment is None or state.blamed is None or state.chosen_step is not None:
        return None
    stall = _stall(state)
    return question(f"remedy {stall.engine} {stall.cause} {stall.buffer} {stall.block}", state, store)


def _pieces(subject: Subject, stall: Stall) -> Iterator[Linted | None]:
    found: tuple[LintFinding, ...] = ()
    for finding in remedies(subject, stall):
        found += () if finding is None else (finding,)
        yield None
    yield Linted(found, is_complete=True)
