"""`python -m tilewright.engine.network.search.process`: a process that performs time slices of kernels, one after the other.

It exits when its input ends, so that no process outlives its parent.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

import msgspec

from ...explore.workers.pipe import READY, receive, send
from .perform import performed
from .study import KernelTask


def main() -> int:
    """Perform tasks until the input ends."""
    tasks = sys.stdin.buffer
    # The output of libraries must not mix with the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        send(answers, READY)
        while (data := receive(tasks)) is not None:
            send(answers, msgspec.msgpack.encode(performed(msgspec.msgpack.decode(data, type=KernelTask))))
    except BrokenPipeError:  # the parent process was killed
        with suppress(BrokenPipeError):
            answers.close()  # else Python flushes the rest of the answer at exit
    return 0


if __name__ == "__main__":
    sys.exit(main())
