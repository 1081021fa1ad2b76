"""Classes of equivalent iterations of a loop, by ranges: equal cuts by edges, equal slots and equal physical blocks.

A loop is cut into runs. In a run the iterations `i` and `i + period` do the same work, at addresses that may be shifted, for any iteration
of the inner loops; so the first `period` iterations represent all. Conditions that are linear in the loop are solved; for any other the
range is bisected within a limit. Iterations without a proven equivalence form a run whose period is its length.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import gcd, lcm
from typing import NamedTuple

import msgspec
from msgspec.structs import replace as replace_fields

from ...arith import Analyzer, Bounds, linear
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
from .grid import at_values

HALVINGS = 64
"""Limit on the pieces of a range, for a condition that is not linear."""


class Run(NamedTuple):
    """Iterations from `start` to `stop`, exclusive; those a multiple of `period` apart are equivalent. If the run `grows`, they are
    equivalent except for the trip counts of inner loops, which change by a constant per period.
    """

    start: int
    stop: int
    period: int
    grows: bool = False

    def like(self, iteration: int) -> int:
        """Returns the first iteration of the run that is equivalent to this one."""
        return self.start + (iteration - self.start) % self.period


class IterationClass(msgspec.Struct, frozen=True, eq=False):
    """The expressions over loops that determine how tasks behave: `conditions` cut them, `shifted` must stay the same up to a constant,
    `fixed` must stay the same. `slots` has the number of slots that rotate over a loop; loops in `single` have no equivalent iterations. No
    expression depends on data.
    """

    conditions: tuple[Expr, ...] = ()
    shifted: tuple[Expr, ...] = ()
    fixed: tuple[Expr, ...] = ()
    slots: tuple[tuple[Var, int], ...] = ()
    single: tuple[Var, ...] = ()

    def variables(self) -> set[Var]:
        """Returns all loops that matter, and the variables of the expressions."""
        found = {*self.single, *(var for var, _ in self.slots)}
        for expr in (*self.conditions, *self.shifted, *self.fixed):
            found |= free_vars(expr)
        return found


def together(iteration_classes: Sequence[IterationClass]) -> IterationClass:
    """Returns the union of several classes."""
    return IterationClass(
        tuple(dict.fromkeys(c for b in iteration_classes for c in b.conditions)),
        tuple(dict.fromkeys(e for b in iteration_classes for e in b.shifted)),
        tuple(dict.fromkeys(e for b in iteration_classes for e in b.fixed)),
        tuple(dict.fromkeys(s for b in iteration_classes for s in b.slots)),
        tuple(dict.fromkeys(v for b in iteration_classes for v in b.single)),
    )


def runs_of(
    var: Var, extent: int, iteration_class: IterationClass, at: Mapping[Var, int], analyzer: Analyzer
) -> tuple[Run, ...]:
    """Returns the runs of a loop, with its outer loops at iterations `at`."""
    own = using(var, iteration_class)
    period = period_of(var, own)
    whole = (Run(0, extent, max(extent, 1)),)
    if own.single:
        return whole
    moves = period < extent and moves_evenly(var, period, own, analyzer)
    chosen = () if moves else tuple(c for c in choices([*own.shifted, *own.fixed]) if uses_var(c, var))
    if not (moves or chosen):
        return whole
    if chosen:
        # A choice of addresses hides their period until its side is known.
        period = period_of(var, replace_fields(own, shifted=(), fixed=()))
    known = {v: build.const(n, v.dtype) for v, n in at.items()}
    cuts: set[int] = {0, extent}
    apart: list[tuple[int, int]] = []
    for condition in (*own.conditions, *chosen):
        if not comes_back(condition, var, period, analyzer):
            changes, unclear = edges(at_values(condition, known), var, extent, analyzer)
            cuts |= changes
            apart += unclear
    for start, stop in apart:
        cuts |= {start, stop}
    points = sorted(c for c in cuts if 0 <= c <= extent)
    found: list[Run] = []
    for start, stop in pairwise(points):
        recurs: int | None = period
        if any(a <= start and stop <= b for a, b in apart):
            recurs = None
        elif chosen:
            recurs = _period_between(var, start, stop, period, own, known, analyzer)
        found.append(Run(start, stop, min(recurs or stop - start, stop - start)))
    return tuple(found)


def using(var: Var, iteration_class: IterationClass) -> IterationClass:
    """Returns the part of a class that depends on a loop."""
    conditions, shifted, fixed = (
        tuple(e for e in exprs if var in free_vars(e))
        for exprs in (iteration_class.conditions, iteration_class.shifted, iteration_class.fixed)
    )
    slots = tuple(s for s in iteration_class.slots if s[0] is var)
    return IterationClass(conditions, shifted, fixed, slots, tuple(v for v in iteration_class.single if v is var))


def _period_between(
    var: Var,
    start: int,
    stop: int,
    multiple_of: int,
    own: IterationClass,
    known: Mapping[Var, Expr],
    analyzer: Analyzer,
) -> int | None:
    """Returns the period of addresses in a range of a loop in which each choice in them has one side, with outer loops at `known`; None if
    they do not recur.
    """
    near = _between(var, start, stop, analyzer)
    shifted, fixed = (tuple(near.simplify(at_values(e, known)) for e in exprs) for exprs in (own.shifted, own.fixed))
    period = lcm(multiple_of, period_of(var, IterationClass((), shifted, fixed)))
    if period >= stop - start:
        return None
    return period if _moves_evenly(var, period, shifted, fixed, _between(var, start, stop - period, analyzer)) else None


def _between(var: Var, start: int, stop: int, analyzer: Analyzer) -> Analyzer:
    """Returns an analyzer with the loop limited to this range."""
    count = build.const(max(stop - start, 1), var.dtype)
    return Analyzer({**analyzer.ranges, var: Range(build.const(start, var.dtype), count)})


def moves_evenly(var: Var, period: int, iteration_class: IterationClass, analyzer: Analyzer) -> bool:
    """Returns whether the addresses and parts of a class move by a constant, or stay, in one period of a loop."""
    return _moves_evenly(var, period, iteration_class.shifted, iteration_class.fixed, analyzer)


def _moves_evenly(var: Var, period: int, shifted: Sequence[Expr], fixed: Sequence[Expr], analyzer: Analyzer) -> bool:
    """Returns whether one period later all of `shifted` differ by a constant, and `fixed` are equal."""
    return all(_shift(e, var, period, analyzer) is not None for e in shifted) and all(
        _shift(e, var, period, analyzer) == 0 for e in fixed
    )


def choices(exprs: Sequence[Expr]) -> list[Expr]:
    """Returns the conditions that select the side of a choice in an address."""
    found: list[Expr] = []
    for node in dict.fromkeys(n for e in exprs for n in walk(e)):
        if isinstance(node, Min | Max):
            found += [_is_chosen(node, a, b) for a in _sides(node.a) for b in _sides(node.b)]
        elif isinstance(node, Select):
            found.append(node.condition)
    return found


def _is_chosen(node: Min | Max, a: Expr, b: Expr) -> Expr:
    """Returns the condition for one side; of a number and an expression, for the number, so the expression's side includes equality."""
    if build.int_value(a) is not None:
        a, b = b, a
    return build.lt(b, a) if isinstance(node, Min) else build.lt(a, b)


def _sides(expr: Expr) -> list[Expr]:
    """Returns all possible values of a nested minimum or maximum."""
    return [*_sides(expr.a), *_sides(expr.b)] if isinstance(expr, Min | Max) else [expr]


def period_of(var: Var, iteration_class: IterationClass) -> int:
    """Returns the number of iterations after which all quotients and remainders recur, up to a constant."""
    period = lcm(1, *(count for v, count in iteration_class.slots if v is var))
    for expr in (*iteration_class.conditions, *iteration_class.shifted, *iteration_class.fixed):
        for node in walk(expr):
            if isinstance(node, FloorDiv | FloorMod) and isinstance(node.b, IntImm) and var in free_vars(node.a):
                step = _factor(node.a, var)
                period = lcm(period, abs(node.b.value) // gcd(step, node.b.value))
    return period


def _factor(expr: Expr, var: Var) -> int:
    form = linear(expr)
    return next((f for atom, f in form.terms if atom is var), 1) if form is not None else 1


def _shift(expr: Expr, var: Var, period: int, analyzer: Analyzer) -> int | None:
    return shift_of(expr, {var: period}, analyzer)


def shift_of(expr: Expr, shifts: Mapping[Var, int], analyzer: Analyzer) -> int | None:
    """Returns the increase of the expression if variables increase by `shifts`; None if it is not constant."""
    later = substitute(expr, {var: build.add(var, shift) for var, shift in shifts.items()})
    return build.int_value(analyzer.simplify(build.sub(later, expr)))


def comes_back(condition: Expr, var: Var, period: int, analyzer: Analyzer) -> bool:
    """Returns whether a condition has the same value one period later."""
    if isinstance(condition, Predicate) and is_compared(condition):
        return _shift(build.sub(condition.a, condition.b), var, period, analyzer) == 0
    later = substitute(condition, {var: build.add(var, period)})
    return analyzer.proves_equal(later, condition) if dt.is_int(condition.dtype) else False


def is_compared(condition: Predicate) -> bool:
    """Returns whether a predicate compares integers."""
    return isinstance(condition, LT | LE | GT | GE | EQ | NE) and dt.is_int(condition.a.dtype)


def edges(condition: Expr, var: Var, extent: int, analyzer: Analyzer) -> tuple[set[int], list[tuple[int, int]]]:
    """Returns the iterations at which the condition changes, and the ranges in which it is neither always true nor always false."""
    if isinstance(condition, Predicate) and is_compared(condition):
        found = _solved(condition, var, extent, analyzer)
        if found is not None:
            return found
    return _halved(condition, var, extent, analyzer)


def _solved(
    condition: Predicate, var: Var, extent: int, analyzer: Analyzer
) -> tuple[set[int], list[tuple[int, int]]] | None:
    """Like `edges`, for a comparison that is linear in the loop; None for another."""
    difference = analyzer.form(build.sub(condition.a, condition.b))
    factor, rest = difference.without(var)
    if any(uses_var(digit.source, var) for digit in rest.digits):
        return None
    if factor == 0:
        return set(), []
    zone = _zone(condition, factor, analyzer.sum_bounds(rest))
    if zone is None:
        return {0, extent}, [(0, extent)]
    start, stop = (min(max(edge, 0), extent) for edge in (zone.start, zone.stop))
    return {start, stop}, [(start, stop)] if start < stop else []


class Zone(NamedTuple):
    """The iterations in which a comparison may have either value, before they are limited to those of the loop; `factor` is the increase of
    the compared difference per iteration.
    """

    start: int
    stop: int
    factor: int


def zone_of(condition: Expr, var: Var, analyzer: Analyzer) -> Zone | None:
    """Returns the zone of a comparison that is linear in the loop; None if it has no bounds, or for another condition."""
    if not isinstance(condition, Predicate) or not is_compared(condition):
        return None
    factor, rest = analyzer.form(build.sub(condition.a, condition.b)).without(var)
    if factor == 0 or any(uses_var(digit.source, var) for digit in rest.digits):
        return None
    return _zone(condition, factor, analyzer.sum_bounds(rest))


def _zone(condition: Predicate, factor: int, bounds: Bounds) -> Zone | None:
    low, high = bounds.low, bounds.high
    if low is None or high is None:
        return None
    step = factor
    # For a growing difference, the iterations from which it is below zero, zero, or above zero.
    if factor < 0:
        factor, low, high = -factor, -high, -low
        condition = _mirrored(condition)
    # factor * i + [low, high] against 0.
    provably_below = _first(-high, factor)  # iterations before it: below 0 for any rest
    maybe_below = _first(-low, factor)  # from it on: never below 0
    provably_upto = _first(1 - high, factor)  # before it: at most 0
    maybe_upto = _first(1 - low, factor)  # from it on: above 0
    match condition:
        case LT() | GE():
            return Zone(provably_below, maybe_below, step)
        case LE() | GT():
            return Zone(provably_upto, maybe_upto, step)
        case _:
            return Zone(provably_below, maybe_upto, step)


def _first(amount: int, factor: int) -> int:
    """Returns the first i with factor * i >= amount."""
    return -(-amount // factor)


def _mirrored(condition: Predicate) -> Predicate:
    """Returns the same comparison for the negated difference."""
    opposite: dict[type[Predicate], type[Predicate]] = {LT: GT, GT: LT, LE: GE, GE: LE}
    return opposite.get(type(condition), type(condition))(condition.a, condition.b)


def _halved(condition: Expr, var: Var, extent: int, analyzer: Analyzer) -> tuple[set[int], list[tuple[int, int]]]:
    decided: dict[tuple[int, int], bool] = {}
    unclear: list[tuple[int, int]] = []
    open_ranges = [(0, extent)]
    for _ in range(HALVINGS):
        if not open_ranges:
            break
        start, stop = open_ranges.pop()
        near = _between(var, start, stop, analyzer)
        if (always := near.proves(condition)) or near.proves(build.logical_not(condition)):
            decided[start, stop] = always
        elif stop - start == 1:
            unclear.append((start, stop))
        else:
            middle = (start + stop) // 2
            open_ranges += [(middle, stop), (start, middle)]
    ranges = sorted(decided)
    joined = {a[1] for a, b in pairwise(ranges) if a[1] == b[0] and decided[a] == decided[b]}
    return {edge for ends in ranges for edge in ends} - joined, unclear + open_ranges
