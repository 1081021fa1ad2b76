"""Where slices run: in this thread, or in processes, which a slice that exceeds its hard limit ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from ...ir import Refusal
from ...processes import ChildProcess
from .perform import performed, refused
from .study import KernelStudy, KernelTask

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


class ThreadWorker:
    """Performs slices in the calling thread; one that has begun is completed."""

    def perform(self, task: KernelTask, ended: Ended) -> KernelStudy | None:
        return None if ended() else performed(task)

    def close(self) -> None:
        """Has nothing to release."""


class ProcessWorker:
    """A process that performs slices. It is started by command and not forked, and restarted after it ended."""

    def __init__(self) -> None:
        self._process: ChildProcess | None = None

    def perform(self, task: KernelTask, ended: Ended) -> KernelStudy | None:
        """The answer of the process. One that dies, or exceeds the hard limit, refuses the kernel."""
        limit = START_SECONDS + max(LEAST_GRACE_SECONDS, GRACE * task.seconds)
        try:
            process = self._running(ended)
            if process is None:
                return None
            process.send(msgspec.msgpack.encode(task))
            data = process.answer(limit, ended)
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
            process.release()

    def _running(self, ended: Ended) -> ChildProcess | None:
        if self._process is None:
            self._process = ChildProcess(f"{__package__}.process")
            if not self._process.becomes_ready(START_SECONDS, ended):
                return None
        return self._process


__all__ = ["ProcessWorker", "SliceWorker", "ThreadWorker"]
