"""Accesses that are affine but at edges: the window of a stencil that is held back at the borders of an image, `max(y + dy - 1, 0)`.

Along each loop there are ranges in which no smallest or largest value (and no choice) takes its other side. In the box of the longest ones
the accesses are affine, so that their number does not matter; what is left around it is little.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod

import msgspec

from ..arith import Analyzer
from ..ir import Range, Var, build, substitute, uses_var
from .alike import choices, edges
from .geometry import Domain, Layout, layout_at, without_box
from .grid import MAX_POINTS

FEW = 4096
"""So many iterations are listed quicker than they are looked at."""


class Inside(msgspec.Struct, frozen=True, eq=False):
    """The box, loops counted from its corner, and where the accesses go in it; the domain of all other iterations."""

    box: Domain
    layouts: tuple[Layout, ...]
    rest: Domain


def inside(layouts: Sequence[Layout], where: Domain, loops: Sequence[Var]) -> Inside | None:
    """The largest box of a domain without mask, cut along `loops` only; None where it is not affine, or nothing is gained by it."""
    if not FEW < prod(where.extents.values()) <= MAX_POINTS:
        return None
    around = {v: build.const(n, v.dtype) for v, n in where.outer.items()}
    addresses = [substitute(x.address, around) for x in layouts]
    analyzer = Analyzer({v: _range(v, 0, n) for v, n in where.active.items()})
    ranges = {v: (0, n) for v, n in where.active.items()}
    deciding = choices(addresses)
    for var in loops:
        cuts = {0, where.active[var]}
        for condition in (c for c in deciding if uses_var(c, var)):
            changes, unclear = edges(condition, var, where.active[var], analyzer)
            cuts |= {*changes, *(end for both in unclear for end in both)}
        ranges[var] = max(pairwise(sorted(cuts)), key=lambda r: r[1] - r[0])
    counts = {v: stop - start for v, (start, stop) in ranges.items()}
    if counts == where.active:
        return None
    moved = {v: build.add(v, start) for v, (start, _) in ranges.items() if start}
    near = Analyzer({v: _range(v, 0, n) for v, n in counts.items()})
    found = tuple(layout_at(substitute(a, moved), where.extents, near) for a in addresses)
    if any(x.strides is None for x in found):
        return None
    box = Domain(
        {v: counts.get(v, n) for v, n in where.extents.items()}, counts, prod(counts.values()), None, where.outer
    )
    return Inside(box, found, without_box(where, [ranges[v] for v in where.extents]))


def _range(var: Var, start: int, stop: int) -> Range:
    return Range(build.const(start, var.dtype), build.const(stop - start, var.dtype))
