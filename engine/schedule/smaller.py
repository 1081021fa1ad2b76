"""Smaller programs of the same form, to test schedules of programs that take too long to run."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace as replace_fields

from ..execute import operation_count
from ..ir import Buffer, Expr, For, IntImm, Node, PrimFunc, Range, build, rewrite, walk

LEAST = 16
"""Extents up to this stay, as those of windows and vectors."""


def smaller_program(func: PrimFunc, most: int) -> tuple[PrimFunc, Mapping[int, int]] | None:
    """Return the program with halved extents, the largest first, until it has at most this many operations, and the new value of each old
    one; None if there is no such program. Equal extents stay equal."""
    new = {v: v for v in sorted(_extents(func))}
    found = func
    while (count := operation_count(found)) is not None and count > most:
        even = [v for v, now in new.items() if now > LEAST and now % 2 == 0]
        if not even:
            return None
        largest = max(even, key=lambda v: new[v])
        new[largest] //= 2
        found = _with_extents(func, new)
    changed = {old: now for old, now in new.items() if old != now}
    return (found, changed) if count is not None and changed else None


def _extents(func: PrimFunc) -> set[int]:
    """The constant extents of the loops."""
    return {n for s in walk(func.body) if isinstance(s, For) and (n := build.int_value(s.extent)) is not None}


def _with_extents(func: PrimFunc, new: Mapping[int, int]) -> PrimFunc:
    """The program with other extents of loops, ranges and buffers."""

    def of(extent: Expr) -> Expr:
        return IntImm(new[extent.value], extent.dtype) if isinstance(extent, IntImm) and extent.value in new else extent

    def leave(node: Node) -> Node:
        match node:
            case For() | Range():
                return replace_fields(node, extent=of(node.extent))
            case Buffer():
                return replace_fields(node, shape=tuple(map(of, node.shape)))
            case _:
                return node

    return rewrite(func, leave)


__all__ = ["smaller_program"]
