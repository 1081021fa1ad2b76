"""What the commands say about their work, on standard error: notes, and with --verbose what is read and how long each part takes.

Results go to standard output and errors to standard error whatever the level is. The levels are those of `logging`: notes are INFO,
what --verbose adds is DEBUG, and --quiet leaves errors alone.
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
    """Writes to the standard error of the moment: a test replaces it, and so does a progress line."""

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError):  # nobody reads it
            print(f"tilewright: {record.getMessage()}", file=sys.stderr)


def takes_verbosity(parser: ArgumentParser) -> None:
    """The options that every command has."""
    levels = parser.add_mutually_exclusive_group()
    levels.add_argument("-q", "--quiet", action="store_true", help="print results and errors only")
    levels.add_argument(
        "-v", "--verbose", action="store_true", help="also say on standard error what is read and what takes how long"
    )


@contextmanager
def logging_as_asked(arguments: Namespace) -> Iterator[None]:
    """Within this context the log goes to standard error, at the level that the options ask for."""
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
    """Log how long a part of the work takes."""
    started = time.perf_counter()
    yield
    log.debug("%s: %.2f s", what, time.perf_counter() - started)
