"""Jobs in threads that can be cancelled, so that obsolete work does not slow down current work.

Python runs one thread at a time: a simulation that continues after a drop made it obsolete would halve the speed of the drop. Each job
has a cancellation token, and ends at the next checkpoint of the engine (`engine.cancellation`) after it was cancelled.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import msgspec

from ...engine.cancellation import CancellationToken, Cancelled, checkpoint, running_under
from ...engine.processes import Allowance, OverBudgetError, uninterrupted
from ..limits import LIMITS
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


class _JobToken(CancellationToken):
    """The token of a thread. While it is paused, the thread waits at its checkpoints, in the context `waiting`."""

    def __init__(self, waiting: Callable[[], AbstractContextManager[None]]) -> None:
        super().__init__()
        self._waiting = waiting
        self._is_paused = False
        self._may_continue = threading.Event()

    def cancel(self) -> None:
        super().cancel()
        self.resume()

    def pause(self) -> None:
        self._may_continue.clear()
        self._is_paused = True

    def resume(self) -> None:
        self._is_paused = False
        self._may_continue.set()

    @property
    def is_cancelled(self) -> bool:
        while self._is_paused:
            with uninterrupted(), self._waiting():
                self._may_continue.wait()
        return self._is_cancelled


class BackgroundJob:
    """A thread that makes the pieces of an iterator. `on_piece` receives each piece on the event loop; `on_end` is called after the last.

    The iterator only reads frozen values, and its results are private until delivery. A cancelled job delivers nothing. With `scheduler`,
    each piece waits for a slot; a paused job leaves it to others. A job that is over its budget or fails makes no further pieces:
    `on_given_up` is called in place of `on_end`, so that it is not started again by itself.
    """

    def __init__(
        self,
        pieces: Iterator[Any],
        event_loop: EventLoop,
        on_piece: OnPiece,
        on_end: Callable[[], None] = lambda: None,
        scheduler: FairScheduler | None = None,
        on_given_up: Callable[[], None] | None = None,
    ) -> None:
        self._allowance = Allowance(LIMITS.analysis_seconds)
        self._on_given_up = on_given_up or on_end
        self._has_given_up = False
        self._pieces = pieces
        self._event_loop = event_loop
        self._on_piece = on_piece
        self._on_end = on_end
        self._scheduler = scheduler
        self._token = _JobToken(nullcontext if scheduler is None else scheduler.released)
        self._ready: deque[Any] = deque()
        self._done = threading.Event()
        self._is_over = False  # cancelled, or everything is delivered

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
        self._is_over = True
        self._token.cancel()

    def pause(self) -> None:
        """Wait at the next checkpoint until `resume`: a user waits for the page."""
        self._token.pause()

    def resume(self) -> None:
        """Continue after `pause`."""
        self._token.resume()

    # On the event loop.

    def deliver(self) -> None:
        """Deliver the finished pieces; after the last one call `on_end`."""
        while self._ready and not self._is_over:
            self._on_piece(self._ready.popleft())
        if self._done.is_set() and not self._is_over and not self._ready:
            self._is_over = True
            if self._has_given_up:
                self._on_given_up()
            else:
                self._on_end()

    # In the thread.

    def _run(self) -> None:
        try:
            with running_under(self._token):
                while self._make_next():
                    self._event_loop.soon(self.deliver)
        except Cancelled:
            pass
        except OverBudgetError:
            self._has_given_up = True
        except Exception:
            self._has_given_up = True
            raise
        finally:
            self._done.set()
            if not self._is_over:
                self._event_loop.soon(self.deliver)

    def _make_next(self) -> bool:
        """Make the next piece, in a slot of the scheduler if there is one. Returns whether there was a piece."""
        with self._scheduler.slot() if self._scheduler is not None else nullcontext():
            checkpoint()
            with self._allowance.within("the analysis"):
                for piece in self._pieces:
                    self._ready.append(piece)
                    return True
            return False


__all__ = ["BackgroundJob", "JobStatus"]
