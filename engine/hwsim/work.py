"""What a store is to an accelerator: a copy, a multiply-accumulate, elementwise work, a reduction, a fill, or something else."""

from __future__ import annotations

from typing import Literal

import msgspec

from ..arith import Analyzer
from ..ir import (
    Add,
    BinaryOp,
    Buffer,
    BufferLoad,
    BufferRegion,
    Call,
    Cast,
    Expr,
    IntImm,
    Mul,
    Node,
    Not,
    Predicate,
    Select,
    Var,
    children,
    structural_equal,
    walk,
)
from ..ir import dtype as dt
from .nest import Piece

Kind = Literal["copy", "mac", "reduce", "elementwise", "fill", "other"]
"""Work whose indices are data (gather, scatter) is "other"."""

OPAQUE_CALLS = ("call_extern", "call_packed", "call_intrin", "call_pure_extern", "tvm_call_packed")


class Access(msgspec.Struct, frozen=True, eq=False):
    """An access of one element (per iteration) at `indices`, simplified, over loop variables. `extents` are 1 but for opaque pieces."""

    buffer: Buffer
    indices: tuple[Expr, ...]
    extents: tuple[Expr, ...] = ()


class Work(msgspec.Struct, frozen=True, eq=False):
    """A piece, read: its kind, what it reads and writes, how many operations an iteration takes.

    `updates` are writes that take in the old value: an accumulator is not among `reads`.
    """

    piece: Piece
    kind: Kind
    reads: tuple[Access, ...]
    writes: tuple[Access, ...]
    updates: bool = False
    operations: int = 1


def read_piece(piece: Piece, analyzer: Analyzer) -> Work:
    """What kind of work a piece is. The initialisation of a reduction costs nothing: its first step overwrites."""
    store = piece.store
    if store is None:
        reads = tuple(_boxed(region) for region, written in piece.touches if not written)
        writes = tuple(_boxed(region) for region, written in piece.touches if written)
        return Work(piece, "other", reads, writes)
    value = store.value
    target = Access(store.buffer, _simplified(store.indices, analyzer))
    loads: list[Access] = []
    old: list[BufferLoad] = []
    read = [*_loads(value), *((n, True) for i in store.indices for n, _ in _loads(i))]
    for node, _ in read:
        access = Access(node.buffer, _simplified(node.indices, analyzer))
        if same_place(access, target, analyzer):
            old.append(node)
        elif not any(same_place(access, a, analyzer) for a in loads):
            loads.append(access)
    kind = "other" if any(places for _, places in read) else _kind(value, loads, old)
    return Work(piece, kind, tuple(loads), (target,), bool(old), _operations(value))


def _loads(expr: Expr) -> list[tuple[BufferLoad, bool]]:
    """The loads in an expression, in order, each with whether it says where another one is."""
    found: list[tuple[BufferLoad, bool]] = []
    stack: list[tuple[Node, bool]] = [(expr, False)]
    while stack:
        node, places = stack.pop()
        if isinstance(node, BufferLoad):
            found.append((node, places))
            stack += [(index, True) for index in reversed(node.indices)]
        elif not isinstance(node, Var | IntImm):
            stack += [(child, places) for child in reversed(children(node))]
    return found


def _boxed(region: BufferRegion) -> Access:
    return Access(region.buffer, tuple(x.min for x in region.region), tuple(x.extent for x in region.region))


def _kind(value: Expr, loads: list[Access], old: list[BufferLoad]) -> Kind:
    """`old` are the loads of what is overwritten."""
    if any(isinstance(n, Call) and n.op in OPAQUE_CALLS for n in walk(value)):
        return "other"
    if isinstance(value, BufferLoad) and not old:
        return "copy"
    if old:
        return "mac" if _is_mac(value, old) else "reduce"
    return "elementwise" if loads else "fill"


def _is_mac(value: Expr, old: list[BufferLoad]) -> bool:
    """`C[…] + a * b` in either order, with a and b loads, casts allowed around each."""
    value = _uncast(value)
    if not isinstance(value, Add):
        return False
    for added, product in ((value.a, value.b), (value.b, value.a)):
        added, product = _uncast(added), _uncast(product)
        if not any(added is load for load in old) or not isinstance(product, Mul):
            continue
        if isinstance(_uncast(product.a), BufferLoad) and isinstance(_uncast(product.b), BufferLoad):
            return True
    return False


def same_place(a: Access, b: Access, analyzer: Analyzer) -> bool:
    """Whether both surely access the same element."""
    if a.buffer is not b.buffer:
        return False
    pairs = zip(a.indices, b.indices, strict=True)
    return all(structural_equal(x, y) or analyzer.proves_equal(x, y) for x, y in pairs)


def _uncast(value: Expr) -> Expr:
    while isinstance(value, Cast):
        value = value.value
    return value


def _simplified(indices: tuple[Expr, ...], analyzer: Analyzer) -> tuple[Expr, ...]:
    return tuple(analyzer.simplify(i) for i in indices)


def _operations(value: Expr) -> int:
    """Arithmetic operations on values for one element, at least one (a move); those on indices are the address unit's."""
    count = 0
    stack = [value]
    while stack:
        node = stack.pop()
        match node:
            case BufferLoad():
                pass
            case BinaryOp(a=a, b=b) | Predicate(a=a, b=b):
                count += 1
                stack += [a, b]
            case Cast(value=inner) | Not(a=inner):
                count += 1
                stack.append(inner)
            case Select(condition=condition, true_value=a, false_value=b):
                count += 1
                stack += [condition, a, b]
            case Call(args=args):
                count += 1
                stack += args
            case _:
                pass
    return max(count, 1)


def element_bytes(access: Access) -> int:
    return dt.size_bytes(access.buffer.dtype)
