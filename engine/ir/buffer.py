"""Buffers: typed N-D memory in a scope, and regions of them."""

from __future__ import annotations

from .expr import Expr, Node, Range


class Buffer(Node, frozen=True, eq=False):
    """Memory for `shape` elements of `dtype` in a storage `scope`.

    `strides` are in elements, empty for row-major. `axis_separators` are TVM's: a separator `k` precedes axis `k`, and flattening keeps the
    groups between separators apart, so `[2][4096]` stays two-dimensional.
    """

    name: str
    shape: tuple[Expr, ...]
    dtype: str = "float32"
    scope: str = "global"
    strides: tuple[Expr, ...] = ()
    axis_separators: tuple[int, ...] = ()
    elem_offset: Expr | None = None
    data_alignment: int = 64
    offset_factor: int = 1


class BufferRegion(Node, frozen=True, eq=False):
    """A box of a buffer, one range per axis."""

    buffer: Buffer
    region: tuple[Range, ...]


class MatchBufferRegion(Node, frozen=True, eq=False):
    """`buffer` is another name, with its own indexing, for the memory of `source`."""

    buffer: Buffer
    source: BufferRegion
