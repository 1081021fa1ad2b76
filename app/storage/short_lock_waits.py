"""Short waits for Python's interpreter lock (GIL), for threads on the critical path of a response."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

URGENT_S = 0.0001


@contextmanager
def urgent() -> Iterator[None]:
    """Shorten the switch interval, so that this thread gets the lock back soon after a disk or database call while other threads compute.

    A commit releases the lock ten times; with the default interval each release costs as much as the whole commit.
    """
    usual = sys.getswitchinterval()
    sys.setswitchinterval(URGENT_S)
    try:
        yield
    finally:
        sys.setswitchinterval(usual)


__all__ = ["urgent"]
