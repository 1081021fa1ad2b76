"""`python -m tilewright.engine.processes.child`: a process that performs calls of `isolated`, one after the other, until its input ends."""

from __future__ import annotations

import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from math import ceil
from time import process_time
from typing import IO

from .budget import Budget, OverBudgetError, within
from .isolated import perform_here
from .memory import limit_memory, resident_bytes
from .pipe import READY, receive, send
from .process import run_child
from .sharing import ReceivedRequest

MOST_GROWTH = 256 << 20
"""A child that a call has left this much larger ends, to return the memory."""

GRACE_SECONDS = 1
"""The system ends a call that exceeds its limit by this processor time; before, an exception ends it."""


def main() -> int:
    """Perform calls until the input ends."""
    perform_here()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return run_child(_serve)


def _serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    begun = resident_bytes() or 0
    send(answers, READY)
    while (data := receive(requests)) is not None:
        send(answers, _answer(ReceivedRequest(data)))
        if (resident_bytes() or 0) > begun + MOST_GROWTH:
            return


def _answer(request: ReceivedRequest) -> bytes:
    """Return the answer to a call: its kind, its value, and the processor time that it took."""
    function, arguments, seconds, memory_bytes = request.values
    begun = process_time()
    limit_memory(memory_bytes)
    try:
        with _interruptible(), _time_limit(seconds), within(Budget(seconds, memory_bytes), "the call"):
            return request.answer(("value", function(*arguments), process_time() - begun))
    except OverBudgetError as error:
        kind, value = "over", error.refusal.found
    except KeyboardInterrupt:
        kind, value = "cancelled", None
    except Exception as error:
        kind, value = "error", error
    return request.answer((kind, value, process_time() - begun))


@contextmanager
def _interruptible() -> Generator[None]:
    """Within this context SIGINT raises KeyboardInterrupt: the parent cancels the call."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _time_limit(seconds: float) -> Generator[None]:
    """Let the system end the process soon after the call has used `seconds` of processor time, even in a call into C."""
    try:
        import resource  # not on Windows
    except ModuleNotFoundError:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
    ends = ceil(process_time() + seconds) + GRACE_SECONDS
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    resource.setrlimit(resource.RLIMIT_CPU, (ends if hard == resource.RLIM_INFINITY else min(ends, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


if __name__ == "__main__":
    sys.exit(main())
