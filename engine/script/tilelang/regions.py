"""Regions of tile operations: a buffer, the first element, and the extents, which a bare element leaves to the other operand."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import msgspec

from ...ir import Buffer, BufferLoad, BufferRegion, Expr, IntImm, build
from ..reading.expressions import ExpressionReader
from ..subset.scope import Value


class Tile(msgspec.Struct, frozen=True, eq=False):
    """A box of a buffer: its first element and its extents, one for each axis. `extents` is None for an element that only says where a box
    begins."""

    buffer: Buffer
    start: tuple[Expr, ...]
    extents: tuple[Expr, ...] | None

    @property
    def shape(self) -> tuple[Expr, ...]:
        return self.extents or ()

    def with_extents(self, extents: Sequence[Expr]) -> Tile:
        return Tile(self.buffer, self.start, tuple(extents))


def read_tile(reader: ExpressionReader, node: ast.expr) -> Tile:
    """Read an operand of a tile operation: a buffer, an element, slices, or the printed `T.region(A[i, j], access, m, n)` and
    `T.access_ptr(A[i], 1, access)`."""
    if isinstance(node, ast.Call) and reader.called(node) == "T.region":
        at, _, *extents = node.args
        tile = tile_of(reader, reader.value(at), at)
        return tile.with_extents([reader.index(extent) for extent in extents])
    if isinstance(node, ast.Call) and reader.called(node) == "T.access_ptr" and len(node.args) == 3:
        return tile_of(reader, reader.value(node.args[0]), node)
    return tile_of(reader, reader.value(node), node)


def tile_of(reader: ExpressionReader, value: Value, node: ast.expr) -> Tile:
    """Return the region that a value of the text denotes."""
    match value:
        case Buffer():
            return Tile(value, tuple(build.const(0, e.dtype) for e in value.shape), value.shape)
        case BufferRegion(buffer=buffer, region=region):
            return Tile(buffer, tuple(r.min for r in region), tuple(r.extent for r in region))
        case BufferLoad(buffer=buffer, indices=indices):
            return Tile(buffer, indices, None)
        case _:
            raise reader.error(
                node, "wrong-type", "this is not a tile", expected="a buffer, A[i, j] or A[i : i + 16, 0:64]"
            )


def paired(reader: ExpressionReader, node: ast.Call, source: Tile, target: Tile) -> tuple[Tile, Tile]:
    """Return the operands of a copy with the extents of both, as `legalize_pairwise_extents` of TileLang 0.1.15 does: an element takes the
    extents of the other side, from the last axis on. Raises "wrong-arguments"."""
    if source.extents is None and target.extents is None:
        ones = [IntImm(1)]
        return source.with_extents(ones * len(source.start)), target.with_extents(ones * len(target.start))
    one: Expr = IntImm(1)
    a: list[Expr] = list(source.extents) if source.extents is not None else [one] * len(target.shape)
    b: list[Expr] = list(target.extents) if target.extents is not None else [one] * len(source.shape)
    if len(_moving(a)) != len(_moving(b)):
        for n in range(1, min(len(a), len(b)) + 1):
            x, y = a[-n], b[-n]
            larger = y if _is_one(x) else x if _is_one(y) or build.is_const(build.sub(x, y), 0) else build.maximum(x, y)
            a[-n] = b[-n] = larger
    return source.with_extents(_of_rank(reader, node, a, source)), target.with_extents(
        _of_rank(reader, node, b, target)
    )


def _of_rank(reader: ExpressionReader, node: ast.Call, extents: list[Expr], tile: Tile) -> list[Expr]:
    """Return extents for all axes of a buffer; leading axes without one have a single element."""
    missing = len(tile.start) - len(extents)
    if missing < 0:
        if any(not _is_one(extent) for extent in extents[:-missing]):
            raise reader.error(node, "wrong-arguments", f"{tile.buffer.name} has {len(tile.start)} axes, the other operand {len(extents)}",
                               expected="as many axes with more than one element on both sides")  # fmt: skip
        return extents[-missing:]
    return [IntImm(1)] * missing + extents


def _moving(extents: Sequence[Expr]) -> list[Expr]:
    return [extent for extent in extents if not _is_one(extent)]


def _is_one(extent: Expr) -> bool:
    return build.is_const(extent, 1)


__all__ = ["Tile", "paired", "read_tile", "tile_of"]
