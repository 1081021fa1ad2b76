"""Layout changes of parameters: rearrangement of the caller's arrays, so that a program and its original can be compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import msgspec
import numpy as np

from ..ir import Buffer, BufferStore, Expr, IndexMap, PrimFunc, Stmt, Var, build, free_vars, substitute
from .errors import unsupported
from .frames import Array
from .program import BufferContents, execute

MOST_PLACES = 1 << 22


class ParameterLayout(msgspec.Struct, frozen=True, eq=False):
    """The layout of parameter `name`: element `i`, of shape `before`, is at `index_map(i)` of shape `after`.

    Places without an element hold `pad_value` of their indices. If it is None, their contents are unspecified, before and after the run.
    """

    name: str
    index_map: IndexMap
    before: tuple[Expr, ...]
    after: tuple[Expr, ...]
    pad_value: IndexMap | None = None


class Image(msgspec.Struct, frozen=True):
    """The image of a box under a map: the lowest and highest index of each axis, and whether the map is one to one."""

    ends: tuple[tuple[int, ...], tuple[int, ...]]
    is_one_to_one: bool


def image(index_map: IndexMap, shape: Sequence[Expr]) -> Image | None:
    """The image of all elements, one by one; None for symbolic sizes and for more than `MOST_PLACES` elements.

    Raises ExecuteError for a map that the executor cannot evaluate, and for one that divides by zero.
    """
    sizes = [build.int_value(extent) for extent in shape]
    if any(size is None or size < 1 for size in sizes) or prod(size or 0 for size in sizes) > MOST_PLACES:
        return None
    kinds = [p.dtype for p in index_map.params]
    axes = [
        _table(
            "int64", shape, kinds, lambda indices, axis=axis: build.cast(index_map.apply(indices)[axis], "int64")
        ).reshape(-1)
        for axis in range(len(index_map.indices))
    ]
    places = np.stack(axes, axis=1)
    ends = (tuple(int(a.min()) for a in axes), tuple(int(a.max()) for a in axes))
    return Image(ends, len(np.unique(places, axis=0)) == len(places))


def laid_out(name: str, outcome: BufferContents, layouts: Sequence[ParameterLayout]) -> tuple[BufferContents, Array]:
    """The array of parameter `name` after all its layouts, in order, and a mask of its places with specified contents.

    Unspecified places hold conspicuous values (NaN, the largest integer). Raises ExecuteError for a layout of unknown size.
    """
    values, written = outcome.values, outcome.written
    known = np.ones(values.shape, bool)
    for layout in layouts:
        if layout.name == name:
            places = _places(layout)
            values = _moved(values, places, _padding(layout, values.dtype))
            written = _moved(written, places, np.ones(values.shape, bool))
            known = _moved(known, places, np.full(values.shape, layout.pad_value is not None))
    return BufferContents(values, written), known


def _moved(array: Array, places: Array, padding: Array) -> Array:
    result = padding.copy()
    result.reshape(-1)[places.reshape(-1)] = array.reshape(-1)
    return result


def _places(layout: ParameterLayout) -> Array:
    """The row-major position of each element's place."""

    def position(indices: Sequence[Var]) -> Expr:
        flat: Expr = build.const(0, "int64")
        for index, extent in zip(layout.index_map.apply(indices), layout.after, strict=True):
            flat = build.add(build.mul(flat, build.cast(extent, "int64")), build.cast(index, "int64"))
        return flat

    return _table("int64", layout.before, [p.dtype for p in layout.index_map.params], position)


def _padding(layout: ParameterLayout, dtype: np.dtype[np.generic]) -> Array:
    """An array of the new shape filled with padding values."""
    pad_value = layout.pad_value
    if pad_value is not None:
        kinds = [p.dtype for p in pad_value.params]
        found = _table(pad_value.indices[0].dtype, layout.after, kinds, lambda indices: pad_value.apply(indices)[0])
        return found.astype(dtype)
    noise = np.iinfo(str(dtype)).max if dtype.kind in "iu" else True if dtype.kind == "b" else np.nan
    return np.full(_numbers(layout.after), noise, dtype)


def _table(dtype: str, shape: Sequence[Expr], kinds: Sequence[str], entry: Callable[[Sequence[Var]], Expr]) -> Array:
    """`entry` of every index, computed by a program that stores it."""
    sizes = _numbers(shape)
    buffer = Buffer("table", tuple(build.const(size, "int64") for size in sizes), dtype)
    indices = [Var(f"i{axis}", kind) for axis, kind in enumerate(kinds)]
    value = entry(indices)
    if free_vars(value) - set(indices):
        raise unsupported("a layout that depends on an unknown size", "numbers for all sizes", (value,))
    # Loops used directly as indices run in lockstep; loops behind a cast would run one by one.
    loops = [Var(i.name, "int64") for i in indices]
    value = substitute(value, {i: build.cast(loop, i.dtype) for i, loop in zip(indices, loops, strict=True)})
    body: Stmt = BufferStore(buffer, value, tuple(loops))
    for loop, size in reversed(list(zip(loops, sizes, strict=True))):
        body = build.serial(loop, build.const(size, "int64"), body)
    handle = Var("table", "handle")
    return execute(PrimFunc("table", (handle,), ((handle, buffer),), body), {})["table"].values


def _numbers(shape: Sequence[Expr]) -> list[int]:
    sizes = [build.int_value(extent) for extent in shape]
    known = [size for size in sizes if size is not None]
    if len(known) != len(sizes):
        raise unsupported("a parameter with a layout of symbolic shape", "numbers for its extents", tuple(shape))
    return known
