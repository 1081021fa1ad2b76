"""Signals that end a command: SIGINT (Ctrl-C), SIGTERM and SIGHUP end it with exit code 128 + the signal's number, without a traceback.

During imports and after the command the process exits at once: there is nothing to clean up, and import hooks, extension modules and
finalizers print or swallow a KeyboardInterrupt. While a command runs, the signal raises an exception in the main thread, so that the
command can close its files, end its worker processes and restore the terminal.

The command imports this module first. Its imports are few, because a signal during them is not handled yet.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import contextmanager

TYPE_CHECKING = False  # as typing.TYPE_CHECKING, without the time that its import takes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType
    from typing import Any

    Handler = Callable[[int, FrameType | None], Any]

ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))

RETRY_SECONDS = 0.01


class Stopped(KeyboardInterrupt):
    """SIGTERM or SIGHUP. It is a KeyboardInterrupt because asyncio logs other exceptions of a callback and goes on."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def install() -> None:
    """Install handlers that exit the process at once; `interruptible` replaces them temporarily."""
    _handle_with(_exit_at_once)
    sys.unraisablehook = _interrupt_again


@contextmanager
def interruptible() -> Iterator[None]:
    """Within this context the ending signals raise KeyboardInterrupt (`Stopped` for those that are not SIGINT)."""
    with _handling(_raise):
        yield


@contextmanager
def importing() -> Iterator[None]:
    """Within this context, for imports that take long, the ending signals exit the process at once."""
    with _handling(_exit_at_once):
        yield


def exit_code(error: BaseException) -> int | None:
    """The exit code for an exception raised by a signal, or raised while such an exception was handled; None for any other."""
    found: BaseException | None = error
    while found is not None and not isinstance(found, KeyboardInterrupt):
        found = found.__cause__ or found.__context__
    return None if found is None else 128 + _number_of(found)


@contextmanager
def _handling(handler: Handler) -> Iterator[None]:
    before = _handle_with(handler)
    try:
        yield
    finally:
        for number, known in before.items():
            signal.signal(number, known)


def _handle_with(handler: Handler) -> dict[int, Any]:
    """Install a handler and return the replaced ones: none outside the main thread, where Python allows no handlers. A signal that the
    parent process ignores (`nohup`, background jobs) stays ignored."""
    before = {number: signal.getsignal(number) for number in ENDING}
    replaced = {number: known for number, known in before.items() if known not in (signal.SIG_IGN, None)}
    for number in replaced:
        # asyncio.run replaces Python's own handler, and no other, by one that cancels the main task first.
        is_default = handler is _raise and number == signal.SIGINT
        try:
            signal.signal(number, signal.default_int_handler if is_default else handler)
        except ValueError:  # not the main thread
            return {}
    return replaced


def _exit_at_once(number: int, _: FrameType | None) -> None:
    os._exit(128 + number)


def _raise(number: int, _: FrameType | None) -> None:
    raise Stopped(number)


def _number_of(interrupt: KeyboardInterrupt) -> int:
    return interrupt.number if isinstance(interrupt, Stopped) else signal.SIGINT


def _interrupt_again(unraisable: Any) -> None:
    """Send the signal again after a moment if its exception was raised in a finalizer, where Python prints and drops it."""
    if not isinstance(unraisable.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)
        return
    from _thread import start_new_thread  # `Thread.start` waits for the thread, and the signal would end the wait

    start_new_thread(_send_later, (_number_of(unraisable.exc_value),))


def _send_later(number: int) -> None:
    time.sleep(RETRY_SECONDS)
    os.kill(os.getpid(), number)
