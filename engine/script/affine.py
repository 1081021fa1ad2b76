"""The little arithmetic that reading needs: differences of indices, and the hull of an index over loops.

`engine.arith` is the real one; it stands above this package. Here the answers only have to be right, and exact for affine indices.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from ..ir import Add, Buffer, Expr, FloorDiv, FloorMod, IntImm, Max, Min, Mul, Node, Sub, Var, build, walk

Hull = tuple[Expr, Expr]  # lowest and highest value, inclusive


def structure_key(node: object) -> object:
    """Equal for expressions of equal structure over the same variables and buffers."""
    if isinstance(node, Var | Buffer):
        return id(node)
    if isinstance(node, Node):
        return type(node), tuple(structure_key(getattr(node, name)) for name in type(node).__struct_fields__)
    if isinstance(node, tuple):
        return tuple(structure_key(item) for item in cast("tuple[object, ...]", node))
    return node


class Linear:
    """`sum(coefficient * atom) + constant`, atoms keyed by structure."""

    __slots__ = ("constant", "terms")

    def __init__(self, terms: dict[object, tuple[Expr, int]], constant: int) -> None:
        self.terms = terms
        self.constant = constant

    @staticmethod
    def of(expr: Expr) -> Linear:
        """Any integer expression; what is not a sum becomes one atom."""
        if isinstance(expr, IntImm):
            return Linear({}, expr.value)
        if isinstance(expr, Add | Sub):
            return Linear.of(expr.a).plus(Linear.of(expr.b), 1 if isinstance(expr, Add) else -1)
        if isinstance(expr, Mul):
            a, b = Linear.of(expr.a), Linear.of(expr.b)
            if not b.terms:
                return a.times(b.constant)
            if not a.terms:
                return b.times(a.constant)
        return Linear({structure_key(expr): (expr, 1)}, 0)

    def times(self, factor: int) -> Linear:
        return Linear({key: (atom, c * factor) for key, (atom, c) in self.terms.items() if factor}, self.constant * factor)

    def plus(self, other: Linear, sign: int = 1) -> Linear:
        terms = dict(self.terms)
        for key, (atom, coefficient) in other.terms.items():
            total = terms.get(key, (atom, 0))[1] + sign * coefficient
            if total:
                terms[key] = (terms.get(key, (atom, 0))[0], total)
            else:
                terms.pop(key, None)
        return Linear(terms, self.constant + sign * other.constant)

    def expr(self, dtype: str) -> Expr:
        result: Expr | None = None
        for atom, coefficient in self.terms.values():
            term = build.mul(atom, build.const(abs(coefficient), dtype))
            if result is None:
                result = term if coefficient > 0 else build.mul(atom, build.const(coefficient, dtype))
            else:
                result = build.add(result, term) if coefficient > 0 else build.sub(result, term)
        if result is None:
            return build.const(self.constant, dtype)
        constant = build.const(abs(self.constant), dtype)
        return build.add(result, constant) if self.constant >= 0 else build.sub(result, constant)


def difference(stop: Expr, start: Expr) -> Expr:
    """`stop - start`, simplified where terms cancel: the extent of a range given by its ends."""
    stop, start = build.match_dtypes(stop, start)
    if build.is_const(start, 0):
        return stop
    if isinstance(stop, Add) and structure_key(stop.a) == structure_key(start):
        return stop.b
    return Linear.of(stop).plus(Linear.of(start), -1).expr(stop.dtype)


def hull(expr: Expr, loops: Mapping[Var, Hull]) -> Hull | None:
    """The lowest and highest value of `expr` while the variables of `loops` run over theirs; None when it is not known.

    Later entries of `loops` are inner: their hulls may use earlier variables.
    """
    relaxed = {node for node in walk(expr) if isinstance(node, Var) and node in loops}
    if not relaxed:
        return expr, expr
    if isinstance(expr, Add | Sub | Mul | Var):
        return _linear_hull(expr, loops)
    if isinstance(expr, Min | Max):
        a, b = hull(expr.a, loops), hull(expr.b, loops)
        pick = build.minimum if isinstance(expr, Min) else build.maximum
        return None if a is None or b is None else (pick(a[0], b[0]), pick(a[1], b[1]))
    if isinstance(expr, FloorDiv) and isinstance(expr.b, IntImm) and expr.b.value > 0:
        a = hull(expr.a, loops)
        return None if a is None else (build.floordiv(a[0], expr.b), build.floordiv(a[1], expr.b))
    if isinstance(expr, FloorMod) and isinstance(expr.b, IntImm) and expr.b.value > 0:
        return build.const(0, expr.dtype), build.const(expr.b.value - 1, expr.dtype)
    return None


def _linear_hull(expr: Expr, loops: Mapping[Var, Hull]) -> Hull | None:
    low = high = Linear.of(expr)
    for var, (var_low, var_high) in reversed(list(loops.items())):
        for atom, _ in (*low.terms.values(), *high.terms.values()):
            if atom is not var and any(node is var for node in walk(atom)):
                return None
        low, high = _at(low, var, var_low, var_high), _at(high, var, var_high, var_low)
    return low.expr(expr.dtype), high.expr(expr.dtype)


def _at(linear: Linear, var: Var, when_positive: Expr, when_negative: Expr) -> Linear:
    """`linear` with the end of the range of `var` that its sign asks for."""
    key = structure_key(var)
    if key not in linear.terms:
        return linear
    coefficient = linear.terms[key][1]
    rest = Linear({k: v for k, v in linear.terms.items() if k != key}, linear.constant)
    return rest.plus(Linear.of(when_positive if coefficient > 0 else when_negative).times(coefficient))


def join(a: Hull, b: Hull) -> Hull:
    """The hull of two hulls."""
    return _pick(a[0], b[0], lowest=True), _pick(a[1], b[1], lowest=False)


def _pick(a: Expr, b: Expr, *, lowest: bool) -> Expr:
    a, b = build.match_dtypes(a, b)
    delta = Linear.of(a).plus(Linear.of(b), -1)
    if not delta.terms:
        return a if (delta.constant <= 0) == lowest else b
    return build.minimum(a, b) if lowest else build.maximum(a, b)
