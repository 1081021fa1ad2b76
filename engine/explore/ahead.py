"""Looking ahead of the trials, so that what is tried is the best of many: a walk from the default, then from what looks best so far, where
something beside it was not looked at, and from there with some holes changed."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from itertools import cycle

from ..hwsim import Look
from .scale import Scale, beside
from .space import Point
from .walks import Sight, Walk, changed, rank_of

LOOKS = 32
"""Of one walk: enough to come down."""

DRAWS = 8
"""Draws of a start that was not looked at yet, before there is one walk less."""


class Ahead:
    """Points of a space that were looked at, best first. All that look the same are one, with the default's values where no look sees."""

    def __init__(self, default: Point, scales: Mapping[int, Scale], chance: random.Random) -> None:
        self._scales = scales
        self._chance = chance
        self._looks: dict[Point, Look | None] = {}
        self._best = default
        self._holes = cycle(range(1, len(scales) + 1) or [0])

    def walks(self, count: int) -> Iterator[Walk]:
        """So many to make next, at first one, and none where there is nothing left to look at. What is drawn follows from what is known."""
        for leg in range(count if self._looks else 1):
            start = self._best if leg == 0 and self._is_open else self._drawn()
            if start is not None:
                yield Walk(start, LOOKS, self._chance.getrandbits(32))

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
    def _is_open(self) -> bool:
        """Whether the best, or something beside it, was not looked at."""
        near = (other for hole, scale in self._scales.items() for other in beside(self._best, hole, scale))
        return any(point not in self._looks for point in (self._best, *near))

    def _drawn(self) -> Point | None:
        """The best with some holes changed; None where all that was drawn was looked at."""
        holes = next(self._holes)
        drawn = (changed(self._best, holes, self._scales, self._chance) for _ in range(DRAWS))
        return next((point for point in drawn if point not in self._looks), None)
