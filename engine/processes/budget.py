"""Budgets: `within` ends its body when the body exceeds its processor time or memory.

A watch thread notices that a body is over its budget, and the next checkpoint (`cancellation`) ends the body as it ends a cancelled job.
Where a body reaches none in time, the watch thread raises the same exception in the body's thread (`PyThreadState_SetAsyncExc`), between
two bytecodes. A call into C is not interrupted: work whose calls into C may be long belongs into a child process (`isolated`).
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from math import inf
from typing import Literal

import msgspec

from ..cancellation import CancellationToken, Cancelled, current_token, use_token
from ..ir import Refusal, TilewrightError
from .process_limits import resident_bytes

GIBI = 1 << 30

POLL_SECONDS = 0.05
LEAST_POLL_SECONDS = 0.001
"""Longest and shortest interval at which the watch thread compares the running bodies with their budgets."""

LEAST_SECONDS = 0.05
"""The budget of a body for which an allowance has nothing left."""

CHECKPOINT_SECONDS = 0.2
"""Processor time after which the exception is raised in a thread that is over its budget and has not reached a checkpoint. It is raised
again after the same time, if a finalizer or a callback swallowed it."""

IDLE_SECONDS = 1.0
"""The watch thread ends after this time without a body to watch."""

Quantity = Literal["time", "memory"]


class Budget(msgspec.Struct, frozen=True):
    """The most that a body may use: `seconds` of processor time of its thread, and growth of the process by `memory_bytes` (0: no
    limit)."""

    seconds: float
    memory_bytes: int = GIBI

    def exceeded(self, quantity: Quantity, what: str) -> OverBudgetError:
        """Return the error for `what`, which needs more than this."""
        most = (
            f"{self.seconds:g} s of processor time"
            if quantity == "time"
            else f"{self.memory_bytes >> 20} MiB of memory"
        )
        expected = "a smaller program, or one with simpler index expressions and conditions"
        return OverBudgetError(
            Refusal("over-budget", f"{what} needs more than {most}", found=quantity, expected=expected)
        )


class OverBudgetError(TilewrightError):
    """The work needs more than its budget of the quantity `found`, "time" or "memory". Code "over-budget"."""


class _Body(CancellationToken):
    """A running body of `within`, the body of the same thread around it, and the token of its job. It is the token of its own
    checkpoints."""

    def __init__(self, budget: Budget, outer: _Body | None) -> None:
        super().__init__()
        self.outer = outer
        self.job = current_token()
        self.thread = threading.get_ident()
        self._clock = _clock_of(self.thread)
        self._ends = self._clock() + budget.seconds
        size = resident_bytes()
        self._most_bytes = inf if size is None or not budget.memory_bytes else size + budget.memory_bytes
        self._began = self._clock()
        self.exceeded: Quantity | None = None
        self.noticed = 0.0
        self.is_shielded = False
        self.has_ended = False

    def enclosing(self) -> Iterator[_Body]:
        """Yield this body and those around it."""
        body: _Body | None = self
        while body is not None:
            yield body
            body = body.outer

    @property
    def is_cancelled(self) -> bool:
        if self.exceeded is not None and not self.is_shielded:
            return True
        return self.job is not None and self.job.is_cancelled

    @property
    def may_be_interrupted(self) -> bool:
        """Whether neither this body is shielded, nor has it or one around it ended."""
        return not self.is_shielded and not any(body.has_ended for body in self.enclosing())

    @property
    def used(self) -> float:
        """The processor time that the thread has used in this body."""
        return self._clock() - self._began

    @property
    def own_left(self) -> float:
        """The seconds that this body has left."""
        return max(0.0, self._ends - self._clock())

    @property
    def left(self) -> float:
        """The seconds that this body and those around it have left."""
        return self.own_left if self.outer is None else min(self.own_left, self.outer.left)

    def spend(self, seconds: float) -> None:
        """Take time that another process worked for this body from the budget."""
        self._ends -= seconds
        if self.outer is not None:
            self.outer.spend(seconds)

    def is_over_time(self) -> bool:
        return self._clock() > self._ends

    def is_over_memory(self, resident: int) -> bool:
        return resident > self._most_bytes


class _Watch:
    """The running bodies, and the thread that watches them, which exists while there are some.

    A body's thread takes no lock here: the exception would be delivered while it waits for one, which would then never be released. The
    watch thread sets `_raising` before it looks whether a body may be interrupted; a body that ends or is shielded says so first and then
    waits while the watch thread is raising.
    """

    def __init__(self) -> None:
        self._bodies: set[_Body] = set()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._raising: _Body | None = None

    def begin(self, body: _Body) -> None:
        """Watch a body."""
        self._bodies.add(body)
        if self._thread is None:
            self._start()

    def end(self, body: _Body) -> None:
        """Watch a body no longer, after the delivery of an exception that was raised for it."""
        body.has_ended = True
        self._bodies.discard(body)
        self._receive(body)

    def shield(self, bodies: Sequence[_Body]) -> None:
        """Begin a part of the bodies of this thread that is not interrupted. An exception that is dropped here is raised again after it."""
        for body in bodies:
            body.is_shielded = True
        self._receive(bodies[0])

    def _receive(self, body: _Body) -> None:
        """Drop an exception that was raised in this thread. None is raised for `body` from now on.

        It must be delivered: after PyThreadState_SetAsyncExc(thread, NULL), CPython 3.11 looks for an exception at each call for ever, and
        a function under a profiler never begins.
        """
        try:
            while (raising := self._raising) is not None and raising.thread == body.thread:
                time.sleep(0)
            time.sleep(0)  # Python delivers an exception that waits for this thread at the next call
        except Cancelled:
            pass

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="budgets", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while self._watches():
            last_busy = time.monotonic()
            while time.monotonic() - last_busy < IDLE_SECONDS:
                if self._bodies:
                    last_busy = time.monotonic()
                    self._interrupt_where_over()
                nearest = min((b.left for b in list(self._bodies) if b.exceeded is None), default=POLL_SECONDS)
                time.sleep(min(max(nearest, LEAST_POLL_SECONDS), POLL_SECONDS))
            self._thread = None

    def _watches(self) -> bool:
        """Return whether the running thread is the one that watches: a body may begin while it ends."""
        with self._starting:
            if self._thread is None and self._bodies:
                self._thread = threading.current_thread()
            return self._thread is threading.current_thread()

    def _interrupt_where_over(self) -> None:
        resident = resident_bytes() or 0
        running = list(self._bodies)
        for body in running:
            if body.is_over_time():
                self._interrupt(body, "time")
        # The process has one size: the body that works most is taken for its cause.
        large = [body for body in running if body.is_over_memory(resident)]
        if large:
            self._interrupt(max(large, key=lambda body: body.used), "memory")

    def _interrupt(self, body: _Body, quantity: Quantity) -> None:
        self._raising = body
        used = body.used
        if body.may_be_interrupted:
            if body.exceeded is None:
                body.exceeded, body.noticed = quantity, used
            elif used - body.noticed >= CHECKPOINT_SECONDS:
                body.noticed = used
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(body.thread), ctypes.py_object(Cancelled))
        self._raising = None


class _Thread(threading.local):
    """The innermost body of each thread."""

    body: _Body | None = None


_thread = _Thread()
_watch = _Watch()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_watch.__init__)  # a fork has no watch thread


@contextmanager
def within(budget: Budget, what: str) -> Generator[_Body]:
    """Run the body within a budget; `what` names it in the error. Raises OverBudgetError; budgets around it apply, too."""
    body = _Body(budget, _thread.body)
    try:
        try:
            _thread.body = body
            use_token(body)
            _watch.begin(body)
            yield body
        finally:
            _watch.end(body)
    except Cancelled:
        _watch.end(body)
        if body.exceeded is None:
            raise  # the job is cancelled, or a body around this one is over its budget
        raise budget.exceeded(body.exceeded, what) from None
    finally:
        _thread.body = body.outer
        use_token(body.job)


class Allowance:
    """A budget for several bodies together. `seconds` may be infinite: no limit."""

    def __init__(self, seconds: float) -> None:
        self._left = seconds

    @contextmanager
    def within(self, what: str) -> Generator[None]:
        """Run a body within the time that the bodies before it have left. Raises OverBudgetError."""
        if self._left == inf:
            yield
            return
        with within(Budget(self._left), what) as body:
            try:
                yield
            finally:
                self._left = max(LEAST_SECONDS, body.own_left)


@contextmanager
def uninterrupted() -> Generator[None]:
    """Run a body that must be completed, since other threads wait for it: no budget of this thread ends it."""
    bodies = [] if _thread.body is None else [body for body in _thread.body.enclosing() if not body.is_shielded]
    try:
        if bodies:
            _watch.shield(bodies)
        yield
    finally:
        for body in bodies:
            body.is_shielded = False


def remaining_seconds() -> float:
    """Return the processor time that the budgets of this thread leave; infinite without one."""
    return inf if _thread.body is None else _thread.body.left


def spend(seconds: float) -> None:
    """Take processor time of another process from the budgets of this thread."""
    if _thread.body is not None:
        _thread.body.spend(seconds)


def _clock_of(thread: int) -> Callable[[], float]:
    """Return the clock of a thread's processor time; the system's clock where threads have none (macOS, Windows)."""
    if not hasattr(time, "pthread_getcpuclockid"):
        return time.monotonic
    number = time.pthread_getcpuclockid(thread)

    def clock() -> float:
        try:
            return time.clock_gettime(number)
        except OSError:  # the thread has ended
            return inf

    return clock


__all__ = ["GIBI", "Allowance", "Budget", "OverBudgetError", "remaining_seconds", "spend", "uninterrupted", "within"]
