"""The limit on concurrent searches of a server, and the thread of one of them."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ...engine.cancellation import CancellationToken, Cancelled, running_under
from ...engine.ir import TilewrightError, internal_error
from ..limits import LIMITS
from ..storage.databases import DatabaseChoice
from .event_loop import EventLoop

FOLDER_DATABASES = DatabaseChoice()


class SearchSlots:
    """The limit on concurrent searches of a server, and the database of found schedules that they use. Further searches wait in a queue."""

    def __init__(self, most: int = LIMITS.searches, databases: DatabaseChoice = FOLDER_DATABASES) -> None:
        self.databases = databases
        self._free = most
        self._queue: deque[object] = deque()
        self._changed = threading.Condition()

    def database_for(self, path: str | Path | None) -> Path | None:
        """The database of the searches of a file; None if there is none, or if its folder cannot be used."""
        try:
            return self.databases.path_for(path)
        except OSError:  # the page reports an unusable state folder with the history
            return None

    @contextmanager
    def slot(self, token: CancellationToken) -> Iterator[bool]:
        """Wait for a slot and hold it. Yields False if the search is cancelled first."""
        me = object()
        with self._changed:
            self._queue.append(me)
            while not token.is_cancelled and not (self._free and self._queue[0] is me):
                self._changed.wait(0.2)
            self._queue.remove(me)
            has = not token.is_cancelled
            self._free -= has
            self._changed.notify_all()
        try:
            yield has
        finally:
            with self._changed:
                self._free += has
                self._changed.notify_all()


class SearchThread:
    """A thread that does `work` in a slot, until it ends or is stopped. `on_error` receives the error that ended it, in the thread; `doing`
    names the work in the message about a bug."""

    def __init__(
        self,
        doing: str,
        slots: SearchSlots,
        event_loop: EventLoop,
        work: Callable[[], None],
        on_error: Callable[[TilewrightError], None],
    ) -> None:
        self._doing, self._slots, self._event_loop = doing, slots, event_loop
        self._work, self._on_error = work, on_error
        self._token = CancellationToken()

    def start(self) -> None:
        threading.Thread(target=self._run, name=self._doing, daemon=True).start()

    def stop(self) -> None:
        """Cancel the work: nothing further is delivered, and the thread ends at its next checkpoint."""
        self._token.cancel()

    @property
    def is_stopped(self) -> bool:
        return self._token.is_cancelled

    def deliver(self, call: Callable[[], None]) -> None:
        """Call on the event loop, unless the work is stopped before."""
        self._event_loop.soon(lambda: None if self.is_stopped else call())

    def _run(self) -> None:
        with self._slots.slot(self._token) as has_slot:
            if not has_slot:
                return
            try:
                with running_under(self._token):
                    self._work()
            except Cancelled:
                pass
            except TilewrightError as error:
                self._on_error(error)
            except Exception as error:
                self._on_error(TilewrightError(internal_error(error, self._doing)))


__all__ = ["FOLDER_DATABASES", "SearchSlots", "SearchThread"]
