"""Timers and callbacks of views on the kernel's event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from IPython.core.getipython import get_ipython


class KernelClock:
    """The event loop that runs a kernel's cells. Without one, as in a plain program, deferred work is dropped."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        if get_ipython() is not None:
            with suppress(RuntimeError):  # an IPython shell in a terminal runs no event loop
                self._loop = asyncio.get_running_loop()

    def after(self, delay_ms: int, work: Callable[[], None]) -> None:
        """Run `work` on the loop after `delay_ms` milliseconds."""
        if self._loop is not None:
            self._loop.call_later(delay_ms / 1000, work)

    def soon(self, work: Callable[[], None]) -> None:
        """Run `work` on the loop; safe to call from another thread."""
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed: the kernel ends
                self._loop.call_soon_threadsafe(work)


class HandClock(KernelClock):
    """An event loop for responses to user actions only. Background work is dropped, since another cell may run next."""

    def after(self, delay_ms: int, work: Callable[[], None]) -> None:
        """Drop `work`."""
