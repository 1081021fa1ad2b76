"""The server's event loop as background jobs see it: delayed calls, and calls from other threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class EventLoop(Protocol):
    """The event loop of one page."""

    def after(self, delay_ms: int, work: Callable[[], None]) -> None:
        """Run `work` on the loop after `delay_ms`."""
        ...

    def soon(self, work: Callable[[], None]) -> None:
        """Run `work` on the loop; may be called from another thread."""
        ...
