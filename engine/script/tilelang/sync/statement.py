"""Flags, barriers and waits of a kernel's text as statements, until they become annotations of the blocks beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from ....ir import Call, Evaluate, Expr, IntImm, Stmt, StringImm, build, walk


class Synchronised(msgspec.Struct, frozen=True, eq=False):
    """The body of a kernel in one order, with its flags, barriers and waits as statements. For a kernel of a GPU the arrivals that each
    barrier expects, and the groups of warps of its text."""

    body: Stmt
    barriers: Mapping[str, tuple[int | None, ...]] | None = None
    groups: tuple[str, ...] = ()


SYNC = "tl.sync"
ANY_SIDE = -1
READ = "read"
"""The kind of a statement that reads the elements in its operand, for a value that later statements use."""


def sync(
    text: str,
    kind: str = "",
    number: Expr | None = None,
    names: Sequence[str] = (),
    side: int = ANY_SIDE,
    operand: Expr | None = None,
) -> Stmt:
    """Return the statement for a flag, barrier or wait with its `text`. What `kind`, `names`, `side` and `operand` mean is the target's
    matter; `number` chooses one of several with the same names."""
    zero = build.const(0, "int32")
    given = (
        zero if number is None else number,
        StringImm(" ".join(names)),
        IntImm(side),
        zero if operand is None else operand,
    )
    return Evaluate(Call(SYNC, (StringImm(text), StringImm(kind), *given), "void"))


def sync_of(stmt: Stmt) -> Call | None:
    """Return what `sync` says of a statement, None for other statements."""
    match stmt:
        case Evaluate(value=Call(op="tl.sync") as call):
            return call
        case _:
            return None


def text_of(call: Call) -> str:
    assert isinstance(call.args[0], StringImm)
    return call.args[0].value


def kind_of(call: Call) -> str:
    assert isinstance(call.args[1], StringImm)
    return call.args[1].value


def number_of(call: Call) -> Expr:
    return call.args[2]


def names_of(call: Call) -> tuple[str, ...]:
    assert isinstance(call.args[3], StringImm)
    return tuple(call.args[3].value.split())


def side_of_sync(call: Call) -> int:
    assert isinstance(call.args[4], IntImm)
    return call.args[4].value


def operand_of(call: Call) -> Expr:
    return call.args[5]


def syncs_in(stmt: Stmt) -> list[Call]:
    """Return all flags, barriers and waits in a statement, in text order."""
    return [call for node in walk(stmt) if isinstance(node, Evaluate) and (call := sync_of(node)) is not None]


__all__ = [
    "ANY_SIDE",
    "READ",
    "SYNC",
    "Synchronised",
    "kind_of",
    "names_of",
    "number_of",
    "operand_of",
    "side_of_sync",
    "sync",
    "sync_of",
    "syncs_in",
    "text_of",
]
