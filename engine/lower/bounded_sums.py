"""Sums of loops bounded by a condition, as one variable: `(tx * 3 + vec) // 4` where `tx * 3 + vec < 512` is at most 127.

The hull of a region treats loops as independent and would bound the sum only by the ranges of its loops.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..arith import bounds, linear, simplify
from ..ir import LE, LT, BufferRegion, Expr, Range, Var, build, free_vars, substitute, uses_var

Ranges = Mapping[Var, Range]


def bounded_sums(
    region: BufferRegion, relaxed: Ranges, conditions: Sequence[Expr]
) -> tuple[BufferRegion, dict[Var, Range]]:
    """`region` with new variables for sums of `relaxed` loops that a condition bounds, and the ranges of these variables."""
    sums: dict[Var, Range] = {}
    for condition in conditions:
        found = _bounded(condition, relaxed)
        if found is None:
            continue
        pivot, rest, span = found
        whole = Var("sum", pivot.dtype)
        axes: list[Range] = []
        for axis in region.region:
            start = simplify(substitute(axis.min, {pivot: build.sub(whole, rest)}), {**relaxed, whole: span})
            # The substitution must remove the sum's other loops too; otherwise the axis does not use the sum.
            fits = uses_var(axis.min, pivot) and not free_vars(start) & free_vars(rest)
            axes.append(Range(start, axis.extent) if fits else axis)
            if fits:
                sums[whole] = span
        region = BufferRegion(region.buffer, tuple(axes))
    return region, sums


def _bounded(condition: Expr, relaxed: Ranges) -> tuple[Var, Expr, Range] | None:
    """(a loop with factor 1 in the sum, the rest of the sum, the sum's range) if the condition is `sum < number` or `sum <= number`."""
    if not isinstance(condition, LT | LE):
        return None
    form, limit = linear(condition.a), build.int_value(condition.b)
    if form is None or limit is None or not form.terms:
        return None
    loops = [(v, f) for v, f in form.terms if isinstance(v, Var) and v in relaxed]
    pivot = next((v for v, f in loops if f == 1), None)
    # For a single loop, the condition itself is the bound.
    if len(loops) < max(2, len(form.terms)) or pivot is None:
        return None
    total = simplify(condition.a, relaxed)
    low, high = bounds(total, relaxed).low, bounds(total, relaxed).high
    last = limit - 1 if isinstance(condition, LT) else limit
    if low is None or high is None or last < low:
        return None
    span = build.make_range(build.const(low, pivot.dtype), build.const(min(high, last) - low + 1, pivot.dtype))
    return pivot, simplify(build.sub(condition.a, pivot)), span
