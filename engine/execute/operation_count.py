"""The operations of a program, counted without running it."""

from __future__ import annotations

from ..ir import Block, BufferStore, For, Node, PrimFunc, While, build
from ..ir.visitor import child_stmts
from .statements import operations


def operation_count(func: PrimFunc) -> int | None:
    """Return the operations of all stores of a program in their loops; None if the iterations of a loop are not constant.

    Both branches of a condition count, and initial values of reductions do not.
    """
    return _count(func.body)


def _count(node: Node) -> int | None:
    if isinstance(node, BufferStore):
        return operations(node)
    if isinstance(node, While):
        return None
    inner = [node.body] if isinstance(node, Block) else child_stmts(node)
    total = 0
    for stmt in inner:
        found = _count(stmt)
        if found is None:
            return None
        total += found
    if not isinstance(node, For):
        return total
    extent = build.int_value(node.extent)
    return None if extent is None else extent * total


__all__ = ["operation_count"]
