"""The derivation of a space for one page, in a thread: the page receives each schedule that is faster than those before it, then the space.

A derivation takes a slot of the server's searches. It ends at the next checkpoint after it was stopped, and after LONGEST_S with the best
schedule so far.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from ...engine.cancellation import CancellationToken, Cancelled, running_under
from ...engine.ir import TilewrightError, internal_error
from ..document.holes import deriving
from ..state.model import Derivation, DerivedSchedule
from .event_loop import EventLoop
from .search_slots import SearchSlots

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
        self._event_loop = event_loop
        self._slots = slots
        self._on_better = on_better
        self._on_end = on_end
        self._token = CancellationToken()

    def start(self) -> DerivationJob:
        threading.Thread(target=self._run, name="derivation", daemon=True).start()
        return self

    def stop(self) -> None:
        """Cancel the derivation: nothing further is delivered."""
        self._token.cancel()

    # In the thread.

    def _run(self) -> None:
        with self._slots.slot(self._token) as has_slot:
            if not has_slot:
                return
            try:
                with running_under(self._token):
                    found = self._derive()
            except Cancelled:
                return
            except Exception as error:
                known = error if isinstance(error, TilewrightError) else None
                failed = known or TilewrightError(internal_error(error, "this derivation"))
                self._deliver(lambda: self._on_end(None, failed))
                return
        self._deliver(lambda: self._on_end(found, None))

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
                self._deliver(lambda better=better: self._on_better(better))
        return found

    def _database(self) -> Path | None:
        """The database of found schedules; that of the folder only for a notebook in a file."""
        return self._slots.database_for(self.derivation.path)

    def _deliver(self, call: Callable[[], None]) -> None:
        self._event_loop.soon(lambda: None if self._token.is_cancelled else call())


__all__ = ["LONGEST_S", "DerivationJob"]
