"""`python -m tilewright.engine.processes.child`: a process that performs calls of `isolated`, one after the other, until its input ends."""

from __future__ import annotations

import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from time import process_time
from typing import IO

from .budget import Budget, OverBudgetError, within
from .isolated import perform_here
from .pipe import READY, receive, send
from .process import run_child
from .process_limits import limit_memory, limit_processor_time, resident_bytes
from .sharing import ReceivedRequest

MOST_GROWTH = 256 << 20
"""A child that a call has left this much larger ends, to return the memory."""

GRACE_SECONDS = 1
"""The system ends the process this processor time after the limit of its call; before, an exception ends the call. An idle process needs
none."""


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
    limit_processor_time(seconds + GRACE_SECONDS)
    try:
        with _interruptible(), within(Budget(seconds, memory_bytes), "the call"):
            return request.answer(("value", function(*arguments), process_time() - begun))
    except OverBudgetError as error:
        kind, value = "over", error.refusal.found
    except MemoryError:
        kind, value = "over", "memory"
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


if __name__ == "__main__":
    sys.exit(main())
