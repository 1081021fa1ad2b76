"""Garbage collection while the server is idle, and the return of memory after sessions were closed.

Python collects the oldest generation when a quarter of it is new: with a notebook of two hundred rows that takes a tenth of a second,
possibly during a drop. Here the young generations are collected as usual, in a millisecond. Objects that are new since the last
collection are collected as soon as the server is idle for a moment, and the survivors are frozen: later collections skip them. All
objects are collected after sessions were closed, and after a long idle time; then free memory returns to the operating system.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable

import msgspec

from .memory_allocator import clear_caches, return_free_memory

LOOK_S = 0.5
"""Seconds between two checks whether the server is idle."""

LONG = 60
"""After this number of consecutive idle checks all objects are collected."""

IDLE_SHARE = 0.1
"""Share of one processor's time; a server that uses less is idle."""

OLD = 3
"""After this number of young collections the new objects are worth a collection."""

TOO_OLD = 1000
"""After this number of young collections Python collects the new objects itself, even in a server that is never idle."""


class Patience(msgspec.Struct, frozen=True):
    """The delay before the memory of closed sessions is collected, in checks: until `idle` consecutive idle checks; after `some` checks
    until the next idle check; at most `most` checks."""

    idle: int = 4
    some: int = 120
    most: int = 600

    def ends(self, owed: int, idle: int) -> bool:
        """Whether to collect now: a collection is pending for `owed` checks, and the last `idle` checks found the server idle."""
        return idle >= self.idle or (owed >= self.some and idle > 0) or owed >= self.most


async def collect_while_idle(
    closed: Callable[[], int] = lambda: 0, look_s: float = LOOK_S, patience: Patience | None = None
) -> None:
    """Collect garbage while this is awaited; then restore Python's own collection. `closed` counts the sessions closed so far."""
    young, middle, old = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(young, middle, TOO_OLD)
    patience = patience or Patience()
    idle = owed = 0
    seen, froze = closed(), False
    try:
        while True:
            spent = time.process_time()
            await asyncio.sleep(look_s)
            idle = idle + 1 if time.process_time() - spent < IDLE_SHARE * look_s else 0
            owed = owed + 1 if closed() != seen else 0
            if owed and patience.ends(owed, idle):
                seen, froze = closed(), True  # collect once more later: objects that the loop still used
                _collect_all()
            elif idle and gc.get_count()[2] >= OLD:
                _collect_new()
                froze = True
            elif froze and idle >= LONG:
                _collect_all()
                froze = False
    finally:
        gc.unfreeze()
        gc.set_threshold(young, middle, old)


def _collect_new() -> None:
    """Collect the objects that are not frozen, and freeze the survivors."""
    gc.collect()
    gc.freeze()


def _collect_all() -> None:
    """Collect everything, and return the free memory."""
    gc.unfreeze()
    clear_caches()  # after `unfreeze`: frozen objects are not listed
    _collect_new()
    return_free_memory()


__all__ = ["LONG", "OLD", "Patience", "collect_while_idle"]
