"""A process that forks a child for each line of its standard input, to be killed: it prints `pid N` for each, and `end` after its end."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable


def say(*words: str) -> None:
    os.write(1, (" ".join(words) + "\n").encode())


def fork_for_each_line(run: Callable[[str], object]) -> None:
    """Run `run(line)` in a child for each line, one after the other."""
    for line in sys.stdin:
        child = os.fork()
        if not child:
            try:
                run(line)
            except BaseException:
                traceback.print_exc()  # the reason of a child that ended by itself
            finally:
                os._exit(3)
        say("pid", str(child))
        os.waitpid(child, 0)
        say("end")


__all__ = ["fork_for_each_line", "say"]
