"""The pool of estimated points: local searches from the best known point fill it, and the best of many are evaluated."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from operator import itemgetter

from ...hwsim import CostEstimate
from ..space.model import Point
from .local_search import EstimatedPoint, LocalSearch, rank_of

POINTS = 64
"""Estimates per local search: enough for several descents."""

KNOWN = 4096
"""Known estimates that a local search receives, the best ones."""


class CandidatePool:
    """Estimated points of a space. They differ only in the holes that estimates depend on; the other holes keep their defaults."""

    def __init__(self, default: Point, chance: random.Random) -> None:
        self._chance = chance
        self._default = default
        self._estimates: dict[Point, CostEstimate | None] = {}

    def walks(self, count: int) -> Iterator[LocalSearch]:
        """Yields `count` local searches to run next; only one, from the default, while no point is known."""
        ranks = ((point, rank_of(estimate)) for point, estimate in self._estimates.items())
        known = tuple(sorted(ranks, key=itemgetter(1))[:KNOWN])
        start = known[0][0] if known else self._default
        for _ in range(count if known else 1):
            yield LocalSearch(start, POINTS, self._chance.getrandbits(32), known)

    def add(self, estimates: Iterable[EstimatedPoint]) -> None:
        """Adds estimated points."""
        self._estimates.update(estimates)

    def best(self, cycles: float) -> Iterator[tuple[float, Point]]:
        """Yields (rank, point), best first, of the points that fit by estimate with a rank of at most `cycles`."""
        fit = [
            (estimate.rank, n, p)
            for n, (p, estimate) in enumerate(self._estimates.items())
            if estimate is not None and estimate.fits
        ]
        yield from ((rank, point) for rank, _, point in sorted(fit) if rank <= cycles)
