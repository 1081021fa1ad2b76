"""Affine-binding check: TVM requires block iterators to be split and fused loops before loops are reordered or run concurrently."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace as replace_fields

from ...analysis import joined_splits, runs_once
from ...arith import IterMap, detect_iter_map, linear
from ...ir import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    Add,
    BlockRealize,
    Expr,
    FloorDiv,
    FloorMod,
    For,
    IntImm,
    Node,
    Range,
    Var,
    build,
    free_vars,
    rewrite,
    structural_equal,
    substitute,
    walk,
)
from ..context import Context
from ..errors import refuse


# An exported program runs in TVM, whose reorder, parallel, vectorize and bind refuse non-affine bindings. Here, bindings may also be any
# others that run each instance of the block at most once; loops further out may repeat the block.
def require_affine_below(ctx: Context, top: For, what: str, *, still: Sequence[For] = ()) -> None:
    """Check the blocks below `top`. The loops of `still`, further out, may count as fixed."""
    for realize in ctx.index.child_blocks(top):
        above = ctx.index.loops_above(realize)
        every = {f.loop_var: Range(f.min, f.extent) for f in above}
        loops = {f.loop_var: every[f.loop_var] for f in above if f not in still}
        if is_affine(realize, every) or is_affine(realize, loops):
            continue
        moved = {f.loop_var for f in above[above.index(top) :]}
        used = {v for value in realize.iter_values for v in free_vars(value)} | moved
        once = runs_once(realize, {v: r for v, r in loops.items() if v in used})
        if not once:
            name = realize.block.name
            raise refuse(
                "not-affine", f"cannot {what}: the bindings of block {name!r} are not affine", realize,
                found=f"a binding that uses a loop twice, has gaps, or depends on another one through a condition; {once.detail}",
                expected="bindings such as i, i_0 * 16 + i_1, f // 8 and f % 8, or bindings that run each instance once",
            )  # fmt: skip


def is_affine(realize: BlockRealize, ranges: Mapping[Var, Range]) -> bool:
    """Whether the bindings are split and fused loops, or windows of them, as TVM requires."""
    if build.is_true(realize.predicate) and _are_loops(realize.iter_values):
        return True
    digits = [n for value in realize.iter_values for n in walk(value) if isinstance(n, FloorDiv | FloorMod)]
    still = {v for value in realize.iter_values for v in free_vars(value)} - set(ranges)
    still -= {v for digit in digits for v in free_vars(digit.b)}
    zeros = {s: build.const(0, s.dtype) for s in still}
    realize = replace_fields(realize, iter_values=tuple(substitute(v, zeros) for v in realize.iter_values))
    if any(build.is_const(r.extent, 0) for r in ranges.values()):
        return True  # the block never runs
    if _has_ties(realize, ranges):
        realize, ranges = joined_splits(realize, ranges, once=True)
        if _has_ties(realize, ranges):
            return False
    if not build.is_true(realize.predicate) or not all(isinstance(r.extent, IntImm) for r in ranges.values()):
        return True  # uneven splits and symbolic sizes are beyond this detection
    values = realize.iter_values
    found = detect_iter_map(values, ranges)
    if found is None or not all(s.compact for s in found.sums):
        return _are_windows(*_joined(values, ranges))
    return found.separate and all(not s.parts or s.parts[0].scale == 1 for s in found.sums)


def _are_loops(values: Sequence[Expr]) -> bool:
    """Whether each value is a variable of its own."""
    return all(type(value) is Var for value in values) and len(set(values)) == len(values)


def _has_ties(realize: BlockRealize, ranges: Mapping[Var, Range]) -> bool:
    return any(_ties(condition, realize.iter_values, ranges) for condition in build.conjuncts(realize.predicate))


def _are_windows(values: Sequence[Expr], ranges: Mapping[Var, Range]) -> bool:
    """Whether each value is a sum of separate loops (or digits of them), with factor 1 innermost: windows i * 2 + w, which may overlap."""
    sums = [linear(value) for value in values]
    atoms = [atom for s in sums if s is not None for atom, _ in s.terms]
    found = None if None in sums else detect_iter_map(atoms, ranges)
    if found is None or not _are_digits(found):
        return False
    return all(s is not None and (not s.terms or min(abs(f) for _, f in s.terms) == 1) for s in sums)


def _joined(values: Sequence[Expr], ranges: Mapping[Var, Range]) -> tuple[list[Expr], Mapping[Var, Range]]:
    """The values with one variable for each sum of loops that is split again: `(i * 4 + j) // 6` as `f // 6`."""
    sums = [n.a for v in values for n in walk(v) if isinstance(n, FloorDiv | FloorMod)]
    for whole in (s for s in sums if isinstance(s, Add)):
        loops = {v: ranges[v] for v in sorted(_used(whole, ranges), key=lambda v: v.name)}
        found = detect_iter_map([whole], loops) if loops else None
        if found is None or not found.bijective or found.sums[0].base or found.sums[0].extent is None:
            continue
        fused = Var("fused", whole.dtype)

        def leave(node: Node, whole: Expr = whole, fused: Var = fused) -> Node:
            return fused if isinstance(node, Add) and structural_equal(node, whole) else node

        values = [rewrite(v, leave) for v in values]
        ranges = {**ranges, fused: build.make_range(0, found.sums[0].extent)}
    return list(values), ranges


def _are_digits(found: IterMap) -> bool:
    return found.separate and all(s.compact and len(s.parts) <= 1 for s in found.sums)


def _used(expr: Expr, ranges: Mapping[Var, Range]) -> set[Var]:
    return {v for v in free_vars(expr) if v in ranges}


def _ties(condition: Expr, values: Sequence[Expr], ranges: Mapping[Var, Range]) -> bool:
    """Whether a condition on a sum of loops couples iterators: one of them uses only some of these loops."""
    sides = (
        [linear(side) for side in (condition.a, condition.b)] if isinstance(condition, LT | LE | GT | GE | EQ) else []
    )
    tied = {v for side in sides if side is not None for v, _ in side.terms if isinstance(v, Var) and v in ranges}
    whole = tied == _used(condition, ranges)
    return whole and any(0 < len(tied & _used(value, ranges)) < len(tied) for value in values)
