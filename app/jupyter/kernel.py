"""The kernel as the views see it: its loop is their clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from IPython.core.getipython import get_ipython


class KernelClock:
    """The loop that the cells of a kernel run on. Where none runs, in a plain program, what is put off is not done."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        if get_ipython() is not None:
            with suppress(RuntimeError):  # a shell in a terminal: none runs while it works
                self._loop = asyncio.get_running_loop()

    def after(self, delay_ms: int, work: Callable[[], None]) -> None:
        """Run `work` on the loop in so many milliseconds."""
        if self._loop is not None:
            self._loop.call_later(delay_ms / 1000, work)

    def soon(self, work: Callable[[], None]) -> None:
        """Run `work` on the loop; may be called from another thread."""
        if self._loop is not None:
            with suppress(RuntimeError):  # closed: the kernel ends
                self._loop.call_soon_threadsafe(work)


class HandClock(KernelClock):
    """Only what answers a hand: nothing is worked out for its own sake, a cell may be running next."""

    def after(self, delay_ms: int, work: Callable[[], None]) -> None:
        """Not at all."""
