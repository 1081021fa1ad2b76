"""Workers on an existing Dask cluster. Each Dask worker keeps processes for the tasks, so that the limits apply there too.

Dask retries the tasks of a dead worker on another one, and drops late results of the dead one.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import uuid4

from dask.distributed import Client, Worker, WorkerPlugin, as_completed, get_worker

from ...ir import Refusal
from ..trials.evaluator import Answer, Task, failed
from ..trials.outcome import LOST
from ..trials.study import Enough
from .job import Job, answer_from, encoded, job_from, task_from
from .pool import WorkerPool, WorkersError, longest_first

CONNECT_SECONDS = 5

POLL_SECONDS = 0.02
"""Polling interval while no answer is ready."""


class Cluster:
    """The workers of the scheduler at `address`."""

    def __init__(self, job: Job, address: str) -> None:
        try:
            self._client: Any = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            expected = "the address of a running scheduler: tcp://host:8786"
            raise WorkersError(
                Refusal("no-scheduler", f"no Dask scheduler answers at {address}", str(error)[:80], expected)
            ) from error
        self._address = address
        self._name = f"tilewright-{uuid4().hex}"
        self._client.register_plugin(HandsPlugin(encoded(job)), name=self._name)

    def answers(self, tasks: Sequence[Task], enough: Enough) -> Iterator[tuple[Task, Answer]]:
        futures = {
            self._client.submit(answer_there, self._name, encoded(task), pure=False): task
            for task in longest_first(tasks)
        }
        try:
            done: Any = as_completed(list(futures), loop=self._client.loop, with_results=True, raise_errors=False)
            while done.count():
                if done.has_ready():
                    future, answer = next(done)
                    yield futures[future], self._answer(futures[future], future, answer)
                elif enough():
                    return
                else:
                    time.sleep(POLL_SECONDS)
        finally:
            if self._client.status == "running":  # else the scheduler is gone, and its tasks with it
                self._client.cancel(list(futures))

    def _answer(self, task: Task, future: Any, answer: Any) -> Answer:
        # Check the answer first: a future is "lost" if its worker died after the answer arrived.
        if isinstance(answer, bytes):
            return answer_from(task, answer)
        if future.status == "error":
            # The task ended more workers than Dask allows.
            message = f"the cluster cancelled it: {answer[1] if isinstance(answer, tuple) else answer}"
            return failed(task, LOST, message[:200])
        raise WorkersError(Refusal("scheduler-lost", f"the Dask scheduler at {self._address} is no longer reachable", found=future.status,
                                   expected="the same command again, with --study, which keeps the results so far"))  # fmt: skip

    def close(self) -> None:
        if self._client.status != "running":
            self._client.close()
            return
        self._client.unregister_worker_plugin(self._name)
        self._client.close()


class HandsPlugin(WorkerPlugin):
    """The processes of one Dask worker."""

    def __init__(self, job: bytes) -> None:
        self._job = job
        self._pool: WorkerPool | None = None

    def setup(self, worker: Worker) -> None:
        self._pool = WorkerPool(job_from(self._job))

    def teardown(self, worker: Worker) -> None:
        if self._pool is not None:
            self._pool.close()

    def answer(self, task: bytes) -> bytes:
        assert self._pool is not None, "a worker initializes its plugins before it accepts tasks"
        return encoded(self._pool.answer(task_from(task)))


def answer_there(name: str, task: bytes) -> bytes:
    """The answer to a task; runs on a Dask worker."""
    plugin: Any = get_worker().plugins[name]
    return plugin.answer(task)
