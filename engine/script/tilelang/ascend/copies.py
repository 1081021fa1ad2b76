"""Copies between the memories of an AI core, products on the cube core, and atomic updates of global memory."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ....arith import prove_equal
from ....ir import (
    BufferLoad,
    BufferStore,
    Expr,
    IntImm,
    Stmt,
    build,
)
from ..blocks import axes_of, outside
from ..operations import ATOMICALLY, ReadOperation, arguments, flag, moved_by, product, whole
from ..regions import Tile, paired, read_tile
from .runs import count_of, element, moving, require_contiguous

if TYPE_CHECKING:
    from ..base import TileBase


def _copy(reader: TileBase, node: ast.Call) -> Stmt:
    """`T.copy(source, target, enable_relu, transpose, pad_value)`."""
    names = ("src", "dst", "enable_relu", "transpose", "pad_value")
    first, second, relu, turned, pad = arguments(reader, node, names, 2)
    source, target = _operands(reader, node, first, second, is_turned=flag(reader, turned, default=False))
    axes, there = axes_of(target.shape)
    position, cut = _matched(reader, node, source, target, there, is_turned=flag(reader, turned, default=False))
    ranges = reader.ranges(axes)
    read, written = moved_by(source.start, position), moved_by(target.start, there)
    value: Expr = BufferLoad(source.buffer, read)
    to_memory = target.buffer.scope == "global"
    inside = outside(source.buffer, read, ranges) if source.buffer.scope == "global" else []
    if inside or (cut and not to_memory):
        dtype = source.buffer.dtype
        rest = build.const(0, dtype) if pad is None else build.cast(reader.exprs.expr(pad), dtype)
        value = build.if_then_else(build.logical_and(*inside, *([] if to_memory else cut)), value, rest)
    value = build.cast(value, target.buffer.dtype)
    if flag(reader, relu, default=False):
        value = build.maximum(value, build.const(0, value.dtype))
    kept = [*outside(target.buffer, written, ranges), *cut] if to_memory else []
    return reader.block(f"{target.buffer.name}_copy", axes, BufferStore(target.buffer, value, written), conditions=kept)


def _operands(
    reader: TileBase, node: ast.Call, first: ast.expr | None, second: ast.expr | None, *, is_turned: bool
) -> tuple[Tile, Tile]:
    """Return the operands of a copy. An element takes the extents of the other operand, from the last axis on."""
    assert first is not None and second is not None
    source, target = read_tile(reader.exprs, first), read_tile(reader.exprs, second)
    if source.extents is None and target.extents is not None:
        shape = target.shape
        shape = (*shape[:-2], shape[-1], shape[-2]) if is_turned else shape
        if is_turned or len(source.start) < len(shape):
            source = source.with_extents(_last(shape, len(source.start)))
    elif target.extents is None and source.extents is not None and len(target.start) < len(source.start):
        target = target.with_extents(_last(source.shape, len(target.start)))
    return paired(reader.exprs, node, source, target)


def _last(shape: Sequence[Expr], rank: int) -> list[Expr]:
    """Return the last extents of a shape for `rank` axes."""
    return [*[IntImm(1)] * (rank - len(shape)), *shape[-rank:]]


def _matched(
    reader: TileBase, node: ast.Call, source: Tile, target: Tile, there: Sequence[Expr], *, is_turned: bool
) -> tuple[list[Expr], list[Expr]]:
    """Return the position in the source for a position in the target, and the conditions under which the source has such an element.

    A copy between global memory and the core moves what both operands have, from their last axes on. Between buffers of the core, runs
    of equal length move in row-major order.
    """
    own, extents = moving(source), moving(target)
    order = [at for at, extent in zip(there, target.shape, strict=True) if not build.is_const(extent, 1)]
    if is_turned:
        if len(own) != 2 or len(extents) != 2:
            raise reader.exprs.error(node, "unsupported", "a transposed copy needs two axes", expected="matrices")
        own, order = [own[1], own[0]], [order[1], order[0]]
    if len(own) == len(extents) and all(map(prove_equal, own, extents)):
        return [IntImm(0) if build.is_const(e, 1) else order.pop(0) for e in source.shape], []
    crosses = (source.buffer.scope == "global") != (target.buffer.scope == "global")
    if crosses and not is_turned:
        return _overlapping(source, target, there)
    if not crosses and not is_turned and prove_equal(count_of(own), count_of(extents)):
        for tile in (source, target):
            require_contiguous(reader, node, tile)
        at = element(source, order, extents)
        return [build.sub(index, start) for index, start in zip(at, source.start, strict=True)], []
    raise reader.exprs.error(
        node, "wrong-arguments", "the operands of the copy have different shapes", expected="equal extents"
    )


def _overlapping(source: Tile, target: Tile, there: Sequence[Expr]) -> tuple[list[Expr], list[Expr]]:
    """Return the position in the source and the conditions for operands of different sizes, which begin at the same element."""
    position: list[Expr] = []
    cut: list[Expr] = []
    missing = len(target.shape) - len(source.shape)
    shape = [*[IntImm(1)] * missing, *source.shape]
    for n, extent in enumerate(shape[-len(target.shape) :]):
        if not prove_equal(extent, target.shape[n]):
            cut.append(build.lt(there[n], extent))
        if n >= missing:
            position.append(IntImm(0) if build.is_const(extent, 1) else there[n])
    return [*[IntImm(0)] * max(-missing, 0), *position], cut


# --- products


def _gemm(reader: TileBase, node: ast.Call) -> Stmt:
    """`T.gemm_v0(A, B, C, transpose_A, transpose_B, init)`: C += A @ B, or C = A @ B."""
    first, second, third, turn_a, turn_b, init = arguments(
        reader, node, ("A", "B", "C", "transpose_A", "transpose_B", "init"), 3
    )
    turned = [flag(reader, part, default=False) for part in (turn_a, turn_b)]
    return product(reader, node, [whole(reader, part) for part in (first, second, third)], turned, init)


def _mma(reader: TileBase, node: ast.Call) -> Stmt:
    """`T.mma(A, B, C, init)`: the product of operands in L0."""
    first, second, third, init = arguments(reader, node, ("A", "B", "C", "init"), 3)
    return product(reader, node, [whole(reader, part) for part in (first, second, third)], [False, False], init)


def _atomic_add(reader: TileBase, node: ast.Call) -> Stmt:
    """`T.tile.atomic_add(target, source)`: adds a tile to global memory."""
    first, second = arguments(reader, node, ("dst", "src"), 2)
    assert first is not None and second is not None
    source, target = paired(reader.exprs, node, read_tile(reader.exprs, second), read_tile(reader.exprs, first))
    axes, there = axes_of(target.shape)
    written = moved_by(target.start, there)
    value = BufferLoad(source.buffer, element(source, [a.var for a in axes], moving(target)))
    kept = outside(target.buffer, written, reader.ranges(axes))
    total = build.add(BufferLoad(target.buffer, written), build.cast(value, target.buffer.dtype))
    return reader.block(
        f"{target.buffer.name}_update", axes, BufferStore(target.buffer, total, written), conditions=kept, sums=True,
        notes=ATOMICALLY,
    )  # fmt: skip


COPIES: Mapping[str, ReadOperation] = {
    "copy": _copy,
    **dict.fromkeys(("gemm_v0", "gemm"), _gemm),
    "mma": _mma,
    "tile.atomic_add": _atomic_add,
}

__all__ = ["COPIES"]
