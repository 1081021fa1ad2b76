"""Which loops tell accesses apart: the steps of affine indices, and injectivity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..arith import Linear, detect_iter_map, linear
from ..ir import (
    Block,
    BufferRegion,
    Expr,
    Range,
    Var,
    build,
    free_vars,
    structural_equal,
    uses_var,
)

Ranges = Mapping[Var, Range]


def separated_loops(a: Sequence[Range], b: Sequence[Range], loops: Ranges) -> set[Var]:
    """Loops that must be in the same iteration wherever box `a` of one iteration meets box `b` of another."""
    same_point = all(structural_equal(x, y) and build.is_const(x.extent, 1) for x, y in zip(a, b, strict=True))
    if same_point and is_injective([x.min for x in a], loops):
        return set(loops)
    known: set[Var] = {v for v, r in loops.items() if build.is_const(r.extent, 1)}
    while True:
        before = len(known)
        for x, y in zip(a, b, strict=True):
            known |= _separated_by_axis(x, y, loops, known)
        if len(known) == before:
            return known


def _separated_by_axis(a: Range, b: Range, loops: Ranges, known: set[Var]) -> set[Var]:
    """Loops whose step on this axis is larger than all that smaller steps and the boxes' widths can bridge."""
    left = linear(a.min)
    right = left if a.min is b.min else linear(b.min)
    width_a, width_b = build.int_value(a.extent), build.int_value(b.extent)
    if left is None or right is None or width_a is None or width_b is None:
        return set()
    gap = Linear((), 0) if a.min is b.min else linear(build.sub(a.min, b.min))
    if gap is None or gap.terms:
        return set()
    if any(not isinstance(atom, Var) and any(uses_var(atom, v) for v in loops) for atom, _ in left.terms):
        return set()
    reach: int | None = abs(gap.constant) + max(width_a, width_b) - 1
    found: set[Var] = set()
    for atom, factor in sorted(left.terms, key=lambda term: abs(term[1])):
        if not isinstance(atom, Var) or atom not in loops or atom in known:
            continue
        # A step that smaller ones can bridge leaves them open too: they may differ where it differs.
        found = found | {atom} if reach is not None and abs(factor) > reach else set()
        trips = build.int_value(loops[atom].extent)
        reach = None if reach is None or trips is None else reach + abs(factor) * (trips - 1)
    return found


def is_injective(indices: Sequence[Expr], ranges: Ranges) -> bool:
    """Whether different values of the variables (of more than one trip) always give different indices."""
    loops = {v: r for v, r in ranges.items() if not build.is_const(r.extent, 1)}
    points = [build.point(i) for i in indices]
    known: set[Var] = set()
    while True:
        before = len(known)
        for point in points:
            known |= _separated_by_axis(point, point, loops, known)
        if len(known) == len(loops):
            return True
        if len(known) == before:
            break
    inner = [i for i in (without_outer(index, loops) for index in indices) if i is not None]
    found = detect_iter_map(inner, dict(loops)) if len(inner) == len(indices) else None
    return found is not None and found.bijective


def without_outer(value: Expr, inner: Ranges) -> Expr | None:
    """The part of a sum that runs with the inner loops; None when a term mixes them with outer ones."""
    form = linear(value)
    if form is None:
        return None
    mine = [(a, f) for a, f in form.terms if any(uses_var(a, v) for v in inner)]
    if any(not free_vars(a) <= inner.keys() for a, _ in mine):
        return None
    result: Expr = build.const(0, value.dtype)
    for atom, factor in mine:
        result = build.add(result, build.mul(atom, factor))
    return result


def writes_distinct(block: Block, loops: Ranges | None = None) -> bool:
    """Whether different values of the spatial iterators, and of `loops` that the block uses directly, write different elements."""
    spatial = {iv.var: iv.dom for iv in block.iter_vars if iv.iter_type == "spatial"}
    spatial |= {v: r for v, r in (loops or {}).items() if uses_var(block, v)}
    wanted = {v for v, dom in spatial.items() if not build.is_const(dom.extent, 1)}
    return all(
        wanted <= separated_loops(w.region, w.region, spatial)
        if _has_width(w)
        else is_injective([r.min for r in w.region], spatial)
        for w in block.writes
    )


def _has_width(region: BufferRegion) -> bool:
    return any(not build.is_const(r.extent, 1) for r in region.region)
