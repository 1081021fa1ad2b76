"""Work in a thread that can be given up at any moment: what nobody waits for any more takes no time from those who wait.

Python runs one thread at a time, so that a simulation that goes on after the drop that made it pointless would halve the speed of the drop.
Giving work up raises `Cancelled` in its thread, between two instructions and not only between two pieces.

The threads are bare ones: `Thread` objects are in a weak set, whose callback swallows what a thread is struck with that just collects
garbage. Where another callback does, the piece is made to its end, for nobody. An import is let end: half a module would be left.
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
"""A module that is being imported is looked at again so much later."""


class JobStatus(msgspec.Struct, frozen=True):
    """What is being worked out, for the person who waits: the `area` of the page where it will stand, words, how many of how many (total
    0: not known), and whether it was stopped, so that it may be gone on with."""

    key: str
    area: str
    text: str
    done: int = 0
    total: int = 0
    stopped: bool = False


class Cancelled(BaseException):
    """Raised in a thread whose work nobody waits for. No `except Exception` keeps it."""


def _imports(thread: int) -> bool:
    """Whether a thread is importing a module just now."""
    frame = sys._current_frames().get(thread)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


class BackgroundJob:
    """The pieces of an iterator, made in a thread one after the other; `found` gets each on the loop, `ended` is called after the last.

    The iterator only reads what is frozen, and what it makes is its own until it is told: it may be ended anywhere. Nothing is told of
    work that was given up. With `scheduler` each piece waits for its turn.
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
        """On the loop: whether all is worked out within so many seconds, and told already."""
        if not self._done.wait(seconds):
            return False
        self.tell()
        return True

    def cancel(self) -> None:
        """End it now. The thread is gone as soon as Python lets it run, at the latest when a call into C returns or an import ends."""
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
        """Begin no other piece for now: somebody waits for the page."""
        self._free.clear()

    def go_on(self) -> None:
        """Nobody waits any more."""
        self._free.set()

    # On the loop.

    def tell(self) -> None:
        """Tell what is ready."""
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
        """The next piece, once it is its turn: a person who waits for it asks nobody."""
        if self._scheduler is None:
            return self._next()
        with self._scheduler.taken():
            return self._next()

    def _next(self) -> bool:
        """Make the next piece; whether there was one."""
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
                    self._strike(None)  # where it has not come yet: nothing may break what follows

    def _strike(self, error: type[BaseException] | None) -> None:
        thread = ctypes.c_ulong(_thread.get_ident() if error is None else self._thread)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(error) if error else None)


__all__ = ["BackgroundJob", "Cancelled", "JobStatus"]
