"""Refusals as data: a stable code, the found and the expected input, fixes, and the place. Renderers turn them into text."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import msgspec

from .expr import Node
from .schedule_call import ScheduleCall


class Place(msgspec.Struct, frozen=True, gc=False):
    """A range of text, with lines and columns from 1 and an exclusive end."""

    line: int
    column: int
    end_line: int
    end_column: int
    file: str = ""


class Refusal(msgspec.Struct, frozen=True, eq=False):
    """The reason for a refused operation.

    `code` is stable ("not-a-producer"); `nodes` are the IR nodes concerned; `fix` are similar legal calls, as Python text; `repair` are
    calls that make the refused one legal if they are made first, in this order; `instead` are calls that have its effect in its place.
    """

    code: str
    message: str
    found: str = ""
    expected: str = ""
    fix: tuple[str, ...] = ()
    nodes: tuple[Node, ...] = ()
    place: Place | None = None
    repair: tuple[ScheduleCall, ...] = ()
    instead: tuple[ScheduleCall, ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.message} [{self.code}]"]
        if self.place is not None:
            lines[0] = f"{self.place.file or 'line'} {self.place.line}:{self.place.column}: {lines[0]}"
        if self.found:
            lines.append(f"  found:    {self.found}")
        if self.expected:
            lines.append(f"  expected: {self.expected}")
        lines.extend(f"  try:      {call}" for call in self.fix)
        lines.extend(f"  first:    {call}" for call in self.repair)
        lines.extend(f"  instead:  {call}" for call in self.instead)
        text = "\n".join(lines)
        return text if text.replace("\n", "").isprintable() else "".join(map(_visible, text))

    def to_json(self) -> dict[str, object]:
        """Return the refusal as plain data, without the nodes; `place` is None or has file, line, column, end_line and end_column."""
        place = None if self.place is None else msgspec.to_builtins(self.place)
        return {
            "code": self.code,
            "message": self.message,
            "found": self.found,
            "expected": self.expected,
            "fix": list(self.fix),
            "repair": [str(call) for call in self.repair],
            "place": place,
        }


def _visible(character: str) -> str:
    """Escape control characters, because terminals interpret them and messages quote text of files."""
    return character if character.isprintable() or character in "\n\t" else ascii(character)[1:-1]


class TilewrightError(Exception):
    """Base of every error that the engine raises for its input. `refusal` is the data."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal)
        self._refusal = refusal

    @property
    def refusal(self) -> Refusal:
        return self._refusal

    def __str__(self) -> str:
        return str(self.refusal)

    @property
    def bare_refusal(self) -> Refusal:
        """The refusal without a search for calls that would help, if that has not been made."""
        return self._refusal

    @property
    def code(self) -> str:
        return self._refusal.code


P = ParamSpec("P")
R = TypeVar("R")


FAULTS = (ArithmeticError, AssertionError, AttributeError, LookupError, StopIteration, TypeError, ValueError)
"""Python exceptions that indicate a missing check in Tilewright."""


def internal_error(fault: Exception, doing: str, *, place: Place | None = None, found: str = "") -> Refusal:
    """Return a refusal "internal-error" for a missing check in Tilewright: the operation that failed, Python's message, and the input."""
    said = f"{type(fault).__name__}: {fault}"
    return Refusal(
        "internal-error",
        f"{doing} failed because of a bug in Tilewright, not in the input: {said[:200]}",
        found=found[:80],
        expected="a result or a refusal; please report this input",
        place=place,
    )


def refusing_faults(error: type[TilewrightError], doing: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorator for the entry points of readers: every Python exception becomes `error` "internal-error" with the exception as its cause,
    so that no input ends a session; a stack overflow becomes "too-deep". The fuzzer counts each "internal-error" as a fault."""

    def door(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return function(*args, **kwargs)
            except RecursionError:
                raise error(Refusal("too-deep", f"{doing} failed: the input is nested too deeply")) from None
            except FAULTS as fault:
                raise error(internal_error(fault, doing)) from fault

        return guarded

    return door


def refusing_depth(error: type[TilewrightError]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorator for the entry points of a package with recursive functions: nesting of loops and expressions beyond Python's stack
    (hundreds of levels) is refused as "too-deep" with the package's `error`."""

    def door(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return function(*args, **kwargs)
            except RecursionError:
                message = "the program is nested too deeply: hundreds of loops, or of operations in one expression"
                raise error(Refusal("too-deep", message)) from None

        return guarded

    return door
