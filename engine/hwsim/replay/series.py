"""Polynomials in the copies of repeats that are integers at integers, by their differences at 0 (Newton's series):

    terms ((2, ()), (3, ((7, 1),)), (1, ((7, 2),)))    =    2 + 3 n + n (n - 1) / 2,    n = the copy of repeat 7

The sum over the first n copies is a shift of the orders, so nested sums stay exact and integer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import product
from math import comb, prod
from typing import TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

Column = npt.NDArray[np.int64]
Number = TypeVar("Number", int, Column)

Copies = Mapping[int, int]
"""The copy of each repeat around, by its number; the first one, 0, may be missing."""

Orders = tuple[tuple[int, int], ...]
"""A product of binomial coefficients: (repeat, k) is the copy of a repeat over k."""


class Series(msgspec.Struct, frozen=True):
    """A polynomial: the sum of coefficients times binomial coefficients."""

    terms: tuple[tuple[int, Orders], ...] = ()

    @property
    def degree(self) -> int:
        """The total degree."""
        return max((sum(k for _, k in orders) for _, orders in self.terms), default=0)

    @property
    def variables(self) -> set[int]:
        """The repeats on whose copies the value depends."""
        return {repeat for _, orders in self.terms for repeat, _ in orders}

    def at(self, copies: Mapping[int, Number]) -> Number | int:
        """Returns the value in some copies of the repeats."""
        found: Number | int = 0
        for factor, orders in self.terms:
            value: Number | int = factor
            for repeat, k in orders:
                value = value * _over(copies.get(repeat, 0), k)
            found = found + value
        return found

    def summed(self, repeat: int) -> Series:
        """Returns the sum over the first n copies of a repeat, with n in the place of its copy."""
        return Series(tuple((factor, _raised(orders, repeat)) for factor, orders in self.terms))


def added(every: Iterable[Series]) -> Series:
    """Returns the sum of polynomials."""
    terms: dict[Orders, int] = {}
    for series in every:
        for factor, orders in series.terms:
            terms[orders] = terms.get(orders, 0) + factor
    return Series(tuple((factor, orders) for orders, factor in terms.items() if factor))


def constant(value: int) -> Series:
    return Series(((value, ()),))


def newton(value: Callable[[dict[int, int]], int], variables: Collection[int], degree: int) -> Series:
    """Returns the series of a polynomial of some total degree, from its values in the first copies."""
    names = sorted(variables)
    places = [p for p in product(range(degree + 1), repeat=len(names)) if sum(p) <= degree]
    values = {p: value(dict(zip(names, p, strict=True))) for p in places}
    terms: list[tuple[int, Orders]] = []
    for place in places:
        below = product(*(range(n + 1) for n in place))
        factor = sum((-1) ** (sum(place) - sum(b)) * prod(map(comb, place, b)) * values[b] for b in below)
        if factor:
            terms.append((factor, tuple((name, k) for name, k in zip(names, place, strict=True) if k)))
    return Series(tuple(terms))


def _over(n: Number | int, k: int) -> Number | int:
    """Returns the binomial coefficient n over k, for any n."""
    found: Number | int = 1
    for j in range(k):
        found = found * (n - j) // (j + 1)
    return found


def _raised(orders: Orders, repeat: int) -> Orders:
    found = dict(orders)
    found[repeat] = found.get(repeat, 0) + 1
    return tuple(sorted(found.items()))
