"""Contiguous runs of elements in a buffer: the operands of the operations of a vector core."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ....arith import prove_equal, simplify
from ....ir import (
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Expr,
    IntImm,
    Stmt,
    build,
)
from ..blocks import axes_of, axis
from ..operations import moved_by, whole
from ..regions import Tile

if TYPE_CHECKING:
    from ..base import TileBase


def count_of(extents: Sequence[Expr]) -> Expr:
    total: Expr = IntImm(1)
    for extent in extents:
        total = build.mul(total, extent)
    return total


def run(reader: TileBase, node: ast.expr | None) -> Tile:
    """Return an operand that is a contiguous run of a buffer's elements."""
    tile = whole(reader, node)
    assert node is not None
    require_contiguous(reader, node, tile)
    return tile


def require_contiguous(reader: TileBase, node: ast.expr, tile: Tile) -> None:
    """Refuse a part of a buffer with gaps between its rows."""
    several = [n for n, extent in enumerate(tile.shape) if not build.is_const(extent, 1)]
    inner = several[0] + 1 if several else len(tile.shape)
    if not all(prove_equal(e, s) for e, s in zip(tile.shape[inner:], tile.buffer.shape[inner:], strict=True)):
        raise reader.exprs.error(node, "unsupported", f"this part of {tile.buffer.name} is not contiguous, as the vector core needs it",
                                 expected="whole rows, or a part of one")  # fmt: skip


def require_apart(reader: TileBase, node: ast.Call, target: Tile, sources: Sequence[Tile]) -> None:
    """Refuse an operation that overwrites elements that it still reads."""
    if any(source.buffer is target.buffer for source in sources):
        raise reader.exprs.error(node, "unsupported", f"the result overwrites {target.buffer.name}, which is read in another order",
                                 expected="another buffer for the result")  # fmt: skip


def moving(tile: Tile) -> list[Expr]:
    return [extent for extent in tile.shape if not build.is_const(extent, 1)]


def element(tile: Tile, position: Sequence[Expr], extents: Sequence[Expr]) -> tuple[Expr, ...]:
    """Return the index of the element of a tile that is as far in it as `position` is in a box of `extents`."""
    own = moving(tile)
    found: list[Expr] = list(position)
    if len(own) != len(extents) or not all(map(prove_equal, own, extents)):
        place: Expr = IntImm(0)
        for index, extent in zip(position, extents, strict=True):
            place = build.add(build.mul(place, extent), index)
        found = []
        for extent in reversed(own[1:]):
            found.insert(0, build.floormod(place, extent))
            place = build.floordiv(place, extent)
        found = [place, *found] if own else []
    spread = [IntImm(0) if build.is_const(extent, 1) else found.pop(0) for extent in tile.shape]
    return tuple(simplify(index) for index in moved_by(tile.start, spread))


def require_same_size(reader: TileBase, node: ast.Call, tiles: Sequence[Tile]) -> None:
    first = count_of(tiles[0].shape)
    if not all(prove_equal(count_of(tile.shape), first) for tile in tiles[1:]):
        raise reader.exprs.error(node, "wrong-arguments", "the operands have different numbers of elements",
                                 expected=f"as many as {tiles[0].buffer.name}")  # fmt: skip


def elementwise(
    reader: TileBase, node: ast.Call, target: Tile, sources: Sequence[Tile], compute: Callable[[list[Expr]], Expr], name: str,
    count: ast.expr | None = None,
) -> Stmt:  # fmt: skip
    """Return the block that computes each element of a run, or the first `count` of them."""
    size = count_of(target.shape) if count is None else reader.exprs.index(count)
    if prove_equal(size, count_of(target.shape)):
        axes, extents = axes_of(moving(target))[0], moving(target)
        require_same_size(reader, node, [target, *sources]) if count is None else None
    else:
        axes, extents = [axis("ax0", size)], [size]
    position = [a.var for a in axes]
    values: list[Expr] = [BufferLoad(source.buffer, element(source, position, extents)) for source in sources]
    at = element(target, position, extents)
    stored = build.cast(compute(values), target.buffer.dtype)
    return reader.block(name, axes, BufferStore(target.buffer, stored, at))


def scalar(reader: TileBase, node: ast.expr, dtype: str) -> Expr:
    """Return an operand that is one value. The compiler finds an element by its first index alone, which must say which it is."""
    value = reader.exprs.as_expr(reader.exprs.value(node), node)
    if isinstance(value, BufferLoad) and not all(build.is_const(extent, 1) for extent in value.buffer.shape[1:]):
        raise reader.exprs.error(node, "unsupported", f"the compiler reads {value.buffer.name} at its first index alone",
                                 expected="an element of a buffer with one axis")  # fmt: skip
    return build.cast(value, dtype)


def is_tile(reader: TileBase, node: ast.expr) -> bool:
    return isinstance(reader.exprs.value(node), Buffer | BufferRegion)


def name_of(reader: TileBase, node: ast.Call) -> str:
    return (reader.exprs.called(node) or "").rpartition(".")[2].removesuffix("_experiment")


__all__ = [
    "count_of",
    "element",
    "elementwise",
    "is_tile",
    "moving",
    "name_of",
    "require_apart",
    "require_contiguous",
    "require_same_size",
    "run",
    "scalar",
]
