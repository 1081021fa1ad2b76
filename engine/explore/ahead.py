"""Looking ahead of the trials, so that what is tried is the best of many: downhill from the default, then from what looks best with some
of its holes changed.

A look takes a tenth of a trial or less, and the less the more it has in common with the one before: neighbours come hole by hole, from
the last to the first.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import cycle
from math import inf

from ..hwsim import Look
from .looking import Looking
from .scale import Scale, beside
from .space import Point, Space

STEPS = 8
"""Steps for each look that is asked for: where all is known already there are no more."""


class Ahead:
    """Points of a space that were looked at, best first. All that look the same are one, with the default's values where no look sees."""

    def __init__(self, space: Space, looking: Looking, scales: Sequence[Scale], chance: random.Random) -> None:
        self._space = space
        self._looking = looking
        self._scales = {hole: scales[hole] for hole in looking.holes}
        self._chance = chance
        self._looks: dict[Point, Look | None] = {}
        self._best = space.default
        self._walked = self._walk()
        self._most = self._steps = 0

    def owe(self, looks: int) -> None:
        """So many more points are to be looked at."""
        self._most = len(self._looks) + looks
        self._steps = STEPS * looks

    def step(self) -> bool:
        """Look at one of them, or take a step towards it. Whether more are to be looked at."""
        if len(self._looks) < self._most and self._steps:
            self._steps -= 1
            next(self._walked, None)
        return len(self._looks) < self._most and self._steps > 0

    def best(self, cycles: float) -> Iterator[tuple[float, Point]]:
        """The points with their ranks, the best first; only those that seem to fit, in so many cycles."""
        fit = [(look.rank, n, p) for n, (p, look) in enumerate(self._looks.items()) if look is not None and look.fits]
        yield from ((rank, point) for rank, _, point in sorted(fit) if rank <= cycles)

    def _walk(self) -> Iterator[object]:
        """A step at a time, without an end: one hole of what looks best is changed, then two, and so on to all, and again."""
        yield from self._downhill(self._space.default)
        for holes in cycle(range(1, len(self._scales) + 1)):
            point = list(self._best)
            for hole in self._chance.sample(list(self._scales), holes):
                point[hole] = self._chance.randrange(self._scales[hole].size)
            yield from self._downhill(tuple(point))

    def _downhill(self, point: Point) -> Iterator[object]:
        """From a point to one that has no better neighbour."""
        least = self._rank(point)
        yield least
        better = least < inf
        while better:
            better = False
            for hole in reversed(self._scales):
                for other in beside(point, hole, self._scales[hole]):
                    rank = self._rank(other)
                    yield rank
                    if rank < least:
                        point, least, better = other, rank, True

    def _rank(self, point: Point) -> float:
        if point not in self._looks:
            look = self._looks[point] = self._looking.at(point)
            if look is not None and look.rank < self._rank(self._best):
                self._best = point
        look = self._looks[point]
        return inf if look is None else look.rank
