"""The product that a block accumulates, and the part of a matrix unit's tile that each of its iterators can fill."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from math import gcd, prod

import numpy as np

from ...analysis import ProgramIndex
from ...ir import Add, Block, BufferLoad, BufferStore, Cast, Expr, Mul, Var, build, free_vars, structural_equal
from ...ir import dtype as dt
from .touched import MOST_VALUES, values_on


class ProductIterators:
    """The iterators of a multiply-accumulate by role: rows index the first factor, columns the second, depth both; `batch` the rest.

    An iterator `f` with `f // 64` in the first factor, as in a grouped convolution, is 64 columns and a batch of groups: `periods` has
    the 64. A tile of a matrix unit is full only if `f` stays in one group there. A square multiplies an operand with itself: its results
    are on the diagonal of tiles.
    """

    def __init__(self, block: Block, first: BufferLoad, second: BufferLoad) -> None:
        self._extents = {iv.var: build.int_value(iv.dom.extent) or 1 for iv in block.iter_vars}
        self._kept = {iv.var for iv in block.iter_vars if iv.iter_type != "reduce"}
        self.factors = first, second
        self.is_square = first.buffer is second.buffer and all(map(structural_equal, first.indices, second.indices))
        self.rows, self.columns = self._alone(0, _run), self._alone(1, _run)
        both = set(self._used(0)) & set(self._used(1))
        self.depth = {v: n for v, n in self._extents.items() if v in both - self._kept}
        self.periods = {v: n for part in (self.rows, self.columns) for v, n in part.items() if v in both}
        whole = {*self.rows, *self.columns, *self.depth} - {*self.periods}
        self.batch = {v: n // self.periods.get(v, 1) for v, n in self._extents.items() if v not in whole}
        self.bytes = max(dt.size_bytes(load.buffer.dtype) for load in (first, second))

    @property
    def count(self) -> int:
        return prod(self._extents.values())

    @property
    def most(self) -> tuple[int, int, int]:
        """The most rows, columns and depth of a task, however a schedule orders the values of the iterators."""
        sides = (self._alone(0, _repeats), self._alone(1, _repeats), self.depth)
        rows, columns, depth = (prod(side.values()) for side in sides)
        return rows, columns, depth

    def _used(self, factor: int) -> list[Var]:
        found = {v for i in self.factors[factor].indices for v in free_vars(i)}
        return [v for v in self._extents if v in found]

    def _alone(self, factor: int, values: Callable[[BufferLoad, Var, int], int]) -> dict[Var, int]:
        """The iterators of the result that index this factor, and the values of each over which the other factor stays."""
        other = self.factors[1 - factor]
        used = [v for v in self._used(factor) if v in self._kept]
        found = {v: values(other, v, self._extents[v]) for v in used}
        return {v: n for v, n in found.items() if n > 1 or v not in self._used(1 - factor)}


def product_of(index: ProgramIndex, name: str) -> ProductIterators | None:
    """The product that a block accumulates; None for other work."""
    block = index.block(name)
    body = block.body
    if not isinstance(body, BufferStore):
        return None
    value = uncast(body.value)
    if not isinstance(value, Add):
        return None
    for old, added in ((value.a, value.b), (value.b, value.a)):
        old, added = uncast(old), uncast(added)
        if isinstance(old, BufferLoad) and old.buffer is body.buffer and isinstance(added, Mul):
            factors = [uncast(added.a), uncast(added.b)]
            loads = [f for f in factors if isinstance(f, BufferLoad)]
            if len(loads) == 2:
                return ProductIterators(block, loads[0], loads[1])
    return None


def uncast(value: Expr) -> Expr:
    """The value without casts around it."""
    return uncast(value.value) if isinstance(value, Cast) else value


def _run(load: BufferLoad, iterator: Var, extent: int) -> int:
    """The length of equal, aligned runs of an iterator in which a load stays in its place; 1 if that is not known."""
    places = _places(load, iterator, extent)
    if places is None:
        return 1
    moves = [n for n in range(1, extent) if places[n] != places[n - 1]]
    return gcd(extent, *moves)


def _repeats(load: BufferLoad, iterator: Var, extent: int) -> int:
    """The most values of an iterator with which a load may be in one place."""
    places = _places(load, iterator, extent)
    return extent if places is None else max(Counter(places).values())


def _places(load: BufferLoad, iterator: Var, extent: int) -> list[tuple[int, ...]] | None:
    """The indices of a load for each value of an iterator, the others at 0; None if that is not known."""
    if extent > MOST_VALUES:
        return None
    grid: Mapping[Var, np.ndarray] = {v: np.zeros(1, dtype=np.int64) for i in load.indices for v in free_vars(i)}
    found = [values_on(index, {**grid, iterator: np.arange(extent)}) for index in load.indices]
    if any(values is None for values in found):
        return None
    axes = [np.broadcast_to(values, (extent,)).tolist() for values in found if values is not None]
    return list(zip(*axes, strict=True))


__all__ = ["ProductIterators", "product_of", "uncast"]
