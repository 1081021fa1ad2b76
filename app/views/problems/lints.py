"""The lints of the displayed program, and their fixes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import msgspec

from ....engine.lint import Fix, LintFinding
from ...state.derived import Store, sizes_of
from ...state.entries import Derived, Entry
from ...state.model import State

Result = TypeVar("Result")


class Linted(msgspec.Struct, frozen=True, eq=False):
    """The current findings, and whether they are complete."""

    findings: tuple[LintFinding, ...]
    is_complete: bool


_LINTS = Derived[Linted]("lints")


def lints_now(state: State, store: Store) -> Linted | None:
    """The current lint results; None before the first one."""
    return store.known(lints_entry(state, store))


def lints_entry(state: State, store: Store) -> Entry[Linted] | None:
    """The entry of the lints of the displayed program; None if nothing is displayed."""
    return of_the_program(_LINTS, state, store)


def fix_among(fixes: Iterable[Fix], calls: tuple[str, ...], replaces: str) -> Fix | None:
    """The fix with these call texts; its handles belong to the displayed program."""
    return next((fix for fix in fixes if fix.calls == calls and fix.replaces == replaces), None)


def of_the_program(derived: Derived[Result], state: State, store: Store, *more: object) -> Entry[Result] | None:
    """The entry of the displayed program at its sizes on its machine; None if nothing is displayed."""
    if state.moment is None:
        return None
    func = state.moment.schedule.func
    return derived(func, sizes_of(state, func), store.machine(state), *more)
