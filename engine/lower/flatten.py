"""FlattenBuffer: allocations become as flat as their axis separators allow.

Source: TVM src/tirx/transform/flatten_buffer.cc; the separators of TVM up to 0.25 (Buffer::GetFlattenedBuffer).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from msgspec.structs import replace as replace_fields

from ..arith import simplify
from ..ir import Buffer, Expr, PrimFunc, Range, allocated_buffers, build
from .access import Axes, BufferChange, Indices, change_buffers
from .rewrite_result import RewriteResult


def flatten_buffer(func: PrimFunc) -> PrimFunc:
    """Merge each axis group into one axis: `(2, 64, 64)` becomes `(8192,)`, and with a separator before axis 1 `(2, 4096)`.

    Parameters keep the shape of the function's signature.
    """
    return flattened(func).func


def flattened(func: PrimFunc) -> RewriteResult:
    """`flatten_buffer`, with a map from each allocated buffer to its flat buffer, for those that are not flat already."""
    buffers = {b: flat_buffer(b) for b in allocated_buffers(func.body)}
    changes = {old: _change(old, new) for old, new in buffers.items() if new is not old}
    return RewriteResult(change_buffers(func, changes), {old: new for old, new in buffers.items() if new is not old})


def flat_buffer(buffer: Buffer) -> Buffer:
    """`buffer` with one axis for each group between its separators."""
    groups = _groups(buffer)
    if not buffer.strides and all(len(group) == 1 for group in groups):
        return buffer
    shape = tuple(_size(buffer, group) for group in groups)
    return replace_fields(buffer, shape=shape, strides=(), axis_separators=tuple(range(1, len(groups))))


def _groups(buffer: Buffer) -> list[range]:
    """The axes between separators; a buffer without axes is one group of no axes, with one element."""
    cuts = [0, *buffer.axis_separators, len(buffer.shape)]
    return [range(a, b) for a, b in pairwise(cuts)]


def _size(buffer: Buffer, group: range) -> Expr:
    if buffer.strides and group:
        return build.mul(buffer.strides[group[0]], buffer.shape[group[0]])
    size: Expr = build.const(1, "int32")
    for axis in group:
        size = build.mul(size, buffer.shape[axis])
    return size


def _change(old: Buffer, new: Buffer) -> BufferChange:
    groups = _groups(old)

    def indices(index: Indices) -> Indices:
        return tuple(_place(old, group, index) for group in groups)

    def region(axes: Axes) -> Axes:
        starts = indices(tuple(r.min for r in axes))
        ends = indices(tuple(build.sub(build.add(r.min, r.extent), 1) for r in axes))
        return tuple(Range(a, simplify(build.add(build.sub(b, a), 1))) for a, b in zip(starts, ends, strict=True))

    return BufferChange(new, indices, region)


def _place(buffer: Buffer, group: range, index: Sequence[Expr]) -> Expr:
    """The element's offset in its group: by the strides, or row-major."""
    place: Expr = build.const(0, index[group[0]].dtype if group else "int32")
    for axis in group:
        if buffer.strides:
            place = build.add(place, build.mul(index[axis], buffer.strides[axis]))
        else:
            place = build.add(build.mul(place, buffer.shape[axis]), index[axis])
    return place
