"""Work that ends when a test allows it."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Any

from tilewright.engine.cancellation import checkpoint


class Slow:
    """A piece of work that ends on permission, and reaches checkpoints until then. `most_ends` limits the number of ends."""

    def __init__(self, result: Callable[..., Any]) -> None:
        self.result = result
        self.begun = threading.Event()
        self.may_end = threading.Event()
        self.unwound = threading.Event()
        self.ended = 0
        self.most_ends = math.inf

    def until_ended(self, times: int) -> None:
        """Wait until it has ended `times` times."""
        cancel = time.monotonic() + 60
        while self.ended < times:
            assert time.monotonic() < cancel
            time.sleep(0.001)

    def __call__(self, *given: Any, **named: Any) -> Any:
        try:
            self.begun.set()
            while not self.may_end.is_set() or self.ended >= self.most_ends:
                checkpoint()
                time.sleep(0.0005)  # other threads run meanwhile
            checkpoint()
        finally:
            self.unwound.set()
        self.ended += 1
        return self.result(*given, **named)
