"""CompactBufferAllocation: a buffer becomes as large as what is live of it where it is allocated.

Source: TVM src/s_tir/transform/compact_buffer_region.cc. Works on blocks with iterators as on opaque ones.
"""

from __future__ import annotations

from msgspec.structs import replace as replace_fields

from ..ir import Buffer, Expr, PrimFunc, Range, build
from .access import Axes, Change, Indices, change_buffers
from .compact_regions import Box, live_regions
from .renewed import Renewed


def compact_buffer_allocation(func: PrimFunc) -> PrimFunc:
    """Each intermediate buffer cut to the box of it that is used (`live_regions`), and indices shifted by where the box begins.

    The number of axes, their order, and axis separators stay. Parameters keep their shape.
    """
    return compacted(func).func


def compacted(func: PrimFunc) -> Renewed:
    """`compact_buffer_allocation`, with the new buffer for each that changed."""
    changes = {b: _change(b, box) for b, box in live_regions(func).items() if not _is_whole(b, box)}
    return Renewed(change_buffers(func, changes), {old: change.buffer for old, change in changes.items()})


def _is_whole(buffer: Buffer, box: Box) -> bool:
    return all(
        build.is_const(axis.min, 0) and axis.extent is size for axis, size in zip(box, buffer.shape, strict=True)
    )


def _change(buffer: Buffer, box: Box) -> Change:
    starts = [axis.min for axis in box]
    small = replace_fields(buffer, shape=tuple(axis.extent for axis in box), strides=())

    def indices(old: Indices) -> Indices:
        return tuple(_shifted(i, start) for i, start in zip(old, starts, strict=True))

    def region(old: Axes) -> Axes:
        return tuple(Range(_shifted(r.min, start), r.extent) for r, start in zip(old, starts, strict=True))

    return Change(small, indices, region)


def _shifted(index: Expr, start: Expr) -> Expr:
    return index if build.is_const(start, 0) else build.sub(index, start)
