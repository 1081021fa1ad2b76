"""`python -m tilewright.engine.explore.workers.process`: a process that evaluates and estimates candidates.

It reads the job first, then one task after the other. It exits when its input ends, so that no process outlives its parent.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from types import FrameType

from ..search.local_search import EstimatedPoint
from ..trials.evaluator import Answer, EvaluationRequest, Evaluator, Task, failed
from .job import encoded, job_from, task_from
from .pipe import READY, receive, send

ADDRESS_SPACE = "/proc/self/statm"


class TooSlow(BaseException):
    """The task exceeded its time limit. A BaseException, so that no handler of Exception catches it."""


def main() -> int:
    """Performs tasks until the input ends."""
    tasks = sys.stdin.buffer
    # The output of libraries must not mix with the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    first = receive(tasks)
    if first is None:
        return 0
    job = job_from(first)
    bench = job.bench
    limit_memory(job.limits.memory_bytes)
    signal.signal(signal.SIGPROF, _stop)
    try:
        send(answers, READY)
        while (data := receive(tasks)) is not None:
            send(answers, encoded(within(job.limits.seconds, bench, task_from(data))))
    except BrokenPipeError:  # the parent process was killed
        with suppress(BrokenPipeError):
            answers.close()  # else Python flushes the rest of the answer at exit
    return 0


def within(seconds: float, bench: Evaluator, task: Task) -> Answer:
    """The answer to a task within `seconds` of processor time. After that a candidate fails, and a local search returns its estimates so
    far."""
    estimates: list[EstimatedPoint] = []
    try:
        signal.setitimer(signal.ITIMER_PROF, seconds)
        try:
            if isinstance(task, EvaluationRequest):
                return bench.tried(task)
            estimates.extend(bench.estimates(task))  # a timeout keeps the estimates so far
            return tuple(estimates)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    except TooSlow:
        return tuple(estimates) or failed(task, "too-slow", f"its trial takes more than {seconds:g} seconds")


def limit_memory(more_bytes: int) -> None:
    """Limits the process to `more_bytes` above its present size (0: unlimited), if the system reports that size."""
    if not more_bytes or not os.path.exists(ADDRESS_SPACE):
        return
    import resource  # not on Windows

    with open(ADDRESS_SPACE, encoding="ascii") as statm:
        has = int(statm.read().split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = has + more_bytes
    resource.setrlimit(resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _stop(_: int, __: FrameType | None) -> None:
    raise TooSlow


if __name__ == "__main__":
    sys.exit(main())
