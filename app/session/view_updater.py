"""What one page shows, and what is worked out about that in threads: its report, verification, what each earlier step changed, what is
studied because somebody looks at it, searches.

It starts with the paint or once the picture has stood still for a moment, and is given up between its pieces as soon as the picture is
another one.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..jobs.background_analysis import Afterwards
from ..jobs.background_job import Doing
from ..jobs.event_loop import Clock
from ..jobs.exploration import Places, Searches
from ..jobs.fair_scheduler import Turns
from ..jobs.on_demand import Studies
from ..protocol.messages import Message
from ..state.derived import Store
from ..state.model import Sought, State
from .screen import Screen


class Picture:
    """The picture of the state that is `now`. `screen` is set once the views exist, and `tell_doing`, which is told what is being worked
    out, where somebody looks at that. `patience`: for how many seconds the loop may wait for a report; `changing` is what is being done
    to the notebook itself, which stands before all else; `study_file` says where a search is kept."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        now: Callable[[], State],
        *,
        patience: Callable[[], float],
        changing: Callable[[], tuple[Doing, ...]],
        study_file: Callable[[Sought], Path | None],
        turns: Turns,
        places: Places | None,
    ) -> None:
        self.screen: Screen | None = None
        self.tell_doing: Callable[[tuple[Doing, ...]], None] | None = None
        self._store = store
        self._now = now
        self._changing = changing
        self._afterwards = Afterwards(
            store, clock, patience, drawn=self._drawn, found=self._found, turned=self.turned, turns=turns
        )
        self._studies = Studies(store, clock, self._studied, self.turned, turns)
        self.searches = Searches(store, clock, self._explored, places, study_file)

    def show(self, *, is_another: bool) -> None:
        """Draw the state as it is now. `is_another`: program or machine are, so that all about them is begun anew."""
        state = self._now()
        self.searches.look(state)
        if self.screen is None:
            return
        if is_another:
            self._afterwards.simulate(state)
        self.screen.draw(state, self._store)
        if is_another:
            self._afterwards.begin(state)
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
        self._afterwards.stop()
        self._studies.stop()
        self.searches.close()

    # People come first.

    def hold(self, *, is_look: bool) -> None:
        """Somebody waits for the page: no other piece is begun. Unless it is but a look, the picture may be about to change."""
        self._studies.hold()
        if not is_look:
            self._afterwards.give_way()

    def go_on(self, *, in_hand: bool) -> None:
        """Nobody waits any more; but something that is `in_hand` comes before what is studied."""
        self._afterwards.go_on(self._now())
        if not in_hand:
            self._studies.go_on()

    def stop_for_good(self) -> None:
        """A person does not want to wait: what is being worked out is not begun again by itself."""
        self._afterwards.stop_for_good(self._now())
        self._studies.stop_for_good()

    def resume(self) -> None:
        """What a person had stopped is wanted after all."""
        self._afterwards.resume(self._now())
        self._studies.resume()

    @property
    def doing(self) -> tuple[Doing, ...]:
        """What is being worked out about what is shown."""
        study = self._studies.doing
        return (*self._changing(), *self._afterwards.doing, *([study] if study is not None else []))

    def turned(self) -> None:
        """Something else is being worked out."""
        if self.tell_doing is not None:
            self.tell_doing(self.doing)

    # What comes after the paint.

    def _drawn(self) -> None:
        """The report of the picture is here, or will not come."""
        if self.screen is not None:
            self.screen.draw(self._now(), self._store)
            self._studies.look(self._now())

    def _found(self) -> None:
        """Something is known now about what is shown."""
        if self.screen is not None:
            self.show_later()
            self._studies.look(self._now())

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
        before = self._studies.doing
        self._studies.look(self._now())
        if self._studies.doing != before:
            self.turned()


__all__ = ["Picture"]
