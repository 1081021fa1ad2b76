"""The loop of a page that is served: how work is put off until the browser has the page, and how a thread comes back."""

from __future__ import annotations

import threading
from collections.abc import Callable

import panel as pn
from bokeh.document import Document as BokehDocument

PATIENCE_S = 0.25
"""How long a paint waits for a simulation; nobody is answered meanwhile."""


MOMENT_S = 0.05
"""How long the loop waits for the next state of a page: most are there sooner, and need no second way to the screen."""

FIRST_S = 0.5
"""The same for the first page, which had better be sent with a picture than without."""


class ServerClock:
    """The loop of the document that a page belongs to. What is put off waits for the browser: changes to a page that is on its way to it
    would be lost."""

    def __init__(self, document: BokehDocument | None) -> None:
        self._document = document
        self._lock = threading.Lock()
        self._early: list[Callable[[], object]] | None = None
        if document is not None:
            self._early = []
            pn.state.onload(self._arrived)

    def patience(self) -> float:
        """Seconds that a paint may wait; the first page does not: it is sent, and filled in."""
        return PATIENCE_S if self._early is None else 0.0

    def moment(self) -> float:
        """Seconds that the loop may wait for the next state."""
        return MOMENT_S if self._early is None else FIRST_S

    def after(self, delay_ms: int, work: Callable[[], None]) -> None:
        document = self._document
        if document is not None:
            self._there(lambda: document.add_timeout_callback(work, delay_ms))

    def soon(self, work: Callable[[], None]) -> None:
        document = self._document
        if document is not None:
            self._there(lambda: document.add_next_tick_callback(work))

    def _there(self, start: Callable[[], object]) -> None:
        """At once where the browser has the page, else as soon as it does."""
        with self._lock:
            if self._early is not None:
                self._early.append(start)
                return
        start()

    def _arrived(self) -> None:
        with self._lock:
            early, self._early = self._early or [], None
        for start in early:
            start()
