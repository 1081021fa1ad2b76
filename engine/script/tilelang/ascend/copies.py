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
from ..blocks import axes_of, outside, ranges_of
from ..operations import ReadOperation, arguments, flag, moved_by, product, whole
from ..regions import Tile, paired, read_tile
from .runs import count_of, element, moving, run

if TYPE_CHECKING:
    from ..base import TileBase


def _copy(reader: TileBase, node: ast.Call) -> Stmt:
    """`T.copy(source, target, enable_relu, transpose, pad_value)`."""
    first, second, relu, turned, pad = arguments(
        reader, node, ("src", "dst", "enable_relu", "transpose", "pad_value"), 2
    )
    assert first is not None and second is not None
    source, target = read_tile(reader.exprs, first), read_tile(reader.exprs, second)
    is_turned = flag(reader, turned, default=False)
    if is_turned and source.extents is None and target.extents is not None:
        source = source.with_extents([*target.shape[:-2], target.shape[-1], target.shape[-2]][-len(source.start) :])
    source, target = paired(reader.exprs, node, source, target)
    own, extents = moving(source), moving(target)
    if is_turned:
        if len(own) != 2 or len(extents) != 2:
            raise reader.exprs.error(node, "unsupported", "a transposed copy needs two axes", expected="matrices")
        own = [own[1], own[0]]
    from_memory, to_memory = source.buffer.scope == "global", target.buffer.scope == "global"
    axes, there = axes_of(target.shape)
    position = [a.var for a in axes]
    cut: list[Expr] = []
    if len(own) != len(extents) or not all(map(prove_equal, own, extents)):
        cut = _cut(reader, node, source, target, own, extents)
    ranges = ranges_of(reader.loops, axes)
    if cut or len(own) == len(extents):
        order = [position[1], position[0]] if is_turned else list(position)
        read = moved_by(source.start, [IntImm(0) if build.is_const(e, 1) else order.pop(0) for e in source.shape])
    else:
        read = element(source, position, extents)
    value: Expr = BufferLoad(source.buffer, read)
    inside = [*(outside(source.buffer, read, ranges) if from_memory else []), *(cut if not to_memory else [])]
    if inside:
        rest = (
            build.const(0, source.buffer.dtype)
            if pad is None
            else build.cast(reader.exprs.expr(pad), source.buffer.dtype)
        )
        value = build.if_then_else(build.logical_and(*inside), value, rest)
    value = build.cast(value, target.buffer.dtype)
    if flag(reader, relu, default=False):
        value = build.maximum(value, build.const(0, value.dtype))
    written = moved_by(target.start, there)
    kept = [*(outside(target.buffer, written, ranges) if to_memory else []), *(cut if to_memory else [])]
    return reader.block(f"{target.buffer.name}_copy", axes, BufferStore(target.buffer, value, written), conditions=kept)


def _cut(
    reader: TileBase, node: ast.Call, source: Tile, target: Tile, own: Sequence[Expr], extents: Sequence[Expr]
) -> list[Expr]:  # fmt: skip
    """Return the conditions under which an element of the target has one of the source, if the extents differ: a copy between global
    memory and the core moves what both have. Between buffers of the core, runs of equal length move in row-major order."""
    crosses = (source.buffer.scope == "global") != (target.buffer.scope == "global")
    if crosses and len(own) == len(extents):
        axes = axes_of(target.shape)[0]
        return [
            build.lt(a.var, mine)
            for a, mine, theirs in zip(axes, own, extents, strict=True)
            if not prove_equal(mine, theirs)
        ]
    if not crosses and prove_equal(count_of(own), count_of(extents)):
        for tile, part in ((source, node.args[0]), (target, node.args[1])):
            run(reader, part) if tile.extents is not None else None
        return []
    raise reader.exprs.error(
        node, "wrong-arguments", "the operands of the copy have different shapes", expected="equal extents"
    )


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
    kept = outside(target.buffer, written, ranges_of(reader.loops, axes))
    total = build.add(BufferLoad(target.buffer, written), build.cast(value, target.buffer.dtype))
    return reader.block(
        f"{target.buffer.name}_update", axes, BufferStore(target.buffer, total, written), conditions=kept, sums=True
    )


COPIES: Mapping[str, ReadOperation] = {
    "copy": _copy,
    **dict.fromkeys(("gemm_v0", "gemm"), _gemm),
    "mma": _mma,
    "tile.atomic_add": _atomic_add,
}

__all__ = ["COPIES"]
