"""A fake clock and screen: delayed callbacks run on request, drawings are recorded."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from functools import wraps
from typing import Any

from tilewright.app.state.derived import Store
from tilewright.app.state.model import State


class PaperClock:
    def __init__(self) -> None:
        self.work: queue.Queue[Callable[[], None]] = queue.Queue()

    def after(self, delay_ms: int, work: Callable[[], None]) -> None:
        self.work.put(work)

    def soon(self, work: Callable[[], None]) -> None:
        context = copy_context()  # like asyncio: the callback runs in the context of the thread that schedules it

        @wraps(work)
        def in_context() -> None:
            context.run(work)

        self.work.put(in_context)

    def run_until(self, done: Callable[[], bool]) -> None:
        cancel = time.monotonic() + 60
        while not done():
            assert time.monotonic() < cancel
            with suppress(queue.Empty):  # the condition may be set by a thread that schedules nothing here
                self.work.get(timeout=0.02)()


class PaperScreen:
    def __init__(self) -> None:
        self.drawn: list[State] = []
        self.later: list[State] = []
        self.predictions: list[dict[str, Any]] = []
        self.files: dict[str, str] = {}

    def draw(self, state: State, store: Store) -> None:
        self.drawn.append(state)

    def draw_results(self, state: State, store: Store) -> None:
        self.later.append(state)

    def show_prediction(self, prediction: dict[str, Any]) -> None:
        self.predictions.append(prediction)

    def download(self, name: str, text: str) -> None:
        self.files[name] = text
