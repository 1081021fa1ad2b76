"""Kendall's tau."""

from __future__ import annotations

from itertools import combinations

import pytest

from tilewright.engine.measure import kendall_tau


def test_tau_is_the_concordant_less_the_discordant_share() -> None:
    first, second = [1, 2, 3, 4, 5], [1, 3, 2, 5, 4]
    pairs = list(combinations(range(5), 2))
    agree = sum((first[a] < first[b]) == (second[a] < second[b]) for a, b in pairs)
    assert kendall_tau(first, second) == pytest.approx((2 * agree - len(pairs)) / len(pairs))
    assert kendall_tau(first, first) == 1 and kendall_tau(first, first[::-1]) == -1
    assert kendall_tau([1, 1, 2], [1, 2, 3]) == pytest.approx(2 / (2 * 3) ** 0.5)


def test_only_ties_have_no_order() -> None:
    assert kendall_tau([1, 1, 1], [1, 2, 3]) == 0 and kendall_tau([], []) == 0
