"""Loops that separate accesses: the steps of affine indices, and injectivity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

import msgspec

from ..arith import Linear, detect_iter_map, linear, simplify
from ..ir import (
    Block,
    BufferLoad,
    BufferRegion,
    Expr,
    Mul,
    Node,
    Range,
    Var,
    build,
    free_vars,
    rewrite,
    structural_equal,
    uses_var,
)
from .instances import HOLDS, Decision, Elements, Instances, never_meet

Ranges = Mapping[Var, Range]


def separated_loops(a: Sequence[Range], b: Sequence[Range], loops: Ranges) -> set[Var]:
    """Loops that must be in the same iteration wherever box `a` of one iteration overlaps box `b` of another."""
    known: set[Var] = {v for v, r in loops.items() if build.is_const(r.extent, 1)}
    found = _separated_by_axes([_steps(x, y, loops) for x, y in zip(a, b, strict=True)], known)
    if len(found) < len(loops) and _is_bijective([x.min for x in a], loops):
        same_point = all(structural_equal(x, y) and build.is_const(x.extent, 1) for x, y in zip(a, b, strict=True))
        return set(loops) if same_point else found
    return found


class _Steps(msgspec.Struct, frozen=True):
    """The loop steps along an axis: (loop, step, trips) by increasing step, and the distance that the boxes' widths bridge."""

    steps: tuple[tuple[Var, int, int | None], ...] = ()
    reach: int = 0


def _separated_by_axes(axes: Sequence[_Steps], known: set[Var]) -> set[Var]:
    """`known` and the loops that the axes separate, where one loop may depend on others."""
    while True:
        before = len(known)
        for axis in axes:
            known |= _separated_by_axis(axis, known)
        if len(known) == before:
            return known


def _steps(a: Range, b: Range, loops: Ranges) -> _Steps:
    """The steps of an axis; empty if the loops move the boxes in another way."""
    left = linear(a.min)
    right = left if a.min is b.min else linear(b.min)
    width_a, width_b = build.int_value(a.extent), build.int_value(b.extent)
    if left is None or right is None or width_a is None or width_b is None:
        return _Steps()
    gap = Linear((), 0) if a.min is b.min else linear(build.sub(a.min, b.min))
    if gap is None or gap.terms:
        return _Steps()
    return _stepping(left, loops, abs(gap.constant) + max(width_a, width_b) - 1)


def _stepping(left: Linear | None, loops: Ranges, reach: int) -> _Steps:
    """The steps of an axis along which the boxes start at `left`."""
    if left is None or any(not isinstance(atom, Var) and free_vars(atom) & loops.keys() for atom, _ in left.terms):
        return _Steps()
    steps = [(atom, abs(factor)) for atom, factor in left.terms if isinstance(atom, Var) and atom in loops]
    in_order = sorted(steps, key=lambda step: step[1])
    return _Steps(tuple((loop, step, build.int_value(loops[loop].extent)) for loop, step in in_order), reach)


def _separated_by_axis(axis: _Steps, known: set[Var]) -> set[Var]:
    """Loops whose step on this axis exceeds the distance that all smaller steps and the boxes' widths bridge."""
    reach: int | None = axis.reach
    found: set[Var] = set()
    for loop, step, trips in axis.steps:
        if loop in known:
            continue
        # If smaller steps can bridge a step, their loops are not separated either: they may differ where this loop differs.
        found = found | {loop} if reach is not None and step > reach else set()
        reach = None if reach is None or trips is None else reach + step * (trips - 1)
    return found


def is_injective(indices: Sequence[Expr], ranges: Ranges) -> bool:
    """Whether different values of the variables (with more than one trip) always give different indices."""
    loops = {v: r for v, r in ranges.items() if not build.is_const(r.extent, 1)}
    if loops.keys() <= {index for index in indices if type(index) is Var}:
        return True
    if len(_separated_by_axes([_stepping(linear(i), loops, 0) for i in indices], set())) == len(loops):
        return True
    return loops.keys() == {v for i in indices for v in _digits(i, loops)} or _is_bijective(indices, loops)


def _digits(index: Expr, loops: Ranges) -> set[Var]:
    """The loops in an index such as `(i * n + j) * m + k`, if they are the digits of a number: each weighs as much as the next one has
    iterations, times its weight. Weights may be symbolic."""
    weights = _weights(index, loops)
    found: set[Var] = set()
    weight: Expr = build.const(1, index.dtype)
    while len(found) < len(weights):
        rest = (v for v in weights if v not in found)
        loop = next((v for v in rest if build.is_const(simplify(build.sub(weights[v], weight)), 0)), None)
        if loop is None:
            return set()
        found.add(loop)
        weight = build.mul(weight, build.cast(loops[loop].extent, index.dtype))
    return found


def _weights(index: Expr, loops: Ranges) -> dict[Var, Expr]:
    """The factor of each loop in a sum of products; empty if the index has another form."""
    form = linear(index)
    found: dict[Var, Expr] = {}
    for atom, factor in form.terms if form is not None else ():
        factors = _factors(atom)
        mine = [f for f in factors if isinstance(f, Var) and f in loops]
        if not free_vars(atom) & loops.keys():
            continue
        others = [f for f in factors if f not in mine]
        if len(mine) != 1 or mine[0] in found or any(free_vars(f) & loops.keys() for f in others):
            return {}
        found[mine[0]] = reduce(build.mul, others, build.const(factor, atom.dtype))
    return found


def _factors(expr: Expr) -> list[Expr]:
    return [*_factors(expr.a), *_factors(expr.b)] if isinstance(expr, Mul) else [expr]


def _is_bijective(indices: Sequence[Expr], ranges: Ranges) -> bool:
    """Whether the indices are digits of the variables (with more than one trip) and use all of them."""
    loops = {v: r for v, r in ranges.items() if not build.is_const(r.extent, 1)}
    if not loops.keys() <= {v for index in indices for v in free_vars(index)}:
        return False
    inner = [i for i in (without_outer(index, loops) for index in indices) if i is not None]
    found = detect_iter_map(inner, dict(loops)) if len(inner) == len(indices) else None
    return found is not None and found.bijective


def without_outer(value: Expr, inner: Ranges) -> Expr | None:
    """The part of a sum that depends on the inner loops; None if a term mixes them with outer ones."""
    form = linear(value)
    if form is None:
        return None
    used = [free_vars(a) for a, _ in form.terms]
    mine = [term for term, own in zip(form.terms, used, strict=True) if not own.isdisjoint(inner)]
    if any(not own.isdisjoint(inner) and not own <= inner.keys() for own in used):
        return None
    result: Expr = build.const(0, value.dtype)
    for atom, factor in mine:
        result = build.add(result, build.mul(atom, factor))
    return result


def writes_distinct(block: Block, loops: Ranges | None = None, free: Ranges | None = None) -> Decision:
    """Whether different values of the spatial iterators, and of `loops` that the block uses directly, write different elements, whatever
    the values of the loops `free` are."""
    moving = {v: r for v, r in (loops or {}).items() if uses_var(block, v)}
    others = {v: r for v, r in (free or {}).items() if any(uses_var(w, v) for w in block.writes)}
    if _writes_apart(block, moving, others):
        return HOLDS
    ranges = {**{iv.var: iv.dom for iv in block.iter_vars}, **moving, **others}
    varying = {*others, *(iv.var for iv in block.iter_vars if iv.iter_type != "spatial")}
    places = [n for n, v in enumerate(ranges) if v not in varying]
    for buffer in dict.fromkeys(w.buffer for w in block.writes):
        regions = tuple(_with_fixed_loads(block, w, ranges) for w in block.writes if w.buffer is buffer)
        written = Elements(Instances(block.name, ranges, ()), regions)
        apart = never_meet(written, written, 0, places)
        if not apart:
            return apart
    return HOLDS


def _with_fixed_loads(block: Block, region: BufferRegion, ranges: Ranges) -> BufferRegion:
    """The region with a variable for each value that all instances load from the same element of a buffer that the block does not write.

    Another block that writes this element between two instances conflicts with the block, or writes one element several times.
    """
    written, known = {w.buffer for w in block.writes}, list[tuple[BufferLoad, Var]]()

    def fixed(node: Node) -> Node | None:
        if not isinstance(node, BufferLoad) or node.buffer in written or free_vars(node) & ranges.keys():
            return None
        found = next((var for load, var in known if structural_equal(load, node)), None)
        if found is None:
            found = Var(node.buffer.name, node.dtype)
            known.append((node, found))
        return found

    return rewrite(region, lambda node: node, enter=fixed)


def _writes_apart(block: Block, moving: Ranges, others: Ranges) -> bool:
    wanted = {**{iv.var: iv.dom for iv in block.iter_vars if iv.iter_type == "spatial"}, **moving}
    varying = {**wanted, **others}
    return all(
        {v for v, dom in wanted.items() if not build.is_const(dom.extent, 1)}
        <= separated_loops(w.region, w.region, varying)
        if _has_width(w)
        else is_injective([r.min for r in w.region], varying)
        for w in block.writes
    )


def _has_width(region: BufferRegion) -> bool:
    return any(not build.is_const(r.extent, 1) for r in region.region)
