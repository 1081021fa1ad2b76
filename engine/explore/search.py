"""The search: points are asked for in batches, tried by workers, and what came of them is told to whoever watches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Protocol

from msgspec.structs import replace

from ..execute import Verdict
from ..hwsim import Machine
from ..ir import TilewrightError
from .outcome import Status, require_objectives
from .pareto import Front
from .space import Point, Space
from .study import Method, Offer, Progress, Settings, Study, Trial, add_to, front_of
from .trials import Bench, Question
from .workers import InProcess, Workers

Watch = Callable[[Progress], object]
Stop = Callable[[], bool]


class Asker(Protocol):
    """Whoever chooses the points. `batch` gives the next ones, none twice; none at all at the end. `tell` has their outcomes."""

    method: Method
    total: int

    def batch(self, size: int) -> Sequence[Point]: ...

    def tell(self, trials: Sequence[Trial]) -> None: ...


class Exhaustive:
    """Every point, the default first."""

    method: Method = "exhaustive"

    def __init__(self, space: Space) -> None:
        self.total = space.size
        self._points = space.points()

    def batch(self, size: int) -> Sequence[Point]:
        return tuple(islice(self._points, size))

    def tell(self, trials: Sequence[Trial]) -> None:
        """Nothing follows from them."""


def explore(
    space: Space,
    machine: Machine,
    settings: Settings | None = None,
    *,
    workers: Workers | None = None,
    watch: Watch | None = None,
    stop: Stop | None = None,
) -> Study:
    """Try candidates of `space` on `machine`, and check the best.

    `workers` try them (left out: one after the other, in this thread); `watch` is told of each trial, from this thread, in the order in
    which they end; `stop` is asked after each whether that is enough. The result depends on space, machine and settings alone.
    Raises ObjectiveError "unknown-objective".
    """
    settings = settings or Settings()
    require_objectives((*settings.objectives, *settings.budgets), machine)
    asker = Exhaustive(space)
    search = _Search(asker, settings, watch or (lambda _: None), stop or (lambda: False))
    trying = workers or InProcess(Bench(space, machine, settings.objectives, settings.budgets, settings.limits))
    ended = search.run(trying)
    trials = tuple(sorted(search.trials, key=lambda t: t.number))
    study = Study(space, machine, settings, asker.method, trials, asker.total, ended)
    return replace(study, offers=offers_of(study))


def offers_of(study: Study) -> tuple[Offer, ...]:
    """The front of a study, each checked; one that does not compute what the program does is not offered, and the next takes its place."""
    rest = study.trials
    verdicts: dict[int, Verdict] = {}
    while True:
        front = front_of(rest, study.settings.objectives).items
        for trial in front:
            if trial.number not in verdicts:
                verdicts[trial.number] = verdict_of(study.space, trial.point)
        if all(verdicts[trial.number].status != "failed" for trial in front):
            return tuple(Offer(trial, verdicts[trial.number]) for trial in front)
        rest = tuple(t for t in rest if t.number not in verdicts or verdicts[t.number].status != "failed")


def verdict_of(space: Space, point: Point) -> Verdict:
    """Whether the schedule of a point computes what the program does."""
    try:
        return space.schedule_at(point).schedule.check(dict(space.sizes))
    except TilewrightError as error:
        return Verdict("unknown", error.refusal.message)


class _Search:
    """The trials so far."""

    def __init__(self, asker: Asker, settings: Settings, watch: Watch, stop: Stop) -> None:
        self._asker = asker
        self._settings = settings
        self._watch = watch
        self._stop = stop
        self._front: Front[Trial] = Front()
        self._counts: Counter[Status] = Counter()
        self.trials: list[Trial] = []

    def run(self, workers: Workers) -> bool:
        """Whether all was tried that was to be."""
        while not self._stop():
            points = self._asker.batch(self._settings.batch)
            if not points:
                return True
            # What a batch may leave out is settled before it begins, so that it does not matter who is faster.
            known = self._front.vectors
            questions = [Question(n, point, known) for n, point in enumerate(points, len(self.trials))]
            told: list[Trial] = []
            for trial in self._tried(workers, questions):
                told.append(trial)
                self._take(trial)
                if self._stop():
                    break
            if len(told) < len(questions):
                return False
            self._asker.tell(sorted(told, key=lambda t: t.number))
        return False

    def _tried(self, workers: Workers, questions: Sequence[Question]) -> Iterator[Trial]:
        for question, outcome in workers.tried(questions):
            yield Trial(question.number, question.point, outcome)

    def _take(self, trial: Trial) -> None:
        self.trials.append(trial)
        self._counts[trial.outcome.status] += 1
        add_to(self._front, trial, self._settings.objectives)
        front = self._front.items
        best = front[0] if front else None
        self._watch(Progress(trial, len(self.trials), self._asker.total, dict(self._counts), best, front))


__all__ = ["Asker", "Exhaustive", "Stop", "Watch", "explore", "offers_of", "verdict_of"]
