"""Operations whose result is not computed here: each is a block with the regions that it reads and writes, so that it takes part in
dependences, traffic and timelines. A program with one is not run, and nothing about its values is checked."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...ir import Buffer, BufferData, BufferRegion, Call, Evaluate, Expr, IntImm, Stmt, StringImm, build
from .regions import Tile, read_tile

if TYPE_CHECKING:
    from .base import TileBase

READ, WRITE = 1, 2
_ACCESS = {"r": READ, "w": WRITE, "rw": READ | WRITE, "wr": READ | WRITE}
_RESULTS: Mapping[tuple[str, int], tuple[str, ...]] = {
    ("C", 2): ("mma_gemm_blockscaled", "tcgen05_gemm_blockscaled", "wgmma_gemm_blockscaled"),
    ("C", 3): ("gemm_sp", "gemm_sp_v2", "wgmma_gemm_sp", "mma_gemm_sp"),
    ("dst", 1): (
        "tcgen05_cp_warpx4",
        "tma_load",
        "tma_store",
        "tma_load_im2col",
        "tma_load_multicast",
        "tma_copy_multicast",
    ),
    ("", -1): ("ptx_cp_async", "cp_async", "call_extern", "call_packed"),
}
OPAQUE: Mapping[str, tuple[str, int]] = {name: result for result, names in _RESULTS.items() for name in names}
"""Operations that only declare their regions, with the name and place of the operand that they read and write; pointers say it."""


def uses_two_cores(node: ast.Call) -> bool:
    """Whether a product is one of two blocks together, each with a part of the operands."""
    given = [k.value for k in node.keywords if k.arg == "use_2cta"]
    return any(not (isinstance(value, ast.Constant) and not value.value) for value in given)


def declared(reader: TileBase, node: ast.Call, name: str) -> Stmt:
    """Return the block of an operation that declares what it reads and writes."""
    result = OPAQUE.get(name, ("C", 2))
    given = [("", number, argument) for number, argument in enumerate(node.args)]
    given += [(keyword.arg or "?", -2, keyword.value) for keyword in node.keywords]
    tiles: list[tuple[Tile, int]] = []
    for key, number, argument in given:
        found = _operand(reader, argument)
        if found is None:
            continue
        tile, access = found
        if access is None:
            access = READ | WRITE if key == result[0] or number == result[1] else READ
        tiles.append((tile, access))
    title = name
    if name.startswith("call_"):
        title = next(
            (
                a.value
                for a in node.args[:2]
                if isinstance(a, ast.Constant) and isinstance(a.value, str) and a.value != "handle"
            ),
            name,
        )
    owners = dict.fromkeys(tile.buffer for tile, _ in tiles)
    body = Evaluate(Call("call_extern", (StringImm(title), *map(BufferData, owners)), "handle"))
    return reader.declared(title, body, _regions(tiles, READ), _regions(tiles, WRITE))


def _operand(reader: TileBase, node: ast.expr) -> tuple[Tile, int | None] | None:
    """Return the tile of an operand with its access, None if the operation says it; None for other operands."""
    match node:
        case ast.Call(func=ast.Attribute(attr="access_ptr"), args=[at, ast.Constant(value=str(mask)), *extents]):
            return _extended(reader, read_tile(reader.exprs, at), extents), _ACCESS.get(mask, READ | WRITE)
        case ast.Call(func=ast.Attribute(attr="access_ptr"), args=[at, extent, ast.Constant(value=int(mask))]):
            return _extended(reader, read_tile(reader.exprs, at), [extent]), mask
        case ast.Call(func=ast.Attribute(attr="region"), args=[_, ast.Constant(value=int(mask)), *_]):
            return read_tile(reader.exprs, node), mask
        case ast.Call(func=ast.Attribute(attr="address_of"), args=[at]):
            tile = read_tile(reader.exprs, at)
            return _whole(tile.buffer), READ | WRITE
        case ast.Constant():
            return None
        case _:
            value = reader.exprs.value(node)
            if isinstance(value, Buffer | BufferRegion):
                return read_tile(reader.exprs, node), None
            return (_whole(value.buffer), READ | WRITE) if isinstance(value, BufferData) else None


def _extended(reader: TileBase, tile: Tile, extents: Sequence[ast.expr]) -> Tile:
    """Return a tile from its first element, with the extents of a pointer for its last axes."""
    if tile.extents is not None:
        return tile
    given: list[Expr] = [reader.exprs.index(extent) for extent in extents][-len(tile.start) :]
    return tile.with_extents([IntImm(1)] * (len(tile.start) - len(given)) + given)


def _whole(buffer: Buffer) -> Tile:
    return Tile(buffer, tuple(build.const(0, extent.dtype) for extent in buffer.shape), buffer.shape)


def _regions(tiles: Sequence[tuple[Tile, int]], access: int) -> list[BufferRegion]:
    found: list[BufferRegion] = []
    for tile, mask in tiles:
        extents = tile.extents or (IntImm(1),) * len(tile.start)
        if mask & access:
            found.append(
                BufferRegion(
                    tile.buffer, tuple(build.make_range(a, e) for a, e in zip(tile.start, extents, strict=True))
                )
            )
    return found


__all__ = ["OPAQUE", "declared", "uses_two_cores"]
