"""Background linting of the displayed program: runs after the paint in pieces; results are cached by program and machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
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
    """The current findings, and whether they are complete."""

    findings: tuple[LintFinding, ...]
    is_complete: bool


class LintWork(msgspec.Struct, frozen=True, eq=False):
    """A background job that tries calls. Each value from `pieces` is stored under `what` and `of`; None means no change."""

    what: str
    of: tuple[object, ...]
    pieces: Callable[[], Iterator[Any]]


def lints_now(state: State, store: Store) -> Linted | None:
    """The current lint results; None before the first one."""
    found = question("lints", state, store)
    return None if found is None else store.known(*found)


def lint_work(state: State, store: Store) -> LintWork | None:
    """The lint job for the current state; None if the results are complete or there is nothing to lint."""
    found = question("lints", state, store)
    machine = store.machine(state)
    if found is None or state.moment is None or isinstance(machine, TilewrightError):
        return None
    known = store.known(*found)
    if isinstance(known, Linted) and known.is_complete:
        return None
    schedule = state.moment.schedule
    report = store.known_report(state, schedule)
    sizes = sizes_of(state, schedule.func)

    def pieces() -> Iterator[Linted | None]:
        return _pieces(
            partial(linting, schedule, machine, sizes, report=report if isinstance(report, Report) else None)
        )

    return LintWork(*found, pieces)


def fix_among(fixes: Iterable[Fix], calls: tuple[str, ...], replaces: str) -> Fix | None:
    """The fix with these call texts; its handles belong to the displayed program."""
    return next((fix for fix in fixes if fix.calls == calls and fix.replaces == replaces), None)


def question(what: str, state: State, store: Store) -> tuple[str, tuple[object, ...]] | None:
    """The store's key of an analysis of the displayed program: its name with the sizes, and the objects that it depends on."""
    if state.moment is None:
        return None
    func = state.moment.schedule.func
    return f"{what} {sizes_of(state, func)}", (func, store.machine(state))


def _pieces(run: Callable[..., Iterator[tuple[LintFinding, ...] | None]]) -> Iterator[Linted | None]:
    """The findings as they arrive. An internal error ends the lint; the page keeps the findings up to then."""
    found: tuple[LintFinding, ...] = ()
    with suppress(Exception):
        for piece in run(simulate=simulated):
            if piece is not None:
                found = piece
            yield None if piece is None else Linted(found, is_complete=False)
    yield Linted(found, is_complete=True)


def simulated(func: Any, machine: Machine) -> Report:
    """The report of a trial, with the limit on tasks of the page."""
    return simulate(func, machine, MAX_TASKS)
