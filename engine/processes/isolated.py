"""Calls in a child process, for work that cannot be interrupted in this one: isl holds the interpreter's lock for as long as a question
takes, and so does Python's parser.

The child has a limit of processor time that the system enforces, and a limit of memory. It is kept for later calls.
"""

from __future__ import annotations

import atexit
import os
import signal
import threading
from collections.abc import Callable, Generator, Hashable
from contextlib import contextmanager, suppress
from typing import Any, TypeVar, cast

from ..cancellation import Cancelled, checkpoint
from ..ir import Refusal, TilewrightError
from .budget import GIBI, LEAST_SECONDS, Budget, OverBudgetError, remaining_seconds, spend, uninterrupted, within
from .process import ChildProcess
from .sharing import SharedRequest

T = TypeVar("T")

MOST_CHILDREN = 2
"""Maximum number of calls at a time; others wait."""

START_SECONDS = 60.0
"""Wall-clock time within which a child must be ready."""

CANCEL_SECONDS = 1.0
"""Wall-clock time that a child has to end a cancelled call, before it is killed."""

MOST_LONG = 64
"""Maximum number of kinds of calls that are known to need a child."""

ATTEMPTS = 2
"""A call during which this many children end for an unknown reason is refused."""


class _Children:
    """The children of this process: idle ones and those at work, with a slot for each call."""

    def __init__(self) -> None:
        self.idle: list[ChildProcess] = []
        self.working: set[ChildProcess] = set()
        self.slots = threading.Semaphore(MOST_CHILDREN)
        self.is_child = False

    def take(self) -> ChildProcess | None:
        """Take an idle child to work."""
        with suppress(IndexError):  # none is left, perhaps since another thread took the last
            child = self.idle.pop()
            self.working.add(child)
            return child
        return None

    def kill(self) -> None:
        """Kill all children at the end of this process."""
        for child in (*self.idle, *self.working):
            child.kill()


_children = _Children()
_long: dict[Hashable, None] = {}
"""The kinds of calls of `here_or_isolated` whose last one needed a child."""

atexit.register(_children.kill)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_children.__init__)  # the pipes belong to the parent


def perform_here() -> None:
    """Perform all calls in this process from now on: it can be killed itself."""
    _children.is_child = True


def isolated(function: Callable[..., T], *arguments: Any, seconds: float, what: str, memory_bytes: int = GIBI) -> T:
    """Return `function(*arguments)`, computed in a child process. The function is one of a module; arguments and result are values that can
    be pickled, in which IR nodes keep their identity. Its processor time counts towards the budgets of this thread.

    Raises the errors of the function; OverBudgetError beyond `seconds` of processor time, `memory_bytes`, or the rest of the budget.
    """
    if _children.is_child:
        return function(*arguments)
    return _in_child(function, arguments, seconds, what, memory_bytes)[0]


def _in_child(
    function: Callable[..., T], arguments: tuple[Any, ...], seconds: float, what: str, memory_bytes: int
) -> tuple[T, float]:
    """Return the result of a call in a child, and the processor time that it took."""
    budget = Budget(max(LEAST_SECONDS, min(seconds, remaining_seconds())), memory_bytes)
    request = SharedRequest(function, arguments, budget.seconds, memory_bytes)
    # The budget of the child ends the call: an exception here would lose the slot and the child.
    with uninterrupted(), _slot():
        for _ in range(ATTEMPTS):
            kind, value, used = _asked(request, budget.seconds)
            spend(used)
            if kind == "value":
                return cast("T", value), used
            if kind == "error":
                raise value
            if kind == "over":
                raise budget.exceeded(value, what)
    message = f"{what} ended its process {ATTEMPTS} times, perhaps because the system has no memory left"
    raise OverBudgetError(Refusal("over-budget", message, found="memory", expected="a smaller program"))


def here_or_isolated(
    function: Callable[..., T], *arguments: Any, here_seconds: float, seconds: float, what: str, alike: Hashable
) -> T:
    """Return `function(*arguments)`, computed in this process if that takes at most `here_seconds` of processor time, else anew in a child.
    Calls with equal `alike` are expected to take similar time: after one that needed a child, the next begins there. Raises as `isolated`.
    """
    if _children.is_child:
        return function(*arguments)
    if alike not in _long:
        if remaining_seconds() < here_seconds:
            here_seconds = LEAST_SECONDS
        with suppress(OverBudgetError), within(Budget(here_seconds), what):
            return function(*arguments)
        _long[alike] = None
        with suppress(KeyError):  # another thread has removed it
            while len(_long) > MOST_LONG:
                del _long[next(iter(_long))]
    result, used = _in_child(function, arguments, seconds, what, GIBI)
    if used < here_seconds:
        _long.pop(alike, None)
    return result


def _asked(request: SharedRequest, seconds: float) -> tuple[str, Any, float]:
    """Return the kind of the answer ("value", "error", "over", "lost"), its value, and the processor time that it took."""
    child = _ready_child()
    answer: bytes | None = None
    try:
        child.send(request.data)
        answer = child.answer(None, _checked)
    except OSError:
        pass  # the child has ended
    except Cancelled:
        child.interrupt(signal.SIGINT)
        _kept_or_released(child, child.answer(CANCEL_SECONDS))
        raise
    except BaseException:  # perhaps in the middle of an answer
        _kept_or_released(child, None)
        raise
    code = _kept_or_released(child, answer)
    if answer is not None:
        return request.result(answer)
    return ("over", "time", seconds) if code == -signal.SIGXCPU else ("lost", None, 0.0)


def _kept_or_released(child: ChildProcess, answer: bytes | None) -> int | None:
    """Keep a child that answered for later calls. Release one that did not, and return its exit code."""
    _children.working.discard(child)
    if answer is None:
        return child.release()
    _children.idle.append(child)
    return None


def _checked() -> bool:
    checkpoint()
    return False


def _ready_child() -> ChildProcess:
    """Return an idle child, else a new one. Raises TilewrightError "no-process"."""
    while (child := _children.take()) is not None:
        if child.is_alive:
            return child
        _kept_or_released(child, None)
    child = ChildProcess(f"{__package__}.child")
    _children.working.add(child)
    if not child.becomes_ready(START_SECONDS):
        _kept_or_released(child, None)
        message = f"no process has started within {START_SECONDS:g} s"
        raise TilewrightError(Refusal("no-process", message, expected="enough memory for another Python process"))
    return child


@contextmanager
def _slot() -> Generator[None]:
    while not _children.slots.acquire(timeout=0.05):
        checkpoint()
    try:
        yield
    finally:
        _children.slots.release()


__all__ = ["here_or_isolated", "isolated", "perform_here"]
