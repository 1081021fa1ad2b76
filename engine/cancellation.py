"""Cooperative cancellation: long loops call `checkpoint`, which ends a cancelled job by the exception `Cancelled`.

A job runs with a token (`running_under`); any thread may cancel the token. `cut_short` ends a part of a job. NumPy, islpy and other
calls into C are not interrupted, so the job ends at the first checkpoint after such a call. A checkpoint costs about 100 ns.

A checkpoint may end any function above it. Functions that fill a cache therefore store a result only when it is complete.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import local


class Cancelled(BaseException):
    """Raised by `checkpoint` in a cancelled job. `except Exception` does not catch it."""


class CancellationToken:
    """Whether a job is cancelled."""

    def __init__(self) -> None:
        self._is_cancelled = False

    @property
    def is_cancelled(self) -> bool:
        return self._is_cancelled

    def cancel(self) -> None:
        """Cancel the job; may be called from any thread."""
        self._is_cancelled = True


class _PartToken(CancellationToken):
    """The token of a part of a job: it is cancelled with the job, and when `is_due` returns True. `is_due` runs under the token of the
    job, so that it may call `checkpoint`."""

    def __init__(self, is_due: Callable[[], bool], job: CancellationToken | None) -> None:
        super().__init__()
        self._is_due, self._job = is_due, job

    @property
    def is_cut(self) -> bool:
        """Whether `is_due` has returned True."""
        return self._is_cancelled

    @property
    def is_cancelled(self) -> bool:
        if self._job is not None and self._job.is_cancelled:
            return True
        if not self._is_cancelled:
            part, _current.token = _current.token, self._job
            try:
                self._is_cancelled = self._is_due()
            finally:
                _current.token = part
        return self._is_cancelled


class _Current(local):
    """The token of each thread. A context variable would be copied into the callbacks that a job gives to an event loop."""

    token: CancellationToken | None = None


_current = _Current()


def current_token() -> CancellationToken | None:
    """Return the token of the current thread."""
    return _current.token


def use_token(token: CancellationToken | None) -> None:
    """Make `token` the token of the current thread, until the next call."""
    _current.token = token


@contextmanager
def running_under(token: CancellationToken) -> Generator[None]:
    """Make `token` the token of the current thread."""
    before, _current.token = _current.token, token
    try:
        yield
    finally:
        _current.token = before


@contextmanager
def cut_short(is_due: Callable[[], bool]) -> Generator[None]:
    """End the body, without an exception, at its first checkpoint at which `is_due()` is True. Each checkpoint of the body calls
    `is_due`."""
    token = _PartToken(is_due, _current.token)
    try:
        with running_under(token):
            yield
    except Cancelled:
        if not token.is_cut:
            raise


def checkpoint() -> None:
    """Raise `Cancelled` if the job of this thread is cancelled."""
    token = _current.token
    if token is not None and token.is_cancelled:
        raise Cancelled


def hide_ignored_cancellations() -> None:
    """Let Python report no `Cancelled` that it ignored in a finalizer or a callback of the garbage collector: the next checkpoint raises
    it again."""
    report = sys.unraisablehook

    def report_others(ignored: sys.UnraisableHookArgs) -> None:
        if not issubclass(ignored.exc_type, Cancelled):
            report(ignored)

    sys.unraisablehook = report_others


__all__ = [
    "CancellationToken",
    "Cancelled",
    "checkpoint",
    "current_token",
    "cut_short",
    "hide_ignored_cancellations",
    "running_under",
    "use_token",
]
