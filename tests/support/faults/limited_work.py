"""Functions that child processes run in tests of limits."""

from __future__ import annotations

import os
import re
import signal
import sys
from typing import Any, NoReturn

from tilewright.engine.ir import For, PrimFunc, Refusal, TilewrightError, walk_stmts


def add(a: int, b: int) -> int:
    return a + b


def spin() -> NoReturn:
    """Run Python code forever."""
    while True:
        pass


def hold() -> object:
    """Work for hours in one call into C, which no exception interrupts."""
    return re.match(r"(a+)+$", "a" * 60 + "b")


def allocate(size: int) -> int:
    return len(bytearray(size))


def grow() -> NoReturn:
    """Allocate more and more memory in small pieces."""
    kept: list[Any] = []
    while True:
        kept.append(bytearray(1 << 20))


def refuse() -> NoReturn:
    raise TilewrightError(Refusal("too-odd", "the number is odd", found="3"))


def end() -> NoReturn:
    """End the process at once."""
    os._exit(3)


def kill() -> None:
    """Kill the process, like a system without memory."""
    os.kill(os.getpid(), signal.SIGKILL)


def say(text: str) -> str:
    """Write to standard output, as some libraries do."""
    print(text)
    sys.stdout.flush()
    return text


def outer_loop(func: PrimFunc) -> tuple[For, int]:
    """A node of the given program, and the process that found it."""
    return next(s for s in walk_stmts(func.body) if isinstance(s, For)), os.getpid()
