"""The operations of a program, counted without running it."""

from __future__ import annotations

from ..ir import Block, BufferLoad, BufferStore, For, Node, PrimFunc, While, build, walk
from ..ir.visitor import child_stmts
from .statements import operations


def operation_count(func: PrimFunc, trips: int | None = None) -> int | None:
    """Return the operations of all stores of a program in their loops; None if the iterations of a loop are not constant.

    Both branches of a condition count, and initial values of reductions do not. `trips` are the assumed iterations of loops whose extents
    are data.
    """
    return _count(func.body, trips)


def _count(node: Node, trips: int | None) -> int | None:
    if isinstance(node, BufferStore):
        return operations(node)
    if isinstance(node, While):
        return None
    inner = [node.body] if isinstance(node, Block) else child_stmts(node)
    total = 0
    for stmt in inner:
        found = _count(stmt, trips)
        if found is None:
            return None
        total += found
    if not isinstance(node, For):
        return total
    extent = build.int_value(node.extent)
    if extent is None and any(isinstance(n, BufferLoad) for n in walk(node.extent)):
        extent = trips
    return None if extent is None else extent * total


__all__ = ["operation_count"]
