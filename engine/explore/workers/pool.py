"""Workers that evaluate and estimate candidates. The answers do not depend on the worker or on the order of completion."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from queue import Empty, SimpleQueue
from typing import Protocol

from ...cancellation import cut_short
from ...ir import Refusal, TilewrightError
from ...processes import ChildProcess
from ..trials.evaluator import Answer, EvaluationRequest, Evaluator, Task, failed
from ..trials.outcome import LOST
from ..trials.study import Enough
from .job import Job, answer_from, encoded

DEATHS = 2
"""A candidate that ends this many workers is reported as failed: the candidate is the cause."""

GRACE_SECONDS = 30.0
"""A worker itself reports a candidate that is too slow. One that does not is killed after this much more wall-clock time."""

START_SECONDS = 90.0
"""Wall-clock time within which a worker reports that it is ready, or is killed. On an idle machine a start needs a second or two."""

STARTS = 2
"""Attempts to start a worker before an error is raised."""

POLL_SECONDS = 0.2
"""Polling interval of the stop condition while all workers are busy."""


class Workers(Protocol):
    """Performs the tasks of a batch, each once; answers arrive in any order. Ends early if `enough` returns True while all workers are
    busy."""

    def answers(self, tasks: Sequence[Task], enough: Enough) -> Iterator[tuple[Task, Answer]]: ...

    def close(self) -> None: ...


class InProcess:
    """Sequential evaluation in this thread. Limits of time and memory do not apply; `enough` is polled at each checkpoint, and ends the
    present task."""

    def __init__(self, bench: Evaluator) -> None:
        self._bench = bench

    def answers(self, tasks: Sequence[Task], enough: Enough) -> Iterator[tuple[Task, Answer]]:
        for task in tasks:
            answered: list[Answer] = []
            with cut_short(enough):
                answered.append(self._bench.answer(task))
            if not answered:
                return
            yield task, answered[0]

    def close(self) -> None:
        """Has nothing to release."""


def longest_first(tasks: Sequence[Task]) -> Sequence[Task]:
    """The tasks in the order in which to start them, so that no worker is idle for long at the end: a local search needs as long as some
    candidates."""
    return sorted(tasks, key=lambda task: isinstance(task, EvaluationRequest))


class WorkersError(TilewrightError):
    """No worker is available to evaluate candidates."""


class LostWorkerError(Exception):
    """A worker process ended or was killed."""


class WorkerProcess:
    """A process that performs one task at a time. It is restarted after it ends."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._process: ChildProcess | None = None
        self._ended = False

    @property
    def pid(self) -> int | None:
        """The id of the process; None before the first task."""
        return None if self._process is None else self._process.pid

    def answer(self, task: Task) -> Answer:
        """The answer to a task; a failed outcome if its workers died."""
        for _ in range(DEATHS):
            try:
                return self._asked(task)
            except LostWorkerError:
                self.release()
                if self._ended:
                    break
        return failed(task, LOST, f"{DEATHS} workers died during its trial")

    def close(self) -> None:
        """Kills the process, even during a task; its caller then receives a failed answer."""
        self._ended = True
        if self._process is not None:
            self._process.kill()

    def release(self) -> None:
        """Kills the process if there is one, waits for its end, and closes its pipes."""
        process, self._process = self._process, None
        if process is not None:
            process.release()

    def _asked(self, task: Task) -> Answer:
        process = self._running()
        limit = self._job.limits.seconds
        wait = None if not limit else 10 * limit + GRACE_SECONDS
        began = time.monotonic()
        try:
            process.send(encoded(task))
            answer = process.answer(wait)
        except OSError as error:
            raise LostWorkerError from error
        if answer is not None:
            return answer_from(task, answer)
        if wait is not None and time.monotonic() - began >= wait:
            self.release()
            return failed(task, "too-slow", f"no result within {wait:g} seconds")
        raise LostWorkerError

    def _running(self) -> ChildProcess:
        for _ in range(STARTS):
            if self._ended:
                raise LostWorkerError
            if self._process is not None or self._is_started():
                break
            self.release()
        if self._process is None:
            if self._ended:
                raise LostWorkerError
            raise WorkersError(
                Refusal(
                    "no-worker", f"no worker has started within {START_SECONDS:g} seconds, tried {STARTS} times",
                    expected="enough memory for another process, or workers=0 for trials in this one",
                )
            )  # fmt: skip
        return self._process

    def _is_started(self) -> bool:
        """Starts a process; returns whether it has read its job."""
        process = self._process = ChildProcess(f"{__package__}.process")
        if self._ended:  # during the start: `close` missed this process
            process.kill()
        try:
            process.send(encoded(self._job))
        except OSError:
            return False
        return process.becomes_ready(START_SECONDS)


class WorkerPool:
    """A worker process per concurrent request, kept for later tasks. Thread-safe."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._free: SimpleQueue[WorkerProcess] = SimpleQueue()
        self._all: list[WorkerProcess] = []

    def answer(self, task: Task) -> Answer:
        """The answer to a task."""
        try:
            hand = self._free.get_nowait()
        except Empty:
            hand = WorkerProcess(self._job)
            self._all.append(hand)
        try:
            return hand.answer(task)
        finally:
            self._free.put(hand)

    @property
    def pids(self) -> tuple[int, ...]:
        """The ids of the existing processes."""
        return tuple(pid for hand in self._all if (pid := hand.pid) is not None)

    def close(self) -> None:
        """Kills all processes."""
        for hand in self._all:
            hand.close()

    def release(self) -> None:
        """Releases all processes, after their callers have returned."""
        for hand in self._all:
            hand.release()


class Processes:
    """`count` local processes. They are started by command, not forked, so that they inherit no threads or files."""

    def __init__(self, job: Job, count: int) -> None:
        self.pool = WorkerPool(job)
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="explore")

    def answers(self, tasks: Sequence[Task], enough: Enough) -> Iterator[tuple[Task, Answer]]:
        waiting = {self._threads.submit(self.pool.answer, task): task for task in longest_first(tasks)}
        try:
            while waiting:
                done, _ = wait(waiting, POLL_SECONDS, FIRST_COMPLETED)
                if not done and enough():
                    return
                for future in done:
                    yield waiting.pop(future), future.result()
        finally:
            for future in waiting:
                future.cancel()

    def close(self) -> None:
        self.pool.close()
        self._threads.shutdown(wait=True, cancel_futures=True)
        self.pool.release()
