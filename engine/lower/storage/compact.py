"""CompactBufferAllocation: cuts each buffer to the part that is live at its allocation.

Source: TVM src/s_tir/transform/compact_buffer_region.cc. Works on blocks with iterators as on opaque ones.
"""

from __future__ import annotations

from msgspec.structs import replace as replace_fields

from ...ir import Block, Buffer, Expr, PrimFunc, Range, build, walk_stmts
from ...script.tilelang.sync.slots import whole_buffers
from ..access import Axes, BufferChange, Indices, change_buffers
from ..positions import Alignment, alignments_of
from ..rewrite_result import RewriteResult
from .compact_regions import Box, live_regions


def compact_buffer_allocation(func: PrimFunc) -> PrimFunc:
    """Cut each intermediate buffer to its used box (`live_regions`) and shift indices by the start of the box.

    The number of axes, their order, and axis separators stay. Parameters keep their shape. Strides follow from the new shape, widened if a
    block that writes the buffer requests it (`buffer_dim_align`, TVM's storage_align: stride % factor == offset on an axis). The buffers
    of TileLang's kernels keep their shape, too: TileLang has no such pass, and its texts pad tiles by a larger shape.
    """
    return compacted(func).func


def compacted(func: PrimFunc) -> RewriteResult:
    """`compact_buffer_allocation`, with the map from changed to new buffers."""
    alignments, whole = _alignments(func), whole_buffers(func)
    boxes = {
        buffer: build.full_region(buffer).region if buffer.name in whole else box
        for buffer, box in live_regions(func).items()
    }
    changes = {
        buffer: _change(buffer, box, alignments.get(buffer, {}))
        for buffer, box in boxes.items()
        if buffer in alignments or not _is_whole(buffer, box)
    }
    return RewriteResult(change_buffers(func, changes), {old: change.buffer for old, change in changes.items()})


def _is_whole(buffer: Buffer, box: Box) -> bool:
    return all(
        build.is_const(axis.min, 0) and axis.extent is size for axis, size in zip(box, buffer.shape, strict=True)
    )


def _change(buffer: Buffer, box: Box, alignment: Alignment) -> BufferChange:
    starts = [axis.min for axis in box]
    shape = tuple(axis.extent for axis in box)
    small = replace_fields(buffer, shape=shape, strides=_strides(buffer, shape, alignment) if alignment else ())

    def indices(old: Indices) -> Indices:
        return tuple(_shifted(i, start) for i, start in zip(old, starts, strict=True))

    def region(old: Axes) -> Axes:
        return tuple(Range(_shifted(r.min, start), r.extent) for r, start in zip(old, starts, strict=True))

    return BufferChange(small, indices, region)


def _alignments(func: PrimFunc) -> dict[Buffer, Alignment]:
    """The alignments that `buffer_dim_align` annotations request."""
    found: dict[Buffer, Alignment] = {}
    for block in (s for s in walk_stmts(func.body) if isinstance(s, Block)):
        for buffer, axes in alignments_of(block).items():
            found.setdefault(buffer, {}).update(axes)
    return found


def _strides(buffer: Buffer, shape: Indices, alignment: Alignment) -> Indices:
    """Strides, row-major within each group between separators, with the gaps that the alignment requires."""
    strides: list[Expr] = []
    step: Expr = build.const(1, shape[-1].dtype)
    for axis in reversed(range(len(shape))):
        factor, offset = alignment.get(axis, (0, 0))
        if factor > 0:
            step = build.add(step, build.floormod(build.sub(factor + offset, build.floormod(step, factor)), factor))
        strides.append(step)
        starts_group = axis in buffer.axis_separators
        step = build.const(1, step.dtype) if starts_group else build.mul(step, shape[axis])
    return tuple(reversed(strides))


def _shifted(index: Expr, start: Expr) -> Expr:
    return index if build.is_const(start, 0) else build.sub(index, start)
