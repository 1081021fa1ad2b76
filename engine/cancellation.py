"""Cooperative cancellation: long loops call `checkpoint`, which ends a cancelled job by the exception `Cancelled`.

A job runs with a token (`running_under`); any thread may cancel the token. NumPy, islpy and other calls into C are not interrupted, so the
job ends at the first checkpoint after such a call. A checkpoint costs about 100 ns.

A checkpoint may end any function above it. Functions that fill a cache therefore store a result only when it is complete.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from threading import local


class Cancelled(BaseException):
    """Raised by `checkpoint` in a cancelled job. `except Exception` does not catch it."""


class CancellationToken:
    """Whether a job is cancelled."""

    def __init__(self) -> None:
        self.is_cancelled = False

    def cancel(self) -> None:
        """Cancel the job; may be called from any thread."""
        self.is_cancelled = True


class _Current(local):
    """The token of each thread. A context variable would be copied into the callbacks that a job gives to an event loop."""

    token: CancellationToken | None = None


_current = _Current()


@contextmanager
def running_under(token: CancellationToken) -> Generator[None]:
    """Make `token` the token of the current thread."""
    before, _current.token = _current.token, token
    try:
        yield
    finally:
        _current.token = before


def checkpoint() -> None:
    """Raise `Cancelled` if the job of this thread is cancelled."""
    token = _current.token
    if token is not None and token.is_cancelled:
        raise Cancelled


__all__ = ["CancellationToken", "Cancelled", "checkpoint", "running_under"]
