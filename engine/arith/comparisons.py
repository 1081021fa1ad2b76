"""Comparisons of quasi-affine sums with zero: decisions, and printing with small numbers."""

from __future__ import annotations

from collections.abc import Callable

from ..ir import EQ, GE, GT, LE, LT, NE, Expr, Predicate
from .division import Bounds
from .forms import Sum, sum_expr

BoundsOf = Callable[[Sum], Bounds]


def decided(kind: type[Predicate], gap: Sum, bounds: BoundsOf) -> bool | None:
    """Whether `gap kind 0` always holds (True), never holds (False), or neither is known (None)."""
    known = bounds(gap)
    low, high = known.low, known.high
    if kind in (EQ, NE):
        outside = (low is not None and low > 0) or (high is not None and high < 0) or _indivisible(gap)
        same: bool | None = False if outside else True if (low, high) == (0, 0) else None
        return same if kind is EQ or same is None else not same
    if kind in (GT, GE):
        low, high = None if high is None else -high, None if low is None else -low
    limit = 0 if kind in (LT, GT) else 1
    if high is not None and high < limit:
        return True
    return False if low is not None and low >= limit else None


def comparison(kind: type[Predicate], gap: Sum, bounds: BoundsOf, dtype: str) -> Expr:
    """Build `gap kind 0` with positive terms on the left and the rest on the right; GT and GE become LT and LE."""
    if kind in (GT, GE):
        gap, kind = gap.scaled(-1), LT if kind is GT else LE
    gap, kind = _coarsened(gap, kind, bounds)
    left = Sum(tuple(d for d in gap.digits if d.scale > 0))
    right = Sum(tuple(d.scaled(-1) for d in gap.digits if d.scale < 0), -gap.constant)
    if not left.digits:  # 5 < x, not 0 < x - 5
        left, right = left.offset(gap.constant), right.offset(gap.constant)
    return kind(sum_expr(left, dtype), sum_expr(right, dtype))


def _coarsened(gap: Sum, kind: type[Predicate], bounds: BoundsOf) -> tuple[Sum, type[Predicate]]:
    """Divide `gap kind 0` by the largest step that the finer digits never bridge."""
    for step in sorted({abs(d.scale) for d in gap.digits if abs(d.scale) > 1}, reverse=True):
        coarse, fine = (gap.offset(-1) if kind is LE else gap).parted(step)
        if kind in (LT, LE) and bounds(fine).is_within(0, step - 1):
            return _coarsened(coarse, LT, bounds)
        if kind in (EQ, NE) and not fine.digits and not fine.constant:
            return _coarsened(coarse, kind, bounds)
    return gap, kind


def _indivisible(gap: Sum) -> bool:
    """Whether the sum cannot be zero, because its steps have a common divisor that does not divide the constant."""
    steps = {abs(d.scale) for d in gap.digits}
    return bool(steps) and any(all(s % step == 0 for s in steps) and gap.constant % step for step in steps if step > 1)
