"""Sampling with Optuna, TPE for one objective and NSGA-II for several, mixed with neighbours of the best points so far.

Half of a batch are the points with the best estimates (`CandidatePool`). The other half alternates between a neighbour (the best point
with another value in a hole that estimates ignore, or a point of the front with one or two holes changed) and a suggestion of Optuna: on
lattices like these, neighbours lead downhill from the sampler's points. Points that do not fit by estimate are postponed until nothing
else is left. Optuna receives all outcomes. Everything follows from the seed and the outcomes, so a resumed study asks for the same points.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import cycle
from math import inf

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState, create_trial

from ..space.model import Point, Space
from ..space.parameter_axis import ParameterAxis, neighbours
from ..trials.outcome import CYCLES, Outcome, vector
from ..trials.study import Method, Settings, Trial, TrialBatch, add_to
from .candidate_pool import CandidatePool
from .estimator import Estimator
from .local_search import EstimatedPoint
from .pareto import Front

POPULATION = 50
TRIES = 64
"""Random draws for an untried point before the space is scanned for one."""

TURN = 16
"""Candidates in a batch per local search; a smaller batch has one search."""

NEAR = 1.1
"""Points whose estimated cycles exceed this multiple of the best cycles are not chosen by estimate: estimates are seldom so far off."""

BEGINNING = 16
"""Estimates predict cycles only: for other objectives, only this many of the first points are chosen by estimate."""

ASKED = 4
"""Attempts to get a point from Optuna that fits by estimate."""

WORST = 1e30
"""Objective value reported for a candidate without figures."""

OVER = 1e6
"""Penalty factor on the figures of an infeasible candidate."""


class Sampled:
    """The sampler of large spaces. Its points follow from a seed, and none repeats."""

    def __init__(self, space: Space, settings: Settings, estimator: Estimator, starts: Sequence[Point] = ()) -> None:
        """`starts` are the first points to evaluate, before the default."""
        self.method: Method = "tpe" if len(settings.objectives) == 1 else "nsga2"
        self.total = min(settings.trials, space.size)
        self._space = space
        self._objectives = settings.objectives
        self._estimator = estimator
        self._random = random.Random(settings.seed)
        self._scales = [ParameterAxis(hole) for hole in space.holes]
        self._distributions = {scale.name: _distribution(scale) for scale in self._scales}
        self._starts = list(dict.fromkeys((*starts, space.default)))
        self._pool = CandidatePool(self._starts[0], self._random)
        self._asked: set[Point] = set()
        self._waiting: dict[Point, optuna.Trial | None] = {}
        self._front: Front[Trial] = Front()
        self._study = _study(settings, self.method)

    def batch(self, size: int) -> TrialBatch:
        """The next points: first the default, or the first start, alone, then the other starts; no later batch is larger than all before
        it together, so that outcomes arrive early. Its local searches serve the next batch."""
        before = len(self._asked)
        if before >= self.total:
            return TrialBatch(())
        if before < len(self._starts):
            points = [self._recorded(point) for point in self._starts[before : before + (size if before else 1)]]
        else:
            points = self._batch(min(size, before))
        asked = len(self._asked)
        is_more = asked < self.total and self._uses_estimates
        walks = self._pool.walks(max(1, min(size, asked) // TURN)) if is_more else ()
        # Build the full batch and then cut it, so that a study with more trials begins with the same points.
        return TrialBatch(tuple(points[: self.total - before]), tuple(walks))

    @property
    def _uses_estimates(self) -> bool:
        return self._objectives == (CYCLES,) or len(self._asked) < BEGINNING

    def _batch(self, size: int) -> list[Point]:
        size = min(size, self._space.size - len(self._asked))
        points = self._promising(size) if self._uses_estimates else []
        near = (p for p in self._neighbours() if p not in self._asked and self._is_promising(p))
        for is_near in cycle([True, False]):
            if len(points) == size:
                break
            turn = next(near, None) if is_near else None
            points.append(self._recorded(turn) if turn is not None else self._sampled())
        return points

    def _promising(self, size: int) -> list[Point]:
        """The points with the best estimates, for half of a batch. Holes that estimates ignore are as in the best trial; points of equal
        rank get different values there."""
        best = self._front.items[0].point if self._front.items else self._space.default
        unseen = [best, *self._unseen(best)]
        repeats: Counter[float] = Counter()
        found: list[Point] = []
        for rank, point in self._pool.best(NEAR * self._best_cycles):
            if len(found) == (size + 1) // 2:
                break
            point = self._estimator.mixed(point, unseen[repeats[rank] % len(unseen)])
            repeats[rank] += 1
            if point not in self._asked and self._estimator.is_promising(point, self._best_cycles):
                found.append(self._recorded(point))
        return found

    @property
    def _best_cycles(self) -> float:
        return self._front.vectors[0][0] if self._objectives == (CYCLES,) and self._front.vectors else inf

    def observe(self, trials: Sequence[Trial], estimates: Sequence[EstimatedPoint]) -> None:
        """Receives the trials of the last batch, and the points that its local searches estimated."""
        self._pool.add(estimates)
        for point, estimate in estimates:
            self._estimator.add(point, estimate)
        for trial in trials:
            self._estimator.observe(trial.point, trial.outcome)
            self._record(trial.point, _objective_values(trial.outcome, self._objectives))
            add_to(self._front, trial, self._objectives)

    def _record(self, point: Point, values: tuple[float, ...]) -> None:
        asked = self._waiting.pop(point, None)
        if asked is not None:
            self._study.tell(asked, values)
        else:
            self._study.add_trial(self._known(point, values))

    def _sampled(self) -> Point:
        """A point that Optuna suggests; an untried one if that was tried before, or if no suggestion fits by estimate."""
        for _ in range(ASKED):
            asked = self._study.ask(self._distributions)
            point = tuple(scale.position(asked.params[scale.name]) for scale in self._scales)
            if point in self._asked:
                self._study.tell(asked, state=TrialState.FAIL)
                break
            if self._is_promising(point):
                self._waiting[point] = asked
                return self._recorded(point)
            self._study.tell(asked, (WORST,) * len(self._objectives))
        return self._recorded(self._untried())

    def _is_promising(self, point: Point) -> bool:
        """Whether the point may fit and be the best, by its estimate if cached. Computes no estimate."""
        return not self._estimator.has(point) or self._estimator.is_promising(point, self._best_cycles)

    def _recorded(self, point: Point) -> Point:
        self._asked.add(point)
        return point

    def _untried(self) -> Point:
        size = self._space.size
        left: Point | None = None
        for _ in range(TRIES):
            point = self._space.point_at(self._random.randrange(size))
            if point not in self._asked:
                if self._is_promising(point):
                    return point
                left = left or point
        if left is not None:
            return left
        first = self._random.randrange(size)
        numbers = ((first + n) % size for n in range(size))
        return next(p for p in map(self._space.point_at, numbers) if p not in self._asked)

    def _unseen(self, point: Point) -> Iterator[Point]:
        """Yields the point with another value in a hole that estimates ignore, a hole at a time."""
        for hole in range(len(point)):
            if hole not in self._estimator.scales:
                yield from neighbours(point, hole, self._scales[hole])

    def _neighbours(self) -> Iterator[Point]:
        """Yields the best point with other values in holes that estimates ignore, then points of the front with one hole or two changed,
        for a limited number of tries."""
        best = self._front.items
        if best:
            yield from self._unseen(best[0].point)
        for n in range(TRIES * 8 if best else 0):
            point = list(self._random.choice(best).point)
            for _ in range(1 + n % 2):
                hole = self._random.randrange(len(point))
                near = self._scales[hole].near(point[hole])
                point[hole] = self._random.choice(near) if near else point[hole]
            yield tuple(point)

    def _known(self, point: Point, values: Sequence[float]) -> FrozenTrial:
        params = {scale.name: scale.rank(at) for scale, at in zip(self._scales, point, strict=True)}
        return create_trial(params=params, distributions=self._distributions, values=list(values))


def _distribution(scale: ParameterAxis) -> BaseDistribution:
    """The Optuna distribution of a hole."""
    if scale.is_ordered:
        return IntDistribution(0, scale.size - 1)
    return CategoricalDistribution(tuple(range(scale.size)))


def _objective_values(outcome: Outcome, objectives: Sequence[str]) -> tuple[float, ...]:
    """The objective values for Optuna: the figures if they fit, else values worse than any of them, and the worse the further off."""
    if outcome.figures is None:
        return (WORST,) * len(objectives)
    found = vector(outcome.figures, objectives)
    return tuple(v * OVER for v in found) if outcome.status == "over" else found


def _study(settings: Settings, method: Method) -> optuna.Study:
    """The Optuna study, in memory only: `StudyStore` keeps the persistent data."""
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
