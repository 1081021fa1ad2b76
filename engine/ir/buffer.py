"""Buffers: typed N-D memory in a scope, regions of them, and the expressions that access them."""

from __future__ import annotations

from .expr import Expr, Node, Ramp, Range


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


def offset_dtype(shape: tuple[Expr, ...]) -> str:
    """Return the type of an offset that a buffer's declaration leaves to TVM: that of its first size."""
    return shape[0].dtype if shape else "int32"


class BufferRegion(Node, frozen=True, eq=False):
    """A box of a buffer, one range per axis."""

    buffer: Buffer
    region: tuple[Range, ...]


class MatchBufferRegion(Node, frozen=True, eq=False):
    """`buffer` is another name, with its own indexing, for the memory of `source`."""

    buffer: Buffer
    source: BufferRegion


class BufferLoad(Expr, frozen=True, eq=False):
    buffer: Buffer
    indices: tuple[Expr, ...]

    @property
    def dtype(self) -> str:
        is_vector = self.indices and self.indices[-1].__class__ is Ramp
        return accessed_dtype(self.buffer, self.indices) if is_vector else self.buffer.dtype


def accessed_dtype(buffer: Buffer, indices: tuple[Expr, ...]) -> str:
    """Return the type of the accessed elements; a Ramp selects a vector of elements."""
    last = indices[-1] if indices else None
    if not isinstance(last, Ramp):
        return buffer.dtype
    many = last.dtype.partition("x")[2]
    element, _, own = buffer.dtype.partition("x")
    if not own:
        return f"{element}x{many}"
    scale, _, number = many.rpartition("x")
    return f"{element}x{scale}{'x' if scale else ''}{int(number) * int(own)}"


class BufferData(Expr, frozen=True, eq=False):
    """`A.data`, the address of a buffer's memory. Its accesses are unknown; the surrounding block declares them in its reads and writes."""

    buffer: Buffer

    @property
    def dtype(self) -> str:
        return "handle"
