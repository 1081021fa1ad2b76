"""The search loop: a sampler chooses batches of points, workers evaluate them, and a callback receives each trial."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice
from math import inf
from pathlib import Path
from typing import Protocol

from msgspec.structs import replace

from ...cancellation import checkpoint
from ...execute import Verdict
from ...hwsim import Machine
from ...ir import Refusal, TilewrightError
from ..bounds.program_bound import program_bound
from ..database.database import Database
from ..database.warm_start import SpaceOrigin, WarmStart, WarmStartUse
from ..space.model import Point, Space
from ..trials.evaluator import Answer, EvaluationRequest, Evaluator, Task
from ..trials.outcome import CYCLES, Outcome, Status, require_objectives
from ..trials.study import (
    Enough,
    Method,
    Progress,
    Settings,
    Study,
    StudyCandidate,
    Trial,
    TrialBatch,
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


NEAR = 1.005
"""A search for cycles ends with a schedule that needs at most so many times the cycles that every schedule needs."""


class ExploreError(TilewrightError):
    """A search that cannot run in this environment."""


class Sampler(Protocol):
    """Chooses the points. `batch` returns the next ones, none twice, and an empty batch at the end. `tell` receives their outcomes and the
    points that the local searches of the batch estimated, both in the order of the batch."""

    method: Method
    total: int

    def batch(self, size: int) -> TrialBatch: ...

    def observe(self, trials: Sequence[Trial], estimates: Sequence[EstimatedPoint]) -> None: ...


class Exhaustive:
    """Samples every point, those to begin with first, then the default."""

    method: Method = "exhaustive"

    def __init__(self, space: Space, starts: Sequence[Point] = ()) -> None:
        self.total = space.size
        first = dict.fromkeys((*starts, space.default))
        self._points = chain(first, (point for point in space.points() if point not in first))

    def batch(self, size: int) -> TrialBatch:
        return TrialBatch(tuple(islice(self._points, size)))

    def observe(self, trials: Sequence[Trial], estimates: Sequence[EstimatedPoint]) -> None:
        """Ignores the outcomes."""


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
    database: Database | str | Path | None = None,
    origin: SpaceOrigin | None = None,
    known: Mapping[Point, Outcome] | None = None,
) -> Study:
    """Evaluate candidates of `space` on `machine`, and verify the best.

    `workers` evaluate them: 0 for sequential evaluation in this thread, a number of processes, or the address of a Dask scheduler,
    "tcp://…". `store` is a file that keeps the outcomes; an interrupted study resumes from it. `watch` receives each trial, in this
    thread, in the order of completion. `stop` is polled after each trial, and periodically while workers are busy; True ends the search.
    `checking` is called before each verification; if it returns True, the remaining candidates are neither verified nor offered.
    `database` has schedules that earlier searches found: the search begins with the points nearest to them, and adds its best schedule;
    `origin` says how the space was derived. `known` are outcomes of points that a derivation simulated: they are not evaluated again. The
    result depends on space, machine, settings and the points to begin with alone; `store` keeps those.

    Raises ObjectiveError "unknown-objective", StoreError "not-a-study", "other-study", ExploreError "no-optuna", "no-dask", WorkersError
    "no-scheduler", "scheduler-lost".
    """
    settings = settings or Settings()
    require_objectives((*settings.objectives, *settings.budgets), machine)
    estimator = Estimator(space, machine)
    kept = None if store is None else StudyStore(store, space, machine, settings)
    warm = WarmStart(database, space.program, space.sizes, machine)
    starts = warm.points(space)
    sampler = _sampler(space, settings, estimator, starts if kept is None else kept.starts(starts))
    floor = floor_of(space, machine)
    search = _Search(
        sampler, settings, watch or (lambda _: None), stop or (lambda: False), kept, known or {}, warm.use, floor
    )
    trying = _workers(workers, space, machine, settings, estimator)
    try:
        try:
            ended = search.run(trying)
        finally:
            trying.close()
        trials = tuple(sorted(search.trials, key=lambda t: t.number))
        study = Study(space, machine, settings, sampler.method, trials, sampler.total, ended, floor=floor)
        study = replace(study, offers=offers_of(study, checking, kept))
        _record(warm, study, origin or SpaceOrigin())
        return replace(study, warm_start=warm.use)
    finally:
        warm.close()
        if kept is not None:
            kept.close()


def floor_of(space: Space, machine: Machine) -> int:
    """The cycles that every schedule of a space's program needs; 0 if that is not known, as of a kernel whose values decide its work."""
    if space.kernel is not None:
        return 0
    try:
        return program_bound(space.program, machine, space.sizes).cycles
    except TilewrightError:
        return 0


def _record(warm: WarmStart, study: Study, origin: SpaceOrigin) -> None:
    """Adds the fastest verified schedule of a study to the database that it began with."""
    warm.correct(study.space, {trial.point: trial.outcome for trial in study.trials})
    found = [(o.trial.outcome.figures.cycles, n) for n, o in enumerate(study.offers) if o.trial.outcome.figures]
    if found:
        cycles, n = min(found)
        warm.commit(study.space, study.offers[n].trial.point, cycles, study.offers[n].verdict, origin)


def _sampler(space: Space, settings: Settings, estimator: Estimator, starts: Sequence[Point]) -> Sampler:
    if space.size <= settings.exhaustive:
        return Exhaustive(space, starts)
    # Optuna belongs to the extra `explore` and loads slowly: import it only if needed.
    try:
        from .sampler import Sampled
    except ModuleNotFoundError as error:
        raise _missing(error, "optuna", f"a space of {space.size:,} points is sampled, which") from error
    return Sampled(space, settings, estimator, starts)


def _workers(
    workers: int | str | Workers, space: Space, machine: Machine, settings: Settings, estimator: Estimator
) -> Workers:
    if workers == 0:
        return InProcess(Evaluator(space, machine, settings.objectives, settings.budgets, settings.limits, estimator))
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
    """The verified Pareto front of a study. A candidate that does not compute the same as the program is dropped, and the next one
    replaces it. If `checking` returns True, only the candidates verified so far are returned. Verdicts in `kept` are reused."""
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
    """The verdict on whether the schedule of a point computes the same as the program."""
    try:
        return space.schedule_at(point).schedule.check(dict(space.sizes), space.original_at(point))
    except TilewrightError as error:
        return Verdict("unknown", error.refusal.message)


class _Search:
    """A running search: its trials, front and counts."""

    def __init__(
        self,
        sampler: Sampler,
        settings: Settings,
        watch: Watch,
        stop: Enough,
        kept: StudyStore | None,
        derived: Mapping[Point, Outcome],
        warm_start: WarmStartUse,
        floor: int,
    ) -> None:
        self._floor = floor
        self._sampler = sampler
        self._settings = settings
        self._watch = watch
        self._stop = stop
        self._kept = kept
        self._known = {} if kept is None else kept.outcomes()
        self._derived, self._warm_start = derived, warm_start
        self._front: Front[Trial] = Front()
        self._counts: Counter[Status] = Counter()
        self._until = inf
        self.trials: list[Trial] = []

    def run(self, workers: Workers) -> bool:
        """Runs the search; returns whether it is complete: all points of the sampler evaluated, the time budget used, or a schedule found
        that none can be faster than."""
        self._until = time.monotonic() + self._settings.seconds if self._settings.seconds else inf
        return self._batches(workers) or self._is_fastest() or time.monotonic() >= self._until

    def _is_enough(self) -> bool:
        """Whether to stop now. The time budget alone does not stop a search without a candidate: workers may take seconds to start."""
        checkpoint()
        is_due = time.monotonic() >= self._until and bool(self.trials)
        return is_due or self._is_fastest() or self._stop()

    def _is_fastest(self) -> bool:
        """Whether the best schedule needs hardly more cycles than every schedule needs, and nothing else is wanted."""
        best = self._front.items[0].outcome.figures if self._front.items else None
        wanted = self._settings.objectives == (CYCLES,)
        return wanted and best is not None and best.cycles <= NEAR * self._floor

    def _batches(self, workers: Workers) -> bool:
        """Runs batches; returns True when none is left, False when the search stops earlier."""
        while not self._is_enough():
            batch = self._sampler.batch(self._settings.batch)
            if not batch.points:
                return True
            done = self._done(workers, batch)
            if done is None:
                return False
            self._sampler.observe(*done)
        return False

    def _done(self, workers: Workers, batch: TrialBatch) -> tuple[list[Trial], list[EstimatedPoint]] | None:
        """The trials and estimated points of a batch, in its order; None if it was cut short."""
        # The front is fixed before the batch: pruning must not depend on the order of completion.
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
        return tried, [estimated for walk in batch.walks for estimated in seen[walk]]

    def _answers(self, workers: Workers, tasks: Sequence[Task]) -> Iterator[tuple[Task, Answer]]:
        """Yields stored outcomes first, then the answers of the workers as they arrive."""
        left: list[Task] = []
        for task in tasks:
            known = self._outcome(task) if isinstance(task, EvaluationRequest) else None
            if known is None:
                left.append(task)
            else:
                yield task, known
        yield from workers.answers(left, self._is_enough) if left else ()

    def _outcome(self, task: EvaluationRequest) -> Outcome | None:
        """The outcome of a candidate that was evaluated before."""
        return self._known.get((task.number, task.point)) or self._derived.get(task.point)

    def _take(self, trial: Trial) -> None:
        if self._kept is not None and (trial.number, trial.point) not in self._known:
            self._kept.keep(trial)
        self.trials.append(trial)
        self._counts[trial.outcome.status] += 1
        add_to(self._front, trial, self._settings.objectives)
        front = self._front.items
        best = front[0] if front else None
        counts, total = dict(self._counts), self._sampler.total
        self._watch(Progress(trial, len(self.trials), total, counts, best, front, self._warm_start, self._floor))


__all__ = ["Check", "Exhaustive", "Sampler", "Watch", "explore", "floor_of", "offers_of", "verdict_of"]
