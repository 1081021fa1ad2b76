"""Whether a block stays inside of its buffers wherever its iterators' domains may take it."""

from __future__ import annotations

from collections.abc import Mapping

from ..arith import prove
from ..ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Expr,
    For,
    IfThenElse,
    Node,
    Range,
    Var,
    build,
    children,
)

Ranges = Mapping[Var, Range]


def stays_inside(block: Block) -> bool:
    """Whether each access is within its buffer for all values of the iterators.

    What stands under a condition is taken to be guarded by it.
    """
    return _stays(block, {})


def _stays(node: Node, ranges: Ranges) -> bool:
    match node:
        case IfThenElse():
            return _stays(node.condition, ranges)
        case Call(op="if_then_else"):
            return _stays(node.args[0], ranges)
        case For():
            ranges = {**ranges, node.loop_var: Range(node.min, node.extent)}
        case BlockRealize() if not build.is_true(node.predicate):
            return all(_stays(value, ranges) for value in node.iter_values)
        case Block():
            ranges = {**ranges, **{iv.var: iv.dom for iv in node.iter_vars}}
            return all(_stays(part, ranges) for part in (node.init, node.body) if part is not None)
        case BufferLoad() | BufferStore():
            if not all(_is_within(i, e, ranges) for i, e in zip(node.indices, node.buffer.shape, strict=True)):
                return False
        case _:
            pass
    return all(_stays(child, ranges) for child in children(node) if not isinstance(child, Buffer))


def _is_within(index: Expr, extent: Expr, ranges: Ranges) -> bool:
    return prove(build.ge(index, 0), ranges) and prove(build.lt(index, extent), ranges)
