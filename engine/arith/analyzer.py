"""The analyzer: canonical sums of expressions under known ranges, with the derived bounds, simplifications and proofs.

Ranges bound the values of variables; a range may depend on other variables. Results are sound: an unknown is None or False, never a guess.
Integers are assumed not to overflow, as TVM assumes of indices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from ..cancellation import checkpoint
from ..ir import (
    EQ,
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
from .bounder import Bounder
from .comparisons import comparison, decided
from .division import divide, modulo
from .forms import Digit, Sum, structure_key, sum_expr

Ranges = Mapping[Var, Range]
_MOST_PRODUCT_TERMS = 64
_LEAVES = frozenset((IntImm, Var))
_CHOICES = frozenset((Select, Call, Cast))
_LOGIC = frozenset((And, Or))


class Analyzer:
    """Integer reasoning under `ranges`. Results are memoised, so one analyzer for many queries is faster than many analyzers."""

    def __init__(self, ranges: Ranges | None = None) -> None:
        self.ranges: Ranges = ranges or {}
        self._forms: dict[Expr, Sum] = {}
        self._bounder = Bounder(self.ranges, self.form)
        self.bounds = self._bounder.of
        self.sum_bounds = self._bounder.of_sum

    # -- forms

    def form(self, expr: Expr) -> Sum:
        """Return the canonical sum of an integer expression."""
        if type(expr) is IntImm:
            return Sum((), expr.value)
        found = self._forms.get(expr)
        if found is None:
            found = self._forms[expr] = self._variable(expr) if type(expr) is Var else self._form(expr)
        return found

    def _form(self, expr: Expr) -> Sum:
        checkpoint()
        work = self._FORMS.get(type(expr))
        if work is not None:
            if not dt.is_index(expr.dtype):
                return Sum.of_atom(map_children(expr, self._simplify_node))  # wraps: no algebra
            return work(self, expr)
        inside = self._inside(expr)
        return Sum.of_atom(inside) if type(inside) is type(expr) else self.form(inside)

    def _added(self, expr: Add) -> Sum:
        result = self.form(expr.a).plus(self.form(expr.b))
        remainder = next((d for d in result.digits if type(d.source) is FloorMod and d.is_whole), None)
        return result if remainder is None else self._with_quotient(result, remainder)

    def _with_quotient(self, total: Sum, remainder: Digit) -> Sum:
        """`x // n * n + x % n` with a symbolic n as `x`."""
        assert isinstance(remainder.source, FloorMod)
        x, n = remainder.source.a, remainder.source.b
        multiple = self.form(Mul(FloorDiv(x, n), n)).scaled(remainder.scale)
        rest = total.plus(multiple, -1).plus(Sum((remainder,)), -1)
        if len(rest.digits) != len(total.digits) - len(multiple.digits) - 1:
            return total
        return rest.plus(self.form(x).scaled(remainder.scale))

    def _subtracted(self, expr: Sub) -> Sum:
        return self.form(expr.a).plus(self.form(expr.b), -1)

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
        try:
            return _BUILDERS[type(expr)](left, right)
        except ZeroDivisionError:
            # Unreachable code may divide by zero; it has no value to simplify to.
            return expr

    def _inside(self, expr: Expr) -> Expr:
        """Simplify the operands of another kind of expression, and replace a choice with a known condition by its value."""
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

    # The binary operations by type: a dictionary lookup, because this is the hot path of all reasoning.
    _FORMS: ClassVar[Mapping[type[Expr], Callable[..., Sum]]] = {
        Add: _added,
        Sub: _subtracted,
        Mul: _product,
        FloorDiv: _division,
        FloorMod: _division,
        Div: _truncated,
        Mod: _truncated,
        Min: _extreme,
        Max: _extreme,
    }

    # -- expressions

    def expr(self, form: Sum, dtype: str) -> Expr:
        return sum_expr(form, dtype)

    def simplify(self, expr: Expr) -> Expr:
        """Return an equal expression, simplified if possible; the same object when nothing changes."""
        if expr.dtype == "bool":
            result = self._condition(expr)
        elif dt.is_index(expr.dtype):
            if type(expr) in _LEAVES and expr not in self.ranges:
                return expr
            result = self._chosen(expr) if type(expr) in _CHOICES else self._integer(expr)
        else:
            result = self._inside(expr)
        return expr if structural_equal(result, expr) else result

    def _integer(self, expr: Expr) -> Expr:
        return self.expr(self.form(expr), expr.dtype)

    def _chosen(self, expr: Expr) -> Expr:
        inside = self._inside(expr)
        return inside if type(inside) in _CHOICES else self.simplify(inside)

    def _condition(self, expr: Expr) -> Expr:
        match expr:
            case And():
                return self._conjunction(expr)
            case Or():
                return build.logical_or(self.simplify(expr.a), self.simplify(expr.b))
            case Not():
                return build.logical_not(self.simplify(expr.a))
            case Predicate() if dt.is_int(expr.a.dtype):
                gap = self._gap(expr)
                known = decided(type(expr), gap, self.sum_bounds)
                if known is None:
                    return comparison(type(expr), gap, self.sum_bounds, expr.a.dtype)
                return build.TRUE if known else build.FALSE
            case _:
                return self._inside(expr)

    def _gap(self, expr: Predicate) -> Sum:
        return self.form(expr.a).plus(self.form(expr.b), -1)

    def _conjunction(self, expr: And) -> Expr:
        kept: list[Expr] = []
        for term in map(self.simplify, build.conjuncts(expr)):
            for part in build.conjuncts(term):
                if not build.is_true(part) and not any(structural_equal(part, k) for k in kept):
                    kept.append(part)
        return build.logical_and(*kept)

    def decided(self, condition: Expr) -> bool | None:
        """Whether the condition always holds (True), never holds (False), or neither is known (None)."""
        if isinstance(condition, Predicate) and type(condition) not in _LOGIC and dt.is_int(condition.a.dtype):
            return decided(type(condition), self._gap(condition), self.sum_bounds)
        result = self.simplify(condition)
        return bool(result.value) if isinstance(result, IntImm) else None

    def proves(self, condition: Expr) -> bool:
        """Whether the condition provably holds for all values of the variables; False if unknown."""
        return self.decided(condition) is True

    def proves_equal(self, a: Expr, b: Expr) -> bool:
        """Whether both expressions provably have the same value; False if unknown."""
        return a is b or self.proves(EQ(*build.match_dtypes(a, b)))


class _Reasoning:
    """The analyzer's interface for division, for expressions of one dtype."""

    def __init__(self, analyzer: Analyzer, dtype: str) -> None:
        self.form = analyzer.form
        self.bounds = analyzer.sum_bounds
        self._dtype = dtype

    def expr(self, form: Sum) -> Expr:
        return sum_expr(form, self._dtype)


def _factors(digit: Digit, dtype: str) -> list[tuple[object, Expr]]:
    if digit.is_whole and isinstance(digit.source, Mul):
        a, b = digit.source.a, digit.source.b
        return [
            *_factors(Digit(a, structure_key(a)), dtype),
            *_factors(Digit(b, structure_key(b)), dtype),
        ]
    value = sum_expr(Sum((Digit(digit.source, digit.key, digit.lower, digit.upper),)), dtype)
    return [(structure_key(value), value)]


_BUILDERS: Mapping[type[Expr], Callable[[Expr, Expr], Expr]] = {
    Div: build.div,
    Mod: build.truncmod,
    FloorDiv: build.floordiv,
    FloorMod: build.floormod,
    Min: build.minimum,
    Max: build.maximum,
}
