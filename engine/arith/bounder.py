"""Constant bounds of integer expressions, derived from the ranges of their variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from ..ir import (
    Add,
    BinaryOp,
    Call,
    Cast,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mul,
    Range,
    Select,
    Sub,
    Var,
    build,
    structural_equal,
)
from ..ir import dtype as dt
from .division import Bounds
from .forms import Digit, Sum

UNKNOWN = Bounds()
_MOST_EXTREMES = 4
_EXTREMES = frozenset((Min, Max))


class Bounder:
    """Bounds under `ranges`; `form` returns the canonical sum of an expression."""

    def __init__(self, ranges: Mapping[Var, Range], form: Callable[[Expr], Sum]) -> None:
        self.ranges = ranges
        self._form = form
        self._var_bounds: dict[Var, Bounds] = {}
        self._with_extremes: dict[object, Bounds] = {}

    def of(self, expr: Expr) -> Bounds:
        """Return inclusive constant bounds of an integer expression."""
        return self.of_sum(self._form(expr))

    def of_sum(self, form: Sum) -> Bounds:
        """Return inclusive constant bounds; a variable with a symbolic range is replaced by the range's ends, so that sizes can cancel."""
        if not form.digits:
            return Bounds(form.constant, form.constant)
        if _EXTREMES.isdisjoint([d.source.__class__ for d in form.digits]):
            return self._of_terms(form)
        key = form.constant, *((d.key, d.lower, d.upper, d.scale) for d in form.digits)
        found = self._with_extremes.get(key)
        if found is None:  # memoised: operands and range ends lead to the same sums repeatedly
            found = self._with_extremes[key] = self._of_extremes(form)
        return found

    def _of_terms(self, form: Sum) -> Bounds:
        found = self._term_bounds(form)
        if found.low is None or found.high is None:
            found = Bounds(
                self._end(form, lowest=True) if found.low is None else found.low,
                self._end(form, lowest=False) if found.high is None else found.high,
            )
        return found

    def _of_extremes(self, form: Sum) -> Bounds:
        found = self._of_terms(form)
        extremes = [d for d in form.digits if d.source.__class__ in _EXTREMES]
        if len(form.digits) == 1 or len(extremes) > _MOST_EXTREMES:
            return found
        if len(form.digits) == 2 and not _paired_clamps(form.digits)[0] and 0 in (found.low, found.high):
            return found  # two clamps with one limit, and their order is known
        return Bounds(
            _any(max, found.low, self._by_operands(form, lowest=True)),
            _any(min, found.high, self._by_operands(form, lowest=False)),
        )

    def _by_operands(self, form: Sum, *, lowest: bool) -> int | None:
        """Return a bound with a min or max replaced by one operand, which can only loosen the bound: the operand may cancel with other
        terms."""
        for digit in form.digits:
            source = digit.source
            if not digit.is_whole or not isinstance(source, Min | Max):
                continue
            if (isinstance(source, Min) == (digit.scale > 0)) == lowest:
                continue
            rest = Sum(tuple(d for d in form.digits if d is not digit), form.constant)
            known = [self.of_sum(rest.plus(self._form(x), digit.scale)) for x in (source.a, source.b)]
            return _any(max, known[0].low, known[1].low) if lowest else _any(min, known[0].high, known[1].high)
        return None

    def _end(self, form: Sum, *, lowest: bool) -> int | None:
        moved = self._at_end(form, lowest=lowest)
        if moved is form:
            return None
        found = self._term_bounds(moved)
        known = found.low if lowest else found.high
        return self._end(moved, lowest=lowest) if known is None else known

    def _at_end(self, form: Sum, *, lowest: bool) -> Sum:
        """Replace the first variable with a symbolic range by the end of its range that makes the sum lowest (or highest)."""
        for digit in form.digits:
            known = self.ranges.get(digit.source) if isinstance(digit.source, Var) and digit.is_whole else None
            if known is None or (build.int_value(known.min) is not None and build.int_value(known.extent) is not None):
                continue
            end = self._form(known.min)
            if lowest == (digit.scale < 0):
                end = end.plus(self._form(known.extent)).offset(-1)
            if all(d.key is not digit.source for d in end.digits):
                rest = Sum(tuple(d for d in form.digits if d is not digit), form.constant)
                return rest.plus(end, digit.scale)
        return form

    def _term_bounds(self, form: Sum) -> Bounds:
        low: int | None = form.constant
        high: int | None = form.constant
        digits, paired = _paired_clamps(form.digits)
        for digit in digits:
            least, most = self._span(digit)
            if digit.scale < 0:
                least, most = most, least
            low = None if low is None or least is None else low + least * digit.scale
            high = None if high is None or most is None else high + most * digit.scale
        for pair in paired:
            part = self._clamp_bounds(*pair)
            low = None if low is None or part.low is None else low + part.low
            high = None if high is None or part.high is None else high + part.high
        return Bounds(low, high)

    def _span(self, digit: Digit) -> tuple[int | None, int | None]:
        """Return the bounds of the digit without its scale."""
        source = digit.source
        known = self._variable_bounds(source) if isinstance(source, Var) else self._source_bounds(source)
        low, high = known.low, known.high
        if digit.upper is not None:
            if low is not None and high is not None and low // digit.upper == high // digit.upper:
                low, high = low % digit.upper, high % digit.upper
            else:
                low, high = 0, digit.upper - 1
        return None if low is None else low // digit.lower, None if high is None else high // digit.lower

    def _clamp_bounds(self, plus: Digit, minus: Digit) -> Bounds:
        """Return the bounds of `clamp(x) - clamp(y)` with the same limit: the difference lies between 0 and x - y."""
        x, y = cast("tuple[Expr, Expr]", _same_limit(plus.source, minus.source))
        gap = self.of_sum(self._form(x).plus(self._form(y), -1))
        return Bounds(
            None if gap.low is None else min(0, gap.low) * plus.scale,
            None if gap.high is None else max(0, gap.high) * plus.scale,
        )

    def _source_bounds(self, source: Expr) -> Bounds:
        match source:
            case BinaryOp() | Cast() if not dt.is_index(source.dtype):
                return _dtype_bounds(source.dtype)
            case Add() | Sub():
                return self.of(source)
            case Min() | Max():
                return self._extreme_bounds(source)
            case Mul():
                return _product_bounds(self.of(source.a), self.of(source.b))
            case Cast() if dt.is_int(source.value.dtype):
                return self.of(source.value)
            case Cast() if source.value.dtype == "bool":
                return Bounds(0, 1)
            case FloorMod() | FloorDiv():
                return self._symbolic_division_bounds(source)
            case Select():
                return _either(self.of(source.true_value), self.of(source.false_value))
            case Call(op="if_then_else"):
                return _either(self.of(source.args[1]), self.of(source.args[2]))
            case IntImm():
                return Bounds(source.value, source.value)
            case _:
                return UNKNOWN

    def _variable_bounds(self, var: Var) -> Bounds:
        found = self._var_bounds.get(var)
        if found is not None:
            return found
        known = self.ranges.get(var)
        if known is None:
            return Bounds(0, None) if var.dtype.startswith("uint") else UNKNOWN
        first, trips = known.min, known.extent
        if isinstance(first, IntImm) and isinstance(trips, IntImm):
            found = self._var_bounds[var] = Bounds(first.value, first.value + trips.value - 1)
            return found
        self._var_bounds[var] = UNKNOWN  # guards against a range that depends on its own variable
        try:
            last = self._form(first).plus(self._form(trips)).offset(-1)
            found = self._var_bounds[var] = Bounds(self.of(first).low, self.of_sum(last).high)
        except BaseException:
            del self._var_bounds[var]  # the guard is no result
            raise
        return found

    def _extreme_bounds(self, source: Min | Max) -> Bounds:
        a, b = self.of(source.a), self.of(source.b)
        if isinstance(source, Min):
            return Bounds(_both(min, a.low, b.low), _any(min, a.high, b.high))
        return Bounds(_any(max, a.low, b.low), _both(max, a.high, b.high))

    def _symbolic_division_bounds(self, source: FloorMod | FloorDiv) -> Bounds:
        a, b = self.of(source.a), self.of(source.b)
        if b.low is None or b.low <= 0:
            return UNKNOWN
        if isinstance(source, FloorMod):
            return Bounds(0, None if b.high is None else b.high - 1)
        if a.low is not None and a.low >= 0:
            return Bounds(0 if b.high is None else a.low // b.high, None if a.high is None else a.high // b.low)
        return UNKNOWN


def _paired_clamps(digits: tuple[Digit, ...]) -> tuple[list[Digit], list[tuple[Digit, Digit]]]:
    """Separate pairs of digits `max(x, c) - max(y, c)` (or min) from the rest."""
    left = list(digits)
    if _EXTREMES.isdisjoint([d.source.__class__ for d in digits]):
        return left, []
    pairs: list[tuple[Digit, Digit]] = []
    for plus in digits:
        if plus.scale <= 0 or not plus.is_whole or not isinstance(plus.source, Min | Max):
            continue
        for minus in left:
            if minus.scale == -plus.scale and minus.is_whole and _same_limit(plus.source, minus.source):
                pairs.append((plus, minus))
                left = [d for d in left if d is not plus and d is not minus]
                break
    return left, pairs


def _same_limit(first: Expr, second: Expr) -> tuple[Expr, Expr] | None:
    """Return (x, y) when first = clamp(x, c) and second = clamp(y, c) of one kind."""
    if type(first) is not type(second) or not isinstance(first, Min | Max) or not isinstance(second, Min | Max):
        return None
    for c, x in ((first.b, first.a), (first.a, first.b)):
        for other, y in ((second.b, second.a), (second.a, second.b)):
            if structural_equal(c, other):
                return x, y
    return None


def _dtype_bounds(dtype: str) -> Bounds:
    """Return the value range of narrow or unsigned arithmetic, which wraps."""
    return Bounds(*dt.int_range(dtype)) if dt.is_int(dtype) else UNKNOWN


def _both(choose: Callable[[int, int], int], a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else choose(a, b)


def _any(choose: Callable[[int, int], int], a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else choose(a, b)


def _either(a: Bounds, b: Bounds) -> Bounds:
    return Bounds(_both(min, a.low, b.low), _both(max, a.high, b.high))


def _product_bounds(a: Bounds, b: Bounds) -> Bounds:
    if None not in (a.low, a.high, b.low, b.high):
        corners = [
            x * y for x in cast("tuple[int, int]", (a.low, a.high)) for y in cast("tuple[int, int]", (b.low, b.high))
        ]
        return Bounds(min(corners), max(corners))
    if a.low is not None and b.low is not None and a.low >= 0 and b.low >= 0:
        return Bounds(a.low * b.low, None)
    return UNKNOWN
