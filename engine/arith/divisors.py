"""The divisors of an extent."""

from __future__ import annotations

LARGEST_TRIAL = 1 << 16
"""The largest prime factor that is looked for: every integer of 32 bits is factored completely."""


def divisors(number: int) -> list[int]:
    """Return the divisors of a positive integer, ascending. Larger integers, whose rest after the trial divisions may be composite, can
    have more than these."""
    found, rest, factor = [1], number, 2
    while factor * factor <= rest and factor <= LARGEST_TRIAL:
        powers = [1]
        while rest % factor == 0:
            rest //= factor
            powers.append(powers[-1] * factor)
        found = [divisor * power for divisor in found for power in powers]
        factor += 1
    return sorted([*found, *(divisor * rest for divisor in found)] if rest > 1 else found)
