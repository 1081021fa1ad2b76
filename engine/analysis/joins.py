"""Joining of uneven splits: guarded loops become one loop without a guard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from msgspec.structs import replace as replace_fields

from ..arith import Analyzer, linear, prove, simplify
from ..ir import (
    LT,
    Add,
    BlockRealize,
    Expr,
    FloorDiv,
    FloorMod,
    Mul,
    Node,
    Range,
    Var,
    build,
    free_vars,
    rewrite,
    substitute,
    uses_var,
    walk,
)
from .clipping import clipped
from .fusions import unfused

Ranges = Mapping[Var, Range]

MOST_JOINS = 16
"""Maximum number of joins: unfusing may take a join back. Every intermediate form has the same iterations."""


def joined_splits(realize: BlockRealize, loops: Ranges, *, once: bool = False) -> tuple[BlockRealize, Ranges]:
    """The block with uneven splits of `loops` joined: `i * 7 + j` guarded by `i * 7 + j < 50` becomes one loop of 50 without the guard.

    This requires that the sum covers all values below its guard. The loops become digits of the joined loop, `j` becomes `joined % 7`. A
    window covers a value more than once (`i * 6 + j` with seven `j`): with `once`, for counting iterations, windows are not joined, and
    otherwise only if the iterators use the sum as a whole. Loops fused over symbolic extents are unfused, and guarded loops are clipped.
    """
    if build.is_true(realize.predicate) and not any(map(_has_digits, realize.iter_values)):
        return realize, loops
    realize, loops = clipped(*_unfused(realize, loops))
    for _ in range(MOST_JOINS):
        terms = chain(build.conjuncts(realize.predicate), _implied_guards(realize.iter_values, loops))
        found = next((f for t in terms if (f := _joined(t, realize, loops, once)) is not None), None)
        if found is None:
            break
        realize, loops = clipped(*_unfused(*found))
    return realize, loops


def _has_digits(value: Expr) -> bool:
    return type(value) is not Var and any(type(node) in _DIVISIONS for node in walk(value))


_DIVISIONS = (FloorDiv, FloorMod)


def _implied_guards(values: Sequence[Expr], loops: Ranges) -> Iterator[Expr]:
    """`i * 16 + j < m * 16` for sums with a symbolic divisor: an even split needs no guard."""
    for value in values:
        for node in walk(value):
            if not isinstance(node, FloorDiv | FloorMod) or build.int_value(node.b) is not None:
                continue
            form = linear(node.a)
            if form is None or len(form.terms) < 2:
                continue
            var, factor = max(form.terms, key=lambda term: term[1])
            if isinstance(var, Var) and var in loops:
                yield LT(node.a, build.mul(loops[var].extent, factor))


def _unfused(realize: BlockRealize, loops: Ranges) -> tuple[BlockRealize, Ranges]:
    whole, apart = unfused((*realize.iter_values, realize.predicate), loops)
    if whole == (*realize.iter_values, realize.predicate):
        return realize, loops
    return BlockRealize(whole[:-1], whole[-1], realize.block), apart


def _joined(term: Expr, realize: BlockRealize, loops: Ranges, once: bool) -> tuple[BlockRealize, Ranges] | None:
    """The block with the sum of loops that the term guards as one loop up to the guard's limit; None if that is impossible."""
    form = linear(term.a) if isinstance(term, LT) else None
    if not isinstance(term, LT) or form is None or form.constant or not form.terms:
        return None
    steps = {a: f for a, f in form.terms if isinstance(a, Var) and a in loops}
    if len(steps) < len(form.terms) or free_vars(term.b) & loops.keys():
        return None
    joined = Var("joined", form.terms[0][0].dtype)
    values, others = realize.iter_values, [t for t in build.conjuncts(realize.predicate) if t is not term]
    inner = {v: r for v, r in loops.items() if v not in steps} | {joined: build.make_range(0, term.b)}
    digits = _digits(joined, steps, loops, term.b)
    if digits is not None:
        known = Analyzer(inner)
        *values, predicate = (known.simplify(substitute(e, digits)) for e in (*values, build.logical_and(*others)))
        return BlockRealize(tuple(values), predicate, realize.block), inner
    values = () if once or not _covers(steps, loops, term.b) else _whole(values, steps, joined)
    if not values:
        return None
    return BlockRealize(values, build.logical_and(*others), realize.block), inner


def _digits(joined: Var, steps: Mapping[Var, int], loops: Ranges, limit: Expr) -> dict[Var, Expr] | None:
    """The loops as digits of their sum; None if the sum takes a value twice or not all values below the limit."""
    reach: int | None = 1
    digits: dict[Var, Expr] = {}
    ordered = sorted(steps.items(), key=lambda item: item[1])
    for place, (var, factor) in enumerate(ordered):
        extent = loops[var].extent
        trips = build.int_value(extent)
        if not build.is_const(loops[var].min, 0):
            return None
        if trips == 1:
            digits[var] = build.const(0, var.dtype)
            continue
        if factor != reach:
            return None
        value = build.floordiv(joined, factor)
        digits[var] = value if place == len(ordered) - 1 else build.floormod(value, extent)
        reach = None if trips is None else factor * trips
    end = build.int_value(limit)
    last, factor = ordered[-1]
    enough = reach >= end if reach is not None and end is not None else _at_least(loops[last].extent, factor, limit)
    return digits if enough else None


def _at_least(extent: Expr, factor: int, limit: Expr) -> bool:
    """Whether `extent * factor >= limit`, for an extent that rounds a quotient up: `ceil(n / 16) * 16 >= n`."""
    if prove(build.ge(build.mul(extent, factor), limit)):
        return True
    divisor = build.int_value(extent.b) if isinstance(extent, FloorDiv) else None
    if not isinstance(extent, FloorDiv) or divisor is None or divisor <= 0 or factor % divisor:
        return False
    return _at_least(simplify(build.sub(extent.a, divisor - 1)), factor // divisor, limit)


def _covers(steps: Mapping[Var, int], loops: Ranges, limit: Expr) -> bool:
    """Whether the sum of multiples of loops takes every value from 0 to below the limit."""
    reach, end = 1, build.int_value(limit)
    for var, factor in sorted(steps.items(), key=lambda item: item[1]):
        trips = build.int_value(loops[var].extent)
        if trips is None or not build.is_const(loops[var].min, 0) or not 0 < factor <= reach:
            return False
        reach += factor * (trips - 1)
    return end is not None and 0 < end <= reach


def _whole(values: Sequence[Expr], steps: Mapping[Var, int], joined: Var) -> tuple[Expr, ...]:
    """The values with `joined` in place of the sum of the loops; empty if they use these loops in another way."""

    def leave(node: Node) -> Node:
        if isinstance(node, FloorMod):
            return replace_fields(node, a=_without_sum(node.a, steps, joined, build.int_value(node.b)))
        return _without_sum(node, steps, joined) if isinstance(node, Add | Mul | Var) else node

    values = tuple(rewrite(value, leave) for value in values)
    return () if any(uses_var(value, v) for value in values for v in steps) else values


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
