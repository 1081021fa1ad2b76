"""Looking ahead of the trials, so that what is tried is the best of many: one walk from the default, then several at a time, each from
what looks best so far with some of its holes changed."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from itertools import cycle

from ..hwsim import Look
from .scale import Scale
from .space import Point
from .walks import Sight, Walk, changed, rank_of

LEG = 32
"""Looks of one walk, about: long enough to come down. More go at the same time where more is to be looked at."""

DRAWS = 8
"""Draws of a start that was not looked at yet, before there is one walk less."""


class Ahead:
    """Points of a space that were looked at, best first. All that look the same are one, with the default's values where no look sees."""

    def __init__(self, default: Point, scales: Mapping[int, Scale], chance: random.Random) -> None:
        self._scales = scales
        self._chance = chance
        self._looks: dict[Point, Look | None] = {}
        self._best = default
        self._holes = cycle(range(1, len(scales) + 1))

    def walks(self, looks: int) -> Iterator[Walk]:
        """To so many points that are to be looked at next, or one leg. What is drawn follows from all that is known."""
        if not self._looks:
            yield Walk(self._best, looks, self._seed)
            return
        legs = max(1, looks // LEG) if self._scales else 0
        for _ in range(legs):
            start = self._start()
            if start is not None:
                yield Walk(start, max(LEG, looks // legs), self._seed)

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

    @property
    def _seed(self) -> int:
        return self._chance.getrandbits(32)

    def _start(self) -> Point | None:
        drawn = (changed(self._best, next(self._holes), self._scales, self._chance) for _ in range(DRAWS))
        return next((start for start in drawn if start not in self._looks), None)
