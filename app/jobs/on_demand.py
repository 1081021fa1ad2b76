"""What is worked out because somebody looks at it, piece by piece in a thread: what each figure of the machine would
gain, what two sides of a comparison cost, which step explains it, what the lints say.

A study begins once the picture has stood still, tells each piece as it is found, and is given up between two pieces when something else
is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
from ..views.machine.sensitivity import Tried, trying
from ..views.problems.lints import lint_work
from ..views.timeline.explanation import explained_now, explaining, study_of
from .background_job import BackgroundJob, JobStatus
from .event_loop import EventLoop
from .fair_scheduler import FairScheduler

STAND_STILL_MS = 250
"""What is shown for less is not studied."""


class Study(msgspec.Struct, frozen=True, eq=False):
    """`pieces` are values for the store's `what` of `of`, each better than the one before; None is no news, and a place to stop at.

    `area` and `text` say where on the page somebody waits, and for what.
    """

    what: str
    of: tuple[object, ...]
    pieces: Callable[[], Iterator[Any]]
    area: str = ""
    text: str = ""

    @property
    def key(self) -> tuple[Any, ...]:
        return (self.what, *map(id, self.of))


class OnDemandAnalyses:
    """The studies of one page, one at a time. `found` is called on the loop after each piece, `turned` when `doing` is another."""

    def __init__(
        self,
        store: Store,
        event_loop: EventLoop,
        found: Callable[[], None],
        turned: Callable[[], None] = lambda: None,
        scheduler: FairScheduler | None = None,
    ) -> None:
        self._store = store
        self._event_loop = event_loop
        self._found = found
        self._turned = turned
        self._scheduler = scheduler or FairScheduler()
        self._turn = 0
        self._running: Study | None = None
        self._stopped: Study | None = None
        self._work: BackgroundJob | None = None
        self._told: Any = None
        self._seen: State | None = None

    def look(self, state: State) -> None:
        """Begin with what `state` shows and nobody knows yet; give up what it does not show."""
        self._seen = state
        wanted = next_study(state, self._store)
        if wanted is not None and self._running is not None and wanted.key == self._running.key:
            return
        self.stop()
        if wanted is None or (self._stopped is not None and wanted.key == self._stopped.key):
            return
        self._running, self._stopped = wanted, None
        turn = self._turn
        self._event_loop.after(STAND_STILL_MS, lambda: self._begin(turn, wanted))

    @property
    def doing(self) -> JobStatus | None:
        """What is being studied, or was until a person stopped it."""
        study = self._running or self._stopped
        if study is None or not study.text:
            return None
        done, total = getattr(self._told, "done", 0), getattr(self._told, "total", 0)
        return JobStatus(study.what, study.area, study.text, done, total, stopped=self._running is None)

    def hold(self) -> None:
        """Begin no other piece for now: somebody waits for the page."""
        if self._work is not None:
            self._work.hold()

    def go_on(self) -> None:
        """Nobody waits any more."""
        if self._work is not None:
            self._work.go_on()

    def stop(self) -> None:
        """Give up what is being studied."""
        self._turn += 1
        self._running = self._told = None
        if self._work is not None:
            self._work.cancel()
            self._work = None

    def stop_for_good(self) -> None:
        """A person does not want to wait: it is not begun again by itself."""
        stopped = self._running
        self.stop()
        self._stopped = stopped
        self._turned()

    def resume(self) -> None:
        """What a person had stopped is wanted after all."""
        self._stopped = None
        if self._seen is not None:
            self.look(self._seen)

    def _begin(self, turn: int, study: Study) -> None:
        if turn != self._turn:
            return

        def pieces() -> Iterator[Any]:
            yield from study.pieces()

        self._work = BackgroundJob(
            pieces(), self._event_loop, lambda piece: self._keep(study, piece), self._end, self._scheduler
        ).start()
        self._turned()

    def _keep(self, study: Study, piece: Any) -> None:
        if piece is not None:
            self._told = piece
            self._store.keep(study.what, study.of, piece)
            self._found()

    def _end(self) -> None:
        self._running = self._work = self._told = None
        if self._seen is not None:
            self.look(self._seen)
        self._turned()


def next_study(state: State, store: Store) -> Study | None:
    """The first thing that `state` shows and that is not known."""
    return (
        layout_study(state, store)
        or comparison_study(state, store)
        or sensitivity_study(state, store)
        or trial_study(state, store)
        or lint_study(state, store)
    )


def layout_study(state: State, store: Store) -> Study | None:
    """Other layouts of the chosen buffer, and who takes what of it."""
    work = layout_work(state, store)
    return None if work is None else Study(work.what, work.of, work.pieces, "area-inspector", "Trying layouts")


def lint_study(state: State, store: Store) -> Study | None:
    """What the lints say of the picture, with the fixes that hold."""
    work = lint_work(state, store)
    return (
        None
        if work is None
        else Study(work.what, work.of, work.pieces, "pane-problems", "Looking for problems, trying fixes")
    )


def comparison_study(state: State, store: Store) -> Study | None:
    """What two sides cost, then which step explains the difference where the steps between them do not say it."""
    if state.comparison is None:
        return None
    a, b = (side_state(state, side) for side in (state.comparison.a, state.comparison.b))
    reports: list[Any] = []
    for side in (a, b):
        if side.moment is None:
            return None
        func, machine = store.costed(side, side.moment.schedule), store.machine(side)
        if not store.has("report", (func, machine)):
            return Study(
                "report", (func, machine), lambda of=(func, machine): _reported(*of), "area-compare", "Simulating"
            )
        reports.append(store.known("report", (func, machine)))
    if a.shown is b.shown:
        return None  # the steps between are simulated after the paint
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
    return Study(
        "explanation",
        study_of(a, b, store),
        lambda: explaining(a, b, machines, (reports[0], reports[1])),
        "compare",
        "Which step explains the difference",
    )


def _reported(func: PrimFunc, machine: Machine | TilewrightError) -> Iterator[Report | TilewrightError]:
    yield report_of(func, machine)


def sensitivity_study(state: State, store: Store) -> Study | None:
    """What each figure of the machine would gain, while the machine is looked at."""
    if state.pane != "machine" or state.moment is None:
        return None
    func, machine = store.costed(state, state.moment.schedule), store.machine(state)
    report, plan = store.known("report", (func, machine)), store.plan(func)
    known = store.known("sensitivity", (func, machine))
    if not isinstance(report, Report) or isinstance(machine, TilewrightError) or isinstance(plan, TilewrightError):
        return None
    if isinstance(known, Tried) and known.is_complete:
        return None
    return Study(
        "sensitivity",
        (func, machine),
        lambda: trying(func, machine, report, plan),
        "pane-machine",
        "Trying figures of the machine",
    )


def trial_study(state: State, store: Store) -> Study | None:
    """What the machine does with the candidate that is looked at, once the search is over: why it is as good as it is."""
    exploration = state.exploration
    found = None if exploration is None else found_now(exploration, store)
    if exploration is None or found is None or state.pane != "explore" or found.standing in ("waiting", "running"):
        return None
    trial = trial_now(state, found)
    if trial is None or trial.outcome.figures is None or not trial.outcome.figures.exact:
        return None
    what, sought = f"trial {trial.number}", exploration.sought
    if store.has(what, (sought,)) or trial_report(exploration, trial, store) is not None:
        return None

    def pieces() -> Iterator[Report | TilewrightError]:
        yield attempt("simulate", lambda: _replayed(sought, trial))

    return Study(what, (sought,), pieces, "pane-explore", "Looking into the candidate")


def _replayed(sought: SearchRequest, trial: Trial) -> Report | TilewrightError:
    func = with_sizes(sought.space.schedule_at(trial.point).schedule.described, sought.space.sizes).func
    return report_of(func, sought.machine)


__all__ = ["OnDemandAnalyses", "Study", "next_study"]
