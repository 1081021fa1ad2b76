"""The output of commands: text (in colours on a terminal, plain in a pipe), JSON for scripts, progress on standard error.

Rich is imported only for a terminal.
"""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .logs import timed

BUDGET_WORDS = {True: ("ok", "green"), False: ("FAIL", "bold red")}


Part = str | tuple[str, str]
"""A part of a line: its text, or its text and a style of Rich."""


def print_line(*line: Part) -> None:
    """Print a line on standard output."""
    if not sys.stdout.isatty() or all(isinstance(part, str) for part in line):
        print("".join(part if isinstance(part, str) else part[0] for part in line), flush=True)
        return
    from rich.console import Console
    from rich.text import Text

    Console(file=sys.stdout, highlight=False, soft_wrap=True).print(Text.assemble(*line))


def print_json(data: Any) -> None:
    print(json.dumps(data, indent=2), flush=True)


def print_text(text: str) -> None:
    """Print a file's text unchanged."""
    print(text, end="", flush=True)


def print_verdict(passed: bool, words: str) -> None:
    """Print the line `ok    …` or `FAIL  …`."""
    word, style = BUDGET_WORDS[passed]
    print_line((f"{word:<6}", style), words)


@contextmanager
def working(arguments: Namespace, what: str, spinner: str = "") -> Iterator[Callable[[str], None] | None]:
    """Show a spinner with the text `spinner` (default: `what`) on a terminal's standard error during the context; with --verbose also log
    the duration. The value replaces the text; it is None if nothing is shown."""
    with timed(what):
        if not _shows_progress(arguments):
            yield None
            return
        from rich.console import Console
        from rich.text import Text

        with Console(file=sys.stderr).status(Text(spinner or what)) as status:
            yield lambda text: status.update(Text(text))


def _shows_progress(arguments: Namespace) -> bool:
    """Whether progress is shown on standard error: not in a pipe, with --json or with --quiet."""
    return not (getattr(arguments, "json", False) or arguments.quiet) and sys.stderr.isatty()


def report_problem(words: str) -> None:
    """Print on standard error what a command does without."""
    print(f"tilewright: {words}", file=sys.stderr)


def written(path: str, data: str | bytes) -> bool:
    """Write a file and return whether that succeeded; print the reason of a failure on standard error."""
    try:
        if isinstance(data, bytes):
            Path(path).write_bytes(data)
        else:
            Path(path).write_text(data, encoding="utf-8")
    except OSError as error:
        print(f"tilewright: cannot write {path}: {error.strerror}", file=sys.stderr)
        return False
    return True
