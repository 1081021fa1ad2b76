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
from ..space.parameter_axis import beside
from .estimator import Estimator

STEPS = 16
"""Maximum steps per requested estimate; the limit ends a search whose points are all known."""


class LocalSearch(msgspec.Struct, frozen=True, tag=True):
    """A local search of `looks` points from `start`. `known` has the ranks of points estimated before, of which `start` is the best. The
    result depends on these fields, the space and the machine, not on the worker."""

    start: Point
    looks: int
    seed: int
    known: tuple[tuple[Point, float], ...] = ()


EstimatedPoint = tuple[Point, CostEstimate | None]
"""A point and its estimate; None if one of its calls is refused."""


def sights_of(walk: LocalSearch, looking: Estimator) -> Iterator[EstimatedPoint]:
    """Yields the points that a local search estimates, each once. It changes only holes that estimates depend on."""
    walker = _Walker(walk, looking)
    told = 0
    for _ in islice(walker.steps(), STEPS * walk.looks):
        yield from walker.sights[told:]
        told = len(walker.sights)
        if told >= walk.looks:
            return


class _Walker:
    def __init__(self, walk: LocalSearch, looking: Estimator) -> None:
        self._looking = looking
        self._scales = looking.scales
        self._chance = random.Random(walk.seed)
        self._ranks = dict(walk.known)
        self._best = walk.start
        self.sights: list[EstimatedPoint] = []

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
                for other in beside(point, hole, self._scales[hole]):
                    rank = self._rank(other)
                    yield rank
                    if rank < least:
                        point, least, better = other, rank, True

    def _rank(self, point: Point) -> float:
        if point not in self._ranks:
            look = self._looking.at(point)
            self.sights.append((point, look))
            self._ranks[point] = rank_of(look)
            if self._ranks[point] < self._ranks[self._best]:
                self._best = point
        return self._ranks[point]


def rank_of(look: CostEstimate | None) -> float:
    """The rank of an estimate, lower is better; infinite for a refused point."""
    return inf if look is None else look.rank
