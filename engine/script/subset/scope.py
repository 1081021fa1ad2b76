"""Values of names while a text is read."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Literal, TypeAlias

from ...ir import Buffer, BufferRegion, Expr


class Foreign:
    """A value that is neither part of a program nor a plain Python value, such as a function of the text, or TE's tensors and schedules."""

    __slots__ = ()


class Unknown(Foreign):
    """A value that is not known for certain, with the reason as a clause. `origin` is the variable or attribute that makes it unknown,
    `written` the call or item of other code that is its value."""

    __slots__ = ("origin", "why", "written")

    def __init__(self, why: str, origin: str = "", written: str = "") -> None:
        self.why = why
        self.origin = origin
        self.written = written

    @property
    def name(self) -> str:
        """The name under which the value can be given."""
        return self.origin or self.written

    def is_same(self, other: Unknown) -> bool:
        return (self.why, self.origin, self.written) == (other.why, other.origin, other.written)


class Imported(Foreign):
    """A name of another file, which is read when the name is needed first."""

    __slots__ = ("_load", "_value")

    def __init__(self, load: Callable[[], Value]) -> None:
        self._load: Callable[[], Value] | None = load
        self._value: Value = Unknown("files import it from each other")

    @property
    def known(self) -> Value:
        """The value if it is read; None before."""
        return self._value if self._load is None else None

    def read(self) -> Value:
        load, self._load = self._load, None
        if load is not None:
            self._value = load()
        return self._value


_Items: TypeAlias = "range | tuple[Value, ...] | list[Value] | dict[Value, Value]"
# A value at read time: part of the program, or a value of Python.
Value: TypeAlias = "Expr | Buffer | BufferRegion | Foreign | int | float | str | _Items | None"

_Kind = Literal["block", "function", "class", "comprehension"]


def _read(value: Value) -> Value:
    return value.read() if isinstance(value, Imported) else value


class Table(dict[str, Value]):
    """The names of one block of code. `local` are names that it binds anywhere, `others` the tables of names that it declares global or
    nonlocal."""

    __slots__ = ("kind", "local", "others")

    def __init__(self, kind: _Kind = "block", local: frozenset[str] = frozenset()) -> None:
        super().__init__()
        self.kind = kind
        self.local = local
        self.others: dict[str, Table] = {}


class Scope:
    """Nested name tables, the innermost last."""

    def __init__(self) -> None:
        self._tables: list[Table] = [Table()]

    @contextmanager
    def nested(self) -> Generator[None]:
        """Open a nested table for the duration of the context."""
        self._tables.append(Table())
        try:
            yield
        finally:
            self._tables.pop()

    def opened(self, kind: _Kind = "function", local: frozenset[str] = frozenset()) -> Scope:
        """Return a new scope inside of this one, such as a function body: it sees this scope's names, including later ones, except those of
        classes."""
        inner = Scope()
        inner._tables = [*(table for table in self._tables if table.kind != "class"), Table(kind, local)]
        return inner

    def of_module(self) -> Scope:
        """Return the names of the text's own statements."""
        found = Scope()
        found._tables = self._tables[:1]
        return found

    def declare_global(self, names: Iterable[str]) -> None:
        """Let the innermost table bind names of the module."""
        self._tables[-1].others |= dict.fromkeys(names, self._tables[0])

    def declare_nonlocal(self, names: Iterable[str]) -> None:
        """Let the innermost table bind names of the functions around it."""
        for name in names:
            around = [table for table in self._tables[1:-1] if table.kind == "function" and name in table]
            if around:
                self._tables[-1].others[name] = around[-1]

    def define(self, name: str, value: Value) -> None:
        table = self._tables[-1]
        table.others.get(name, table)[name] = value

    def define_outside(self, name: str, value: Value) -> None:
        """Define the name of an assignment expression, which comprehensions do not keep."""
        table = next(table for table in reversed(self._tables) if table.kind != "comprehension")
        table.others.get(name, table)[name] = value

    def forget(self, names: Iterable[str], value: Value) -> None:
        """Give names this value wherever they are defined."""
        for name in names:
            for table in self._tables:
                if name in table:
                    table[name] = value

    def names(self) -> frozenset[str]:
        """Return the names of the innermost table."""
        return frozenset(self._tables[-1])

    def all_names(self) -> frozenset[str]:
        return frozenset(name for table in self._tables for name in table)

    def items(self) -> list[tuple[str, Value]]:
        """Return the names of the innermost table with their values."""
        return list(self._tables[-1].items())

    @property
    def is_module(self) -> bool:
        """Whether the innermost table is that of the text's own statements."""
        return len(self._tables) == 1

    def here(self, name: str) -> bool:
        """Whether the innermost table has `name`."""
        return name in self._tables[-1]

    def __contains__(self, name: str) -> bool:
        return self._table(name) is not None

    def __getitem__(self, name: str) -> Value:
        table = self._table(name)
        if table is None:
            raise KeyError(name)
        return _read(table[name])

    def get(self, name: str) -> Value:
        """Return the value of `name`; None if undefined."""
        table = self._table(name)
        return None if table is None else _read(table[name])

    def peek(self, name: str) -> Value:
        """Return the value of `name` without reading another file for it; None if it is not read, or undefined."""
        table = self._table(name)
        found = None if table is None else table[name]
        return found.known if isinstance(found, Imported) else found

    def _table(self, name: str) -> Table | None:
        """Return the innermost table with `name`, unless a function around binds it later."""
        for table in reversed(self._tables):
            if name in table.others:
                table = table.others[name]
                return table if name in table else None
            if name in table:
                return table
            if name in table.local:
                return None
        return None

    def similar(self, name: str) -> list[str]:
        """Return defined names that are similar to `name`."""
        return difflib.get_close_matches(name, {n for table in self._tables for n in table}, n=3)
