"""Vectors under schedule calls: what a call makes of them must be vectors as programs have them."""

from __future__ import annotations

from ..ir import (
    BinaryOp,
    Broadcast,
    BufferLoad,
    BufferStore,
    Call,
    Node,
    Predicate,
    PrimFunc,
    Ramp,
    Select,
    accessed_dtype,
    walk,
)
from ..ir import dtype as dt
from .errors import refuse


def has_vectors(func: PrimFunc) -> bool:
    return any(isinstance(node, Ramp | Broadcast) for node in walk(func))


# A rewrite of indices and values keeps ramps ramps, in the last index, and operands as long as each other. (TVM has no such check.)
def require_vectors(func: PrimFunc, method: str) -> None:
    broken = next((node for node in walk(func) if not _is_whole(node)), None)
    if broken is not None:
        raise refuse("vector-access", f"{method} would tear a vector apart: its elements would no longer lie at equal steps", broken,
                     expected="blocks that access elements one by one")  # fmt: skip


def _is_whole(node: Node) -> bool:
    match node:
        case BufferLoad() | BufferStore():
            return _is_access(node)
        case BinaryOp(a=a, b=b) | Predicate(a=a, b=b) | Select(true_value=a, false_value=b):
            return _as_long(a.dtype, b.dtype)
        case Call(op="if_then_else", args=(_, a, b)):
            return _as_long(a.dtype, b.dtype)
        case Ramp(base=a, stride=b):
            return not dt.is_vector(a.dtype) and not dt.is_vector(b.dtype)
        case Broadcast(value=value):
            return not dt.is_vector(value.dtype)
        case _:
            return True


def _is_access(node: BufferLoad | BufferStore) -> bool:
    if any(dt.is_vector(i.dtype) for i in node.indices[:-1]):
        return False
    if node.indices and dt.is_vector(node.indices[-1].dtype) and not isinstance(node.indices[-1], Ramp):
        return False
    return isinstance(node, BufferLoad) or _as_long(node.value.dtype, accessed_dtype(node.buffer, node.indices))


def _as_long(a: str, b: str) -> bool:
    return a.partition("x")[2] == b.partition("x")[2]
