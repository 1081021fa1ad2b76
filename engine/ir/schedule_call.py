"""A schedule call as a value: what traces record, refusals propose, fixes replay and drops make."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast

import msgspec
from msgspec.structs import replace as replace_fields

from .buffer import Buffer
from .expr import Var

Value = Any
"""An argument: a Var (loop), Buffer, str, number, bool, None, IndexMap, Expr, Parameter, or a tuple of these."""

LISTED = ("loops", "ordered_loops")
"""Variadic arguments of schedule methods: `sch.reorder(i, j)`."""


class Parameter(msgspec.Struct, frozen=True, eq=False):
    """A value that calls leave open, a hole of their text: one of `values`, the first by default. `variable` stands for it in the text."""

    name: str
    variable: str
    values: tuple[Value, ...]

    def __str__(self) -> str:
        return self.variable


class ParameterItem(msgspec.Struct, frozen=True, eq=False):
    """An item of a parameter whose values are sequences; without a `position` all items, each an argument of its own."""

    parameter: Parameter
    position: int | None = None

    def __str__(self) -> str:
        return f"*{self.parameter}" if self.position is None else f"{self.parameter}[{self.position}]"


class ScheduleCall(msgspec.Struct, frozen=True, eq=False):
    """A call of a schedule's `method`. `arguments` are by keyword in the order of the signature: loops are their variables, blocks names.

    `results` are the handles that a call returned; `changes` is False for queries (`get_block`, `get_loops`, …).
    """

    method: str
    arguments: tuple[tuple[str, Value], ...]
    results: tuple[Var | str, ...] = ()
    changes: bool = True

    def __str__(self) -> str:
        """Return the call in Python, on `sch`, with the names of loops."""
        args, keywords = called_with(dict(self.arguments))
        parts = [*map(_text, args)]
        parts += [_text(value) if key in _FIRST else f"{key}={_text(value)}" for key, value in keywords.items()]
        return f"sch.{self.method}({', '.join(parts)})"

    def argument(self, name: str) -> Value:
        return dict(self.arguments)[name]

    def with_arguments(self, changed: Mapping[str, Value]) -> ScheduleCall:
        """Return the call with other arguments."""
        return replace_fields(self, arguments=tuple({**dict(self.arguments), **changed}.items()))

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters in the arguments, in their order."""
        return tuple(dict.fromkeys(found for _, value in self.arguments for found in _parameters(value)))

    def with_handles(self, new: Mapping[Any, Any]) -> ScheduleCall:
        """Return the call with its loops, buffers and parameters replaced, for another program."""

        def visit(value: Value) -> Value:
            match value:
                case tuple():
                    return tuple(one for item in cast("tuple[Value, ...]", value) for one in several(item))
                case ParameterItem(parameter=parameter, position=int(position)):
                    return visit(parameter)[position]
                case Var() | Buffer() | Parameter():
                    return new.get(value, value)
                case _:
                    return value

        def several(item: Value) -> tuple[Value, ...]:
            is_all = isinstance(item, ParameterItem) and item.position is None
            return visit(item.parameter) if is_all else (visit(item),)

        return replace_fields(self, arguments=tuple((name, visit(value)) for name, value in self.arguments))

    def made_on(self, schedule: object) -> Any:
        """Make the call on a schedule, and return what its method returns. Raises ScheduleError."""
        args, keywords = called_with(dict(self.arguments))
        return getattr(schedule, self.method)(*args, **keywords)


def replay(
    calls: Iterable[ScheduleCall],
    make: Callable[[ScheduleCall], tuple[Var | str, ...]],
    new: dict[Any, Any] | None = None,
) -> None:
    """Make calls that were traced on another schedule of the same program: `make` receives each with the handles of this one, and returns
    those of its results. `new` maps earlier handles."""
    known: dict[Any, Any] = {} if new is None else new
    for call in calls:
        known.update(zip(call.results, make(call.with_handles(known)), strict=True))


def called_with(arguments: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Split arguments by name into positional arguments (for variadic parameters) and keyword arguments."""
    keywords = dict(arguments)
    listed = [keywords.pop(key) for key in LISTED if key in keywords]
    return tuple(listed[0]) if listed else (), keywords


def _parameters(value: Value) -> Iterator[Parameter]:
    match value:
        case tuple():
            for item in cast("tuple[Value, ...]", value):
                yield from _parameters(item)
        case Parameter():
            yield value
        case ParameterItem(parameter=parameter):
            yield parameter
        case _:
            pass


_FIRST = ("block", "loop", "block_or_loop")


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_text, cast('tuple[object, ...]', value)))}]"
    return value.name if isinstance(value, Var) else repr(value)
