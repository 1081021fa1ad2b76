"""A child process that answers requests through pipes, one at a time. It is started by command and not forked, so that it inherits no
threads and no files."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import IO

from ..cancellation import hide_ignored_cancellations
from .pipe import READY, receive, send

POLL_SECONDS = 0.05
"""Interval at which the condition to stop is polled while a process works."""


def never() -> bool:
    """Return False: the wait ends with the answer."""
    return False


class ChildProcess:
    """`python -m module`. The methods raise OSError if the process has ended; `release` it then."""

    def __init__(self, module: str) -> None:
        # A new session: the parent handles interrupts from the keyboard.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None

    def becomes_ready(self, seconds: float, ended: Callable[[], bool] = never) -> bool:
        """Return whether the process reports within `seconds` that it accepts requests."""
        return self.answer(seconds, ended) == READY

    def send(self, data: bytes) -> None:
        """Send a request, which the process answers."""
        assert self._process.stdin is not None
        send(self._process.stdin, data)

    def answer(self, seconds: float | None = None, ended: Callable[[], bool] = never) -> bytes | None:
        """Return the next message; None if the process ended, the time is over, or `ended` returns True."""
        assert self._process.stdout is not None
        until = None if seconds is None else time.monotonic() + seconds
        while not ended() and (until is None or time.monotonic() < until):
            ready, _, _ = select.select([self._process.stdout], [], [], POLL_SECONDS)
            if ready:
                return receive(self._process.stdout)
        return None

    def interrupt(self, number: int) -> None:
        """Send the process a signal."""
        self._process.send_signal(number)

    def kill(self) -> None:
        """Kill the process; a thread that waits for its answer receives None."""
        self._process.kill()

    def release(self) -> int:
        """Kill the process if it runs, close its pipes, and return its exit code, -N after signal N."""
        if self._process.poll() is None:
            self._process.kill()
        code = self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):  # unsent data
                if pipe is not None:
                    pipe.close()
        return code


def answering_pipe() -> IO[bytes]:
    """Return the standard output of this process, for its answers; the output of libraries goes to standard error from now on, or nowhere
    if the parent has closed that."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    errors = os.open(os.devnull, os.O_WRONLY) if sys.stderr is None else sys.stderr.fileno()
    os.dup2(errors, sys.stdout.fileno())
    return answers


def run_child(serve: Callable[[IO[bytes], IO[bytes]], None]) -> int:
    """Run the main function of a child: `serve(requests, answers)` until the input ends, so that no process outlives its parent."""
    hide_ignored_cancellations()
    answers = answering_pipe()
    try:
        serve(sys.stdin.buffer, answers)
    except BrokenPipeError:  # the parent was killed
        with suppress(BrokenPipeError):
            answers.close()  # else Python flushes the rest of the answer at exit
    return 0


__all__ = ["ChildProcess", "answering_pipe", "run_child"]
