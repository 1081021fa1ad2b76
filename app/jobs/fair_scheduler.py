"""Who works next, of all pages of a server: threads that work ahead of what is asked take turns, and people come before them.

Python runs one thread at a time. With fifty pages that each verify, foretell and lint, what a person waits for would get a fiftieth of it.
So one piece of such work is made at a time, in the order in which it was asked for, and none begins while the loop has something to do.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE_S = 2.0
"""A loop that is never idle does not keep the others from their turn for longer."""


class FairScheduler:
    """A queue of threads, of which the first works. `soon` runs something on the loop behind all that waits there; None: there is none."""

    def __init__(self, soon: Callable[[Callable[[], None]], object] | None = None) -> None:
        self._soon = soon
        self._lock = threading.Lock()
        self._waiting: deque[threading.Event] = deque()
        self._taken = False

    @contextmanager
    def taken(self) -> Iterator[None]:
        """A turn: waits until it comes."""
        mine = threading.Event()
        with self._lock:
            if self._taken:
                self._waiting.append(mine)
            else:
                self._taken = True
                mine.set()
        mine.wait()
        try:
            self._let_people_go_first()
            yield
        finally:
            with self._lock:
                if self._waiting:
                    self._waiting.popleft().set()
                else:
                    self._taken = False

    def _let_people_go_first(self) -> None:
        if self._soon is None:
            return
        idle = threading.Event()
        try:
            self._soon(idle.set)
        except RuntimeError:
            return  # the loop is closed
        idle.wait(PATIENCE_S)


__all__ = ["FairScheduler"]
