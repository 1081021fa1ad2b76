"""The elements that a block reads of a buffer, numbered without gaps: the index map of a copy that leaves out what a stride skips."""

from __future__ import annotations

from functools import reduce
from math import gcd

from ..arith import Linear, linear
from ..ir import Block, BufferLoad, Expr, IndexMap, Var, build, walk


def single_values(block: Block) -> dict[Var, Expr]:
    """The iterators with a single value, and that value."""
    return {iv.var: iv.dom.min for iv in block.iter_vars if build.is_const(iv.dom.extent, 1)}


def gathered_places(block: Block, buffer: str) -> tuple[IndexMap, bool]:
    """The index map from the iterators of a block to the elements that it loads of a buffer, numbered without gaps along each axis, and
    whether they have gaps. Raises ValueError if they are at several places, or are no sums of the block's iterators."""
    (load,) = (node for node in walk(block) if isinstance(node, BufferLoad) and node.buffer.name == buffer)
    places = [_place(block, index) for index in load.indices]
    return IndexMap(tuple(iv.var for iv in block.iter_vars), tuple(p for p, _ in places)), any(s > 1 for _, s in places)


def _place(block: Block, index: Expr) -> tuple[Expr, int]:
    """One index of the map, and the distance of the elements. A single-valued iterator does not change the place, but `reindex_cache_read`
    requires that the map uses every iterator of the element."""
    found, single = linear(index), single_values(block)
    if found is None or not _is_of_iterators(found):
        raise ValueError("not a sum of iterators")
    step = gcd(*(factor for atom, factor in found.terms if atom not in single)) or 1
    terms = [build.mul(atom, 1 if atom in single else factor // step) for atom, factor in found.terms]
    return reduce(build.add, terms, build.const(0, index.dtype)), step


def _is_of_iterators(found: Linear) -> bool:
    return all(isinstance(atom, Var) for atom, _ in found.terms)


__all__ = ["gathered_places", "single_values"]
