"""Unfusing of loops with symbolic extents: `f // n` and `f % n` of a loop over `m * n` become two loops, over m and over n.

With constant extents, the iterator maps of `arith` handle such digits directly; they cannot represent symbolic digits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..arith import prove
from ..ir import (
    Add,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mul,
    Node,
    Range,
    Sub,
    Var,
    build,
    free_vars,
    rewrite,
    structural_equal,
    walk,
)

Ranges = Mapping[Var, Range]

_ARITHMETIC = (Var, IntImm, Add, Sub, Mul, FloorDiv, FloorMod, Min, Max)

_MOST = 2**31 - 1
"""The largest size."""


def unfused(values: Sequence[Expr], loops: Ranges) -> tuple[tuple[Expr, ...], Ranges]:
    """The values over the original loops before fusion; loops with other uses stay unchanged."""
    result, values = dict(loops), tuple(values)
    pending = [v for v, r in loops.items() if build.int_value(r.extent) is None and build.is_const(r.min, 0)]
    while pending:
        var = pending.pop()
        found = _taken_apart(var, result, values)
        if found is None:
            continue
        values, high, low = found
        result = _replaced(result, var, {**high, **low})
        pending.extend(v for v, r in high.items() if build.int_value(r.extent) is None)
    return values, result


def _replaced(loops: Ranges, var: Var, new: Ranges) -> dict[Var, Range]:
    """`loops` with `var` replaced by the `new` ones, in place."""
    return {v: r for old, known in loops.items() for v, r in (new.items() if old is var else ((old, known),))}


def _taken_apart(var: Var, loops: Ranges, values: tuple[Expr, ...]) -> tuple[tuple[Expr, ...], Ranges, Ranges] | None:
    """(values, the loop of `var // divisor`, the loop of `var % divisor`) for the divisor that fits all uses of the loop."""
    divisors = [n.b for v in values for n in walk(v) if isinstance(n, FloorDiv | FloorMod) and n.a is var]
    for divisor in divisors:
        trips = _quotient(loops[var].extent, divisor, loops)
        if trips is None:
            continue
        high, low = Var(f"{var.name}_0", var.dtype), Var(f"{var.name}_1", var.dtype)
        digits = _Digits(var, divisor, high, low, loops)
        new = tuple(rewrite(v, digits.leave) for v in values)
        if not any(n is var for v in new for n in walk(v)):
            return new, {high: build.make_range(0, trips)}, {low: build.make_range(0, divisor)}
    return None


class _Digits:
    """A rewriter for digits of `var`, with `high` for `var // divisor` and `low` for `var % divisor`."""

    def __init__(self, var: Var, divisor: Expr, high: Var, low: Var, loops: Ranges) -> None:
        self.var, self.divisor, self.high, self.low, self.loops = var, divisor, high, low, loops

    def leave(self, node: Node) -> Node:
        high = self._high_digits(node.a) if isinstance(node, FloorDiv | FloorMod) else None
        if not isinstance(node, FloorDiv | FloorMod) or high is None:
            return node
        coarse = _quotient(node.b, self.divisor, self.loops)
        if coarse is None:
            return node
        if isinstance(node, FloorDiv):
            return build.floordiv(high, coarse)
        return build.add(build.mul(build.floormod(high, coarse), self.divisor), self.low)

    def _high_digits(self, value: Expr) -> Expr | None:
        """h, if the value is `h * divisor + low`: the variable itself, or digits of it."""
        if value is self.var:
            return self.high
        if not isinstance(value, Add) or value.b is not self.low or not isinstance(value.a, Mul):
            return None
        return value.a.a if value.a.b is self.divisor else None


def _quotient(product: Expr, divisor: Expr, loops: Ranges) -> Expr | None:
    """`product / divisor`, if all factors are sizes or positive constants and the division is exact; else None."""
    left, parts = _factors(product), _factors(divisor)
    if not all(_is_size(f, loops) for f in (*left, *parts)):
        return None
    number, taken = (_number(factors) for factors in (left, parts))
    if number % taken:
        return None
    rest = [f for f in left if not build.int_value(f)]
    for part in parts:
        if build.int_value(part):
            continue
        same = next((f for f in rest if structural_equal(f, part)), None)
        if same is None:
            return None
        rest = [f for i, f in enumerate(rest) if i != rest.index(same)]
    result: Expr = build.const(number // taken, product.dtype)
    for factor in rest:
        result = build.mul(factor, result)
    return result


def _number(factors: Sequence[Expr]) -> int:
    result = 1
    for factor in factors:
        result *= build.int_value(factor) or 1
    return result


def _is_size(factor: Expr, loops: Ranges) -> bool:
    """Whether the factor is a size, a positive constant, or an expression of sizes such as `(n + 1) // 2` that is never negative."""
    value = build.int_value(factor)
    if value is not None:
        return value > 0
    if isinstance(factor, Var):
        return factor not in loops
    sizes = free_vars(factor)
    if sizes & loops.keys() or not all(isinstance(node, _ARITHMETIC) for node in walk(factor)):
        return False
    return prove(build.ge(factor, 0), {v: build.make_range(0, _MOST) for v in sizes})


def _factors(expr: Expr) -> list[Expr]:
    return [*_factors(expr.a), *_factors(expr.b)] if isinstance(expr, Mul) else [expr]
