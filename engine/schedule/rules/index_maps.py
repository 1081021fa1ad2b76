"""Index maps that a call gives as functions of axes or iterators: `lambda i, j: [j, i]`."""

from __future__ import annotations

from typing import TypeVar

from ...ir import Block, Buffer, IndexFunction, IndexMap, RegionMap
from ..errors import refuse

IndexMapLike = IndexMap | IndexFunction
M = TypeVar("M", IndexMap, RegionMap)


def map_of_iterators(block: Block, given: IndexMapLike) -> IndexMap:
    """The index map over the iterators of `block`. Refuses "bad-index-map"."""
    return given if isinstance(given, IndexMap) else _of_iterators(block, given, IndexMap)


def regions_of_iterators(block: Block, given: RegionMap | IndexMapLike) -> RegionMap:
    """The region map over the iterators of `block`. Refuses "bad-index-map"."""
    if isinstance(given, IndexMap):
        return RegionMap.from_items(given.params, given.indices)
    return given if isinstance(given, RegionMap) else _of_iterators(block, given, RegionMap)


def map_of_axes(buffer: Buffer, given: IndexMapLike) -> IndexMap:
    """The index map over the axes of `buffer`. Refuses "bad-index-map"."""
    return given if isinstance(given, IndexMap) else _of_axes(buffer, given, len(buffer.shape), "bad-index-map")


def padding_of_axes(buffer: Buffer, given: IndexFunction, rank: int) -> IndexMap:
    """The padding value as a function of the `rank` axes of the new layout of `buffer`. Refuses "bad-pad-value"."""
    return _of_axes(buffer, given, rank, "bad-pad-value")


def _of_iterators(block: Block, function: IndexFunction, kind: type[M]) -> M:
    count = len(block.iter_vars)
    dtype = block.iter_vars[0].var.dtype if block.iter_vars else "int32"
    try:
        return kind.from_function(function, count, dtype)
    except (TypeError, ZeroDivisionError) as error:
        expected = f"a function of the {count} iterators of the block"
        raise refuse("bad-index-map", str(error), block, expected=expected) from error


def _of_axes(buffer: Buffer, function: IndexFunction, rank: int, code: str) -> IndexMap:
    dtype = buffer.shape[0].dtype if buffer.shape else "int32"
    try:
        return IndexMap.from_function(function, rank, dtype)
    except (TypeError, ZeroDivisionError) as error:
        raise refuse(code, str(error), buffer, expected=f"a function of {rank} axes") from error
