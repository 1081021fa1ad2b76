"""A study as values: its settings, trials, progress and results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Literal

import msgspec

from ...execute import Verdict
from ...hwsim import Machine
from ..database.warm_start import WarmStartUse
from ..search.local_search import LocalSearch
from ..search.pareto import Front
from ..space.model import Point, Space
from .evaluator import EvaluationLimits
from .outcome import CYCLES, Outcome, Status, vector

Method = Literal["exhaustive", "tpe", "nsga2"]

"""How points are chosen: all of them; by Optuna's tree-structured Parzen estimator; by its genetic algorithm, for several objectives."""

Enough = Callable[[], bool]
"""Whether a study should end, on request or by time."""

BATCH = 32
EXHAUSTIVE = 512
TRIALS = 256


class Settings(msgspec.Struct, frozen=True):
    """The settings of a study: its result depends on these, the space and the machine only.

    `objectives` are figures to minimise (outcome.CYCLES, …), several for a Pareto front; `budgets` are upper bounds on figures. A space of
    up to `exhaustive` points is searched completely; in a larger one, the sampler chooses `trials` points from `seed`, in batches of at
    most `batch`. Any number of workers evaluates the same candidates, with the same results. `seconds` of wall-clock time end an
    unfinished study (0: unlimited); its progress by then depends on the machine, and it can be resumed.
    """

    objectives: tuple[str, ...] = (CYCLES,)
    budgets: dict[str, float] = {}
    trials: int = TRIALS
    seed: int = 0
    exhaustive: int = EXHAUSTIVE
    batch: int = BATCH
    seconds: float = 0.0
    limits: EvaluationLimits = EvaluationLimits()


class Trial(msgspec.Struct, frozen=True):
    """An evaluated candidate: its number in the study, its point in the space, and its outcome."""

    number: int
    point: Point
    outcome: Outcome


class TrialBatch(msgspec.Struct, frozen=True):
    """The tasks to complete before the next request: points to evaluate, and local searches that estimate others meanwhile."""

    points: tuple[Point, ...]
    walks: tuple[LocalSearch, ...] = ()


class StudyCandidate(msgspec.Struct, frozen=True, eq=False):
    """A result, and the verdict on whether it computes the same as the program: never "failed"."""

    trial: Trial
    verdict: Verdict


class Verifier(msgspec.Struct, frozen=True):
    """The progress of verification, reported before each check: `done` of `total`. A failed check adds more."""

    done: int
    total: int


class Progress(msgspec.Struct, frozen=True):
    """The progress of a study, reported after each trial. `done` of `total` are decided, `counts` by status; `best` and `front` are those
    so far. `warm_start` is what the search took from a database."""

    trial: Trial
    done: int
    total: int
    counts: dict[Status, int]
    best: Trial | None
    front: tuple[Trial, ...]
    warm_start: WarmStartUse = WarmStartUse()
    floor: int = 0

    @property
    def is_better(self) -> bool:
        """Whether this trial is on the front so far."""
        return self.trial in self.front


class Study(msgspec.Struct, frozen=True, eq=False):
    """The result of a search. `trials` are sorted by number, no point twice. `method` is how points were chosen; `ended` is False if the
    search was stopped before all trials, or the time budget, were used.

    `offers` are the verified best candidates, with several objectives the whole front, sorted by the first objective. `warm_start` is
    what the search took from a database, `floor` the cycles that every schedule needs (0 if that is not known): no schedule is faster.
    """

    space: Space
    machine: Machine
    settings: Settings
    method: Method
    trials: tuple[Trial, ...]
    total: int
    ended: bool
    offers: tuple[StudyCandidate, ...] = ()
    warm_start: WarmStartUse = WarmStartUse()
    floor: int = 0

    @property
    def best(self) -> Trial | None:
        """The feasible trial with the lowest first objective; None if none is feasible."""
        front = self.front
        return front[0] if front else None

    @property
    def front(self) -> tuple[Trial, ...]:
        """The trials that no other one dominates, sorted by the first objective."""
        return front_of(self.trials, self.settings.objectives).items

    @property
    def counts(self) -> Mapping[Status, int]:
        """The number of trials by status."""
        return Counter(trial.outcome.status for trial in self.trials)


def front_of(trials: tuple[Trial, ...], objectives: tuple[str, ...]) -> Front[Trial]:
    """The Pareto front of the trials that fit."""
    found: Front[Trial] = Front()
    for trial in trials:
        add_to(found, trial, objectives)
    return found


def add_to(front: Front[Trial], trial: Trial, objectives: tuple[str, ...]) -> bool:
    """Adds a trial to a front; returns whether it is on the front."""
    if not trial.outcome.fits or trial.outcome.figures is None:
        return False
    return front.add(vector(trial.outcome.figures, objectives), trial.number, trial)
