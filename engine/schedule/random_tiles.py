"""Random numbers and tiles: TVM's generator and distributions, so that a seed gives the draws of TVM on Linux.

Source: TVM include/tvm/s_tir/random_engine.h and src/s_tir/schedule/primitive/sampling.cc; the distributions are those of libstdc++.
"""

from __future__ import annotations

import secrets
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from math import prod

from .errors import refuse

LARGEST = 2**31 - 1
"""The largest extent of which factors are drawn."""

_MULTIPLIER, _MODULUS = 48271, 2**31 - 1


class RandomState:
    """A linear congruential generator."""

    def __init__(self, seed: int | None = None) -> None:
        """None and -1 are a random seed."""
        if seed is not None and seed < -1:
            raise refuse("bad-seed", "a seed is not negative", found=str(seed), expected="0, 1, …")
        state = secrets.randbelow(_MODULUS) if seed is None or seed == -1 else seed % _MODULUS
        self._state = state or 1

    def draw(self) -> int:
        """The next number from 1 to below 2**31 - 1."""
        self._state = self._state * _MULTIPLIER % _MODULUS
        return self._state

    def fork(self) -> int:
        """A seed for another generator."""
        return self.draw() * 32767 % 1999999973

    def below(self, end: int, start: int = 0) -> int:
        """An integer from `start` to below `end`, all equally likely."""
        count = end - start
        if count == 1:
            return start
        scale = (_MODULUS - 1) // count
        while (drawn := self.draw()) >= count * scale:
            pass
        return start + drawn // scale

    def choice(self, weights: Sequence[float]) -> int:
        """A position, with the probability of its weight."""
        if len(weights) == 1:
            return 0
        low, high = self.draw(), self.draw()
        whole = sum(weights)
        sums = list(accumulate(weight / whole for weight in weights))
        return min(bisect_left(sums, (low + high * _MODULUS) / _MODULUS**2), len(weights) - 1)

    def distinct(self, end: int, count: int) -> list[int]:
        """Different integers below `end`."""
        if count == 2:
            first, second = self.below(end), self.below(end - 1)
            return [first, second + (second >= first)]
        order = list(range(end))
        for i in range(count):
            j = self.below(end, i)
            order[i], order[j] = order[j], order[i]
        return order[:count]


# -- tiles


def drawn_tile(random: RandomState, extent: int, parts: int, is_wanted: Callable[[Sequence[int]], bool]) -> list[int]:
    """Factors of `extent`, all products equally likely for each prime, redrawn until they are wanted."""
    while not is_wanted(found := _factors(random, extent, parts)):
        pass
    return found


def _factors(random: RandomState, extent: int, parts: int) -> list[int]:
    result = [1] * parts
    if parts == 1:
        return [extent]
    for prime, power in _primes(extent):
        if parts == 2:
            first = random.below(power + 1)
            result = [result[0] * prime**first, result[1] * prime ** (power - first)]
        elif power == 1:
            result[random.below(parts)] *= prime
        else:
            bars = sorted(random.distinct(power + parts - 1, parts - 1))
            gaps = zip([-1, *bars], [*bars, power + parts - 1], strict=True)
            result = [factor * prime ** (right - left - 1) for factor, (left, right) in zip(result, gaps, strict=True)]
    return result


def _primes(number: int) -> Iterator[tuple[int, int]]:
    """The prime factors of a number with their powers, in ascending order."""
    prime = 2
    while number > 1:
        prime = prime if prime * prime <= number else number
        power = 0
        while number % prime == 0:
            number, power = number // prime, power + 1
        if power:
            yield prime, power
        prime += 1


def fitted_tile(decision: Sequence[int], extent: int) -> list[int]:
    """The decided factors, innermost first as far as they divide the extent; the outermost one is the rest."""
    result = list(decision)
    for i in range(len(result) - 1, 0, -1):
        result[i] = result[i] if result[i] > 0 and extent % result[i] == 0 else extent
        extent //= result[i]
    return [extent, *result[1:]]


def partitioned_tile(decision: Sequence[int], extent: int, position: int, factor: int) -> list[int]:
    """The decided factors if those from the position on have a product that is a multiple of the factor, otherwise a default."""
    if prod(decision[position:]) % factor == 0:
        return fitted_tile(decision, extent)
    result = [1] * len(decision)
    result[0] = extent // factor
    result[position] = factor
    return result
