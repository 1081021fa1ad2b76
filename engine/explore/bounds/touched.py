"""The elements of a buffer that an access reaches at least, counted exactly over the iterations of its block."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from ...analysis import Guard
from ...ir import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Block,
    BufferLoad,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Mul,
    Node,
    Or,
    Sub,
    Var,
    build,
    children,
    free_vars,
)

Values = np.ndarray[Any, np.dtype[Any]]

MOST_VALUES = 1 << 21
"""Iterations that are enumerated; an access over more counts as none."""

SPARSE = 8
"""Places that are marked in an array, relative to the iterations; places further apart are sorted."""

_OPERATIONS: Mapping[type[Node], Callable[[Values, Values], Values]] = {
    Add: np.add, Sub: np.subtract, Mul: np.multiply, FloorDiv: np.floor_divide, FloorMod: np.mod,
    LT: np.less, LE: np.less_equal, GT: np.greater, GE: np.greater_equal, EQ: np.equal, NE: np.not_equal,
    And: np.logical_and, Or: np.logical_or,
}  # fmt: skip


def touched(block: Block, load: BufferLoad, guards: Sequence[Guard] = ()) -> int:
    """The number of distinct elements that a load of the block reaches where its guards hold; 0 if that is not known."""
    extents = {iv.var: build.int_value(iv.dom.extent) or 0 for iv in block.iter_vars}
    axes = [free_vars(index) for index in load.indices]
    if not guards and all(not one & other for n, one in enumerate(axes) for other in axes[:n]):
        return prod(_distinct([index], extents) for index in load.indices)
    return _distinct(load.indices, extents, guards)


def touched_by(block: Block, accesses: Sequence[tuple[BufferLoad, Sequence[Guard]]]) -> int:
    """The number of distinct elements of one buffer that any of these loads of the block reaches; the most of one of them if more is not
    known."""
    most = max((touched(block, load, guards) for load, guards in accesses), default=0)
    if len(accesses) < 2:
        return most
    shape = [build.int_value(n) or 0 for n in accesses[0][0].buffer.shape]
    if not 0 < prod(shape) <= SPARSE * MOST_VALUES:
        return most
    reached = np.zeros(prod(shape), dtype=bool)
    extents = {iv.var: build.int_value(iv.dom.extent) or 0 for iv in block.iter_vars}
    for load, guards in accesses:
        found = _places(load.indices, extents, guards)
        if found is None:
            continue
        places, holds = found
        inside = holds.copy()
        for place, size in zip(places, shape, strict=True):
            inside &= (place >= 0) & (place < size)
        key = np.zeros(inside.shape, dtype=np.int64)
        for place, size in zip(places, shape, strict=True):
            key = key * size + place
        reached[key[inside]] = True
    return max(most, int(np.count_nonzero(reached)))


def touched_together(stores: Sequence[tuple[Block, BufferLoad]]) -> int:
    """The number of distinct elements of a buffer that accesses of several blocks reach at least: their sum if their boxes do not meet."""
    counts = [touched(block, access) for block, access in stores]
    boxes = [_hull(block, access) for block, access in stores]
    apart = all(_are_apart(one, other) for n, one in enumerate(boxes) for other in boxes[:n])
    return sum(counts) if apart else max(counts, default=0)


def _are_apart(one: Box | None, other: Box | None) -> bool:
    if one is None or other is None:
        return False
    return any(most < low or high < least for (least, most), (low, high) in zip(one, other, strict=True))


def iterations(block: Block, guards: Sequence[Guard] = ()) -> int:
    """The iterations of a block in which the guards hold; 0 if that is not known."""
    extents = {iv.var: build.int_value(iv.dom.extent) or 0 for iv in block.iter_vars}
    tested = {v for condition, _ in guards for v in free_vars(condition)}
    rest = prod(n for v, n in extents.items() if v not in tested)
    if not tested or any(v not in extents for v in tested):
        return rest if not guards else 0
    return rest * _distinct([v for v in extents if v in tested], extents, guards)


Box = tuple[tuple[int, int], ...]
"""The first and the last index along each axis."""


def box_of(block: Block, accesses: Sequence[tuple[BufferLoad, Sequence[Guard]]], count: int) -> Box | None:
    """A box of elements that loads of the block reach, none of them missing: that of all `count` elements, else the largest of one load;
    None if there is none."""
    loads = [(load, box) for load, guards in accesses if not guards and (box := _hull(block, load)) is not None]
    if not loads:
        return None
    axes = zip(*(box for _, box in loads), strict=True)
    whole = tuple((min(low for low, _ in axis), max(high for _, high in axis)) for axis in axes)
    if len(loads) == len(accesses) and _size(whole) == count:
        return whole
    return max((box for load, box in loads if touched(block, load) == _size(box)), key=_size, default=None)


def _size(box: Box) -> int:
    return prod(high - low + 1 for low, high in box)


def _hull(block: Block, load: BufferLoad) -> Box | None:
    """The first and the last index that a load of the block reaches along each axis."""
    extents = {iv.var: build.int_value(iv.dom.extent) or 0 for iv in block.iter_vars}
    found: list[tuple[int, int]] = []
    for index in load.indices:
        variables = list(free_vars(index))
        if any(v not in extents for v in variables) or prod(extents[v] for v in variables) > MOST_VALUES:
            return None
        values = values_on(index, _grid(variables, extents))
        if values is None or not values.size:
            return None
        found.append((int(values.min()), int(values.max())))
    return tuple(found)


def inside(block: Block, indices: Sequence[Expr], box: Box) -> tuple[Guard, ...] | None:
    """The conditions under which a block writes into a box at these indices, each an iterator; None for other indices."""
    extents = {iv.var: build.int_value(iv.dom.extent) or 0 for iv in block.iter_vars}
    guards: list[Guard] = []
    for index, (low, high) in zip(indices, box, strict=True):
        if not isinstance(index, Var):
            return None
        if low > 0 or high < extents[index] - 1:
            dtype = index.dtype
            guards += [(GE(index, IntImm(low, dtype)), True), (LE(index, IntImm(high, dtype)), True)]
    return tuple(guards)


def _distinct(indices: Sequence[Expr], extents: Mapping[Var, int], guards: Sequence[Guard] = ()) -> int:
    """The number of distinct places over all iterations of the variables that these expressions have."""
    if len(indices) == 1 and not guards and isinstance(indices[0], Var):
        return extents.get(indices[0], 0)
    found = _places(indices, extents, guards)
    if found is None:
        return 0
    places, holds = found
    key, most = np.zeros(holds.shape, dtype=np.int64), 1
    for place in places:
        low, high = int(place.min()), int(place.max())
        key = key * (high - low + 1) + (place - low)
        most *= high - low + 1
    if most > SPARSE * MOST_VALUES:
        return int(np.unique(key[holds]).size)
    reached = np.zeros(most, dtype=bool)
    reached[key[holds]] = True
    return int(np.count_nonzero(reached))


def _places(
    indices: Sequence[Expr], extents: Mapping[Var, int], guards: Sequence[Guard]
) -> tuple[list[Values], Values] | None:
    """The values of indices over all iterations of the variables that they and the guards have, and where the guards hold; None if there
    are too many or an operation is not known."""
    used = list(dict.fromkeys(v for e in (*indices, *(g for g, _ in guards)) for v in free_vars(e)))
    if any(v not in extents for v in used) or prod(extents[v] for v in used) > MOST_VALUES:
        return None
    grid = _grid(used, extents)
    shape = tuple(extents[v] for v in used)
    places = [np.broadcast_to(v, shape) for index in indices if (v := values_on(index, grid)) is not None]
    kept = [v for condition, _ in guards if (v := values_on(condition, grid)) is not None]
    if len(places) < len(indices) or len(kept) < len(guards):
        return None
    holds = np.ones(shape, dtype=bool)
    for value, (_, wanted) in zip(kept, guards, strict=True):
        holds &= np.broadcast_to(np.equal(value, wanted), shape)
    return places, holds


def _grid(used: Sequence[Var], extents: Mapping[Var, int]) -> Mapping[Var, Values]:
    """The values of each variable, along an axis of its own."""
    axes = np.meshgrid(*(np.arange(extents[v]) for v in used), indexing="ij", sparse=True)
    return dict(zip(used, axes, strict=True))


def values_on(expr: Expr, grid: Mapping[Var, Values]) -> Values | None:
    """The values of an integer expression or condition on a grid; None if an operation is not known."""
    if isinstance(expr, IntImm):
        return np.asarray(expr.value)
    if isinstance(expr, Var):
        return grid[expr]
    operation = _OPERATIONS.get(type(expr))
    if operation is None:
        return None
    one, two = (values_on(child, grid) for child in children(expr) if isinstance(child, Expr))
    return None if one is None or two is None else operation(one, two)


__all__ = [
    "MOST_VALUES",
    "Box",
    "box_of",
    "inside",
    "iterations",
    "touched",
    "touched_by",
    "touched_together",
    "values_on",
]
