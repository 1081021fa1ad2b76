"""Looking ahead of the trials, so that what is tried is the best of many: first anywhere, then beside the points that look best so far,
and downhill from others.

A look takes a tenth of a trial or less, and the less the more it has in common with the one before: neighbours come hole by hole, from
the last to the first.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from itertools import cycle
from math import inf

from .looking import Looking
from .scale import Scale
from .space import Point, Space
from .study import Enough

DRAWN = 16
"""Looks at points anywhere, before any other."""

STEPS = 8
"""Steps for each look that is asked for: where all is known already there are no more."""

REFUSED = (inf, 0)

Rank = tuple[float, int]


class Ahead:
    """Points of a space that were looked at, best first. All that look the same are one, with the default's values where no look sees."""

    def __init__(self, space: Space, looking: Looking, scales: Sequence[Scale], chance: random.Random) -> None:
        self._space = space
        self._looking = looking
        self._scales = {hole: scales[hole] for hole in looking.holes}
        self._chance = chance
        self._ranks: dict[Point, Rank] = {}
        self._left: list[tuple[Rank, int, Point]] = []
        self._ways = cycle([self._beside_the_best(), self._downhill()])

    def begin(self, looks: int, enough: Enough) -> None:
        """Look at the first points: some of them anywhere, the others beside the best of these and the default. Fewer where it is
        `enough`."""
        self._rank(self._space.default)
        for _ in range(DRAWN):
            if not enough():
                self._rank(self._anywhere())
        way = self._beside_the_best()
        while len(self._ranks) < looks and not enough() and next(way, None):
            pass

    def further(self, looks: int, enough: Enough) -> None:
        """Look at so many more points, or fewer where it is `enough`."""
        most = len(self._ranks) + looks
        for _ in range(STEPS * looks):
            next(next(self._ways), None)
            if len(self._ranks) >= most or enough():
                break

    def best(self, cycles: float) -> Iterator[Point]:
        """The points, the best first; only those that seem to fit, in so many cycles."""
        fit = (p for p, (filled, least) in self._ranks.items() if not filled and least <= cycles)
        yield from sorted(fit, key=self._ranks.__getitem__)

    def _beside_the_best(self) -> Iterator[Rank]:
        """The neighbours of whichever looks best of those whose neighbours were not looked at, and so on."""
        while self._left:
            _, _, point = heappop(self._left)
            for hole in reversed(self._scales):
                for other in self._near(point, hole):
                    yield self._rank(other)

    def _downhill(self) -> Iterator[Rank]:
        """From a point anywhere to one with no better neighbour; then from another one."""
        while True:
            point = self._anywhere()
            least = self._rank(point)
            yield least
            better = least != REFUSED
            while better:
                better = False
                for hole in reversed(self._scales):
                    for other in self._near(point, hole):
                        rank = self._rank(other)
                        yield rank
                        if rank < least:
                            point, least, better = other, rank, True

    def _anywhere(self) -> Point:
        return self._space.point_at(self._chance.randrange(self._space.size))

    def _near(self, point: Point, hole: int) -> Iterator[Point]:
        for position in self._scales[hole].near(point[hole]):
            yield (*point[:hole], position, *point[hole + 1 :])

    def _rank(self, point: Point) -> Rank:
        point = self._looking.mixed(point, self._space.default)
        if point not in self._ranks:
            look = self._looking.at(point)
            self._ranks[point] = REFUSED if look is None else look.rank
            if look is not None:
                heappush(self._left, (look.rank, len(self._ranks), point))
        return self._ranks[point]
