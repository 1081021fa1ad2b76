"""The analyzer: expressions to canonical sums under known ranges, and what follows from them - bounds, simpler forms, proofs.

Ranges say what values variables take; a range may name other variables. Sound always: an unknown is None or False, never a guess.
Integers are assumed not to overflow, as TVM assumes of indices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from ..ir import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Call,
    Cast,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mod,
    Mul,
    Node,
    Not,
    Or,
    Predicate,
    Range,
    Select,
    Sub,
    Var,
    build,
    map_children,
    structural_equal,
)
from ..ir import dtype as dt
from .division import Bounds, divide, modulo
from .forms import Digit, Sum, structure_key, sum_expr

Ranges = Mapping[Var, Range]
UNKNOWN = Bounds()
_MOST_PRODUCT_TERMS = 64


class Analyzer:
    """Integer reasoning under `ranges`. Holds memos, so one analyzer for many questions is quicker than many."""

    def __init__(self, ranges: Ranges | None = None) -> None:
        self.ranges: Ranges = ranges or {}
        self._forms: dict[Expr, Sum] = {}
        self._var_bounds: dict[Var, Bounds] = {}

    # forms

    def form(self, expr: Expr) -> Sum:
        """The canonical sum of an integer expression."""
        found = self._forms.get(expr)
        if found is None:
            found = self._forms[expr] = self._form(expr)
        return found

    def _form(self, expr: Expr) -> Sum:
        match expr:
            case IntImm():
                return Sum((), expr.value)
            case Var():
                return self._variable(expr)
            case Add():
                return self.form(expr.a).plus(self.form(expr.b))
            case Sub():
                return self.form(expr.a).plus(self.form(expr.b), -1)
            case Mul():
                return self._product(expr)
            case FloorDiv() | FloorMod():
                return self._division(expr)
            case Div() | Mod():
                return self._truncated(expr)
            case Min() | Max():
                return self._extreme(expr)
            case _:
                inside = self._inside(expr)
                return Sum.of_atom(inside) if type(inside) is type(expr) else self.form(inside)

    def _variable(self, var: Var) -> Sum:
        known = self.ranges.get(var)
        if known is not None and build.is_const(known.extent, 1) and known.min is not var:
            return self.form(known.min)
        return Sum((Digit(var, var),))

    def _product(self, expr: Mul) -> Sum:
        a, b = self.form(expr.a), self.form(expr.b)
        if not a.digits:
            return b.scaled(a.constant)
        if not b.digits:
            return a.scaled(b.constant)
        if len(a.digits) * len(b.digits) > _MOST_PRODUCT_TERMS:
            return Sum.of_atom(build.mul(self.expr(a, expr.dtype), self.expr(b, expr.dtype)))
        result = a.scaled(b.constant).plus(b.scaled(a.constant)).offset(-a.constant * b.constant)
        for x in a.digits:
            for y in b.digits:
                result = result.plus(self._digit_product(x, y, expr.dtype))
        return result

    def _digit_product(self, x: Digit, y: Digit, dtype: str) -> Sum:
        factors = [*_factors(x, dtype), *_factors(y, dtype)]
        key = ("product", frozenset((k, sum(1 for other, _ in factors if other == k)) for k, _ in factors))
        first, *others = (f for _, f in factors)
        source = first
        for factor in others:
            source = Mul(source, factor)
        return Sum((Digit(source, key, scale=x.scale * y.scale),))

    def _division(self, expr: FloorDiv | FloorMod) -> Sum:
        a, b = self.form(expr.a), self.form(expr.b)
        if not b.digits and b.constant > 0:
            work = divide if isinstance(expr, FloorDiv) else modulo
            return work(a, b.constant, _Reasoning(self, expr.dtype))
        bounds = self.sum_bounds(a)
        if bounds.low is not None and bounds.low >= 0:
            gap = self.sum_bounds(b.plus(a, -1))
            if gap.low is not None and gap.low > 0:
                return Sum(()) if isinstance(expr, FloorDiv) else a
        return Sum.of_atom(self._rebuilt(expr, a, b))

    def _truncated(self, expr: Div | Mod) -> Sum:
        a, b = self.form(expr.a), self.form(expr.b)
        low = self.sum_bounds(a).low
        if not b.digits and b.constant > 0 and low is not None and low >= 0:
            work = divide if isinstance(expr, Div) else modulo
            return work(a, b.constant, _Reasoning(self, expr.dtype))
        return Sum.of_atom(self._rebuilt(expr, a, b))

    def _extreme(self, expr: Min | Max) -> Sum:
        a, b = self.form(expr.a), self.form(expr.b)
        difference = self.sum_bounds(a.plus(b, -1))
        if difference.high is not None and difference.high <= 0:
            return a if isinstance(expr, Min) else b
        if difference.low is not None and difference.low >= 0:
            return b if isinstance(expr, Min) else a
        return Sum.of_atom(self._rebuilt(expr, a, b))

    def _rebuilt(self, expr: Div | Mod | FloorDiv | FloorMod | Min | Max, a: Sum, b: Sum) -> Expr:
        left, right = self.expr(a, expr.dtype), self.expr(b, expr.dtype)
        if structural_equal(left, expr.a) and structural_equal(right, expr.b):
            return expr
        return _BUILDERS[type(expr)](left, right)

    def _inside(self, expr: Expr) -> Expr:
        """An expression of another kind with its operands simplified and decided choices taken."""
        result = map_children(expr, self._simplify_node)
        match result:
            case Select(condition=IntImm()):
                return result.true_value if build.is_true(result.condition) else result.false_value
            case Call(op="if_then_else", args=(IntImm() as condition, yes, no)):
                return yes if build.is_true(condition) else no
            case Cast():
                return build.cast(result.value, result.dtype)
            case _:
                return result

    def _simplify_node(self, node: Node) -> Node:
        return self.simplify(node) if isinstance(node, Expr) else node

    # expressions

    def expr(self, form: Sum, dtype: str) -> Expr:
        return sum_expr(form, dtype)

    def simplify(self, expr: Expr) -> Expr:
        """An equal expression, simpler where known how; the same object when nothing changes."""
        if expr.dtype == "bool":
            result = self._condition(expr)
        elif dt.is_int(expr.dtype):
            if isinstance(expr, IntImm | Var) and expr not in self.ranges:
                return expr
            result = self._chosen(expr) if isinstance(expr, Select | Call | Cast) else self._integer(expr)
        else:
            result = self._inside(expr)
        return expr if structural_equal(result, expr) else result

    def _integer(self, expr: Expr) -> Expr:
        return self.expr(self.form(expr), expr.dtype)

    def _chosen(self, expr: Expr) -> Expr:
        inside = self._inside(expr)
        return inside if isinstance(inside, Select | Call | Cast) else self.simplify(inside)

    def _condition(self, expr: Expr) -> Expr:
        match expr:
            case And():
                return self._conjunction(expr)
            case Or():
                return build.logical_or(self.simplify(expr.a), self.simplify(expr.b))
            case Not():
                return build.logical_not(self.simplify(expr.a))
            case Predicate() if dt.is_int(expr.a.dtype):
                return self._comparison(expr)
            case _:
                return self._inside(expr)

    def _conjunction(self, expr: And) -> Expr:
        kept: list[Expr] = []
        for term in map(self.simplify, build.conjuncts(expr)):
            for part in build.conjuncts(term):
                if not build.is_true(part) and not any(structural_equal(part, k) for k in kept):
                    kept.append(part)
        return build.logical_and(*kept)

    def _comparison(self, expr: Predicate) -> Expr:
        gap = self.form(expr.a).plus(self.form(expr.b), -1)
        decided = self._decided(type(expr), gap)
        if decided is not None:
            return build.TRUE if decided else build.FALSE
        kind = type(expr)
        if kind in (GT, GE):
            gap, kind = gap.scaled(-1), LT if kind is GT else LE
        gap, kind = self._coarsened(gap, kind)
        left = Sum(tuple(d for d in gap.digits if d.scale > 0))
        right = Sum(tuple(d.scaled(-1) for d in gap.digits if d.scale < 0), -gap.constant)
        if not left.digits:  # 5 < x, not 0 < x - 5
            left, right = left.offset(gap.constant), right.offset(gap.constant)
        return kind(self.expr(left, expr.a.dtype), self.expr(right, expr.a.dtype))

    def _coarsened(self, gap: Sum, kind: type[Predicate]) -> tuple[Sum, type[Predicate]]:
        """`gap < 0` (or `<= 0`, `== 0`, `!= 0`) divided by the largest step that the finer digits never bridge."""
        for step in sorted({abs(d.scale) for d in gap.digits if abs(d.scale) > 1}, reverse=True):
            coarse, fine = (gap.offset(-1) if kind is LE else gap).parted(step)
            if kind in (LT, LE) and self.sum_bounds(fine).is_within(0, step - 1):
                return self._coarsened(coarse, LT)
            if kind in (EQ, NE) and not fine.digits and not fine.constant:
                return self._coarsened(coarse, kind)
        return gap, kind

    # bounds

    def bounds(self, expr: Expr) -> Bounds:
        """Inclusive constant bounds of an integer expression."""
        return self.sum_bounds(self.form(expr))

    def sum_bounds(self, form: Sum) -> Bounds:
        """Inclusive constant bounds; where a range is symbolic, its ends stand for the variable so that sizes can cancel."""
        found = self._term_bounds(form)
        if found.low is not None and found.high is not None:
            return found
        return Bounds(
            self._end(form, lowest=True) if found.low is None else found.low,
            self._end(form, lowest=False) if found.high is None else found.high,
        )

    def _end(self, form: Sum, *, lowest: bool) -> int | None:
        moved = self._at_end(form, lowest=lowest)
        if moved is form:
            return None
        found = self._term_bounds(moved)
        known = found.low if lowest else found.high
        return self._end(moved, lowest=lowest) if known is None else known

    def _at_end(self, form: Sum, *, lowest: bool) -> Sum:
        """The sum with the first variable of symbolic range at the end of its range that makes the sum lowest (or highest)."""
        for digit in form.digits:
            known = self.ranges.get(digit.source) if isinstance(digit.source, Var) and digit.is_whole else None
            if known is None or (build.int_value(known.min) is not None and build.int_value(known.extent) is not None):
                continue
            end = self.form(known.min)
            if lowest == (digit.scale < 0):
                end = end.plus(self.form(known.extent)).offset(-1)
            if all(d.key is not digit.source for d in end.digits):
                rest = Sum(tuple(d for d in form.digits if d is not digit), form.constant)
                return rest.plus(end, digit.scale)
        return form

    def _term_bounds(self, form: Sum) -> Bounds:
        low: int | None = form.constant
        high: int | None = form.constant
        digits, paired = _paired_clamps(form.digits)
        for part in (*map(self._digit_bounds, digits), *(self._clamp_bounds(*pair) for pair in paired)):
            low = None if low is None or part.low is None else low + part.low
            high = None if high is None or part.high is None else high + part.high
        return Bounds(low, high)

    def _digit_bounds(self, digit: Digit) -> Bounds:
        low, high = self._span(digit)
        if digit.scale < 0:
            low, high = high, low
        return Bounds(
            None if low is None else low * digit.scale,
            None if high is None else high * digit.scale,
        )

    def _span(self, digit: Digit) -> tuple[int | None, int | None]:
        """Bounds of the digit without its scale."""
        known = self._source_bounds(digit.source)
        low, high = known.low, known.high
        if digit.upper is not None:
            if low is not None and high is not None and low // digit.upper == high // digit.upper:
                low, high = low % digit.upper, high % digit.upper
            else:
                low, high = 0, digit.upper - 1
        return None if low is None else low // digit.lower, None if high is None else high // digit.lower

    def _clamp_bounds(self, plus: Digit, minus: Digit) -> Bounds:
        """Bounds of `clamp(x) - clamp(y)` with the same limit: no further apart than 0 and x - y."""
        same, x, y = cast("tuple[Expr, Expr, Expr]", _same_limit(plus.source, minus.source))
        del same
        gap = self.sum_bounds(self.form(x).plus(self.form(y), -1))
        return Bounds(
            None if gap.low is None else min(0, gap.low) * plus.scale,
            None if gap.high is None else max(0, gap.high) * plus.scale,
        )

    def _source_bounds(self, source: Expr) -> Bounds:
        match source:
            case Var():
                return self._variable_bounds(source)
            case Add() | Sub():
                return self.bounds(source)
            case Min() | Max():
                return self._extreme_bounds(source)
            case Mul():
                return _product_bounds(self.bounds(source.a), self.bounds(source.b))
            case Cast() if dt.is_int(source.value.dtype):
                return self.bounds(source.value)
            case Cast() if source.value.dtype == "bool":
                return Bounds(0, 1)
            case FloorMod() | FloorDiv():
                return self._symbolic_division_bounds(source)
            case Select():
                return _either(self.bounds(source.true_value), self.bounds(source.false_value))
            case Call(op="if_then_else"):
                return _either(self.bounds(source.args[1]), self.bounds(source.args[2]))
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
        self._var_bounds[var] = UNKNOWN  # a range that names its own variable says nothing
        found = Bounds(
            self.bounds(known.min).low,
            self.sum_bounds(self.form(known.min).plus(self.form(known.extent)).offset(-1)).high,
        )
        self._var_bounds[var] = found
        return found

    def _extreme_bounds(self, source: Min | Max) -> Bounds:
        a, b = self.bounds(source.a), self.bounds(source.b)
        if isinstance(source, Min):
            return Bounds(_both(min, a.low, b.low), _any(min, a.high, b.high))
        return Bounds(_any(max, a.low, b.low), _both(max, a.high, b.high))

    def _symbolic_division_bounds(self, source: FloorMod | FloorDiv) -> Bounds:
        a, b = self.bounds(source.a), self.bounds(source.b)
        if b.low is None or b.low <= 0:
            return UNKNOWN
        if isinstance(source, FloorMod):
            return Bounds(0, None if b.high is None else b.high - 1)
        if a.low is not None and a.low >= 0:
            return Bounds(0 if b.high is None else a.low // b.high, None if a.high is None else a.high // b.low)
        return UNKNOWN

    # proofs

    def decided(self, condition: Expr) -> bool | None:
        """Whether the condition always holds (True), never holds (False), or neither is known (None)."""
        result = self.simplify(condition)
        return bool(result.value) if isinstance(result, IntImm) else None

    def _decided(self, kind: type[Predicate], gap: Sum) -> bool | None:
        """Decides `gap kind 0`."""
        known = self.sum_bounds(gap)
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


class _Reasoning:
    """The analyzer as division sees it, for expressions of one dtype."""

    def __init__(self, analyzer: Analyzer, dtype: str) -> None:
        self.form = analyzer.form
        self.bounds = analyzer.sum_bounds
        self._dtype = dtype

    def expr(self, form: Sum) -> Expr:
        return sum_expr(form, self._dtype)


def _indivisible(gap: Sum) -> bool:
    """Whether the sum cannot be zero because all its steps share a divisor that its constant has not."""
    steps = {abs(d.scale) for d in gap.digits}
    return bool(steps) and any(all(s % step == 0 for s in steps) and gap.constant % step for step in steps if step > 1)


def _factors(digit: Digit, dtype: str) -> list[tuple[object, Expr]]:
    if digit.is_whole and isinstance(digit.source, Mul):
        a, b = digit.source.a, digit.source.b
        return [
            *_factors(Digit(a, structure_key(a)), dtype),
            *_factors(Digit(b, structure_key(b)), dtype),
        ]
    value = sum_expr(Sum((Digit(digit.source, digit.key, digit.lower, digit.upper),)), dtype)
    return [(structure_key(value), value)]


def _paired_clamps(digits: tuple[Digit, ...]) -> tuple[list[Digit], list[tuple[Digit, Digit]]]:
    """Digits `max(x, c) - max(y, c)` (or min) taken out as pairs."""
    left = list(digits)
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


def _same_limit(first: Expr, second: Expr) -> tuple[Expr, Expr, Expr] | None:
    """(c, x, y) when first = clamp(x, c) and second = clamp(y, c) of one kind."""
    if type(first) is not type(second) or not isinstance(first, Min | Max) or not isinstance(second, Min | Max):
        return None
    for c, x in ((first.b, first.a), (first.a, first.b)):
        for other, y in ((second.b, second.a), (second.a, second.b)):
            if structural_equal(c, other):
                return c, x, y
    return None


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


_BUILDERS: Mapping[type[Expr], Callable[[Expr, Expr], Expr]] = {
    Div: build.div,
    Mod: build.truncmod,
    FloorDiv: build.floordiv,
    FloorMod: build.floormod,
    Min: build.minimum,
    Max: build.maximum,
}
