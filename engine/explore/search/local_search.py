"""A walk: downhill from a point to what looks best beside it, then from the best that is known with some holes changed.

A look takes a tenth of a trial or less, and the less the more it has in common with the one before: neighbours come hole by hole, from
the last to the first.
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
"""Steps for each look that is asked for: where all is known already there are no more."""


class LocalSearch(msgspec.Struct, frozen=True, tag=True):
    """So many points to be looked at from `start` on, besides those whose ranks are `known`, of which it is the best. What it comes by
    follows from these, space and machine, whoever walks."""

    start: Point
    looks: int
    seed: int
    known: tuple[tuple[Point, float], ...] = ()


EstimatedPoint = tuple[Point, CostEstimate | None]
"""A point and its look; None where one of its calls is refused."""


def sights_of(walk: LocalSearch, looking: Estimator) -> Iterator[EstimatedPoint]:
    """What a walk comes by, no point twice. Only holes that looks see are changed."""
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
        """Without an end: one hole of what looks best is changed, then two, and so on to all, and again."""
        yield from self._downhill(self._best)
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
        if point not in self._ranks:
            look = self._looking.at(point)
            self.sights.append((point, look))
            self._ranks[point] = rank_of(look)
            if self._ranks[point] < self._ranks[self._best]:
                self._best = point
        return self._ranks[point]


def rank_of(look: CostEstimate | None) -> float:
    """Of two looks the less promising one has the greater rank."""
    return inf if look is None else look.rank
