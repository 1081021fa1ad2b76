"""Floor division and remainder of quasi-affine sums by a positive constant."""

from __future__ import annotations

from math import gcd
from typing import Protocol

import msgspec

from ..ir import Expr, Var
from .forms import Digit, Sum, structure_key


class Bounds(msgspec.Struct, frozen=True, gc=False):
    """Inclusive constant bounds; None for an unknown bound."""

    low: int | None = None
    high: int | None = None

    def is_within(self, low: int, high: int) -> bool:
        """Whether every value provably lies in `low..high`."""
        return self.low is not None and self.high is not None and low <= self.low and self.high <= high


class Reasoning(Protocol):
    """The analyzer's interface for division. `expr` converts a sum to an expression of the current dtype."""

    def form(self, expr: Expr) -> Sum: ...
    def bounds(self, form: Sum) -> Bounds: ...
    def expr(self, form: Sum) -> Expr: ...


def divide(form: Sum, divisor: int, know: Reasoning) -> Sum:
    """Return `floor(form / divisor)`."""
    whole, rest = form.parted(divisor)
    found = _block(rest, divisor, know)
    if found is not None:
        return whole.offset(found)
    grain = _grain(rest, divisor, know)
    if grain is not None:
        coarse, _ = rest.parted(grain)
        return whole.plus(divide(coarse, divisor // grain, know))
    return whole.plus(_quotient_of_rest(rest, divisor, know))


def modulo(form: Sum, divisor: int, know: Reasoning) -> Sum:
    """Return `form - divisor * floor(form / divisor)`."""
    _, rest = form.parted(divisor)
    found = _block(rest, divisor, know)
    if found is not None:
        return rest.offset(-found * divisor)
    grain = _grain(rest, divisor, know)
    if grain is not None:
        coarse, fine = rest.parted(grain)
        return modulo(coarse, divisor // grain, know).scaled(grain).plus(fine)
    return _remainder_of_rest(rest, divisor, know)


def _block(rest: Sum, divisor: int, know: Reasoning) -> int | None:
    """Return the quotient if the bounds determine it."""
    if not rest.digits:
        return rest.constant // divisor
    known = know.bounds(rest)
    if known.low is None or known.high is None or known.low // divisor != known.high // divisor:
        return None
    return known.low // divisor


def _grain(rest: Sum, divisor: int, know: Reasoning) -> int | None:
    """Return a divisor g of `divisor` with rest = g * coarse + fine and 0 <= fine < g, so that the fine part never carries."""
    for common in sorted({gcd(d.scale, divisor) for d in rest.digits}, reverse=True):
        if common > 1:
            _, fine = rest.parted(common)
            if know.bounds(fine).is_within(0, common - 1):
                return common
    return None


def _quotient_of_rest(rest: Sum, divisor: int, know: Reasoning) -> Sum:
    digit = _single(rest)
    if digit is not None:
        lower = digit.lower * divisor
        if digit.upper is None or digit.upper % lower == 0:
            if digit.lower > 1 and not isinstance(digit.source, Var):
                return divide(_wrapped_source(digit, digit.upper, know), lower, know)
            return Sum((Digit(digit.source, digit.key, lower, digit.upper),)) if digit.upper != lower else Sum(())
        if digit.upper <= lower:
            return Sum(())
    source = know.expr(rest)
    return Sum((Digit(source, structure_key(source), divisor),))


def _remainder_of_rest(rest: Sum, divisor: int, know: Reasoning) -> Sum:
    digit = _single(rest)
    if digit is not None:
        upper = digit.lower * divisor
        if digit.upper is None or digit.upper % upper == 0:
            if (digit.lower > 1 or digit.upper) and not isinstance(digit.source, Var):
                return divide(_wrapped_source(digit, upper, know), digit.lower, know)
            return Sum((Digit(digit.source, digit.key, digit.lower, upper),))
        if upper % digit.upper == 0:
            return rest
    source = know.expr(rest)
    return Sum((Digit(source, structure_key(source), 1, divisor),))


def _wrapped_source(digit: Digit, upper: int | None, know: Reasoning) -> Sum:
    """Recompute the form of a digit's source: with a coarser divisor, more terms may cancel."""
    source = know.form(digit.source)
    return source if upper is None else modulo(source, upper, know)


def _single(rest: Sum) -> Digit | None:
    """Return the digit of a sum that consists of a single unscaled digit."""
    return rest.digits[0] if len(rest.digits) == 1 and rest.constant == 0 and rest.digits[0].scale == 1 else None
