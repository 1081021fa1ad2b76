"""Lints of what is shown: worked out after the paint, piece by piece, and kept for the program and the machine they are of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec

from ....engine.hwsim import Machine, Report, simulate
from ....engine.ir import TilewrightError
from ....engine.lint import Fix, LintFinding, linting
from ...state.derived import MAX_TASKS, Store, sizes_of
from ...state.model import State


class Linted(msgspec.Struct, frozen=True, eq=False):
    """What was found so far."""

    findings: tuple[LintFinding, ...]
    is_complete: bool


class LintWork(msgspec.Struct, frozen=True, eq=False):
    """What is still to be found out: the values of `pieces` are for the store's `what` of `of`; None is no news."""

    what: str
    of: tuple[object, ...]
    pieces: Callable[[], Iterator[Linted | None]]


def lints_now(state: State, store: Store) -> Linted | None:
    """What is known; None before anything is."""
    found = _question(state, store)
    return None if found is None else store.known(*found)


def lint_work(state: State, store: Store) -> LintWork | None:
    """What is to be worked out for the picture; None where it is known, or there is nothing to lint."""
    found = _question(state, store)
    machine = store.machine(state)
    if found is None or state.moment is None or isinstance(machine, TilewrightError):
        return None
    known = store.known(*found)
    if isinstance(known, Linted) and known.is_complete:
        return None
    schedule = state.moment.schedule
    report = store.known("report", (store.costed(state, schedule), machine))
    sizes = sizes_of(state, schedule.func)

    def pieces() -> Iterator[Linted | None]:
        return _pieces(
            partial(linting, schedule, machine, sizes, report=report if isinstance(report, Report) else None)
        )

    return LintWork(*found, pieces)


def offered_fix(state: State, store: Store, calls: tuple[str, ...], replaces: str) -> Fix | None:
    """The fix of the picture's findings that reads like this, its handles those of the picture."""
    linted = lints_now(state, store)
    fixes = () if linted is None else (fix for finding in linted.findings for fix in finding.fixes)
    return next((fix for fix in fixes if fix.calls == calls and fix.replaces == replaces), None)


def _question(state: State, store: Store) -> tuple[str, tuple[object, ...]] | None:
    if state.moment is None:
        return None
    func = state.moment.schedule.func
    return f"lints {sizes_of(state, func)}", (func, store.machine(state))


def _pieces(run: Callable[..., Iterator[tuple[LintFinding, ...] | None]]) -> Iterator[Linted | None]:
    """Findings as they come; a fault of ours ends them, and the page has what was found by then."""
    found: tuple[LintFinding, ...] = ()
    with suppress(Exception):
        for piece in run(simulate=_simulate):
            if piece is not None:
                found = piece
            yield None if piece is None else Linted(found, is_complete=False)
    yield Linted(found, is_complete=True)


def _simulate(func: Any, machine: Machine) -> Report:
    return simulate(func, machine, MAX_TASKS)
