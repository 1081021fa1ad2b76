"""Analyses of the visible views, piece by piece in a thread: sensitivity to machine parameters, costs of both sides of a comparison, the
step that explains their difference, lint findings.

An analysis starts after a debounce, delivers each piece as it is found, and is cancelled when the user opens another view.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..state.derived import Store
from ..state.model import State
from .analyses.analysis import Analysis
from .analyses.candidate import trial_analysis
from .analyses.comparison import comparison_analysis
from .analyses.export_review import review_analysis
from .analyses.layouts import layout_analysis
from .analyses.machine import measurement_analysis, sensitivity_analysis
from .analyses.model import model_analysis
from .analyses.next_steps import lint_analysis, remedy_analysis, slots_analysis, suggestion_analysis
from .background_job import BackgroundJob, JobStatus
from .event_loop import EventLoop
from .fair_scheduler import FairScheduler

DEBOUNCE_MS = 250
"""Debounce. A view that changes sooner is not analysed."""


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
        if wanted is not None and self._running is not None and wanted.entry == self._running.entry:
            return
        self.stop()
        if wanted is None or (self._stopped is not None and wanted.entry == self._stopped.entry):
            return
        self._running, self._stopped = wanted, None
        generation = self._generation
        self._event_loop.after(0 if wanted.is_typed else DEBOUNCE_MS, lambda: self._begin(generation, wanted))

    @property
    def doing(self) -> JobStatus | None:
        """The status of the running analysis, or of the one that the user stopped."""
        analysis = self._running or self._stopped
        if analysis is None or not analysis.text:
            return None
        done, total = getattr(self._latest, "done", 0), getattr(self._latest, "total", 0)
        return JobStatus(analysis.entry.name, analysis.area, analysis.text, done, total, stopped=self._running is None)

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
        """Stop the running analysis, at the user's request, over its budget or after an internal error; it does not restart by itself."""
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
            None if analysis.is_typed else self._scheduler,  # a person waits for it
            self.stop_by_user,
        ).start()
        self._on_status()

    def _keep(self, analysis: Analysis, piece: Any) -> None:
        if piece is not None:
            self._latest = piece
            analysis.take(piece, self._store)
            self._on_result()
            self._on_status()

    def _end(self) -> None:
        self._running = self._work = self._latest = None
        if self._seen is not None:
            self.update(self._seen)
        self._on_status()


ANALYSES = (
    model_analysis,
    layout_analysis,
    slots_analysis,
    remedy_analysis,
    comparison_analysis,
    measurement_analysis,
    sensitivity_analysis,
    trial_analysis,
    review_analysis,
    suggestion_analysis,
    lint_analysis,
)
"""Each returns what it lacks for a state, or None. The first come first."""


def next_analysis(state: State, store: Store) -> Analysis | None:
    """The first missing analysis of the views in `state`."""
    return next((found for analysis in ANALYSES if (found := analysis(state, store)) is not None), None)


__all__ = ["OnDemandAnalyses", "next_analysis"]
