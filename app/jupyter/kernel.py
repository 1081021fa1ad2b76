"""The kernel as the views see it: its loop is their clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class KernelClock:
    """The loop that the cells of a kernel run on. Where none runs, in a plain program, what is put off is not done."""

    def __init__(self) -> None:
        try:
            self._loop: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            self._loop = None

    def after(self, delay_ms: int, work: Callable[[], None]) -> None:
        """Run `work` on the loop in so many milliseconds."""
        if self._loop is not None:
            self._loop.call_later(delay_ms / 1000, work)

    def soon(self, work: Callable[[], None]) -> None:
        """Run `work` on the loop; may be called from another thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(work)


class HandClock(KernelClock):
    """Only what answers a hand: nothing is worked out for its own sake, a cell may be running next."""

    def after(self, delay_ms: int, work: Callable[[], None]) -> None:
        """Not at all."""
