"""The limit on concurrent searches of a server."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...engine.cancellation import CancellationToken
from ..limits import LIMITS
from ..storage.databases import DatabaseChoice

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


__all__ = ["FOLDER_DATABASES", "SearchSlots"]
