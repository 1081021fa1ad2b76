"""Quasi-affine sums: the canonical form of integer expressions.

An expression is `constant + sum of digits`. A digit is `source % upper // lower * scale` of a variable or of an expression other than a
sum. The digits of one source are added on a common grid, so `i // 4 * 4 + i % 4` is `i`. (TVM's canonical simplifier uses the same form.)
"""

from __future__ import annotations

from collections.abc import Hashable
from itertools import pairwise
from typing import cast

import msgspec

from ..ir import Buffer, Expr, Node, Var, build

_NAMES = (Var, Buffer)


class Digit(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A digit, `source % upper // lower * scale`; no `upper` means unbounded. `lower` divides `upper`. `key` is equal for equal sources."""

    source: Expr
    key: Hashable
    lower: int = 1
    upper: int | None = None
    scale: int = 1

    @property
    def is_whole(self) -> bool:
        return self.lower == 1 and self.upper is None

    def scaled(self, factor: int) -> Digit:
        return Digit(self.source, self.key, self.lower, self.upper, self.scale * factor)


class Sum(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A sum, `constant + sum(digits)`; no two equal digits of one source."""

    digits: tuple[Digit, ...]
    constant: int = 0

    @staticmethod
    def of_atom(source: Expr) -> Sum:
        return Sum((Digit(source, structure_key(source)),))

    def plus(self, other: Sum, factor: int = 1) -> Sum:
        constant = self.constant + factor * other.constant
        if not other.digits or factor == 0:
            return Sum(self.digits, constant)
        added = other.digits if factor == 1 else other.scaled(factor).digits
        return Sum(_gathered((*self.digits, *added)) if self.digits else added, constant)

    def scaled(self, factor: int) -> Sum:
        if factor == 0:
            return Sum(())
        if factor == 1:
            return self
        return Sum(tuple(d.scaled(factor) for d in self.digits), self.constant * factor)

    def offset(self, value: int) -> Sum:
        return Sum(self.digits, self.constant + value)

    def without(self, source: Expr) -> tuple[int, Sum]:
        """Return (factor, rest) with self = factor * source + rest, where the rest has no whole digit of this source."""
        rest = tuple(d for d in self.digits if d.source is not source or not d.is_whole)
        return sum(d.scale for d in self.digits if d.source is source and d.is_whole), Sum(rest, self.constant)

    def parted(self, divisor: int) -> tuple[Sum, Sum]:
        """Return (whole, rest) with self = divisor * whole + rest and 0 <= the rest's constant < divisor."""
        whole = tuple(d for d in self.digits if d.scale % divisor == 0)
        rest = tuple(d for d in self.digits if d.scale % divisor)
        quotient, remainder = divmod(self.constant, divisor)
        parts = tuple(Digit(d.source, d.key, d.lower, d.upper, d.scale // divisor) for d in whole)
        return Sum(parts, quotient), Sum(rest, remainder)


def structure_key(node: object) -> Hashable:
    """Return a key that is equal for structurally equal expressions over the same variables and buffers."""
    if isinstance(node, _NAMES):
        return node
    if isinstance(node, Node):
        return type(node), tuple(structure_key(getattr(node, name)) for name in type(node).__struct_fields__)
    if isinstance(node, tuple):
        return tuple(structure_key(item) for item in cast("tuple[object, ...]", node))
    return cast("Hashable", node)


def _gathered(digits: tuple[Digit, ...]) -> tuple[Digit, ...]:
    """Add each source's digits on a common grid if that reduces their number; the result is at the source's first position."""
    if len({d.key for d in digits}) == len(digits):
        return digits
    by_source: dict[Hashable, list[Digit]] = {}
    for digit in digits:
        by_source.setdefault(digit.key, []).append(digit)
    result: list[Digit] = []
    done: set[Hashable] = set()
    for digit in digits:
        if digit.key in done:
            continue
        same = by_source[digit.key]
        added = _added(same) if len(same) > 1 else same
        if len(added) == len(same):
            result.append(digit)
        else:
            result.extend(added)
            done.add(digit.key)
    return tuple(result)


def _added(digits: list[Digit]) -> list[Digit]:
    """Add digits of one source: equal spans first, then all on a common grid if that reduces their number."""
    merged = _same_spans_added(digits)
    cuts = sorted({c for d in merged for c in (d.lower, d.upper) if c is not None})
    if len(merged) < 2 or any(b % a for a, b in pairwise(cuts)):
        return merged
    open_ended = any(d.upper is None for d in merged)
    spans: list[tuple[int, int | None]] = [*pairwise(cuts), *([(cuts[-1], None)] if open_ended else [])]
    scales = dict.fromkeys(spans, 0)
    for digit in merged:
        for low, high in spans:
            if low >= digit.lower and (digit.upper is None or (high is not None and high <= digit.upper)):
                scales[low, high] += digit.scale * (low // digit.lower)
    joined = _joined(merged[0], scales)
    return joined if len(joined) < len(merged) else merged


def _joined(like: Digit, scales: dict[tuple[int, int | None], int]) -> list[Digit]:
    """Merge neighbouring spans with matching scales into one digit."""
    result: list[Digit] = []
    for (low, high), scale in scales.items():
        if not scale:
            continue
        last = result[-1] if result else None
        if last is not None and last.upper == low and scale == last.scale * (low // last.lower):
            result[-1] = Digit(like.source, like.key, last.lower, high, last.scale)
        else:
            result.append(Digit(like.source, like.key, low, high, scale))
    return result[::-1]


def _same_spans_added(digits: list[Digit]) -> list[Digit]:
    scales: dict[tuple[int, int | None], int] = {}
    for d in digits:
        scales[d.lower, d.upper] = scales.get((d.lower, d.upper), 0) + d.scale
    like = digits[0]
    return [Digit(like.source, like.key, low, high, scale) for (low, high), scale in scales.items() if scale]


def digit_expr(digit: Digit, *, scale: int | None = None) -> Expr:
    """Convert the digit to an expression, with another `scale` if given."""
    value = digit.source
    if digit.upper is not None:
        value = build.floormod(value, digit.upper)
    if digit.lower != 1:
        value = build.floordiv(value, digit.lower)
    factor = digit.scale if scale is None else scale
    return value if factor == 1 else build.mul(value, factor)


def sum_expr(form: Sum, dtype: str) -> Expr:
    """Convert the sum to an expression: positive terms first, in order, then negative terms, as TVM writes it."""
    if not form.digits:
        return build.const(form.constant, dtype)
    result: Expr | None = None
    for digit in form.digits:
        if digit.scale > 0:
            value = digit_expr(digit)
            first = build.const(0, dtype) if result is None and value.dtype != dtype else result
            result = value if first is None else build.add(first, value)
    if result is None:
        result = build.const(0, dtype)
    if form.constant > 0:
        result = build.add(result, form.constant)
    for digit in form.digits:
        if digit.scale < 0:
            result = _less(result, digit_expr(digit, scale=-digit.scale), digit)
    if form.constant < 0:
        result = build.sub(result, -form.constant)
    return result if result.dtype == dtype else build.cast(result, dtype)


def _less(result: Expr, taken: Expr, digit: Digit) -> Expr:
    if build.is_const(result, 0):
        return digit_expr(digit)
    return build.sub(result, taken)
