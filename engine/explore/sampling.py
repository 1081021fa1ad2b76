"""Points by Optuna: TPE for one objective, NSGA-II for several; and beside what it asks for, the neighbours of the best so far.

The first points are those that look best of many that are drawn (`look`). After that half of a batch is Optuna's. The other half takes a
point of the front and changes a hole or two of it: on lattices like these that finds the way down from what the sampler found. What does
not look as if it would fit waits until there is nothing else. Optuna is told of all. Everything follows from the seed and the outcomes,
so that a study that is taken up again asks for the same points as before.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from math import inf
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState, create_trial

from ..adopt import Hole
from .looking import Looking
from .outcome import CYCLES, Outcome, vector
from .pareto import Front
from .space import Point, Space
from .study import Method, Settings, Trial, add_to

POPULATION = 50
TRIES = 64
"""Draws for a point that was not tried yet, before one is looked for."""

DRAWN = 16
"""Points that are looked at before each of the first batches, for a half of it."""

FIRST = 8
"""The first batch is no larger, and each no larger than all before it."""

LOOKED = 3
"""Points that are looked at anew, for each of a batch. After so many, what comes is tried."""

ASKED = 4
"""Times that Optuna is asked for a point that looks as if it would fit."""

WORST = 1e30
"""What is told of a candidate without figures."""

OVER = 1e6
"""What does not fit is told as so many times what it takes."""


class Sampled:
    """The points that a seed leads to. No point comes twice."""

    def __init__(self, space: Space, settings: Settings, looking: Looking) -> None:
        self.method: Method = "tpe" if len(settings.objectives) == 1 else "nsga2"
        self.total = min(settings.trials, space.size)
        self._space = space
        self._objectives = settings.objectives
        self._looking = looking
        self._random = random.Random(settings.seed)
        self._scales = [_Scale(hole) for hole in space.holes]
        self._asked: set[Point] = set()
        self._waiting: dict[Point, optuna.Trial | None] = {}
        self._front: Front[Trial] = Front()
        self._looks_left = 0
        self._study = _study(settings, self.method)

    def batch(self, size: int) -> Sequence[Point]:
        """The next points: at the beginning the default and what looks best, in small batches, so that soon more is known."""
        size = min(size, self.total - len(self._asked), max(FIRST, len(self._asked)))
        points: list[Point] = []
        self._looks_left = LOOKED * size
        if size > 0 and not self._asked:
            points = [self._taken(self._space.default), *self._begin(size - 1)]
        elif len(self._asked) < DRAWN + FIRST:
            points += self._begin(size // 2)
        near = self._neighbours()
        while len(points) < size:
            turn = next(near, None) if len(points) % 2 else None
            points.append(self._taken(turn) if turn is not None else self._sampled())
        return points

    def tell(self, trials: Sequence[Trial]) -> None:
        """What came of the points of the last batch."""
        for trial in trials:
            self._hear(trial.point, _told(trial.outcome, self._objectives))
            add_to(self._front, trial, self._objectives)

    def _hear(self, point: Point, values: tuple[float, ...]) -> None:
        asked = self._waiting.pop(point, None)
        if asked is not None:
            self._study.tell(asked, values)
        else:
            self._study.add_trial(self._known(point, values))

    def _begin(self, count: int) -> list[Point]:
        """Of some points those that look best."""
        size = self._space.size
        drawn = dict.fromkeys(self._space.point_at(self._random.randrange(size)) for _ in range(DRAWN))
        looks = {
            point: look for point in drawn if point not in self._asked and (look := self._looking.at(point)) is not None
        }
        fit = sorted((point for point in looks if looks[point].fits), key=lambda point: looks[point].rank)
        return [self._taken(point) for point in fit[:count]]

    def _sampled(self) -> Point:
        """What Optuna asks for; where that was tried already, something that was not."""
        for _ in range(ASKED):
            asked = self._study.ask(self._distributions)
            point = tuple(scale.position(asked.params[scale.name]) for scale in self._scales)
            if point in self._asked:
                self._study.tell(asked, state=TrialState.FAIL)
                break
            if self._is_hopeful(point):
                self._waiting[point] = asked
                return self._taken(point)
            self._study.tell(asked, (WORST,) * len(self._objectives))
        return self._taken(self._untried())

    def _is_hopeful(self, point: Point) -> bool:
        """Whether it looks as if it would fit, and might be the best."""
        if not self._looking.has(point):
            if not self._looks_left:
                return True
            self._looks_left -= 1
        best = self._front.vectors[0][0] if self._objectives == (CYCLES,) and self._front.vectors else inf
        return self._looking.is_hopeful(point, best)

    def _taken(self, point: Point) -> Point:
        self._asked.add(point)
        return point

    def _untried(self) -> Point:
        size = self._space.size
        left: Point | None = None
        for _ in range(TRIES):
            point = self._space.point_at(self._random.randrange(size))
            if point not in self._asked:
                if self._is_hopeful(point):
                    return point
                left = left or point
        if left is not None:
            return left
        first = self._random.randrange(size)
        numbers = ((first + n) % size for n in range(size))
        return next(p for p in map(self._space.point_at, numbers) if p not in self._asked)

    def _neighbours(self) -> Iterator[Point]:
        """Points of the front with a hole changed, then with two; those that were tried are left out. No end of them, but one of tries."""
        best = self._front.items
        for n in range(TRIES * 8 if best else 0):
            point = list(self._random.choice(best).point)
            for _ in range(1 + n % 2):
                hole = self._random.randrange(len(point))
                point[hole] = self._scales[hole].near(point[hole], self._random)
            if tuple(point) not in self._asked and self._is_hopeful(tuple(point)):
                yield tuple(point)

    @property
    def _distributions(self) -> dict[str, BaseDistribution]:
        return {scale.name: scale.distribution for scale in self._scales}

    def _known(self, point: Point, values: Sequence[float]) -> FrozenTrial:
        params = {scale.name: scale.rank(at) for scale, at in zip(self._scales, point, strict=True)}
        return create_trial(params=params, distributions=self._distributions, values=list(values))


class _Scale:
    """A hole as Optuna sees it: numbers by their ranks, all else as categories."""

    def __init__(self, hole: Hole) -> None:
        self.name = hole.name
        self._is_ordered = all(isinstance(v, int) and not isinstance(v, bool) for v in hole.values)
        positions = range(len(hole.values))
        numbers: list[Any] = list(hole.values)
        self._order = sorted(positions, key=lambda n: numbers[n]) if self._is_ordered else list(positions)
        most = len(self._order) - 1
        self.distribution: BaseDistribution = (
            IntDistribution(0, most) if self._is_ordered else CategoricalDistribution(tuple(range(most + 1)))
        )

    def position(self, rank: int) -> int:
        return self._order[rank]

    def rank(self, position: int) -> int:
        return self._order.index(position)

    def near(self, position: int, chance: random.Random) -> int:
        """Another value: the next number up or down, or any other category."""
        ranks = range(len(self._order))
        here = self.rank(position)
        near = [r for r in ranks if abs(r - here) == 1] if self._is_ordered else [r for r in ranks if r != here]
        return self._order[chance.choice(near)] if near else position


def _told(outcome: Outcome, objectives: Sequence[str]) -> tuple[float, ...]:
    """What a sampler is told: figures that fit, else something worse than any of them, and the worse the further off."""
    if outcome.figures is None:
        return (WORST,) * len(objectives)
    found = vector(outcome.figures, objectives)
    return tuple(v * OVER for v in found) if outcome.status == "over" else found


def _study(settings: Settings, method: Method) -> optuna.Study:
    """Optuna's study, which lives as long as this one: what has to be kept, `kept` keeps."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        return optuna.create_study(
            directions=[StudyDirection.MINIMIZE] * len(settings.objectives), sampler=_sampler(settings, method)
        )
    finally:
        optuna.logging.set_verbosity(before)


def _sampler(settings: Settings, method: Method) -> optuna.samplers.BaseSampler:
    if method == "tpe":
        return optuna.samplers.TPESampler(seed=settings.seed)
    population = max(8, min(POPULATION, settings.trials // 8))
    return optuna.samplers.NSGAIISampler(seed=settings.seed, population_size=population)
