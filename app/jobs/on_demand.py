"""Analyses of the visible views, piece by piece in a thread: sensitivity to machine parameters, costs of both sides of a comparison, the
step that explains their difference, lint findings.

An analysis starts after a debounce, delivers each piece as it is found, and is cancelled when the user opens another view.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import msgspec

from ...engine.explore import Trial
from ...engine.hwsim import Machine, Report
from ...engine.ir import PrimFunc, TilewrightError
from ...engine.lower import with_sizes
from ..state.comparison import side_state
from ..state.derived import Store, attempt, report_of
from ..state.model import SearchRequest, State
from ..state.search_results import found_now
from ..views.explore.candidate_card import trial_now, trial_report
from ..views.layouts import layout_work
from ..views.machine.sensitivity import SensitivityProgress, trying
from ..views.next.suggestions import bound_work, suggestion_work
from ..views.problems.lints import lint_work
from ..views.shell.export_review import review_work
from ..views.timeline.explanation import explained_now, explaining, study_of
from ..views.timeline.remedy import remedy_work
from .background_job import BackgroundJob, JobStatus
from .event_loop import EventLoop
from .fair_scheduler import FairScheduler
from .model_analysis import keep_piece, model_work

DEBOUNCE_MS = 250
"""Debounce. A view that changes sooner is not analysed."""


class Analysis(msgspec.Struct, frozen=True, eq=False):
    """An analysis. `pieces` yields values for the store's entry `what` of `of`, each better than the one before; None is no result, only a
    point to stop at.

    `area` and `text` name the place on the page that waits and the work, for its status. `keep` stores a piece in another way.
    """

    what: str
    of: tuple[object, ...]
    pieces: Callable[[], Iterator[Any]]
    area: str = ""
    text: str = ""
    keep: Callable[[Any, Store], None] | None = None

    @property
    def key(self) -> tuple[Any, ...]:
        return (self.what, *map(id, self.of))


class OnDemandAnalyses:
    """The analyses of one page, one at a time. `on_result` is called on the event loop after each piece, `on_status` when `doing`
    changes."""

    def __init__(
        self,
        store: Store,
        event_loop: EventLoop,
        on_result: Callable[[], None],
        on_status: Callable[[], None] = lambda: None,
        scheduler: FairScheduler | None = None,
    ) -> None:
        self._store = store
        self._event_loop = event_loop
        self._on_result = on_result
        self._on_status = on_status
        self._scheduler = scheduler or FairScheduler()
        self._generation = 0
        self._running: Analysis | None = None
        self._stopped: Analysis | None = None
        self._work: BackgroundJob | None = None
        self._latest: Any = None
        self._seen: State | None = None

    def update(self, state: State) -> None:
        """Start the first missing analysis of the views in `state`; cancel the running one if it is another."""
        self._seen = state
        wanted = next_analysis(state, self._store)
        if wanted is not None and self._running is not None and wanted.key == self._running.key:
            return
        self.stop()
        if wanted is None or (self._stopped is not None and wanted.key == self._stopped.key):
            return
        self._running, self._stopped = wanted, None
        generation = self._generation
        self._event_loop.after(DEBOUNCE_MS, lambda: self._begin(generation, wanted))

    @property
    def doing(self) -> JobStatus | None:
        """The status of the running analysis, or of the one that the user stopped."""
        analysis = self._running or self._stopped
        if analysis is None or not analysis.text:
            return None
        done, total = getattr(self._latest, "done", 0), getattr(self._latest, "total", 0)
        return JobStatus(analysis.what, analysis.area, analysis.text, done, total, stopped=self._running is None)

    def pause(self) -> None:
        """Wait at the next checkpoint until `resume`: a user waits for the page."""
        if self._work is not None:
            self._work.pause()

    def resume(self) -> None:
        """Resume after `pause`."""
        if self._work is not None:
            self._work.resume()

    def stop(self) -> None:
        """Cancel the running analysis."""
        self._generation += 1
        self._running = self._latest = None
        if self._work is not None:
            self._work.cancel()
            self._work = None

    def stop_by_user(self) -> None:
        """Stop the running analysis, at the user's request or over its budget; it does not restart by itself."""
        stopped = self._running
        self.stop()
        self._stopped = stopped
        self._on_status()

    def restart(self) -> None:
        """Restart the analysis that the user stopped."""
        self._stopped = None
        if self._seen is not None:
            self.update(self._seen)

    def _begin(self, generation: int, analysis: Analysis) -> None:
        if generation != self._generation:
            return

        def pieces() -> Iterator[Any]:
            yield from analysis.pieces()

        self._work = BackgroundJob(
            pieces(),
            self._event_loop,
            lambda piece: self._keep(analysis, piece),
            self._end,
            self._scheduler,
            self.stop_by_user,
        ).start()
        self._on_status()

    def _keep(self, analysis: Analysis, piece: Any) -> None:
        if piece is not None:
            self._latest = piece
            if analysis.keep is not None:
                analysis.keep(piece, self._store)
            else:
                self._store.keep(analysis.what, analysis.of, piece)
            self._on_result()
            self._on_status()

    def _end(self) -> None:
        self._running = self._work = self._latest = None
        if self._seen is not None:
            self.update(self._seen)
        self._on_status()


def next_analysis(state: State, store: Store) -> Analysis | None:
    """The first missing analysis of the views in `state`."""
    return (
        model_analysis(state, store)
        or layout_analysis(state, store)
        or remedy_analysis(state, store)
        or comparison_analysis(state, store)
        or sensitivity_analysis(state, store)
        or trial_analysis(state, store)
        or review_analysis(state, store)
        or suggestion_analysis(state, store)
        or lint_analysis(state, store)
    )


def model_analysis(state: State, store: Store) -> Analysis | None:
    """The analysis of the visible model: the costs of its kernels, then the verdicts on their schedules."""
    work = model_work(state, store)
    if work is None:
        return None
    what = "model costs" if work.costs else "model plan" if work.plans else "model verdicts"
    keep = partial(keep_piece, work)
    return Analysis(what, (work.model,), work.pieces, "screen-model", work.text, keep)


def layout_analysis(state: State, store: Store) -> Analysis | None:
    """The analysis of the chosen buffer: its accesses, then alternative layouts."""
    work = layout_work(state, store)
    return None if work is None else Analysis(work.what, work.of, work.pieces, "area-inspector", "Simulating layouts")


def remedy_analysis(state: State, store: Store) -> Analysis | None:
    """The analysis of the calls that would end the selected stall."""
    work = remedy_work(state, store)
    return (
        None if work is None else Analysis(work.what, work.of, work.pieces, "area-timeline", "Trying to end the stall")
    )


def lint_analysis(state: State, store: Store) -> Analysis | None:
    """The analysis of lint findings in the visible program, with their fixes."""
    work = lint_work(state, store)
    return (
        None
        if work is None
        else Analysis(work.what, work.of, work.pieces, "pane-problems", "Running lints and testing fixes")
    )


def review_analysis(state: State, store: Store) -> Analysis | None:
    """The cycles that an export for TVM costs, while its review is open."""
    work = review_work(state, store)
    return None if work is None else Analysis(work.what, work.of, work.pieces)


def suggestion_analysis(state: State, store: Store) -> Analysis | None:
    """The analysis of the next steps, then the lower bound of the program, while the Next pane is open."""
    if state.pane != "next" or state.comparison is not None:
        return None
    work = suggestion_work(state, store) or bound_work(state, store)
    return None if work is None else Analysis(work.what, work.of, work.pieces, "pane-next", "Trying next steps")


def comparison_analysis(state: State, store: Store) -> Analysis | None:
    """The reports of both sides of a comparison, then, if they show different notebooks, the step that explains the difference."""
    if state.comparison is None:
        return None
    a, b = (side_state(state, side) for side in (state.comparison.a, state.comparison.b))
    reports: list[Any] = []
    for side in (a, b):
        if side.moment is None:
            return None
        report = store.known_report(side)
        if report is None:
            of = store.costed(side, side.moment.schedule), store.machine(side)
            return Analysis("report", of, lambda of=of: _reported(*of), "area-compare", "Simulating")
        reports.append(report)
    if a.shown is b.shown:
        return None  # the background analysis simulates the steps between them
    first, second = store.machine(a), store.machine(b)
    known = explained_now(a, b, store)
    if (
        isinstance(first, TilewrightError)
        or isinstance(second, TilewrightError)
        or (known and known.done == known.total)
    ):
        return None
    if not all(isinstance(report, Report) for report in reports):
        return None
    machines = first, second
    return Analysis(
        "explanation",
        study_of(a, b, store),
        lambda: explaining(a, b, machines, (reports[0], reports[1])),
        "compare",
        "Explaining the difference",
    )


def _reported(func: PrimFunc, machine: Machine | TilewrightError) -> Iterator[Report | TilewrightError]:
    yield report_of(func, machine)


def sensitivity_analysis(state: State, store: Store) -> Analysis | None:
    """The gain from each machine parameter, while the machine pane is open."""
    if state.pane != "machine" or state.moment is None:
        return None
    func, machine = store.costed(state, state.moment.schedule), store.machine(state)
    report, plan = store.known("report", (func, machine)), store.plan(func)
    known = store.known("sensitivity", (func, machine))
    if not isinstance(report, Report) or isinstance(machine, TilewrightError) or isinstance(plan, TilewrightError):
        return None
    if isinstance(known, SensitivityProgress) and known.is_complete:
        return None
    return Analysis(
        "sensitivity",
        (func, machine),
        lambda: trying(func, machine, report, plan),
        "pane-machine",
        "Simulating machine parameters",
    )


def trial_analysis(state: State, store: Store) -> Analysis | None:
    """The report of the selected candidate after the end of the search, which explains its cost."""
    exploration = state.exploration
    found = None if exploration is None else found_now(exploration, store)
    if exploration is None or found is None or state.pane != "explore" or found.status in ("waiting", "running"):
        return None
    trial = trial_now(state, found)
    if trial is None or trial.outcome.figures is None or not trial.outcome.figures.exact:
        return None
    what, request = f"trial {trial.number}", exploration.request
    if store.has(what, (request,)) or trial_report(exploration, trial, store) is not None:
        return None

    def pieces() -> Iterator[Report | TilewrightError]:
        yield attempt("simulate", lambda: _replayed(request, trial))

    return Analysis(what, (request,), pieces, "pane-explore", "Simulating the candidate")


def _replayed(request: SearchRequest, trial: Trial) -> Report | TilewrightError:
    func = with_sizes(request.space.schedule_at(trial.point).schedule.described, request.space.sizes).func
    return report_of(func, request.machine)


__all__ = ["Analysis", "OnDemandAnalyses", "next_analysis"]
