"""How well two orders of the same things agree."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations


def kendall_tau(first: Sequence[float], second: Sequence[float]) -> float:
    """Kendall's tau-b: 1 for equal rankings, -1 for reversed ones, 0 where one of them has only ties."""
    agree = ties_first = ties_second = 0
    pairs = list(combinations(zip(first, second, strict=True), 2))
    for (a, x), (b, y) in pairs:
        sign = (a > b) - (a < b), (x > y) - (x < y)
        agree += sign[0] * sign[1]
        ties_first += sign[0] == 0
        ties_second += sign[1] == 0
    most = ((len(pairs) - ties_first) * (len(pairs) - ties_second)) ** 0.5
    return agree / most if most else 0.0


__all__ = ["kendall_tau"]
