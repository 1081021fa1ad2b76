"""Short waits for Python's interpreter lock, in a thread that somebody waits for."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

URGENT_S = 0.0001


@contextmanager
def urgent() -> Iterator[None]:
    """Let this thread go on soon each time that it waited for the disk or the database, though other threads compute.

    A commit gives the lock away ten times; with the usual interval each time costs as much as the whole commit.
    """
    usual = sys.getswitchinterval()
    sys.setswitchinterval(URGENT_S)
    try:
        yield
    finally:
        sys.setswitchinterval(usual)


__all__ = ["urgent"]
