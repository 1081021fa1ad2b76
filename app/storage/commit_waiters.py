"""Callers that wait until a text is durable, or until an attempt to make it so has failed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

Condition = Callable[[], bool]


class CommitWaiters:
    """The attempts to bring one file to the disk, one after the other. Callbacks run in the thread that makes them, with no lock held."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begun = 0
        self._waiting: list[tuple[int, Condition, Callable[[], None]]] = []

    def wait(self, is_done: Condition, call: Callable[[], None]) -> bool:
        """Call back once `is_done()` holds, or an attempt that begins after this has ended. Whether there is something to wait for."""
        if is_done():
            call()
            return False
        with self._lock:
            self._waiting.append((self._begun, is_done, call))
        return True

    def begin(self) -> None:
        """An attempt begins: it takes in all that was done before."""
        with self._lock:
            self._begun += 1

    def check(self, *, ended: bool = False) -> None:
        """Call those back whose condition holds; where the attempt has `ended`, all who waited when it began."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        done = [(ended and self._begun > since) or is_done() for since, is_done, _ in waiting]
        with self._lock:
            self._waiting += [one for one, is_over in zip(waiting, done, strict=True) if not is_over]
        for (_, _, call), is_over in zip(waiting, done, strict=True):
            if is_over:
                with suppress(RuntimeError):  # its loop has ended
                    call()


__all__ = ["CommitWaiters"]
