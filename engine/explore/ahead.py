"""Looking ahead of the trials, so that what is tried is the best of many: walks from what looks best so far, several at a time."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from operator import itemgetter

from ..hwsim import Look
from .space import Point
from .walks import Sight, Walk, rank_of

LOOKS = 64
"""Of one walk: enough to come down a few times."""

KNOWN = 4096
"""Looks that a walk is told of, the best ones."""


class Ahead:
    """Points of a space that were looked at, best first. All that look the same are one, with the default's values where no look sees."""

    def __init__(self, default: Point, chance: random.Random) -> None:
        self._chance = chance
        self._looks: dict[Point, Look | None] = {}
        self._best = default

    def walks(self, count: int) -> Iterator[Walk]:
        """So many to make next, at first one."""
        ranks = ((point, rank_of(look)) for point, look in self._looks.items())
        known = tuple(sorted(ranks, key=itemgetter(1))[:KNOWN])
        for _ in range(count if known else 1):
            yield Walk(self._best, LOOKS, self._chance.getrandbits(32), known)

    def know(self, sights: Iterable[Sight]) -> None:
        """What was come by."""
        for point, look in sights:
            self._looks[point] = look
            if rank_of(look) < rank_of(self._looks.get(self._best)):
                self._best = point

    def best(self, cycles: float) -> Iterator[tuple[float, Point]]:
        """The points with their ranks, the best first; only those that seem to fit, in so many cycles."""
        fit = [(look.rank, n, p) for n, (p, look) in enumerate(self._looks.items()) if look is not None and look.fits]
        yield from ((rank, point) for rank, _, point in sorted(fit) if rank <= cycles)
