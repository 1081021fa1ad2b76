"""The elements of a buffer that accesses touch: the smallest box of indices around all iterations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...arith import Analyzer
from ...ir import Expr, Var, build
from .geometry import AffineProgression, TaskDomain, at_points, placed, progression_of
from .grid import UnknownValueError, Values, axes
from .work import Access

Indexed = tuple[Access, tuple[AffineProgression, ...] | None]
"""An access, with the progressions of its indices if these are known."""


def progressions(access: Access, inner: Mapping[Var, int], analyzer: Analyzer) -> tuple[AffineProgression, ...] | None:
    """Returns the progressions of the indices of an access; None if one of them is no sum of loops."""
    if access.extents:
        return None
    found: list[AffineProgression] = []
    for index in access.indices:
        progression = progression_of(index, inner, analyzer)
        if progression is None or not all(isinstance(around, Var) for around in progression.around):
            return None
        found.append(progression)
    return tuple(found)


def box_elements(accesses: Sequence[Indexed], where: TaskDomain) -> int:
    """Elements of the smallest box around all accesses (of one buffer) over the domain; at most one per access and iteration."""
    if where.iterations == 0:
        return 0
    box = 1
    for axis, size in enumerate(accesses[0][0].buffer.shape):
        runs = [progression[axis] for _, progression in accesses if progression is not None]
        # A condition that couples loops holds back the combinations of their last iterations.
        single = where.is_box or all(len(run.strides) < 2 for run in runs)
        if len(runs) == len(accesses) and single and all(run.around == runs[0].around for run in runs):
            ends = [run.ends(where.active) for run in runs]
            low, high = min(least for least, _ in ends), max(greatest for _, greatest in ends) + 1
        else:
            low, high = _ends([access for access, _ in accesses], axis, where)
        extent = build.int_value(size)
        box *= high - low if extent is None else min(high - low, extent)
    return box if any(a.extents for a, _ in accesses) else min(box, where.iterations * len(accesses))


def _ends(accesses: Sequence[Access], axis: int, where: TaskDomain) -> tuple[int, int]:
    """Returns the minimum of an index, and its maximum plus one; the whole axis if they are unknown."""
    low: list[int] = []
    high: list[int] = []
    # Accesses share indices.
    for index, extent in dict.fromkeys((a.indices[axis], a.extents[axis] if a.extents else None) for a in accesses):
        try:
            start, end = _first_and_end(index, extent, where)
        except UnknownValueError:
            return 0, build.int_value(accesses[0].buffer.shape[axis]) or 1
        low.append(int(start.min()))
        high.append(int(end.max()))
    return min(low), max(high)


def _first_and_end(index: Expr, extent: Expr | None, where: TaskDomain) -> tuple[Values, Values]:
    """Returns the values of an index at the iterations of a domain, and those plus its extent. Raises UnknownValueError."""

    def found(place: Mapping[Var, Values]) -> list[Values]:
        over = {**place, **where.outer}
        start = placed(index, over)
        return [start, start + (1 if extent is None else placed(extent, over))]

    start, end = found(axes(where.active)) if where.is_box else at_points(where, found)
    return start, end
