"""A study as values: what was asked for, what was tried, how far it is, and what it has to offer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Literal

import msgspec

from ...execute import Verdict
from ...hwsim import Machine
from ..search.local_search import LocalSearch
from ..search.pareto import Front
from ..space.model import Point, Space
from .evaluator import Limits
from .outcome import CYCLES, Outcome, Status, vector

Method = Literal["exhaustive", "tpe", "nsga2"]

"""How points are chosen: all of them; by Optuna's tree-structured Parzen estimator; by its genetic algorithm, for several objectives."""

Enough = Callable[[], bool]
"""Whether somebody, or the clock, says that a study has gone on long enough."""

BATCH = 32
EXHAUSTIVE = 512
TRIALS = 256


class Settings(msgspec.Struct, frozen=True):
    """What is asked of a study, all that its result depends on besides space and machine.

    `objectives` are figures that are to be small (outcome.CYCLES, …), several for a Pareto front; `budgets` the most that a figure may be.
    All points are tried where there are no more than `exhaustive`, else `trials` of them, which the sampler asks for in batches of
    `batch` at most from `seed`. Workers have no part in it: with as many as one likes the same candidates are tried, with the same
    results. `seconds` by the clock end a study that is not done by then (0: it takes what it takes); how far it comes in them is the
    machine's matter, and it can be gone on with.
    """

    objectives: tuple[str, ...] = (CYCLES,)
    budgets: dict[str, float] = {}
    trials: int = TRIALS
    seed: int = 0
    exhaustive: int = EXHAUSTIVE
    batch: int = BATCH
    seconds: float = 0.0
    limits: Limits = Limits()


class Trial(msgspec.Struct, frozen=True):
    """A candidate that was tried: its number in the study, its point in the space, what came of it."""

    number: int
    point: Point
    outcome: Outcome


class Batch(msgspec.Struct, frozen=True):
    """What is to be done before anything more is asked for: points to be tried, and walks to look at others meanwhile."""

    points: tuple[Point, ...]
    walks: tuple[LocalSearch, ...] = ()


class StudyCandidate(msgspec.Struct, frozen=True, eq=False):
    """A result worth having, and the verdict on whether it computes what the program does: "proved" or "tested", never "failed"."""

    trial: Trial
    verdict: Verdict


class Verifier(msgspec.Struct, frozen=True):
    """Told before each check of what is to be offered: `done` of `total` were made. More come where one fails."""

    done: int
    total: int


class Progress(msgspec.Struct, frozen=True):
    """Told after each trial. `done` of `total` are decided, `counts` by status; `best` and `front` are those so far."""

    trial: Trial
    done: int
    total: int
    counts: dict[Status, int]
    best: Trial | None
    front: tuple[Trial, ...]

    @property
    def is_better(self) -> bool:
        """Whether this trial is on the front, as far as is known."""
        return self.trial in self.front


class Study(msgspec.Struct, frozen=True, eq=False):
    """What a search found. `trials` by number, no point twice. `method` is how points were chosen; `ended` whether all were tried that
    were to be in the time there was, or somebody stopped it.

    `offers` are the best, and with several objectives the whole front, each verified: the least of the first objective first.
    """

    space: Space
    machine: Machine
    settings: Settings
    method: Method
    trials: tuple[Trial, ...]
    total: int
    ended: bool
    offers: tuple[StudyCandidate, ...] = ()

    @property
    def best(self) -> Trial | None:
        """The least in the first objective of all that fit; None where nothing fits."""
        front = self.front
        return front[0] if front else None

    @property
    def front(self) -> tuple[Trial, ...]:
        """Those that no other one dominates, the least of the first objective first."""
        return front_of(self.trials, self.settings.objectives).items

    @property
    def counts(self) -> Mapping[Status, int]:
        """How many trials came to what."""
        return Counter(trial.outcome.status for trial in self.trials)


def front_of(trials: tuple[Trial, ...], objectives: tuple[str, ...]) -> Front[Trial]:
    """The front of trials that fit."""
    found: Front[Trial] = Front()
    for trial in trials:
        add_to(found, trial, objectives)
    return found


def add_to(front: Front[Trial], trial: Trial, objectives: tuple[str, ...]) -> bool:
    """Take a trial into a front. Whether it stands there."""
    if not trial.outcome.fits or trial.outcome.figures is None:
        return False
    return front.add(vector(trial.outcome.figures, objectives), trial.number, trial)
