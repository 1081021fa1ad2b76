"""Background analyses of the visible program: its report, then, after a debounce, its verification and the reports of its earlier steps.

The analyses run in threads, and the paint waits only a moment for the report. A new program or a stop by the user cancels them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...engine.execute import Verdict
from ...engine.hwsim import Machine, Report
from ...engine.ir import PrimFunc, Refusal, TilewrightError
from ...engine.lower import planned
from ...engine.schedule import Schedule
from ..state.derived import CHECK_STOPPED, PLAN, REPORT, VERDICT, Store, attempt, report_of, sizes_of
from ..state.model import State
from ..views.shell.prepared import prepare_report
from .background_job import BackgroundJob, JobStatus
from .event_loop import EventLoop
from .fair_scheduler import FairScheduler

DEBOUNCE_MS = 200
"""Debounce before verification. A program that changes sooner is not verified; its successor is."""


class BackgroundAnalysis:
    """Background analyses of one page. `patience` returns the seconds that a paint may wait for the report.

    Callbacks: `on_report` runs when the report arrives after its paint, `on_result` after every other result, `on_status` when `doing`
    changes.
    """

    def __init__(
        self,
        store: Store,
        event_loop: EventLoop,
        patience: Callable[[], float],
        *,
        on_report: Callable[[], None],
        on_result: Callable[[], None],
        on_status: Callable[[], None],
        scheduler: FairScheduler,
    ) -> None:
        self._store = store
        self._event_loop = event_loop
        self._patience = patience
        self._on_report = on_report
        self._on_result = on_result
        self._on_status = on_status
        self._scheduler = scheduler
        self._simulating: BackgroundJob | None = None
        self._work: BackgroundJob | None = None
        self._generation = 0
        self._is_suspended = self._is_scheduled = False
        self._doing: dict[str, JobStatus] = {}

    @property
    def doing(self) -> tuple[JobStatus, ...]:
        return tuple(self._doing.values())

    def simulate(self, state: State) -> None:
        """Simulate the visible program. The paint waits for the report for at most `patience` seconds; a later report triggers
        `on_report`."""
        self.stop()
        self._is_suspended = False
        if state.moment is None:
            return
        schedule = state.moment.schedule
        func, machine = self._store.costed(state, schedule), self._store.machine(state)
        if self._store.has(REPORT(func, machine)):
            return

        def pieces() -> Iterator[Any]:
            plan = attempt("plan", lambda: planned(func))
            report = report_of(func, machine, plan)
            if isinstance(report, Report):
                attempt("view", lambda: prepare_report(report, schedule, self._store))  # the paint shows an error
            yield plan, report

        def keep(piece: Any) -> None:
            plan, report = piece
            self._store.keep(PLAN(func), plan)
            self._store.keep(REPORT(func, machine), report)

        work = BackgroundJob(
            pieces(), self._event_loop, keep, self._simulated, on_given_up=lambda: self.stop_by_user(state)
        )
        self._simulating = work.start()
        if not work.wait(self._patience()):
            self._doing["report"] = JobStatus("report", "area-timeline", "Simulating")

    def begin(self, state: State) -> None:
        """Schedule the verification and the reports of earlier steps after the debounce."""
        self._generation += 1
        generation = self._generation
        self._is_scheduled = True
        if state.moment is not None and self._store.verdict(state, state.moment.schedule) is None:
            self._doing["verdict"] = JobStatus("verdict", "area-headline", "Verifying the result")
        self._event_loop.after(DEBOUNCE_MS, lambda: self._begin(generation, state))

    def suspend(self) -> None:
        """Cancel all work because the program may be about to change; `resume` restarts it."""
        self._is_suspended = (
            self._is_suspended or self._is_scheduled or self._simulating is not None or self._work is not None
        )
        self.stop()

    def resume(self, state: State) -> None:
        """Restart the work that `suspend` cancelled, unless new work has begun since."""
        if self._is_suspended:
            self.simulate(state)
            self.begin(state)

    def stop(self) -> None:
        """Cancel all work: the program changes or the page closes."""
        self._generation += 1
        self._is_scheduled = False
        for work in (self._simulating, self._work):
            if work is not None:
                work.cancel()
        self._simulating = self._work = None
        self._doing.clear()

    def stop_by_user(self, state: State) -> None:
        """Cancel all work, at the user's request or over its budget. Missing results are stored as stopped: the report as a refusal, the
        verdict as "unknown"."""
        stopped = {
            key: JobStatus(d.key, d.area, d.text, d.done, d.total, stopped=True) for key, d in self._doing.items()
        }
        self.stop()
        if state.moment is None:
            return
        schedule = state.moment.schedule
        if "report" in stopped:
            func, machine = self._store.costed(state, schedule), self._store.machine(state)
            refusal = Refusal("given-up", "the simulation was stopped", expected="Resume, or a smaller program")
            self._store.keep(REPORT(func, machine), TilewrightError(refusal))
        if "verdict" in stopped and self._store.verdict(state, schedule) is None:
            verdict = Verdict(status="unknown", detail=CHECK_STOPPED)
            self._store.keep(VERDICT(schedule.func, sizes_of(state, schedule.func)), verdict)
        self._doing = stopped
        self._on_report()

    def restart(self, state: State) -> None:
        """Restart the work that the user stopped."""
        if state.moment is None:
            return
        schedule = state.moment.schedule
        if "report" in self._doing:
            self._store.forget(REPORT(self._store.costed(state, schedule), self._store.machine(state)))
        if "verdict" in self._doing:
            sizes = sizes_of(state, schedule.func)
            self._store.forget(VERDICT(schedule.func, sizes))
        self.simulate(state)
        self._on_report()
        self.begin(state)

    def _simulated(self) -> None:
        self._simulating = None
        if self._doing.pop("report", None) is not None:
            self._on_report()
            self._on_status()

    def _begin(self, generation: int, state: State) -> None:
        if generation != self._generation:
            return
        self._is_scheduled = False
        if state.moment is None or state.shown is None:
            return
        schedule = state.moment.schedule
        machine = self._store.machine(state)
        now = self._store.costed(state, schedule)
        funcs = dict.fromkeys(self._store.costed(state, moment.schedule) for moment in state.shown.states)
        missing = [func for func in funcs if func is not now and not self._store.has(REPORT(func, machine))]
        sizes = sizes_of(state, schedule.func)
        wants_verdict = self._store.verdict(state, schedule) is None
        if not missing and not wants_verdict:
            self._on_result()
            self._on_status()
            return
        if missing and not wants_verdict:
            self._report_steps(0, len(missing))

        def keep(piece: Any) -> None:
            if isinstance(piece, Verdict):
                self._store.keep(VERDICT(schedule.func, sizes), piece)
                self._doing.pop("verdict", None)
                self._on_result()
                self._report_steps(0, len(missing))
            else:
                func, report, done = piece
                self._store.keep(REPORT(func, machine), report)
                self._report_steps(done, len(missing))

        pieces = _pieces(schedule if wants_verdict else None, sizes, missing, machine)
        self._work = BackgroundJob(
            pieces, self._event_loop, keep, self._ended, self._scheduler, lambda: self.stop_by_user(state)
        ).start()
        self._on_status()

    def _report_steps(self, done: int, total: int) -> None:
        if total:
            self._doing["steps"] = JobStatus("steps", "area-notebook", "Simulating each step", done, total)
            self._on_status()

    def _ended(self) -> None:
        self._work = None
        self._doing.pop("steps", None)
        self._on_result()
        self._on_status()


def _pieces(
    checked: Schedule | None, sizes: Mapping[str, int], missing: list[PrimFunc], machine: Machine | TilewrightError
) -> Iterator[Any]:
    """Yield the verdict, then the reports of earlier steps. Only reads programs, which are frozen."""
    if checked is not None:
        yield verdict_of(checked, sizes)
    for done, func in enumerate(missing, 1):
        yield func, report_of(func, machine), done


def verdict_of(schedule: Schedule, sizes: Mapping[str, int] | None = None) -> Verdict:
    """The verdict of `Schedule.check`; an exception becomes the status "unknown"."""
    try:
        return schedule.check(sizes)
    except TilewrightError as error:
        return Verdict(status="unknown", detail=error.refusal.message)
    except Exception as error:
        return Verdict(status="unknown", detail=f"{type(error).__name__}: {error}")
