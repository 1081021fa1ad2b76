"""Callbacks that wait until a text is durable, or until an attempt to make it durable fails."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

Condition = Callable[[], bool]


class CommitWaiters:
    """Counts the consecutive attempts to save one file and keeps the callbacks that wait for them.

    Callbacks run without a lock, in the thread that makes the attempts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begun = 0
        self._waiting: list[tuple[int, Condition, Callable[[], None]]] = []

    def wait(self, is_done: Condition, call: Callable[[], None]) -> bool:
        """Run `call` once `is_done()` holds, or once an attempt that begins after this call ends. Returns False if it holds now."""
        if is_done():
            call()
            return False
        with self._lock:
            self._waiting.append((self._begun, is_done, call))
        return True

    def begin(self) -> None:
        """Begin an attempt, which covers all earlier edits."""
        with self._lock:
            self._begun += 1

    def check(self, *, ended: bool = False) -> None:
        """Run the callbacks whose condition holds; if the attempt has `ended`, also those registered before it began."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        done = [(ended and self._begun > since) or is_done() for since, is_done, _ in waiting]
        with self._lock:
            self._waiting += [one for one, is_over in zip(waiting, done, strict=True) if not is_over]
        for (_, _, call), is_over in zip(waiting, done, strict=True):
            if is_over:
                with suppress(RuntimeError):  # the callback's event loop has ended
                    call()


__all__ = ["CommitWaiters"]
