"""The log of the commands on standard error: notes at level INFO, and at level DEBUG the files that are read and the time of each part.

`--verbose` prints both, `--quiet` neither. Results and errors are not logged: they are printed at every level.
"""

from __future__ import annotations

import logging
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager, suppress

log = logging.getLogger("tilewright.cli")


class _StandardError(logging.Handler):
    """Writes to the current `sys.stderr`, which progress lines and tests replace."""

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError):  # the pipe is closed
            print(f"tilewright: {record.getMessage()}", file=sys.stderr)


def takes_verbosity(parser: ArgumentParser) -> None:
    """Add the verbosity options of every command."""
    levels = parser.add_mutually_exclusive_group()
    levels.add_argument("-q", "--quiet", action="store_true", help="print results and errors only")
    levels.add_argument(
        "-v", "--verbose", action="store_true", help="also print the files that are read and the time of each part"
    )


@contextmanager
def logging_to_stderr(arguments: Namespace) -> Iterator[None]:
    """Log to standard error during the context, at the level set by `--quiet` and `--verbose`."""
    handler, level, propagates = _StandardError(), log.level, log.propagate
    log.addHandler(handler)
    log.setLevel(logging.ERROR if arguments.quiet else logging.DEBUG if arguments.verbose else logging.INFO)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
        log.propagate = propagates


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Log the duration of the context."""
    started = time.perf_counter()
    yield
    log.debug("%s: %.2f s", what, time.perf_counter() - started)
