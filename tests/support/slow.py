"""Work that ends when a test allows it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any


class Slow:
    """A piece of work that ends when it is allowed to, and turns in Python until then."""

    def __init__(self, result: Callable[..., Any]) -> None:
        self.result = result
        self.begun = threading.Event()
        self.may_end = threading.Event()
        self.unwound = threading.Event()
        self.ended = 0

    def until_ended(self, times: int) -> None:
        """Wait until it has ended so often."""
        cancel = time.monotonic() + 60
        while self.ended < times:
            assert time.monotonic() < cancel
            time.sleep(0.001)

    def __call__(self, *given: Any, **named: Any) -> Any:
        try:
            self.begun.set()
            while not self.may_end.is_set():
                sum(range(50))
        finally:
            self.unwound.set()
        self.ended += 1
        return self.result(*given, **named)
