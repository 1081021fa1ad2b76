"""The search: points are asked for in batches, tried by workers, and what came of them is told to whoever watches."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from math import inf
from pathlib import Path
from typing import Protocol

from msgspec.structs import replace

from ...execute import Verdict
from ...hwsim import Machine
from ...ir import Refusal, TilewrightError
from ..space.model import Point, Space
from ..trials.evaluator import Answer, EvaluationRequest, Evaluator, Task
from ..trials.outcome import Outcome, Status, require_objectives
from ..trials.study import (
    Batch,
    Enough,
    Method,
    Progress,
    Settings,
    Study,
    StudyCandidate,
    Trial,
    Verifier,
    add_to,
    front_of,
)
from ..trials.study_store import StudyStore
from ..workers.job import job_of
from ..workers.pool import InProcess, Processes, Workers
from .estimator import Estimator
from .local_search import EstimatedPoint, LocalSearch
from .pareto import Front

Watch = Callable[[Progress], object]
Check = Callable[[Verifier], object]


class ExploreError(TilewrightError):
    """A search that cannot be made here."""


class Sampler(Protocol):
    """Whoever chooses the points. `batch` gives the next ones, none twice; none at all at the end. `tell` has their outcomes, and what
    the batch's walks came by, in their order."""

    method: Method
    total: int

    def batch(self, size: int) -> Batch: ...

    def tell(self, trials: Sequence[Trial], sights: Sequence[EstimatedPoint]) -> None: ...


class Exhaustive:
    """Every point, the default first."""

    method: Method = "exhaustive"

    def __init__(self, space: Space) -> None:
        self.total = space.size
        self._points = space.points()

    def batch(self, size: int) -> Batch:
        return Batch(tuple(islice(self._points, size)))

    def tell(self, trials: Sequence[Trial], sights: Sequence[EstimatedPoint]) -> None:
        """Nothing follows from them."""


def explore(
    space: Space,
    machine: Machine,
    settings: Settings | None = None,
    *,
    workers: int | str | Workers = 0,
    store: str | Path | None = None,
    watch: Watch | None = None,
    stop: Enough | None = None,
    checking: Check | None = None,
) -> Study:
    """Try candidates of `space` on `machine`, and check the best.

    `workers` try them: 0 for one after the other in this thread, a number of processes, or the address of a Dask scheduler,
    "tcp://…". `store` is a file that outcomes are kept in, and that a study which was ended is taken up again from. `watch` is told of
    each trial, from this thread, in the order in which they end; `stop` is asked after each whether that is enough, and by and by while
    others try them. `checking` is told before each check of the best; where it answers True, the others are not checked, and not
    offered.
    The result depends on space, machine and settings alone.

    Raises ObjectiveError "unknown-objective", StoreError "not-a-study", "other-study", ExploreError "no-optuna", "no-dask",
    WorkersError "no-scheduler", "scheduler-lost".
    """
    settings = settings or Settings()
    require_objectives((*settings.objectives, *settings.budgets), machine)
    looking = Estimator(space, machine)
    asker = _asker(space, settings, looking)
    kept = None if store is None else StudyStore(store, space, machine, settings)
    search = _Search(asker, settings, watch or (lambda _: None), stop or (lambda: False), kept)
    trying = _workers(workers, space, machine, settings, looking)
    try:
        try:
            ended = search.run(trying)
        finally:
            trying.close()
        trials = tuple(sorted(search.trials, key=lambda t: t.number))
        study = Study(space, machine, settings, asker.method, trials, asker.total, ended)
        return replace(study, offers=offers_of(study, checking, kept))
    finally:
        if kept is not None:
            kept.close()


def _asker(space: Space, settings: Settings, looking: Estimator) -> Sampler:
    if space.size <= settings.exhaustive:
        return Exhaustive(space)
    # Optuna is of the extra `explore`, and takes its time to load: only who needs it does.
    try:
        from .sampler import Sampled
    except ModuleNotFoundError as error:
        raise _missing(error, "optuna", f"a space of {space.size:,} points is sampled, which") from error
    return Sampled(space, settings, looking)


def _workers(
    workers: int | str | Workers, space: Space, machine: Machine, settings: Settings, looking: Estimator
) -> Workers:
    if workers == 0:
        return InProcess(Evaluator(space, machine, settings.objectives, settings.budgets, settings.limits, looking))
    if isinstance(workers, int):
        return Processes(job_of(space, machine, settings), workers)
    if not isinstance(workers, str):
        return workers
    try:
        from ..workers.cluster import Cluster
    except ModuleNotFoundError as error:
        raise _missing(error, "distributed", "a Dask cluster") from error
    return Cluster(job_of(space, machine, settings), workers)


def _missing(error: ModuleNotFoundError, package: str, what: str) -> Exception:
    if error.name is None or error.name.partition(".")[0] not in (package, "dask"):
        return error
    code = f"no-{package.replace('distributed', 'dask')}"
    return ExploreError(Refusal(code, f"{what} needs {package}", expected='pip install "tilewright[explore]"'))


def offers_of(
    study: Study, checking: Check | None = None, kept: StudyStore | None = None
) -> tuple[StudyCandidate, ...]:
    """The front of a study, each checked; one that does not compute what the program does is not offered, and the next takes its place.
    Those that are checked only, where `checking` says that it is enough. What is `kept` is not checked again."""
    rest = study.trials
    known = {} if kept is None else kept.verdicts()
    verdicts = {t.number: verdict for t in rest if (verdict := known.get((t.number, t.point))) is not None}
    while True:
        front = front_of(rest, study.settings.objectives).items
        for trial in front:
            if trial.number not in verdicts:
                if checking is not None and checking(
                    Verifier(len(verdicts), len({*verdicts, *(t.number for t in front)}))
                ):
                    return _offered(front, verdicts)
                verdicts[trial.number] = verdict_of(study.space, trial.point)
                if kept is not None:
                    kept.keep_verdict(trial, verdicts[trial.number])
        if all(verdicts[trial.number].status != "failed" for trial in front):
            return _offered(front, verdicts)
        rest = tuple(t for t in rest if t.number not in verdicts or verdicts[t.number].status != "failed")


def _offered(front: Sequence[Trial], verdicts: Mapping[int, Verdict]) -> tuple[StudyCandidate, ...]:
    checked = ((trial, verdicts.get(trial.number)) for trial in front)
    return tuple(
        StudyCandidate(trial, verdict)
        for trial, verdict in checked
        if verdict is not None and verdict.status != "failed"
    )


def verdict_of(space: Space, point: Point) -> Verdict:
    """Whether the schedule of a point computes what the program does."""
    try:
        return space.schedule_at(point).schedule.check(dict(space.sizes))
    except TilewrightError as error:
        return Verdict("unknown", error.refusal.message)


class _Search:
    """The trials so far."""

    def __init__(self, asker: Sampler, settings: Settings, watch: Watch, stop: Enough, kept: StudyStore | None) -> None:
        self._asker = asker
        self._settings = settings
        self._watch = watch
        self._stop = stop
        self._kept = kept
        self._known = {} if kept is None else kept.outcomes()
        self._front: Front[Trial] = Front()
        self._counts: Counter[Status] = Counter()
        self._until = inf
        self.trials: list[Trial] = []

    def run(self, workers: Workers) -> bool:
        """Whether all was tried that was to be in the time there was."""
        self._until = time.monotonic() + self._settings.seconds if self._settings.seconds else inf
        return self._batches(workers) or time.monotonic() >= self._until

    def _is_enough(self) -> bool:
        return time.monotonic() >= self._until or self._stop()

    def _batches(self, workers: Workers) -> bool:
        """Whether no batch was cut short."""
        while not self._is_enough():
            batch = self._asker.batch(self._settings.batch)
            if not batch.points:
                return True
            done = self._done(workers, batch)
            if done is None:
                return False
            self._asker.tell(*done)
        return False

    def _done(self, workers: Workers, batch: Batch) -> tuple[list[Trial], list[EstimatedPoint]] | None:
        """What comes of a batch, in its order; None where it was cut short."""
        # What may be left out is settled before it begins, so that it does not matter who is faster.
        known = self._front.vectors
        tasks: list[Task] = [
            EvaluationRequest(n, point, known) for n, point in enumerate(batch.points, len(self.trials))
        ]
        tasks += batch.walks
        tried: list[Trial] = []
        seen: dict[LocalSearch, tuple[EstimatedPoint, ...]] = {}
        for task, answer in self._answers(workers, tasks):
            if isinstance(task, EvaluationRequest) and isinstance(answer, Outcome):
                tried.append(Trial(task.number, task.point, answer))
                self._take(tried[-1])
            elif isinstance(task, LocalSearch) and isinstance(answer, tuple):
                seen[task] = answer
            if self._is_enough():
                break
        if len(tried) + len(seen) < len(tasks):
            return None
        tried.sort(key=lambda trial: trial.number)
        return tried, [sight for walk in batch.walks for sight in seen[walk]]

    def _answers(self, workers: Workers, tasks: Sequence[Task]) -> Iterator[tuple[Task, Answer]]:
        """Those that are known first, then the others as they come."""
        left: list[Task] = []
        for task in tasks:
            known = self._known.get((task.number, task.point)) if isinstance(task, EvaluationRequest) else None
            if known is None:
                left.append(task)
            else:
                yield task, known
        yield from workers.answers(left, self._is_enough) if left else ()

    def _take(self, trial: Trial) -> None:
        if self._kept is not None and (trial.number, trial.point) not in self._known:
            self._kept.keep(trial)
        self.trials.append(trial)
        self._counts[trial.outcome.status] += 1
        add_to(self._front, trial, self._settings.objectives)
        front = self._front.items
        best = front[0] if front else None
        self._watch(Progress(trial, len(self.trials), self._asker.total, dict(self._counts), best, front))


__all__ = ["Check", "Exhaustive", "Sampler", "Watch", "explore", "offers_of", "verdict_of"]
