"""Symbolic hulls: the lowest and highest value of an expression over some variables, in terms of the others."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from ..ir import Add, Call, Cast, Expr, FloorDiv, IntImm, Max, Min, Mul, Range, Select, Sub, Var, build, free_vars
from .analyzer import Analyzer
from .forms import Digit, Sum


class Interval(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A range `min <= value <= max`, both ends inclusive. `exact`: both ends are known to be attained."""

    min: Expr
    max: Expr
    exact: bool = True


class _Span(msgspec.Struct, frozen=True, eq=False, gc=False):
    low: Sum
    high: Sum
    exact: bool = True

    def scaled(self, factor: int) -> _Span:
        low, high = self.low.scaled(factor), self.high.scaled(factor)
        return _Span(low, high, self.exact) if factor >= 0 else _Span(high, low, self.exact)


class Relaxer:
    """Hulls over the `relaxed` variables; the analyzer's ranges bound the fixed variables (and may contain the relaxed ones too)."""

    def __init__(self, relaxed: Mapping[Var, Range], analyzer: Analyzer) -> None:
        self.relaxed = relaxed
        self.stay = analyzer
        known = analyzer.ranges
        # If the analyzer has the relaxed ranges already, its memo is reused.
        is_known = all(known.get(v) is r for v, r in relaxed.items())
        self.all = analyzer if is_known else Analyzer({**known, **relaxed})
        self._spans: dict[Var, _Span | None] = {}
        self._sums: dict[tuple[Sum, str], _Span | None] = {}

    def interval(self, expr: Expr) -> Interval | None:
        """Return the hull of `expr`; None when no bound is known."""
        span = self._of_sum(self.all.form(expr), expr.dtype)
        if span is None:
            return None
        return Interval(self._expr(span.low, expr.dtype), self._expr(span.high, expr.dtype), span.exact)

    def around(self, axis: Range) -> Range | None:
        """Return the hull of all values in `axis`."""
        ends = self._ends(axis)
        if ends is None:
            return None
        (first, end), dtype = ends, axis.min.dtype
        return Range(self._expr(first, dtype), self._expr(end.plus(first, -1), dtype))

    def ends(self, axis: Range) -> tuple[Sum, Sum] | None:
        """Return the lowest value in `axis` and the successor of the highest, as forms of the analyzer."""
        found, dtype = self._ends(axis), axis.min.dtype
        return None if found is None else (self._settled(found[0], dtype), self._settled(found[1], dtype))

    def _ends(self, axis: Range) -> tuple[Sum, Sum] | None:
        dtype, first = axis.min.dtype, self.all.form(axis.min)
        low = high = self._of_sum(first, dtype)
        if not build.is_const(axis.extent, 1):
            high = self._of_sum(first.plus(self.all.form(axis.extent)).offset(-1), dtype)
        return None if low is None or high is None else (low.low, high.high.offset(1))

    def _expr(self, end: Sum, dtype: str) -> Expr:
        return self.stay.expr(self._settled(end, dtype), dtype)

    def _settled(self, end: Sum, dtype: str) -> Sum:
        """Return the sum in the form of the analyzer for fixed variables; a sum of plain variables is unchanged."""
        is_simple = all(isinstance(d.source, Var) and d.is_whole for d in end.digits)
        return end if is_simple else self.stay.form(self.stay.expr(end, dtype))

    def _of_sum(self, form: Sum, dtype: str) -> _Span | None:
        if not form.digits:
            return _Span(form, form)
        key = form, dtype
        if key not in self._sums:
            self._sums[key] = self._span_of_sum(form, dtype)
        return self._sums[key]

    def _span_of_sum(self, form: Sum, dtype: str) -> _Span | None:
        low = high = Sum((), form.constant)
        exact, seen = True, set[Var]()
        moved = False  # whether the sums contain digits of other expressions than the form, which may have to be merged
        for digit in form.digits:
            used = self._relaxed_in(digit.source)
            if not used:
                low = low.plus(Sum((digit,))) if moved else Sum((*low.digits, digit), low.constant)
                high = high.plus(Sum((digit,))) if moved else Sum((*high.digits, digit), high.constant)
                continue
            span = self._of_digit(digit, dtype)
            if span is None:
                return None
            exact = exact and span.exact and seen.isdisjoint(used)
            seen |= used
            moved = moved or bool(span.low.digits or span.high.digits)
            low, high = low.plus(span.low), high.plus(span.high)
        return _Span(low, high, exact)

    def _relaxed_in(self, source: Expr) -> set[Var]:
        """Return the relaxed variables that a source depends on, also through the ranges of relaxed variables."""
        found: set[Var] = set()
        if not self.relaxed or (type(source) is Var and source not in self.relaxed):
            return found
        stack = [source] if type(source) is Var else list(free_vars(source))
        while stack:
            var = stack.pop()
            known = self.relaxed.get(var)
            if known is None or var in found:
                continue
            found.add(var)
            for part in (known.min, known.extent):
                if type(part) is not IntImm:
                    stack += free_vars(part)
        return found

    def _of_digit(self, digit: Digit, dtype: str) -> _Span | None:
        span = self._of_source(digit.source, dtype)
        if digit.upper is not None:
            span = self._wrapped(span, digit.upper, dtype, dense=isinstance(digit.source, Var))
        if span is None:
            return None
        if digit.lower != 1:
            low, high = (self._divided(end, digit.lower, dtype) for end in (span.low, span.high))
            span = _Span(low, high, span.exact)
        return span.scaled(digit.scale)

    def _divided(self, form: Sum, divisor: int, dtype: str) -> Sum:
        return self.stay.form(build.floordiv(self.stay.expr(form, dtype), divisor))

    def _wrapped(self, span: _Span | None, modulus: int, dtype: str, *, dense: bool) -> _Span:
        """Return `span % modulus`: a shifted span if it does not wrap, otherwise all remainders."""
        every = Sum((), 0), Sum((), modulus - 1)
        if span is None:
            return _Span(*every, exact=False)
        low, high = self._divided(span.low, modulus, dtype), self._divided(span.high, modulus, dtype)
        gap = self.stay.sum_bounds(high.plus(low, -1))
        if (gap.low, gap.high) == (0, 0):
            return _Span(span.low.plus(low, -modulus), span.high.plus(high, -modulus), span.exact)
        width = self.stay.sum_bounds(span.high.plus(span.low, -1))
        return _Span(*every, exact=dense and span.exact and width.low is not None and width.low >= modulus - 1)

    def _of_source(self, source: Expr, dtype: str) -> _Span | None:
        match source:
            case Var():
                return self._of_variable(source)
            case Add() | Sub():
                return self._of_sum(self.all.form(source), dtype)
            case Min() | Max():
                return self._of_extreme(source, dtype)
            case Mul():
                return self._of_product(source, dtype)
            case Cast():
                return self._constant(source)
            case FloorDiv():
                return self._of_quotient(source, dtype)
            case Select():
                return self._of_choice(source.true_value, source.false_value, dtype)
            case Call(op="if_then_else"):
                return self._of_choice(source.args[1], source.args[2], dtype)
            case _:
                return self._constant(source)

    def _of_variable(self, var: Var) -> _Span | None:
        if var not in self.relaxed:
            return _still(Digit(var, var))
        if var not in self._spans:
            self._spans[var] = None  # guards against a range that depends on its own variable
            try:
                self._spans[var] = self._span_of_range(self.relaxed[var], var.dtype)
            except BaseException:
                del self._spans[var]  # the guard is no result
                raise
        return self._spans[var]

    def _span_of_range(self, known: Range, dtype: str) -> _Span | None:
        if type(known.min) is IntImm and type(known.extent) is IntImm:
            low = known.min.value
            return _Span(Sum((), low), Sum((), low + known.extent.value - 1))
        first = self.all.form(known.min)
        last = first.plus(self.all.form(known.extent)).offset(-1)
        low, high = self._of_sum(first, dtype), self._of_sum(last, dtype)
        return None if low is None or high is None else _Span(low.low, high.high, low.exact and high.exact)

    def _of_extreme(self, source: Min | Max, dtype: str) -> _Span | None:
        a, b = self._of_expr(source.a), self._of_expr(source.b)
        if a is None or b is None:
            return self._constant(source)
        join = build.minimum if isinstance(source, Min) else build.maximum
        low, high = (
            self.stay.form(join(self.stay.expr(x, dtype), self.stay.expr(y, dtype)))
            for x, y in ((a.low, b.low), (a.high, b.high))
        )
        shared = self._relaxed_in(source.a) & self._relaxed_in(source.b)
        return _Span(low, high, a.exact and b.exact and not shared)

    def _of_product(self, source: Mul, dtype: str) -> _Span | None:
        for moving, factor in ((source.a, source.b), (source.b, source.a)):
            if self._relaxed_in(factor):
                continue
            span, sign = self._of_expr(moving), self.stay.bounds(factor)
            if span is None or sign.low is None or sign.low < 0:
                continue
            low, high = (self.stay.form(build.mul(self.stay.expr(end, dtype), factor)) for end in (span.low, span.high))
            return _Span(low, high, span.exact)
        return self._constant(source)

    def _of_quotient(self, source: FloorDiv, dtype: str) -> _Span | None:
        """Divide by a fixed, positive symbolic expression."""
        span, divisor = self._of_expr(source.a), self.stay.bounds(source.b)
        if span is None or self._relaxed_in(source.b) or divisor.low is None or divisor.low <= 0:
            return self._constant(source)
        low, high = (
            self.stay.form(build.floordiv(self.stay.expr(end, dtype), source.b)) for end in (span.low, span.high)
        )
        return _Span(low, high, span.exact)

    def _of_choice(self, first: Expr, second: Expr, dtype: str) -> _Span | None:
        a, b = self._of_expr(first), self._of_expr(second)
        if a is None or b is None:
            return None
        low = self.stay.form(build.minimum(self.stay.expr(a.low, dtype), self.stay.expr(b.low, dtype)))
        high = self.stay.form(build.maximum(self.stay.expr(a.high, dtype), self.stay.expr(b.high, dtype)))
        return _Span(low, high, exact=False)

    def _of_expr(self, expr: Expr) -> _Span | None:
        return self._of_sum(self.all.form(expr), expr.dtype)

    def _constant(self, source: Expr) -> _Span | None:
        """Return constant bounds, as a last resort."""
        known = self.all.bounds(source) if not isinstance(source, IntImm) else None
        if known is None or known.low is None or known.high is None:
            return None
        return _Span(Sum((), known.low), Sum((), known.high), exact=False)


def _still(digit: Digit) -> _Span:
    form = Sum((digit,))
    return _Span(form, form)
