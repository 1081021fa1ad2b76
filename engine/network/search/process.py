"""`python -m tilewright.engine.network.search.process`: a process that performs time slices of kernels, one after the other.

It exits when its input ends, so that no process outlives its parent.
"""

from __future__ import annotations

import sys
from typing import IO

import msgspec

from ...processes import READY, perform_here, receive, run_child, send
from .perform import performed
from .study import KernelTask


def main() -> int:
    """Perform tasks until the input ends."""
    perform_here()
    return run_child(_serve)


def _serve(tasks: IO[bytes], answers: IO[bytes]) -> None:
    send(answers, READY)
    while (data := receive(tasks)) is not None:
        send(answers, msgspec.msgpack.encode(performed(msgspec.msgpack.decode(data, type=KernelTask))))


if __name__ == "__main__":
    sys.exit(main())
