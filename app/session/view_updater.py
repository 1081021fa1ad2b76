"""What one page shows, and what is worked out about that in threads: its report, verification, what each earlier step changed, what is
studied because somebody looks at it, searches.

It starts with the paint or once the picture has stood still for a moment, and is given up between its pieces as soon as the picture is
another one.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..jobs.background_analysis import BackgroundAnalysis
from ..jobs.background_job import JobStatus
from ..jobs.event_loop import EventLoop
from ..jobs.exploration import Places, Searches
from ..jobs.fair_scheduler import FairScheduler
from ..jobs.on_demand import OnDemandAnalyses
from ..protocol.messages import Message
from ..state.derived import Store
from ..state.model import SearchRequest, State
from .screen import Screen


class ViewUpdater:
    """The picture of the state that is `now`. `screen` is set once the views exist, and `tell_doing`, which is told what is being worked
    out, where somebody looks at that. `patience`: for how many seconds the loop may wait for a report; `changing` is what is being done
    to the notebook itself, which stands before all else; `study_file` says where a search is kept."""

    def __init__(
        self,
        store: Store,
        event_loop: EventLoop,
        now: Callable[[], State],
        *,
        patience: Callable[[], float],
        changing: Callable[[], tuple[JobStatus, ...]],
        study_file: Callable[[SearchRequest], Path | None],
        scheduler: FairScheduler,
        places: Places | None,
    ) -> None:
        self.screen: Screen | None = None
        self.tell_doing: Callable[[tuple[JobStatus, ...]], None] | None = None
        self._store = store
        self._now = now
        self._changing = changing
        self._background = BackgroundAnalysis(
            store, event_loop, patience, drawn=self._drawn, found=self._found, turned=self.turned, scheduler=scheduler
        )
        self._analyses = OnDemandAnalyses(store, event_loop, self._studied, self.turned, scheduler)
        self.searches = Searches(store, event_loop, self._explored, places, study_file)

    def show(self, *, is_another: bool) -> None:
        """Draw the state as it is now. `is_another`: program or machine are, so that all about them is begun anew."""
        state = self._now()
        self.searches.look(state)
        if self.screen is None:
            return
        if is_another:
            self._background.simulate(state)
        self.screen.draw(state, self._store)
        if is_another:
            self._background.begin(state)
            self.turned()
        self._look_into()

    def show_later(self) -> None:
        """Draw what is known besides, where nothing else is another."""
        if self.screen is not None:
            self.screen.draw_later(self._now(), self._store)

    def foretell(self, prediction: Message) -> None:
        """Say what a drop would do."""
        if self.screen is not None:
            self.screen.foretell(prediction)

    def download(self, name: str, text: str) -> None:
        """Give the person a file."""
        if self.screen is not None:
            self.screen.download(name, text)

    def close(self) -> None:
        """The page is gone: nothing more is worked out for it, and nobody is told."""
        self.screen = self.tell_doing = None
        self._background.stop()
        self._analyses.stop()
        self.searches.close()

    # People come first.

    def hold(self, *, is_look: bool) -> None:
        """Somebody waits for the page: no other piece is begun. Unless it is but a look, the picture may be about to change."""
        self._analyses.hold()
        if not is_look:
            self._background.give_way()

    def go_on(self, *, in_hand: bool) -> None:
        """Nobody waits any more; but something that is `in_hand` comes before what is studied."""
        self._background.go_on(self._now())
        if not in_hand:
            self._analyses.go_on()

    def stop_for_good(self) -> None:
        """A person does not want to wait: what is being worked out is not begun again by itself."""
        self._background.stop_for_good(self._now())
        self._analyses.stop_for_good()

    def resume(self) -> None:
        """What a person had stopped is wanted after all."""
        self._background.resume(self._now())
        self._analyses.resume()

    @property
    def doing(self) -> tuple[JobStatus, ...]:
        """What is being worked out about what is shown."""
        study = self._analyses.doing
        return (*self._changing(), *self._background.doing, *([study] if study is not None else []))

    def turned(self) -> None:
        """Something else is being worked out."""
        if self.tell_doing is not None:
            self.tell_doing(self.doing)

    # What comes after the paint.

    def _drawn(self) -> None:
        """The report of the picture is here, or will not come."""
        if self.screen is not None:
            self.screen.draw(self._now(), self._store)
            self._analyses.look(self._now())

    def _found(self) -> None:
        """Something is known now about what is shown."""
        if self.screen is not None:
            self.show_later()
            self._analyses.look(self._now())

    def _studied(self) -> None:
        if self.screen is not None:
            self.screen.draw_studies(self._now(), self._store)

    def _explored(self) -> None:
        """A search has come further."""
        if self.screen is not None:
            self._studied()
            self._look_into()

    def _look_into(self) -> None:
        """Study what is shown; what is given up for it is not said to go on."""
        before = self._analyses.doing
        self._analyses.look(self._now())
        if self._analyses.doing != before:
            self.turned()


__all__ = ["ViewUpdater"]
