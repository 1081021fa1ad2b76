"""Accesses that are affine except at edges: the window of a stencil that is clamped at the borders of an image, `max(y + dy - 1, 0)`.

Along each loop there are ranges in which no minimum or maximum (and no choice) changes its side. In the box of the longest ranges the
accesses are affine, so their number adds no cost; the iterations outside of the box are few.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import prod

import msgspec
from msgspec.structs import replace as replace_fields

from ...arith import Analyzer
from ...ir import Expr, Range, Var, build, substitute, uses_var
from .geometry import Layout, TaskDomain, progression_of, without_box
from .grid import MAX_POINTS
from .periodicity import choices, edges

FEW = 4096
"""Up to this many iterations, listing is faster than analysis."""


class Inside(msgspec.Struct, frozen=True, eq=False):
    """The box, its corner in the loops that do not begin at 0, and the domain of all other iterations; `near` has the loops' ranges in the
    box.
    """

    box: TaskDomain
    corner: dict[Var, int]
    rest: TaskDomain
    near: Analyzer

    def layout(self, of: Layout) -> Layout | None:
        """Returns the layout of an access in the box, loops counted from its corner; None if it is not affine."""
        progression = of.progression
        if progression is not None:
            first = sum(stride * self.corner.get(v, 0) for v, stride in progression.strides.items())
            return Layout(replace_fields(progression, constant=progression.constant + first))
        moved = {v: build.add(v, start) for v, start in self.corner.items()}
        progression = progression_of(_known(of, self.box, moved), self.box.extents, self.near)
        return None if progression is None else Layout(progression)


def inside(layouts: Sequence[Layout], where: TaskDomain, loops: Sequence[Var]) -> Inside | None:
    """Returns the largest box of a domain without mask, cut along `loops` only, in which no choice of any of these accesses changes its
    side; None if the box brings no gain.
    """
    if not FEW < prod(where.extents.values()) <= MAX_POINTS:
        return None
    analyzer = Analyzer({v: _range(v, n) for v, n in where.active.items()})
    ranges = {v: (0, n) for v, n in where.active.items()}
    deciding = choices([_known(x, where, {}) for x in layouts if x.progression is None])
    for var in loops:
        cuts = {0, where.active[var]}
        for condition in (c for c in deciding if uses_var(c, var)):
            changes, unclear = edges(condition, var, where.active[var], analyzer)
            cuts |= {*changes, *(end for both in unclear for end in both)}
        ranges[var] = max(pairwise(sorted(cuts)), key=lambda r: r[1] - r[0])
    counts = {v: stop - start for v, (start, stop) in ranges.items()}
    if counts == where.active:
        return None
    box = TaskDomain(
        {v: counts.get(v, n) for v, n in where.extents.items()}, counts, prod(counts.values()), None, where.outer
    )
    near = Analyzer({v: _range(v, n) for v, n in counts.items()})
    corner = {v: start for v, (start, _) in ranges.items() if start}
    return Inside(box, corner, without_box(where, [ranges[v] for v in where.extents]), near)


def _known(layout: Layout, where: TaskDomain, moved: Mapping[Var, Expr]) -> Expr:
    """Returns the address with the loops around the task at their values, those of the task moved."""
    assert layout.address is not None
    return substitute(layout.address, {**{v: build.const(n, v.dtype) for v, n in where.outer.items()}, **moved})


def _range(var: Var, count: int) -> Range:
    return Range(build.const(0, var.dtype), build.const(count, var.dtype))
