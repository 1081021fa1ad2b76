"""Looking ahead of the trials: from the points that look best to those beside them, so that what is tried is the best of many.

A look takes a tenth of a trial or less, and the less the more it has in common with the one before: neighbours come hole by hole, from
the last hole to the first.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from math import inf

from .looking import Looking
from .scale import Scale
from .space import Point, Space


class Ahead:
    """Points of a space that were looked at, best first. All of a kind that look the same are one."""

    def __init__(self, space: Space, looking: Looking, scales: Sequence[Scale], chance: random.Random) -> None:
        self._space = space
        self._looking = looking
        self._scales = {hole: scales[hole] for hole in looking.holes}
        self._chance = chance
        self._ranks: dict[Point, tuple[float, int]] = {}
        self._open: list[tuple[tuple[float, int], int, Point]] = []
        self._begin(space.default)

    def further(self, looks: int) -> None:
        """Look at so many more points: a fourth anywhere, the others beside those that look best and were not left yet."""
        for _ in range(looks // 4):
            self._begin(self._space.point_at(self._chance.randrange(self._space.size)))
        left = looks - looks // 4
        while left > 0 and self._open:
            _, _, point = heappop(self._open)
            for other in self._beside(point):
                left -= self._begin(other)

    def best(self) -> Iterator[Point]:
        """The points, the best first; only those that seem to fit."""
        yield from sorted((p for p, rank in self._ranks.items() if not rank[0]), key=lambda p: self._ranks[p])

    def _begin(self, point: Point) -> bool:
        """Look at a point; whether it had not been looked at."""
        point = self._looking.mixed(point, self._space.default)
        if point in self._ranks:
            return False
        is_new = not self._looking.has(point)
        look = self._looking.at(point)
        self._ranks[point] = (inf, 0) if look is None else look.rank
        if look is not None:
            heappush(self._open, (look.rank, len(self._ranks), point))
        return is_new

    def _beside(self, point: Point) -> Iterator[Point]:
        for hole in reversed(self._scales):
            for position in self._scales[hole].near(point[hole]):
                yield (*point[:hole], position, *point[hole + 1 :])
