"""Boxes as sums: containment is decided from the distances between the boxes' ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from ..arith import Analyzer, Relaxer, Sum
from ..ir import BufferRegion, Expr, Range, Var


class Ends(msgspec.Struct, frozen=True, eq=False, gc=False):
    """The first element of a box along one axis, and the element after its last."""

    first: Sum
    end: Sum


def hull_of(region: BufferRegion, relaxed: Mapping[Var, Range], known: Analyzer) -> tuple[Ends, ...]:
    """The smallest box known to contain the region as the `relaxed` variables run; an axis without known bounds is whole."""
    relaxer = Relaxer(relaxed, known)
    ends = map(relaxer.ends, region.region)
    sizes = (known.form(extent) for extent in region.buffer.shape)
    return tuple(Ends(*(e or (Sum(()), size))) for e, size in zip(ends, sizes, strict=True))


def holds(outer: Sequence[Ends], inner: Sequence[Ends], known: Analyzer, limits: Sequence[Expr] | None = None) -> bool:
    """Whether `outer` contains `inner`. With `limits`, only the part of `inner` from 0 to below the limits counts."""
    cut = limits or [None] * len(outer)
    return all(_holds(m, n, known, limit) for m, n, limit in zip(outer, inner, cut, strict=True))


def contains_box(outer: BufferRegion, inner: BufferRegion, known: Analyzer) -> bool:
    """Whether the box `outer` provably contains the box `inner`, axis by axis."""
    return holds(
        tuple(_ends_of(r, known) for r in outer.region), tuple(_ends_of(r, known) for r in inner.region), known
    )


def _ends_of(axis: Range, known: Analyzer) -> Ends:
    first = known.form(axis.min)
    return Ends(first, first.plus(known.form(axis.extent)))


def holds_all(outer: Sequence[Ends], limits: Sequence[Expr], known: Analyzer) -> bool:
    """Whether `outer` contains all elements from 0 to below the `limits`."""
    return all(_begins(m, known) and _reaches(m, known, limit) for m, limit in zip(outer, limits, strict=True))


def _holds(outer: Ends, inner: Ends, known: Analyzer, limit: Expr | None) -> bool:
    starts = _is_up(inner.first.plus(outer.first, -1), known)
    if not starts and (limit is None or not _begins(outer, known)):
        return False
    if _is_up(outer.end.plus(inner.end, -1), known):
        return True
    return limit is not None and _reaches(outer, known, limit)


def _begins(outer: Ends, known: Analyzer) -> bool:
    """Whether the box starts at or before 0."""
    return _is_up(outer.first.scaled(-1), known)


def _reaches(outer: Ends, known: Analyzer, limit: Expr) -> bool:
    """Whether the box ends at or after the limit."""
    return _is_up(outer.end.plus(known.form(limit), -1), known)


def _is_up(distance: Sum, known: Analyzer) -> bool:
    """Whether the distance is provably non-negative."""
    low = known.sum_bounds(distance).low
    return low is not None and low >= 0
