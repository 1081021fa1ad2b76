"""LowerMatchBuffer: matched buffers are removed, and their accesses become accesses of the source buffers.

Source: TVM src/s_tir/transform/lower_match_buffer.cc.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from msgspec.structs import replace as replace_fields

from ..ir import (
    Block,
    Buffer,
    BufferRegion,
    Expr,
    MatchBufferRegion,
    Node,
    PrimFunc,
    Range,
    Var,
    build,
    map_children,
    substitute,
    walk_stmts,
)
from .access import Axes, BufferChange, Indices, change_buffers
from .errors import refuse


def lower_match_buffer(func: PrimFunc) -> PrimFunc:
    """Resolve views: `T.match_buffer(A[i:i + 4, 0:8], (4, 8))` and `sub[x, y]` become `A[i + x, y]`; size, stride and offset variables
    become their values.

    Refuses "bad-match-buffer" if shape, dtype or scope do not match.
    """

    def visit(node: Node) -> Node:
        if isinstance(node, Expr | Buffer):
            return node
        if isinstance(node, Block) and node.match_buffers:
            return visit(without_matches(node))
        return map_children(node, visit)

    has_views = any(isinstance(s, Block) and s.match_buffers for s in walk_stmts(func.body))
    return cast("PrimFunc", visit(func)) if has_views else func


def without_matches(block: Block) -> Block:
    """The block with accesses of its views replaced by accesses of the source buffers."""
    if not block.match_buffers:
        return block
    for match in block.match_buffers:
        require_fit(match)
    values: dict[Var, Expr] = {}
    for match in block.match_buffers:
        values.update(_symbols(match))
    # The source of a later match may be an earlier match.
    rest = list(block.match_buffers)
    bare = replace_fields(block, match_buffers=())
    while rest:
        match = rest.pop(0)
        change = {match.buffer: _change(match)}
        bare = change_buffers(bare, change)
        rest = [replace_fields(m, source=change_buffers(m.source, change)) for m in rest]
    return substitute(bare, values)


def _change(match: MatchBufferRegion) -> BufferChange:
    region = match.source.region
    lead = len(region) - len(match.buffer.shape)
    starts = [axis.min for axis in region]

    def indices(old: Indices) -> Indices:
        return (*starts[:lead], *(build.add(s, i) for s, i in zip(starts[lead:], old, strict=True)))

    def axes(old: Axes) -> Axes:
        inner = (Range(build.add(s, r.min), r.extent) for s, r in zip(starts[lead:], old, strict=True))
        return (*(build.point(s) for s in starts[:lead]), *inner)

    return BufferChange(match.source.buffer, indices, axes)


def _symbols(match: MatchBufferRegion) -> dict[Var, Expr]:
    """The variables that the matched buffer's shape, strides and offset define."""
    buffer, source = match.buffer, match.source
    strides = _strides(source.buffer)
    pairs: list[tuple[Expr, Expr]] = list(
        zip(buffer.shape, _tail([r.extent for r in source.region], buffer), strict=True)
    )
    if buffer.strides:
        pairs.extend(zip(buffer.strides, _tail(strides, buffer), strict=True))
    if buffer.elem_offset is not None:
        pairs.append((buffer.elem_offset, _offset(source, strides)))
    return {symbol: value for symbol, value in pairs if isinstance(symbol, Var)}


def _tail(values: Sequence[Expr], buffer: Buffer) -> Sequence[Expr]:
    return values[len(values) - len(buffer.shape) :]


def _offset(region: BufferRegion, strides: Sequence[Expr]) -> Expr:
    total: Expr = build.const(0, region.region[0].min.dtype) if region.region else build.const(0, "int32")
    for axis, stride in zip(region.region, strides, strict=True):
        total = build.add(total, build.mul(axis.min, stride))
    return total


def _strides(buffer: Buffer) -> Sequence[Expr]:
    """Strides in elements; row-major if the buffer has none."""
    if buffer.strides:
        return buffer.strides
    strides: list[Expr] = []
    step: Expr = build.const(1, "int32")
    for size in reversed(buffer.shape):
        strides.append(step)
        step = build.mul(step, size)
    return tuple(reversed(strides))


# A match is a view of the same elements: same type and scope, and the region's shape without leading axes of one.
def require_fit(match: MatchBufferRegion) -> None:
    buffer, source = match.buffer, match.source
    for what in ("dtype", "scope"):
        mine, other = getattr(buffer, what), getattr(source.buffer, what)
        if mine != other:
            raise refuse("bad-match-buffer", f"{buffer.name!r} and {source.buffer.name!r} differ in {what}", match,
                         found=mine, expected=other)  # fmt: skip
    extents = [r.extent for r in source.region]
    lead = len(extents) - len(buffer.shape)
    shapes = zip(buffer.shape, extents[max(lead, 0) :], strict=False)
    fits = lead >= 0 and all(build.is_const(e, 1) for e in extents[:lead])
    if not fits or any(_differ(a, b) for a, b in shapes):
        raise refuse("bad-match-buffer", f"{buffer.name!r} does not have the shape of the matched region of {source.buffer.name!r}", match,
                     found=_sizes(buffer.shape), expected=_sizes(extents))  # fmt: skip


def _differ(a: Expr, b: Expr) -> bool:
    x, y = build.int_value(a), build.int_value(b)
    return x is not None and y is not None and x != y


def _sizes(extents: Sequence[Expr]) -> str:
    return ", ".join(str(v) if (v := build.int_value(e)) is not None else "?" for e in extents)
