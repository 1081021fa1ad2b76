"""Clipping of guarded loops to their active iterations: a loop over 10 with `1 <= i and i < 9` becomes 1 to 8."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace as replace_fields

from ..arith import linear
from ..ir import GE, GT, LE, LT, BlockRealize, Expr, Range, Var, build, substitute, uses_var

Ranges = Mapping[Var, Range]


def clipped(realize: BlockRealize, loops: Ranges) -> tuple[BlockRealize, Ranges]:
    """The block over clipped loops. Removes predicate terms that bound one loop, used by a single iterator, by a constant."""
    if build.is_true(realize.predicate):
        return realize, loops
    for var, loop in loops.items():
        users = [v for v in realize.iter_values if uses_var(v, var)]
        first, trips = build.int_value(loop.min), build.int_value(loop.extent)
        if len(users) != 1 or first is None or trips is None:
            continue
        low, end, kept = _limits(var, (first, first + trips), build.conjuncts(realize.predicate))
        if (low, end) == (first, first + trips) or end <= low or any(uses_var(t, var) for t in kept):
            continue
        cut = Var(var.name, var.dtype)
        values = tuple(substitute(v, {var: cut}) for v in realize.iter_values)
        realize = replace_fields(realize, iter_values=values, predicate=build.logical_and(*kept))
        run = Range(build.const(low, var.dtype), build.const(end - low, var.dtype))
        loops = {cut if v is var else v: run if v is var else r for v, r in loops.items()}
    return realize, loops


def _limits(var: Var, span: tuple[int, int], terms: Sequence[Expr]) -> tuple[int, int, list[Expr]]:
    """(first value, end, remaining terms): `span` cut by all terms that bound only the variable."""
    (low, end), kept = span, list[Expr]()
    for term in terms:
        least, limit = _bounds_of(var, term)
        low, end = max(low, low if least is None else least), min(end, end if limit is None else limit)
        if least is None and limit is None:
            kept.append(term)
    return low, end, kept


def _bounds_of(var: Var, term: Expr) -> tuple[int | None, int | None]:
    """(least value, end) that the term allows for the variable; None on a side that the term leaves open or if it involves other
    variables."""
    match term:
        case LT() | LE():
            gap = linear(build.sub(term.a, term.b))
        case GT() | GE():
            gap = linear(build.sub(term.b, term.a))
        case _:
            return None, None
    if gap is None or len(gap.terms) != 1 or gap.terms[0][0] is not var or abs(gap.terms[0][1]) != 1:
        return None, None
    slack = gap.constant + (1 if isinstance(term, LT | GT) else 0)  # term: factor * var + slack <= 0
    return (None, 1 - slack) if gap.terms[0][1] > 0 else (slack, None)
