"""The event loop of a served page: work deferred until the browser has the page, and callbacks from other threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import panel as pn
from bokeh.document import Document as BokehDocument

PATIENCE_S = 0.25
"""Seconds that a paint waits for a simulation; the server answers no request meanwhile."""


MOMENT_S = 0.05
"""Seconds that the loop waits for the next state of a page: most are ready sooner and need no second update."""

FIRST_S = 0.5
"""The same wait for the first page, which should be sent with its content."""


class ServerClock:
    """The event loop of a page's document. Deferred work waits until the browser has the page: earlier changes would be lost.

    Only the thread of the event loop adds callbacks to the document. While a page is drawn, Bokeh 3.9 keeps added callbacks in a list, and
    loses one that another thread adds at the end of the drawing (`DocumentCallbackManager.unhold`).
    """

    def __init__(self, document: BokehDocument | None) -> None:
        self._document = document
        self._early: list[Callable[[], object]] | None = None
        if document is not None:
            self._loop = asyncio.get_running_loop()
            self._early = []
            pn.state.onload(self._arrived)

    def patience(self) -> float:
        """Seconds that a paint may wait for a simulation; 0 for the first page, which is sent at once and updated later."""
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
        if document is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._there, lambda: document.add_next_tick_callback(work))

    def when_there(self, work: Callable[[], None]) -> None:
        """Call `work`: at once, unless the browser does not have the page yet."""
        if self._early is None:
            work()
        else:
            self.soon(work)

    def _there(self, start: Callable[[], object]) -> None:
        """Call `start` once the browser has the page."""
        if self._early is not None:
            self._early.append(start)
        else:
            self._add(start)

    def _arrived(self) -> None:
        early, self._early = self._early or [], None
        for start in early:
            self._add(start)

    def _add(self, start: Callable[[], object]) -> None:
        """Call `start`, which adds a callback, unless the page has closed and Bokeh has destroyed its document."""
        try:
            start()
        except AttributeError:
            if self._document is not None and self._document.session_context is not None:
                raise
