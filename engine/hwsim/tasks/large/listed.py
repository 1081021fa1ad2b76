"""Iterations of a task whose loops have more points than are evaluated at once.

Loops are entered one by one, outermost first, and a condition cuts the iterations as soon as its loops are known. The work follows the
iterations that conditions leave over, not the box around them: a tile of a fused and split loop has a box many times its size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from ....arith import Analyzer
from ....cancellation import checkpoint
from ....ir import Expr, Range, Var, build, free_vars
from ..grid import MAX_POINTS, UnknownValueError, Values, at_values, used_vars, values
from ..periodicity import edges

MAX_ENTERED = 1 << 24
"""Limit on the points at which conditions are evaluated, in all loops together."""


def held_ranges(
    var: Var, extent: int, conditions: Sequence[Expr], outer: Mapping[Var, int]
) -> list[tuple[int, int]] | None:
    """Returns the ranges of a loop in which all of these conditions hold, which depend on no other loop of the task; None if they are too
    many to find.
    """
    known = {v: build.const(n, v.dtype) for v, n in outer.items()}
    analyzer = Analyzer({var: Range(build.const(0, var.dtype), build.const(extent, var.dtype))})
    cuts = {0, extent}
    for condition in conditions:
        changes, unclear = edges(at_values(condition, known), var, extent, analyzer)
        if unclear:
            return None
        cuts |= {n for n in changes if 0 < n < extent}
    ranges: list[tuple[int, int]] = []
    for start, stop in pairwise(sorted(cuts)):
        if all(bool(values(c, {**outer, var: start})) for c in conditions):
            joins = bool(ranges) and ranges[-1][1] == start
            ranges[-1:] = [(ranges[-1][0], stop)] if joins else [*ranges[-1:], (start, stop)]
    return ranges


def listed_iterations(
    sizes: Mapping[Var, int], conditions: Sequence[Expr], outer: Mapping[Var, int]
) -> dict[Var, Values] | None:
    """Returns the iterations in which all conditions hold, one by one: the values of each loop. None if they, or the points at which
    conditions are evaluated on the way, are too many. A condition that depends on data is assumed to hold.
    """
    waiting = [(c, used_vars(c, sizes)) for c in conditions]
    found: dict[Var, Values] = {}
    count, entered = 1, 0
    for var, extent in sizes.items():
        checkpoint()
        ready = [c for c, used in waiting if used <= {*found, var}]
        waiting = [(c, used) for c, used in waiting if not used <= {*found, var}]
        entered += count * extent
        if entered > MAX_ENTERED:
            return None
        found = {v: np.repeat(column, extent) for v, column in found.items()}
        found[var] = np.tile(np.arange(extent, dtype=np.int64), count)
        holds = _holds(ready, found, outer, count * extent)
        found = {v: column[holds] for v, column in found.items()}
        count = int(holds.sum())
        if count > MAX_POINTS:
            return None
    return found


def _holds(
    conditions: Sequence[Expr], found: Mapping[Var, Values], outer: Mapping[Var, int], count: int
) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Returns for each of the listed iterations whether all conditions hold."""
    holds = np.ones(count, np.bool_)
    for condition in conditions:
        used = free_vars(condition)
        parts: list[Values] = []
        try:
            for start in range(0, count, MAX_POINTS):
                here = {v: column[start : start + MAX_POINTS] for v, column in found.items() if v in used}
                length = min(MAX_POINTS, count - start)
                parts.append(np.broadcast_to(values(condition, {**outer, **here}), (length,)))
        except UnknownValueError:
            continue
        if parts:
            holds &= np.concatenate(parts).astype(np.bool_)
    return holds
