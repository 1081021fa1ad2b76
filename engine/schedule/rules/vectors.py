"""Rules for vectors and launched threads: the result of a schedule call must be valid vector code."""

from __future__ import annotations

from ...ir import (
    BinaryOp,
    BlockRealize,
    Broadcast,
    BufferLoad,
    BufferStore,
    Call,
    Expr,
    For,
    LaunchThread,
    Node,
    Predicate,
    PrimFunc,
    Ramp,
    Select,
    accessed_dtype,
    build,
    free_vars,
    rewrite,
    walk,
    walk_stmts,
)
from ...ir import dtype as dt
from ..errors import refuse

_KINDS = frozenset((Ramp, Broadcast, LaunchThread))


def has_vectors(func: PrimFunc) -> bool:
    """Whether the function contains vectors, or threads launched in a block."""
    return not _KINDS.isdisjoint(map(type, walk(func)))


def with_thread_loops(func: PrimFunc) -> PrimFunc:
    """The function with threads launched around blocks converted to equivalent loops, which schedule calls handle."""
    if not any(isinstance(stmt, LaunchThread) for stmt in walk_stmts(func.body)):
        return func

    def leave(node: Node) -> Node:
        if not isinstance(node, LaunchThread) or not any(isinstance(s, BlockRealize) for s in walk_stmts(node.body)):
            return node
        first = build.const(0, node.var.dtype)
        return For(node.var, first, node.extent, "thread_binding", node.body, node.thread_tag)

    return rewrite(func, leave, enter=lambda node: node if isinstance(node, Expr) else None)


# A rewrite of indices and values keeps a ramp a ramp, only in the last index, and operands equal in length. (TVM has no such check.)
def require_vectors(func: PrimFunc, method: str) -> None:
    launched = {node.var for node in walk(func) if isinstance(node, LaunchThread)}
    if launched & free_vars(func):
        raise refuse("opaque-iterator", f"{method} would move a thread index out of the block that launches the thread", func,
                     expected="blocks that use thread indices only through iterators")  # fmt: skip
    broken = next((node for node in walk(func) if not _is_whole(node)), None)
    if broken is not None:
        raise refuse("vector-access", f"{method} would break a vector: its elements would no longer have a constant stride", broken,
                     expected="blocks that access single elements")  # fmt: skip


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
