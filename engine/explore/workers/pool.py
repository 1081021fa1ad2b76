"""Who tries candidates, and walks among them. What comes back does not depend on who it was, nor on the order in which it comes."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import suppress
from itertools import takewhile
from queue import Empty, SimpleQueue
from typing import Protocol

from ...ir import Refusal, TilewrightError
from ..search.local_search import LocalSearch
from ..trials.evaluator import Answer, EvaluationRequest, Evaluator, Task, failed
from ..trials.outcome import LOST
from ..trials.study import Enough
from .job import Job, answer_from, encoded
from .pipe import READY, receive, send

DEATHS = 2
"""A candidate that ends so many workers is given up: it was the candidate."""

GRACE_SECONDS = 30.0
"""A worker tells by itself that a candidate is too slow. One that has not, so much later by the clock, is ended."""

START_SECONDS = 90.0
"""A worker says its first word within this by the clock, or is ended. It takes a second or two where nothing else runs."""

STARTS = 2
"""Times that a worker is started before it is said that none starts."""

LOOK_SECONDS = 0.2
"""While all are at work it is asked so often whether that is enough."""


class Workers(Protocol):
    """Does the tasks of a batch, each once; answers come in any order. Fewer where it is `enough` while all are at work."""

    def answers(self, tasks: Sequence[Task], enough: Enough) -> Iterator[tuple[Task, Answer]]: ...

    def close(self) -> None: ...


class InProcess:
    """One after the other, here. No limit of time or memory holds, and what was begun is ended."""

    def __init__(self, bench: Evaluator) -> None:
        self._bench = bench

    def answers(self, tasks: Sequence[Task], enough: Enough) -> Iterator[tuple[Task, Answer]]:
        for task in tasks:
            if isinstance(task, LocalSearch):
                yield task, tuple(takewhile(lambda _: not enough(), self._bench.sights(task)))
            else:
                yield task, self._bench.tried(task)

    def close(self) -> None:
        """Nothing is held."""


def longest_first(tasks: Sequence[Task]) -> Sequence[Task]:
    """In the order in which to begin them, so that at the end no worker waits long for another: a walk takes as long as some candidates."""
    return sorted(tasks, key=lambda task: isinstance(task, EvaluationRequest))


class WorkersError(TilewrightError):
    """Nobody is there to try candidates."""


class LostWorkerError(Exception):
    """A worker ended, or had to be."""


class WorkerProcess:
    """A process that does one task at a time. It is started anew where it ended."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._process: subprocess.Popen[bytes] | None = None
        self._ended = False

    @property
    def pid(self) -> int | None:
        """Of the process; None before the first task."""
        return None if self._process is None else self._process.pid

    def answer(self, task: Task) -> Answer:
        """What comes of a task; a failed one where it took its workers along."""
        for _ in range(DEATHS):
            try:
                return self._asked(task)
            except LostWorkerError:
                self.release()
                if self._ended:
                    break
        return failed(task, LOST, f"{DEATHS} workers ended while they tried it")

    def close(self) -> None:
        """End the process, whatever it is doing; whoever waits for it gets no more than "failed"."""
        self._ended = True
        if self._process is not None:
            self._process.kill()

    def release(self) -> None:
        """Let go of the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):  # what was not sent any more
                    if pipe is not None:
                        pipe.close()

    def _asked(self, task: Task) -> Answer:
        process = self._running()
        assert process.stdin is not None and process.stdout is not None
        limit = self._job.limits.seconds
        try:
            send(process.stdin, encoded(task))
            wait = None if not limit else 10 * limit + GRACE_SECONDS
            ready, _, _ = select.select([process.stdout], [], [], wait)
            if not ready:
                self.release()
                return failed(task, "too-slow", f"no answer within {wait:g} seconds")
            answer = receive(process.stdout)
        except OSError as error:
            raise LostWorkerError from error
        if answer is None:
            raise LostWorkerError
        return answer_from(task, answer)

    def _running(self) -> subprocess.Popen[bytes]:
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
                    expected="a machine with room for another process, or workers=0: candidates are tried in this one",
                )
            )  # fmt: skip
        return self._process

    def _is_started(self) -> bool:
        """Whether a new process has read its job."""
        # A process of its own group: an interrupt from the keyboard is the study's to deal with.
        process = self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", f"{__package__}.process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
        assert process.stdin is not None and process.stdout is not None
        if self._ended:  # while it was started: `close` has not seen it
            process.kill()
        try:
            send(process.stdin, encoded(self._job))
            ready, _, _ = select.select([process.stdout], [], [], START_SECONDS)
            return bool(ready) and receive(process.stdout) == READY
        except OSError:
            return False


class WorkerPool:
    """As many hands as are asked at a time, kept for the next task. May be shared by threads."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._free: SimpleQueue[WorkerProcess] = SimpleQueue()
        self._all: list[WorkerProcess] = []

    def answer(self, task: Task) -> Answer:
        """What comes of a task."""
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
        """Of the processes that there are."""
        return tuple(pid for hand in self._all if (pid := hand.pid) is not None)

    def close(self) -> None:
        """End all of them."""
        for hand in self._all:
            hand.close()

    def release(self) -> None:
        """Let go of what they were, once nobody waits for them."""
        for hand in self._all:
            hand.release()


class Processes:
    """Local processes, `count` of them. They are started by command, not forked: whatever threads and files there are here stay here."""

    def __init__(self, job: Job, count: int) -> None:
        self.hands = WorkerPool(job)
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="explore")

    def answers(self, tasks: Sequence[Task], enough: Enough) -> Iterator[tuple[Task, Answer]]:
        waiting = {self._threads.submit(self.hands.answer, task): task for task in longest_first(tasks)}
        try:
            while waiting:
                done, _ = wait(waiting, LOOK_SECONDS, FIRST_COMPLETED)
                if not done and enough():
                    return
                for future in done:
                    yield waiting.pop(future), future.result()
        finally:
            for future in waiting:
                future.cancel()

    def close(self) -> None:
        self.hands.close()
        self._threads.shutdown(wait=True, cancel_futures=True)
        self.hands.release()
