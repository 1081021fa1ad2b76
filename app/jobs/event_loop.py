"""The server's loop, as those who work beside it see it: how work is put off, and how a thread comes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class EventLoop(Protocol):
    """The loop of one page."""

    def after(self, delay_ms: int, work: Callable[[], None]) -> None:
        """Run `work` on the loop in so many milliseconds."""
        ...

    def soon(self, work: Callable[[], None]) -> None:
        """Run `work` on the loop; may be called from another thread."""
        ...
