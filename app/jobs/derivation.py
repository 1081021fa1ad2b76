"""The derivation of a space for one page, in a thread: the page receives each schedule that is faster than those before it, then the space.

A derivation takes a slot of the server's searches. It ends at the next checkpoint after it was stopped, and after LONGEST_S with the best
schedule so far.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from ...engine.ir import TilewrightError
from ..document.holes import deriving
from ..state.model import Derivation, DerivedSchedule
from .event_loop import EventLoop
from .search_slots import SearchSlots, SearchThread

LONGEST_S = 10.0

OnEnd = Callable[[DerivedSchedule | None, TilewrightError | None], None]


class DerivationJob:
    """One derivation. On the event loop, `on_better` receives each faster schedule, and `on_end` the result, or the error that prevented
    it."""

    def __init__(
        self,
        derivation: Derivation,
        event_loop: EventLoop,
        slots: SearchSlots,
        on_better: Callable[[DerivedSchedule], None],
        on_end: OnEnd,
    ) -> None:
        self.derivation = derivation
        self._slots = slots
        self._on_better = on_better
        self._on_end = on_end
        self._thread = SearchThread("this derivation", slots, event_loop, self._run, self._fail)

    def start(self) -> DerivationJob:
        self._thread.start()
        return self

    def stop(self) -> None:
        """Cancel the derivation: nothing further is delivered."""
        self._thread.stop()

    # In the thread.

    def _run(self) -> None:
        found = self._derive()
        self._thread.deliver(lambda: self._on_end(found, None))

    def _fail(self, error: TilewrightError) -> None:
        self._thread.deliver(lambda: self._on_end(None, error))

    def _derive(self) -> DerivedSchedule | None:
        derivation, began = self.derivation, time.monotonic()
        found: DerivedSchedule | None = None
        for start in deriving(
            derivation.notebook,
            derivation.machine,
            derivation.settings,
            lambda: time.monotonic() - began > LONGEST_S,
            self._database(),
            derivation.keep,
        ):
            if start is not None:
                found = better = DerivedSchedule(start.space, start.outcome, time.monotonic() - began, derivation.keep)
                self._thread.deliver(lambda better=better: self._on_better(better))
        return found

    def _database(self) -> Path | None:
        """The database of found schedules; that of the folder only for a notebook in a file."""
        return self._slots.database_for(self.derivation.path)


__all__ = ["LONGEST_S", "DerivationJob"]
