"""Jobs in threads that can be cancelled, so that obsolete work does not slow down current work.

Python runs one thread at a time: a simulation that continues after a drop made it obsolete would halve the speed of the drop. Each job
has a cancellation token, and ends at the next checkpoint of the engine (`engine.cancellation`) after it was cancelled.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import msgspec

from ...engine.cancellation import CancellationToken, Cancelled, checkpoint, running_under
from .event_loop import EventLoop
from .fair_scheduler import FairScheduler

OnPiece = Callable[[Any], None]


class JobStatus(msgspec.Struct, frozen=True):
    """The status of a job, for the user: the `area` of the page that shows its result, a text, the number of pieces done and in total (0:
    unknown), and whether it was stopped and can be resumed."""

    key: str
    area: str
    text: str
    done: int = 0
    total: int = 0
    stopped: bool = False


class BackgroundJob:
    """A thread that makes the pieces of an iterator. `on_piece` receives each piece on the event loop; `on_end` is called after the last.

    The iterator only reads frozen values, and its results are private until delivery. A cancelled job delivers nothing. With `scheduler`,
    each piece waits for a slot.
    """

    def __init__(
        self,
        pieces: Iterator[Any],
        event_loop: EventLoop,
        on_piece: OnPiece,
        on_end: Callable[[], None] = lambda: None,
        scheduler: FairScheduler | None = None,
    ) -> None:
        self._pieces = pieces
        self._event_loop = event_loop
        self._on_piece = on_piece
        self._on_end = on_end
        self._scheduler = scheduler
        self._token = CancellationToken()
        self._ready: deque[Any] = deque()
        self._done = threading.Event()
        self._may_continue = threading.Event()
        self._may_continue.set()

    def start(self) -> BackgroundJob:
        threading.Thread(target=self._run, name="job", daemon=True).start()
        return self

    def wait(self, seconds: float) -> bool:
        """Wait on the event loop for at most `seconds`. Returns whether the job is complete; its pieces are delivered then."""
        if not self._done.wait(seconds):
            return False
        self.deliver()
        return True

    def cancel(self) -> None:
        """Cancel the job: it delivers nothing further, and its thread ends at the next checkpoint."""
        self._token.cancel()
        self._may_continue.set()

    def pause(self) -> None:
        """Start no other piece until `resume`: a user waits for the page."""
        self._may_continue.clear()

    def resume(self) -> None:
        """Continue after `pause`."""
        self._may_continue.set()

    # On the event loop.

    def deliver(self) -> None:
        """Deliver the finished pieces; after the last one call `on_end`."""
        while self._ready and not self._token.is_cancelled:
            self._on_piece(self._ready.popleft())
        if self._done.is_set() and not self._token.is_cancelled and not self._ready:
            self._token.cancel()  # nothing is left to deliver
            self._on_end()

    # In the thread.

    def _run(self) -> None:
        try:
            with running_under(self._token):
                while self._make_next():
                    self._event_loop.soon(self.deliver)
                    self._may_continue.wait()
        except Cancelled:
            pass
        finally:
            self._done.set()
            if not self._token.is_cancelled:
                self._event_loop.soon(self.deliver)

    def _make_next(self) -> bool:
        """Make the next piece, in a slot of the scheduler if there is one. Returns whether there was a piece."""
        with self._scheduler.slot() if self._scheduler is not None else nullcontext():
            checkpoint()
            for piece in self._pieces:
                self._ready.append(piece)
                return True
            return False


__all__ = ["BackgroundJob", "JobStatus"]
