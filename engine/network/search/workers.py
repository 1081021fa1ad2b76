"""Where slices run: in this thread, or in processes, which a slice that exceeds its hard limit ends."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

import msgspec

from ...explore.workers.pipe import READY, receive, send
from ...ir import Refusal
from .perform import performed, refused
from .study import KernelStudy, KernelTask

POLL_SECONDS = 0.1
"""Polling interval of the stop condition while a process works."""

START_SECONDS = 60.0
"""Time within which a process reports that it is ready."""

GRACE = 3.0
"""A slice may take this many times its soft limit: a derivation ends after a sketch, a search after a candidate and the check."""

LEAST_GRACE_SECONDS = 60.0

Ended = Callable[[], bool]
"""Whether the answer is no longer needed."""


class SliceWorker(Protocol):
    """Performs one slice at a time. The answer is None if `ended` returned True first."""

    def perform(self, task: KernelTask, ended: Ended) -> KernelStudy | None: ...

    def close(self) -> None: ...


class InThread:
    """Performs slices in the calling thread; one that has begun is completed."""

    def perform(self, task: KernelTask, ended: Ended) -> KernelStudy | None:
        return None if ended() else performed(task)

    def close(self) -> None:
        """Has nothing to release."""


class InProcess:
    """A process that performs slices. It is started by command and not forked, and restarted after it ended."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def perform(self, task: KernelTask, ended: Ended) -> KernelStudy | None:
        """The answer of the process. One that dies, or exceeds the hard limit, refuses the kernel."""
        limit = START_SECONDS + max(LEAST_GRACE_SECONDS, GRACE * task.seconds)
        try:
            process = self._running(ended)
            if process is None:
                return None
            assert process.stdin is not None and process.stdout is not None
            send(process.stdin, msgspec.msgpack.encode(task))
            data = self._answer(process, limit, ended)
        except OSError:
            data = None
        if data is not None:
            return msgspec.msgpack.decode(data, type=KernelStudy)
        self.close()
        if ended():
            return None
        return refused(
            task.known, Refusal("too-slow", f"its process ended, or had no result within {limit:.0f} seconds")
        )

    def close(self) -> None:
        """Kill the process if there is one, wait for its end, and close its pipes."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):  # unsent data
                    if pipe is not None:
                        pipe.close()

    def _running(self, ended: Ended) -> subprocess.Popen[bytes] | None:
        if self._process is None:
            # A new session: the search handles interrupts from the keyboard.
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", f"{__package__}.process"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
                env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            )
            if self._answer(self._process, START_SECONDS, ended) != READY:
                return None
        return self._process

    def _answer(self, process: subprocess.Popen[bytes], seconds: float, ended: Ended) -> bytes | None:
        """The next message; None if the process ended, the time is over, or the answer is no longer needed."""
        assert process.stdout is not None
        until = time.monotonic() + seconds
        while time.monotonic() < until and not ended():
            ready, _, _ = select.select([process.stdout], [], [], POLL_SECONDS)
            if ready:
                return receive(process.stdout)
        return None


__all__ = ["InProcess", "InThread", "SliceWorker"]
