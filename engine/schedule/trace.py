"""The calls of a schedule, as data that can be shown, replayed and exported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from ..ir import Buffer, Var

Value = Any
"""A traced argument: a Var (loop), Buffer, str, number, bool, None, IndexMap, Expr, or a tuple of these."""


class Step(msgspec.Struct, frozen=True, eq=False):
    """One call. `arguments` are by keyword in the order of the signature; `results` are the returned handles.

    `changes` is False for queries (`get_block`, `get_loops`, …).
    """

    method: str
    arguments: tuple[tuple[str, Value], ...]
    results: tuple[Var | str, ...] = ()
    changes: bool = True

    def argument(self, name: str) -> Value:
        return dict(self.arguments)[name]


class Trace(msgspec.Struct, frozen=True, eq=False):
    """Steps in order."""

    steps: tuple[Step, ...] = ()

    def __len__(self) -> int:
        return len(self.steps)


def renamed(arguments: Mapping[str, Value], new: Mapping[Var | Buffer, Var | Buffer]) -> dict[str, Value]:
    """Arguments with loops and buffers replaced; for replay on another program."""

    def visit(value: Value) -> Value:
        if isinstance(value, tuple):
            return tuple(map(visit, cast("tuple[Value, ...]", value)))
        return new.get(value, value) if isinstance(value, Var | Buffer) else value

    return {name: visit(value) for name, value in arguments.items()}
