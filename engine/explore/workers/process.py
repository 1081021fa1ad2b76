"""`python -m tilewright.engine.explore.workers.process`: a process that evaluates and estimates candidates.

It reads the job first, then one task after the other. It exits when its input ends, so that no process outlives its parent.
"""

from __future__ import annotations

import sys
from math import inf
from typing import IO

from ...processes import READY, Budget, OverBudgetError, limit_memory, perform_here, receive, run_child, send, within
from ..search.local_search import EstimatedPoint
from ..trials.evaluator import Answer, EvaluationRequest, Evaluator, Task, failed
from .job import encoded, job_from, task_from


def main() -> int:
    """Performs tasks until the input ends."""
    perform_here()
    return run_child(_serve)


def _serve(tasks: IO[bytes], answers: IO[bytes]) -> None:
    first = receive(tasks)
    if first is None:
        return
    job = job_from(first)
    bench = job.bench
    limit_memory(job.limits.memory_bytes)
    send(answers, READY)
    while (data := receive(tasks)) is not None:
        send(answers, encoded(answer_within(job.limits.seconds, bench, task_from(data))))


def answer_within(seconds: float, bench: Evaluator, task: Task) -> Answer:
    """The answer to a task within `seconds` of processor time (0: no limit). After that a candidate fails, and a local search returns its
    estimates so far."""
    estimates: list[EstimatedPoint] = []
    try:
        with within(Budget(seconds or inf, 0), "the trial") as body:
            if isinstance(task, EvaluationRequest):
                outcome = bench.tried(task)
                return outcome if body.own_left else _too_slow(task, seconds)
            estimates.extend(bench.estimates(task))  # a timeout keeps the estimates so far
            return tuple(estimates)
    except OverBudgetError:
        return tuple(estimates) or _too_slow(task, seconds)


def _too_slow(task: Task, seconds: float) -> Answer:
    return failed(task, "too-slow", f"its trial takes more than {seconds:g} seconds")


if __name__ == "__main__":
    sys.exit(main())
