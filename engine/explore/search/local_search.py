"""Local search on estimates: descent from a point to its best neighbours, then restarts from the best known point with some holes changed.

An estimate needs at most a tenth of the time of a trial, and less the more it shares with the previous one: neighbours change hole by
hole, from the last to the first.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import cycle, islice
from math import inf

import msgspec

from ...hwsim import CostEstimate
from ..space.model import Point
from ..space.parameter_axis import neighbours
from .estimator import Estimator

STEPS = 16
"""Maximum steps per requested estimate; the limit ends a search whose points are all known."""

LESS = 0.95
"""The most that a smaller point needs of the memory of the one before."""


class LocalSearch(msgspec.Struct, frozen=True, tag=True):
    """A local search of `budget` points from `start`. `known` has the ranks of points estimated before, of which `start` is the best. The
    result depends on these fields, the space and the machine, not on the worker."""

    start: Point
    budget: int
    seed: int
    known: tuple[tuple[Point, float], ...] = ()


EstimatedPoint = tuple[Point, CostEstimate | None]
"""A point and its estimate; None if one of its calls is refused."""


def estimates_of(walk: LocalSearch, estimator: Estimator) -> Iterator[EstimatedPoint]:
    """Yields the points that a local search estimates, each once. It changes only holes that estimates depend on."""
    search = _Search(walk, estimator)
    reported = 0
    for _ in islice(search.steps(), STEPS * walk.budget):
        yield from search.estimates[reported:]
        reported = len(search.estimates)
        if reported >= walk.budget:
            return


class _Search:
    def __init__(self, walk: LocalSearch, estimator: Estimator) -> None:
        self._estimator = estimator
        self._scales = estimator.scales
        self._chance = random.Random(walk.seed)
        self._ranks = dict(walk.known)
        self._best = walk.start
        self.estimates: list[EstimatedPoint] = []

    def steps(self) -> Iterator[object]:
        """Descends from the start, then endlessly from the best point with one random hole changed, then two, up to all, and again."""
        yield from self._downhill(self._best)
        for holes in cycle(range(1, len(self._scales) + 1)):
            point = list(self._best)
            for hole in self._chance.sample(list(self._scales), holes):
                point[hole] = self._chance.randrange(self._scales[hole].size)
            yield from self._downhill(tuple(point))

    def _downhill(self, point: Point) -> Iterator[object]:
        """Descends from a point to one without a better neighbour."""
        least = self._rank(point)
        yield least
        better = least < inf
        while better:
            better = False
            for hole in reversed(self._scales):
                for other in neighbours(point, hole, self._scales[hole]):
                    rank = self._rank(other)
                    yield rank
                    if rank < least:
                        point, least, better = other, rank, True

    def _rank(self, point: Point) -> float:
        if point not in self._ranks:
            estimate = self._estimator.at(point)
            self.estimates.append((point, estimate))
            self._ranks[point] = rank_of(estimate)
            if self._ranks[point] < self._ranks[self._best]:
                self._best = point
        return self._ranks[point]


def smaller_points(estimator: Estimator, point: Point) -> Iterator[Point]:
    """Yields points that need less and less memory by estimate: each is the fastest of the neighbours of the one before that need less."""
    filled = _filled(estimator.at(point))
    while True:
        found: list[tuple[float, float, Point]] = []
        for hole, scale in estimator.scales.items():
            for other in neighbours(point, hole, scale):
                estimate = estimator.at(other)
                if estimate is not None and _filled(estimate) < LESS * filled:
                    found.append((estimate.cycles, _filled(estimate), other))
        if not found:
            return
        _, filled, point = min(found)
        yield point


def _filled(estimate: CostEstimate | None) -> float:
    """The part that is used of the fullest memory."""
    return inf if estimate is None else max(estimate.filled.values(), default=0.0)


def rank_of(estimate: CostEstimate | None) -> float:
    """The rank of an estimate, lower is better; infinite for a refused point."""
    return inf if estimate is None else estimate.rank
