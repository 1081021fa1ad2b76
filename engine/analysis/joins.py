"""Joining of uneven splits: guarded loops become one loop without a guard."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace as replace_fields

from ..arith import linear
from ..ir import LT, Add, BlockRealize, Expr, FloorMod, Mul, Node, Range, Var, build, rewrite, uses_var
from .clipping import clipped
from .fusions import unfused

Ranges = Mapping[Var, Range]


def joined_splits(realize: BlockRealize, loops: Ranges, *, once: bool = False) -> tuple[BlockRealize, Ranges]:
    """The block with uneven splits of `loops` joined: `i * 7 + j` guarded by `i * 7 + j < 50` becomes one loop of 50 without the guard.

    This requires that the sum covers all values below its guard, and that iterators use the sum as a whole; other splits stay unchanged. A
    window covers a value more than once (`i * 6 + j` with seven `j`): with `once`, for counting iterations, windows are not joined. Loops
    fused over symbolic extents are unfused, and guarded loops are clipped.
    """
    whole, apart = unfused((*realize.iter_values, realize.predicate), loops)
    if whole != (*realize.iter_values, realize.predicate):
        realize, loops = BlockRealize(whole[:-1], whole[-1], realize.block), apart
    realize, loops = clipped(realize, loops)
    values = realize.iter_values
    kept: list[Expr] = []
    for term in build.conjuncts(realize.predicate):
        found = _joined(term, values, loops, once)
        if found is None:
            kept.append(term)
        else:
            values, loops = found
    if len(kept) == len(build.conjuncts(realize.predicate)):
        return realize, loops
    return BlockRealize(values, build.logical_and(*kept), realize.block), loops


def _joined(term: Expr, values: tuple[Expr, ...], loops: Ranges, once: bool) -> tuple[tuple[Expr, ...], Ranges] | None:
    """The values over one loop up to the guard's limit, if the term guards a sum of loops that the values use only through that sum."""
    form, limit = (
        linear(term.a) if isinstance(term, LT) else None,
        build.int_value(term.b) if isinstance(term, LT) else None,
    )
    if form is None or limit is None or limit <= 0 or form.constant or not form.terms:
        return None
    steps = {a: f for a, f in form.terms if isinstance(a, Var) and a in loops}
    if len(steps) < len(form.terms) or not _reaches(steps, loops, limit, once):
        return None
    joined = Var("joined", form.terms[0][0].dtype)

    def leave(node: Node) -> Node:
        if isinstance(node, FloorMod):
            return replace_fields(node, a=_without_sum(node.a, steps, joined, build.int_value(node.b)))
        return _without_sum(node, steps, joined) if isinstance(node, Add | Mul | Var) else node

    values = tuple(rewrite(value, leave) for value in values)
    if any(uses_var(value, v) for value in values for v in steps):
        return None
    return values, {v: r for v, r in loops.items() if v not in steps} | {joined: build.make_range(0, limit)}


def _without_sum(expr: Expr, steps: Mapping[Var, int], joined: Var, modulus: int | None = 0) -> Expr:
    """The expression with `joined` in place of the sum of `steps` or a multiple of it, up to multiples of `modulus`.

    Otherwise the expression itself.
    """
    whole = linear(expr)
    factors = {} if whole is None else dict(whole.terms)
    if whole is None or not factors.keys() & steps.keys():
        return expr
    scale = next((factors[v] // f for v, f in steps.items() if v in factors), 1) or 1
    apart = [scale * f - factors.get(v, 0) for v, f in steps.items()]
    if any(gap % modulus if modulus else gap for gap in apart):
        return expr
    left: Expr = build.const(whole.constant, expr.dtype)
    for atom, factor in whole.terms:
        left = left if atom in steps else build.add(left, build.mul(atom, factor))
    return build.add(left, build.mul(joined, scale))


def _reaches(steps: Mapping[Var, int], loops: Ranges, limit: int, once: bool) -> bool:
    """Whether the sum of multiples of loops covers every value from 0 to below the limit; exactly once, if `once` is set."""
    reach = 1
    for var, factor in sorted(steps.items(), key=lambda item: item[1]):
        trips = build.int_value(loops[var].extent)
        if trips is None or not build.is_const(loops[var].min, 0) or not 0 < factor <= reach:
            return False
        if once and factor < reach and trips > 1:
            return False
        reach += factor * (trips - 1)
    return reach >= limit
