"""Expansion of vectors into lanes, so that a vector store becomes a loop over its lanes."""

from __future__ import annotations

from collections.abc import Callable

from ..ir import (
    BinaryOp,
    Broadcast,
    BufferLoad,
    Call,
    Cast,
    Expr,
    Node,
    Not,
    Predicate,
    Ramp,
    Select,
    build,
    map_children,
)
from ..ir import dtype as dt
from .errors import unsupported
from .values import BINARY, UNARY


def lanes_of(dtype: str) -> int:
    """The number of lanes; 1 for a scalar. Raises ExecuteError("unsupported") if the number depends on the machine."""
    if "vscale" in dtype:
        raise unsupported(f"values of dtype {dtype}", "vectors of a known length")
    return dt.lanes(dtype)


def lane_of(expr: Expr, lane: Expr, loaded: Callable[[BufferLoad, BufferLoad], None]) -> Expr:
    """The value of `expr` in one lane. Calls `loaded(old, new)` for each vector load and its one-lane load.

    Raises ExecuteError("unsupported") for operations that are not lane-wise.
    """

    def one(node: Node) -> Node:
        return lane_of(node, lane, loaded) if isinstance(node, Expr) else node

    if not dt.is_vector(expr.dtype):
        return expr
    match expr:
        case Ramp():
            return element(expr, lane)
        case Broadcast(value=value):
            return value
        case BufferLoad(buffer=buffer, indices=(*points, Ramp() as last)):
            load = BufferLoad(buffer, (*points, element(last, lane)))
            loaded(expr, load)
            return load
        case Cast(dtype=dtype, value=value):
            return Cast(dt.element(dtype), lane_of(value, lane, loaded))
        case BinaryOp() | Predicate() | Not() | Select():
            return map_children(expr, one)
        case Call(op=op, args=args, dtype=dtype) if op in UNARY or op in BINARY or op == "if_then_else":
            return Call(op, tuple(lane_of(a, lane, loaded) for a in args), dt.element(dtype))
        case Call(op=op):
            raise unsupported(f"the intrinsic {op!r} on vectors", "arithmetic lane by lane", (expr,))
        case _:
            raise unsupported(f"a {type(expr).__name__} that is a vector", "arithmetic lane by lane", (expr,))


def element(ramp: Ramp, lane: Expr) -> Expr:
    """The element of a ramp in one lane."""
    return build.add(ramp.base, build.mul(build.cast(lane, ramp.stride.dtype), ramp.stride))
