"""A refusal is data first: a stable code, what was found and expected, how to fix it, and where. Renderers make text of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

import msgspec

from .expr import Node, Var


class Place(msgspec.Struct, frozen=True):
    """A range of text, lines from 1 and columns from 1, the end exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int
    file: str = ""


class Proposal(msgspec.Struct, frozen=True, eq=False):
    """A schedule call as data: arguments by keyword, loops as their variables, blocks by name."""

    method: str
    arguments: tuple[tuple[str, object], ...]

    def __str__(self) -> str:
        """The call in Python, on `sch`, loops by their names."""
        args, keywords = called_with(dict(self.arguments))
        parts = [*map(_text, args)]
        parts += [_text(value) if key in _FIRST else f"{key}={_text(value)}" for key, value in keywords.items()]
        return f"sch.{self.method}({', '.join(parts)})"


LISTED = ("loops", "ordered_loops")
"""Arguments that a schedule's methods take one by one: `sch.reorder(i, j)`."""


def called_with(arguments: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What a schedule's method is called with for arguments by name: those that it takes one by one, and those by keyword."""
    keywords = dict(arguments)
    listed = [keywords.pop(key) for key in LISTED if key in keywords]
    return tuple(listed[0]) if listed else (), keywords


_FIRST = ("block", "loop", "block_or_loop")


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_text, cast('tuple[object, ...]', value)))}]"
    return value.name if isinstance(value, Var) else repr(value)


class Refusal(msgspec.Struct, frozen=True, eq=False):
    """Why something was not done.

    `code` is stable ("not-a-producer"); `nodes` are the IR nodes it points at; `fix` are calls, as Python text, that do something like it
    instead; `repair` are calls that, made first and in this order, make the refused one legal.
    """

    code: str
    message: str
    found: str = ""
    expected: str = ""
    fix: tuple[str, ...] = ()
    nodes: tuple[Node, ...] = ()
    place: Place | None = None
    repair: tuple[Proposal, ...] = ()

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
        text = "\n".join(lines)
        return text if text.replace("\n", "").isprintable() else "".join(map(_visible, text))

    def to_json(self) -> dict[str, object]:
        """The refusal as plain data, without the nodes; `place` is None or has file, line, column, end_line and end_column."""
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
    """Text of a file is quoted on terminals, which take control characters as commands."""
    return character if character.isprintable() or character in "\n\t" else ascii(character)[1:-1]


class TilewrightError(Exception):
    """Base of every error the engine raises for its input. `refusal` is the data."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal)
        self._refusal = refusal

    @property
    def refusal(self) -> Refusal:
        return self._refusal

    def __str__(self) -> str:
        return str(self.refusal)

    @property
    def code(self) -> str:
        return self._refusal.code


P = ParamSpec("P")
R = TypeVar("R")


def refusing_depth(error: type[TilewrightError]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """For the doors of a package, whose functions go down with the nesting of loops and expressions: what is nested deeper than Python's
    stack reaches, hundreds of levels, is refused as "too-deep" with the package's `error`.
    """

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
