"""The view of one page and the background work for it: report, verification, changes by step, on-demand analyses, searches.

The work starts with the paint or after a debounce, and is cancelled when the program changes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..actions.exploring import EndDerivation, EndSearch
from ..jobs.background_analysis import BackgroundAnalysis
from ..jobs.background_job import JobStatus
from ..jobs.event_loop import EventLoop
from ..jobs.exploration import Searches
from ..jobs.fair_scheduler import FairScheduler
from ..jobs.model_search import ModelSearches
from ..jobs.on_demand import OnDemandAnalyses
from ..jobs.search_slots import SearchSlots
from ..state.derived import Store
from ..state.model import SearchRequest, State
from ..views.labels.values import Answer
from .screen import Screen


class ViewUpdater:
    """The view of the current state `now`. `screen` is set once the views exist. `tell_doing`, if set, receives the running jobs.
    `patience` returns the seconds that the event loop may wait for a report; `changing` returns the status of the running change, which
    precedes all others; `study_file` returns the file of a search; `on_end` receives
    the result of a derivation and of the search that follows; `on_model_news` is called when a search has changed a model's kernels."""

    def __init__(
        self,
        store: Store,
        event_loop: EventLoop,
        now: Callable[[], State],
        *,
        patience: Callable[[], float],
        changing: Callable[[], tuple[JobStatus, ...]],
        study_file: Callable[[SearchRequest], Path | None],
        on_end: Callable[[EndDerivation | EndSearch], None],
        on_model_news: Callable[[], None],
        scheduler: FairScheduler,
        places: SearchSlots | None,
    ) -> None:
        self.screen: Screen | None = None
        self.tell_doing: Callable[[tuple[JobStatus, ...]], None] | None = None
        self._store = store
        self._now = now
        self._changing = changing
        self._background = BackgroundAnalysis(
            store,
            event_loop,
            patience,
            on_report=self._drawn,
            on_result=self._found,
            on_status=self.turned,
            scheduler=scheduler,
        )
        self._analyses = OnDemandAnalyses(store, event_loop, self.show_results, self.turned, scheduler)
        self.searches = Searches(store, event_loop, self._found, places, study_file, on_end)
        self._on_model_news = on_model_news
        self.model_searches = ModelSearches(store, event_loop, self._model_searched, places)

    def show(self, *, is_another: bool) -> None:
        """Draw the current state. `is_another`: the program or the machine changed, so its background analyses restart."""
        state = self._now()
        self.searches.update(state)
        self.model_searches.update(state)
        if self.screen is None:
            return
        if is_another:
            self._background.simulate(state)
        self.screen.draw(state, self._store)
        if is_another:
            self._background.begin(state)
            self.turned()
        self._look_into()

    def show_results(self) -> None:
        """Draw late results of an otherwise unchanged state."""
        if self.screen is not None:
            self.screen.draw_results(self._now(), self._store)

    def show_prediction(self, prediction: Answer) -> None:
        """Show the prediction of a drop."""
        if self.screen is not None:
            self.screen.show_prediction(prediction)

    def download(self, name: str, text: str) -> None:
        """Send a file to the user."""
        if self.screen is not None:
            self.screen.download(name, text)

    def close(self) -> None:
        """Cancel all work and updates: the page is closed."""
        self.screen = self.tell_doing = None
        self._background.stop()
        self._analyses.stop()
        self.searches.close()
        self.model_searches.close()

    # Requests of the user precede background work.

    def hold(self, *, is_look: bool) -> None:
        """Pause background work for a user's request. Unless `is_look`, the program may be about to change."""
        self._analyses.pause()
        if not is_look:
            self._background.suspend()

    def go_on(self, *, in_hand: bool) -> None:
        """Resume background work. A drag (`in_hand`) takes precedence over on-demand analyses."""
        self._background.resume(self._now())
        if not in_hand:
            self._analyses.resume()

    def stop_for_good(self) -> None:
        """Stop background work at the user's request; it does not restart by itself."""
        self._background.stop_by_user(self._now())
        self._analyses.stop_by_user()

    def resume(self) -> None:
        """Restart the work that the user stopped."""
        self._background.restart(self._now())
        self._analyses.restart()

    @property
    def doing(self) -> tuple[JobStatus, ...]:
        """The status of all work on the visible program."""
        study = self._analyses.doing
        return (*self._changing(), *self._background.doing, *([study] if study is not None else []))

    def turned(self) -> None:
        """Report the running jobs."""
        if self.tell_doing is not None:
            self.tell_doing(self.doing)

    # After the paint.

    def _drawn(self) -> None:
        """Draw the late report, or the reason why there is none."""
        if self.screen is not None:
            self.screen.draw(self._now(), self._store)
            self._analyses.update(self._now())

    def _found(self) -> None:
        """Draw new results, or the progress of a search, and start the next analysis."""
        if self.screen is not None:
            self.show_results()
            self._look_into()

    def _model_searched(self) -> None:
        self.show_results()
        self._on_model_news()

    def _look_into(self) -> None:
        """Start the next analysis of the view, and report a change of the running jobs."""
        before = self._analyses.doing
        self._analyses.update(self._now())
        if self._analyses.doing != before:
            self.turned()


__all__ = ["ViewUpdater"]
