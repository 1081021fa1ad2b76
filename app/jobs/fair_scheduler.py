"""The scheduler of speculative work for all pages of a server: threads run in turn, after requests of users.

Python runs one thread at a time. With fifty pages that each verify, preview and lint, a user's request would get a fiftieth of the time. So
the scheduler runs one piece at a time, in the order of arrival, and starts none while the event loop has work.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

IDLE_WAIT_S = 2.0
"""The longest wait for an idle event loop; after that the next piece starts anyway."""


class FairScheduler:
    """A queue of threads; the first one works. `soon` appends a call to the event loop's queue; None means that there is no loop."""

    def __init__(self, soon: Callable[[Callable[[], None]], object] | None = None) -> None:
        self._soon = soon
        self._lock = threading.Lock()
        self._waiting: deque[threading.Event] = deque()
        self._taken = False

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Wait for a slot and hold it."""
        self._take()
        try:
            self._wait_for_idle_loop()
            yield
        finally:
            self._give()

    @contextmanager
    def released(self) -> Iterator[None]:
        """Leave this thread's slot to others; then wait for it as `slot` does."""
        self._give()
        try:
            yield
        finally:
            self._take()

    def _take(self) -> None:
        mine = threading.Event()
        with self._lock:
            if self._taken:
                self._waiting.append(mine)
            else:
                self._taken = True
                mine.set()
        mine.wait()

    def _give(self) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._taken = False

    def _wait_for_idle_loop(self) -> None:
        if self._soon is None:
            return
        idle = threading.Event()
        try:
            self._soon(idle.set)
        except RuntimeError:
            return  # the loop is closed
        idle.wait(IDLE_WAIT_S)


__all__ = ["FairScheduler"]
