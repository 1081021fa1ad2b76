"""Jobs in threads that can be cancelled at any moment, so that obsolete work does not slow down current work.

Python runs one thread at a time: a simulation that continues after a drop made it obsolete would halve the speed of the drop. Cancelling
raises `Cancelled` in the job's thread, between two instructions and not only between two pieces.

The threads are started without `Thread` objects: those are in a weak set, whose callback swallows an exception that arrives during a
garbage collection. If another callback swallows it, the piece runs to its end and is dropped. An import always completes, since an
interrupted import would leave half a module.
"""

from __future__ import annotations

import _thread
import ctypes
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from .event_loop import EventLoop
from .fair_scheduler import FairScheduler

Found = Callable[[Any], None]

AGAIN_S = 0.001
"""The delay before the next attempt to cancel a thread that is importing a module."""


class JobStatus(msgspec.Struct, frozen=True):
    """The status of a job, for the user: the `area` of the page that shows its result, a text, the number of pieces done and in total (0:
    unknown), and whether it was stopped and can be resumed."""

    key: str
    area: str
    text: str
    done: int = 0
    total: int = 0
    stopped: bool = False


class Cancelled(BaseException):
    """Raised in the thread of a cancelled job. `except Exception` does not catch it."""


def _imports(thread: int) -> bool:
    """Whether a thread is importing a module."""
    frame = sys._current_frames().get(thread)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


class BackgroundJob:
    """A thread that makes the pieces of an iterator. `found` receives each piece on the event loop; `ended` is called after the last one.

    The iterator only reads frozen values, and its results are private until delivery, so it can be interrupted anywhere. A cancelled job
    delivers nothing. With `scheduler`, each piece waits for a slot.
    """

    def __init__(
        self,
        pieces: Iterator[Any],
        event_loop: EventLoop,
        found: Found,
        ended: Callable[[], None] = lambda: None,
        scheduler: FairScheduler | None = None,
    ) -> None:
        self._pieces = pieces
        self._event_loop = event_loop
        self._found = found
        self._ended = ended
        self._scheduler = scheduler
        self._ready: list[Any] = []
        self._lock = threading.Lock()
        self._breakable = self._struck = False
        self.over = False
        self._done = threading.Event()
        self._free = threading.Event()
        self._free.set()
        self._thread = 0

    def start(self) -> BackgroundJob:
        self._thread = _thread.start_new_thread(self._run, ())
        return self

    def wait(self, seconds: float) -> bool:
        """Wait on the event loop for at most `seconds`. Returns whether the job is complete; its pieces are delivered then."""
        if not self._done.wait(seconds):
            return False
        self.tell()
        return True

    def cancel(self) -> None:
        """Cancel the job now. Its thread ends as soon as Python runs it, at the latest when a call into C returns or an import ends."""
        with self._lock:
            self.over = True
            if self._breakable and not self._struck:
                if _imports(self._thread):
                    _thread.start_new_thread(self._give_up_soon, ())
                else:
                    self._struck = True
                    self._strike(Cancelled)
        self._free.set()

    def _give_up_soon(self) -> None:
        time.sleep(AGAIN_S)
        self.cancel()

    def hold(self) -> None:
        """Start no other piece until `go_on`: a user waits for the page."""
        self._free.clear()

    def go_on(self) -> None:
        """Resume after `hold`."""
        self._free.set()

    # On the event loop.

    def tell(self) -> None:
        """Deliver the finished pieces; after the last one call `ended`."""
        while self._ready and not self.over:
            self._found(self._ready.pop(0))
        if self._done.is_set() and not self.over and not self._ready:
            self.over = True
            self._ended()

    # In the thread.

    def _run(self) -> None:
        try:
            while not self.over and self._in_turn():
                self._event_loop.soon(self.tell)
                self._free.wait()
        except Cancelled:
            pass
        finally:
            self._done.set()
            if not self.over:
                self._event_loop.soon(self.tell)

    def _in_turn(self) -> bool:
        """Make the next piece, in a slot of the scheduler. A job that a user waits for has no scheduler."""
        if self._scheduler is None:
            return self._next()
        with self._scheduler.taken():
            return self._next()

    def _next(self) -> bool:
        """Make the next piece. Returns whether there was one."""
        with self._lock:
            if self.over:
                return False
            self._breakable = True
        try:
            for piece in self._pieces:
                self._ready.append(piece)
                return True
            return False
        finally:
            with self._lock:
                self._breakable = False
                if self._struck:
                    self._strike(None)  # clear an exception that is still pending: it must not interrupt later code

    def _strike(self, error: type[BaseException] | None) -> None:
        thread = ctypes.c_ulong(_thread.get_ident() if error is None else self._thread)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(error) if error else None)


__all__ = ["BackgroundJob", "Cancelled", "JobStatus"]
