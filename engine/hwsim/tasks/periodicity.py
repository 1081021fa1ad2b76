"""Which iterations of a loop are alike: whether an edge cuts them, which slot and which block they work on, for ranges of iterations.

A loop is cut into runs. In a run the iterations `i` and `i + period` do the same, up to where in memory they do it, whatever the loops
inside of it are at; so the first `period` iterations stand for all. Conditions that are linear in the loop are solved; for any other the
range is halved as long as that helps. Iterations that nothing could be shown of are a run whose period is its length.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import gcd, lcm
from typing import NamedTuple

import msgspec

from ...arith import Analyzer, linear
from ...ir import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Predicate,
    Range,
    Select,
    Var,
    build,
    free_vars,
    substitute,
    uses_var,
    walk,
)
from ...ir import dtype as dt

HALVINGS = 64
"""Pieces that a range is cut into at most, for a condition that is not linear."""


class Run(NamedTuple):
    """Iterations from `start` to `stop`, exclusive; those a multiple of `period` apart are alike."""

    start: int
    stop: int
    period: int

    def like(self, iteration: int) -> int:
        """The first iteration of the run that is like this one."""
        return self.start + (iteration - self.start) % self.period


class IterationClass(msgspec.Struct, frozen=True, eq=False):
    """What decides how tasks behave, as expressions over loops: `conditions` cut them, `shifted` must stay the same up to a constant,
    `fixed` must stay the same. `slots` says how many slots take turns over a loop; of the loops in `single` no two iterations are alike.
    No expression depends on data."""

    conditions: tuple[Expr, ...] = ()
    shifted: tuple[Expr, ...] = ()
    fixed: tuple[Expr, ...] = ()
    slots: tuple[tuple[Var, int], ...] = ()
    single: tuple[Var, ...] = ()

    def variables(self) -> set[Var]:
        """All loops that matter, and others that the expressions use."""
        found = {*self.single, *(var for var, _ in self.slots)}
        for expr in (*self.conditions, *self.shifted, *self.fixed):
            found |= free_vars(expr)
        return found


def together(behaviours: Sequence[IterationClass]) -> IterationClass:
    """What decides any of several."""
    return IterationClass(
        tuple(dict.fromkeys(c for b in behaviours for c in b.conditions)),
        tuple(dict.fromkeys(e for b in behaviours for e in b.shifted)),
        tuple(dict.fromkeys(e for b in behaviours for e in b.fixed)),
        tuple(dict.fromkeys(s for b in behaviours for s in b.slots)),
        tuple(dict.fromkeys(v for b in behaviours for v in b.single)),
    )


def runs_of(
    var: Var, extent: int, behaviour: IterationClass, at: Mapping[Var, int], analyzer: Analyzer
) -> tuple[Run, ...]:
    """The runs of a loop whose outer loops are `at` given iterations."""
    conditions = [c for c in behaviour.conditions if var in free_vars(c)]
    shifted = [e for e in behaviour.shifted if var in free_vars(e)]
    fixed = [e for e in behaviour.fixed if var in free_vars(e)]
    turns = [count for v, count in behaviour.slots if v is var]
    period = _period(var, [*conditions, *shifted, *fixed], turns)
    whole = (Run(0, extent, max(extent, 1)),)
    if var in behaviour.single or period >= extent:
        return whole
    moves = _moves_evenly(var, period, shifted, fixed, analyzer)
    if not moves:
        chosen = [c for c in choices([*shifted, *fixed]) if uses_var(c, var)]
        if not chosen:
            return whole
        conditions += chosen
    known = {v: build.const(n, v.dtype) for v, n in at.items()}
    cuts: set[int] = {0, extent}
    apart: list[tuple[int, int]] = []
    for condition in conditions:
        if not _comes_back(condition, var, period, analyzer):
            changes, unclear = edges(substitute(condition, known), var, extent, analyzer)
            cuts |= changes
            apart += unclear
    for start, stop in apart:
        cuts |= {start, stop}
    shifted, fixed = ([substitute(e, known) for e in exprs] for exprs in (shifted, fixed))
    points = sorted(c for c in cuts if 0 <= c <= extent)
    found: list[Run] = []
    for start, stop in pairwise(points):
        alone = any(a <= start and stop <= b for a, b in apart) or (
            not moves and not _moves_evenly(var, period, shifted, fixed, _between(var, start, stop - period, analyzer))
        )
        found.append(Run(start, stop, stop - start if alone else min(period, stop - start)))
    return tuple(found)


def _between(var: Var, start: int, stop: int, analyzer: Analyzer) -> Analyzer:
    """What is known where the loop is in this range."""
    count = build.const(max(stop - start, 1), var.dtype)
    return Analyzer({**analyzer.ranges, var: Range(build.const(start, var.dtype), count)})


def _moves_evenly(var: Var, period: int, shifted: Sequence[Expr], fixed: Sequence[Expr], analyzer: Analyzer) -> bool:
    """Whether a period later all of `shifted` are moved by a constant, and `fixed` by nothing."""
    return all(_shift(e, var, period, analyzer) is not None for e in shifted) and all(
        _shift(e, var, period, analyzer) == 0 for e in fixed
    )


def choices(exprs: Sequence[Expr]) -> list[Expr]:
    """What decides which side of a choice an address takes."""
    found: list[Expr] = []
    for node in dict.fromkeys(n for e in exprs for n in walk(e)):
        if isinstance(node, Min | Max):
            found += [_is_taken(node, a, b) for a in _sides(node.a) for b in _sides(node.b)]
        elif isinstance(node, Select):
            found.append(node.condition)
    return found


def _is_taken(node: Min | Max, a: Expr, b: Expr) -> Expr:
    """When it is one side and no other: of a number and an expression the number. So the expression goes on to where they are equal."""
    if build.int_value(a) is not None:
        a, b = b, a
    return build.lt(b, a) if isinstance(node, Min) else build.lt(a, b)


def _sides(expr: Expr) -> list[Expr]:
    """All that a smallest or largest value may be."""
    return [*_sides(expr.a), *_sides(expr.b)] if isinstance(expr, Min | Max) else [expr]


def _period(var: Var, exprs: Sequence[Expr], turns: Sequence[int]) -> int:
    """After so many iterations all quotients and remainders are where they were, up to a constant."""
    period = lcm(1, *turns)
    for expr in exprs:
        for node in walk(expr):
            if isinstance(node, FloorDiv | FloorMod) and isinstance(node.b, IntImm) and var in free_vars(node.a):
                step = _factor(node.a, var)
                period = lcm(period, abs(node.b.value) // gcd(step, node.b.value))
    return period


def _factor(expr: Expr, var: Var) -> int:
    form = linear(expr)
    return next((f for atom, f in form.terms if atom is var), 1) if form is not None else 1


def _shift(expr: Expr, var: Var, period: int, analyzer: Analyzer) -> int | None:
    """By how much the expression grows in a period; None where that is not one number."""
    later = substitute(expr, {var: build.add(var, period)})
    return build.int_value(analyzer.simplify(build.sub(later, expr)))


def _comes_back(condition: Expr, var: Var, period: int, analyzer: Analyzer) -> bool:
    if isinstance(condition, Predicate) and _is_compared(condition):
        return _shift(build.sub(condition.a, condition.b), var, period, analyzer) == 0
    later = substitute(condition, {var: build.add(var, period)})
    return analyzer.proves_equal(later, condition) if dt.is_int(condition.dtype) else False


def _is_compared(condition: Predicate) -> bool:
    return isinstance(condition, LT | LE | GT | GE | EQ | NE) and dt.is_int(condition.a.dtype)


def edges(condition: Expr, var: Var, extent: int, analyzer: Analyzer) -> tuple[set[int], list[tuple[int, int]]]:
    """Where the condition changes as the loop runs, and the ranges where it is neither always true nor always false."""
    if isinstance(condition, Predicate) and _is_compared(condition):
        found = _solved(condition, var, extent, analyzer)
        if found is not None:
            return found
    return _halved(condition, var, extent, analyzer)


def _solved(
    condition: Predicate, var: Var, extent: int, analyzer: Analyzer
) -> tuple[set[int], list[tuple[int, int]]] | None:
    """As `edges`, for a comparison that is linear in the loop; None for another."""
    difference = analyzer.form(build.sub(condition.a, condition.b))
    factor, rest = difference.without(var)
    if any(uses_var(digit.source, var) for digit in rest.digits):
        return None
    if factor == 0:
        return set(), []
    bounds = analyzer.sum_bounds(rest)
    low, high = bounds.low, bounds.high
    if low is None or high is None:
        return {0, extent}, [(0, extent)]
    # The difference is below zero, at zero or above it from these iterations on, for a growing one.
    if factor < 0:
        factor, low, high = -factor, -high, -low
        condition = _mirrored(condition)
    # factor * i + [low, high] against 0.
    surely_below = _first(-high, factor)  # iterations before it: below 0 whatever the rest is
    maybe_below = _first(-low, factor)  # from it on: never below 0
    surely_upto = _first(1 - high, factor)  # before it: at most 0
    maybe_upto = _first(1 - low, factor)  # from it on: above 0
    match condition:
        case LT() | GE():
            zone = surely_below, maybe_below
        case LE() | GT():
            zone = surely_upto, maybe_upto
        case _:
            zone = surely_below, maybe_upto
    start, stop = (min(max(edge, 0), extent) for edge in zone)
    return {start, stop}, [(start, stop)] if start < stop else []


def _first(amount: int, factor: int) -> int:
    """The first i with factor * i >= amount."""
    return -(-amount // factor)


def _mirrored(condition: Predicate) -> Predicate:
    """The same comparison of the negated difference."""
    opposite: dict[type[Predicate], type[Predicate]] = {LT: GT, GT: LT, LE: GE, GE: LE}
    return opposite.get(type(condition), type(condition))(condition.a, condition.b)


def _halved(condition: Expr, var: Var, extent: int, analyzer: Analyzer) -> tuple[set[int], list[tuple[int, int]]]:
    changes: set[int] = set()
    unclear: list[tuple[int, int]] = []
    open_ranges = [(0, extent)]
    for _ in range(HALVINGS):
        if not open_ranges:
            break
        start, stop = open_ranges.pop()
        near = _between(var, start, stop, analyzer)
        if near.proves(condition) or near.proves(build.logical_not(condition)):
            changes |= {start, stop}
        elif stop - start == 1:
            unclear.append((start, stop))
        else:
            middle = (start + stop) // 2
            open_ranges += [(middle, stop), (start, middle)]
    return changes, unclear + open_ranges
