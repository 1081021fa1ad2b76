"""Values of names while a program is read."""

from __future__ import annotations

import difflib
from collections.abc import Generator
from contextlib import contextmanager
from typing import TypeAlias

from ...ir import Buffer, BufferRegion, Expr


class Foreign:
    """A value that only the reader of another frontend language knows, such as TE's tensors, axes and schedules."""

    __slots__ = ()


class Unknown(Foreign):
    """The value of a name that is not known for certain, with the reason as a clause."""

    __slots__ = ("why",)

    def __init__(self, why: str) -> None:
        self.why = why


# A value at read time: part of the program, or a Python constant that is not yet converted.
Value: TypeAlias = "Expr | Buffer | BufferRegion | Foreign | int | float | str | tuple[Value, ...] | None"


class Scope:
    """Nested name tables, the innermost last."""

    def __init__(self) -> None:
        self._tables: list[dict[str, Value]] = [{}]

    @contextmanager
    def nested(self) -> Generator[None]:
        """Open a nested table for the duration of the context."""
        self._tables.append({})
        try:
            yield
        finally:
            self._tables.pop()

    def opened(self) -> Scope:
        """Return a new scope inside of this one, such as a function body: it sees this scope's names, including later ones."""
        inner = Scope()
        inner._tables = [*self._tables, {}]
        return inner

    def define(self, name: str, value: Value) -> None:
        self._tables[-1][name] = value

    def discard(self, name: str) -> None:
        """Remove `name` from the innermost table."""
        self._tables[-1].pop(name, None)

    def replace(self, name: str, value: Value) -> None:
        """Give `name` another value, in the table that has it."""
        next(table for table in reversed(self._tables) if name in table)[name] = value

    def names(self) -> frozenset[str]:
        """Return the names of the innermost table."""
        return frozenset(self._tables[-1])

    def values(self) -> list[Value]:
        """Return the values of all names."""
        return [value for table in self._tables for value in table.values()]

    def items(self) -> list[tuple[str, Value]]:
        """Return the names of the innermost table with their values."""
        return list(self._tables[-1].items())

    def here(self, name: str) -> bool:
        """Whether the innermost table has `name`."""
        return name in self._tables[-1]

    def __contains__(self, name: str) -> bool:
        return self._table(name) is not None

    def __getitem__(self, name: str) -> Value:
        table = self._table(name)
        if table is None:
            raise KeyError(name)
        return table[name]

    def get(self, name: str) -> Value:
        """Return the value of `name`; None if undefined."""
        table = self._table(name)
        return None if table is None else table[name]

    def _table(self, name: str) -> dict[str, Value] | None:
        """Return the innermost table with `name`."""
        for table in reversed(self._tables):
            if name in table:
                return table
        return None

    def similar(self, name: str) -> list[str]:
        """Return defined names that are similar to `name`."""
        return difflib.get_close_matches(name, {n for table in self._tables for n in table}, n=3)
