"""Looking ahead of the trials, so that what is tried is the best of many: walks from what looks best so far, several at a time."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from operator import itemgetter

from ...hwsim import CostEstimate
from ..space.model import Point
from .local_search import EstimatedPoint, LocalSearch, rank_of

LOOKS = 64
"""Of one walk: enough to come down a few times."""

KNOWN = 4096
"""Looks that a walk is told of, the best ones."""


class CandidatePool:
    """Points of a space that were looked at, best first. All that look the same are one, with the default's values where no look sees."""

    def __init__(self, default: Point, chance: random.Random) -> None:
        self._chance = chance
        self._default = default
        self._looks: dict[Point, CostEstimate | None] = {}

    def walks(self, count: int) -> Iterator[LocalSearch]:
        """So many to make next, at first one, from the default."""
        ranks = ((point, rank_of(look)) for point, look in self._looks.items())
        known = tuple(sorted(ranks, key=itemgetter(1))[:KNOWN])
        start = known[0][0] if known else self._default
        for _ in range(count if known else 1):
            yield LocalSearch(start, LOOKS, self._chance.getrandbits(32), known)

    def know(self, sights: Iterable[EstimatedPoint]) -> None:
        """What was come by."""
        self._looks.update(sights)

    def best(self, cycles: float) -> Iterator[tuple[float, Point]]:
        """The points with their ranks, the best first; only those that seem to fit, in so many cycles."""
        fit = [(look.rank, n, p) for n, (p, look) in enumerate(self._looks.items()) if look is not None and look.fits]
        yield from ((rank, point) for rank, _, point in sorted(fit) if rank <= cycles)
