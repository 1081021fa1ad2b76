"""The output of commands: text (in colours on a terminal, plain in a pipe), JSON for scripts, progress on standard error."""

from __future__ import annotations

import json
import sys
from argparse import Namespace, _ActionsContainer  # pyright: ignore[reportPrivateUsage] (what parsers and groups share)
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from .logs import timed

BUDGET_WORDS = {True: ("ok", "green"), False: ("FAIL", "bold red")}


def takes_json(parser: _ActionsContainer, what: str) -> None:
    parser.add_argument("--json", action="store_true", help=f"print {what} as JSON")


def print_line(text: str | Text = "") -> None:
    """Print a line on standard output."""
    if isinstance(text, str) or not sys.stdout.isatty():
        print(text, flush=True)
    else:
        Console(file=sys.stdout, highlight=False, soft_wrap=True).print(text)


def print_json(data: Any) -> None:
    print(json.dumps(data, indent=2), flush=True)


def print_text(text: str) -> None:
    """Print a file's text unchanged."""
    print(text, end="", flush=True)


def verdict_line(passed: bool, words: str) -> Text:
    """The line `ok    …` or `FAIL  …`."""
    word, style = BUDGET_WORDS[passed]
    return Text.assemble((f"{word:<6}", style), words)


@contextmanager
def working(arguments: Namespace, what: str) -> Iterator[None]:
    """Show a spinner on a terminal's standard error during the context; with --verbose also log the duration."""
    with timed(what):
        if not shows_progress(arguments):
            yield
            return
        console = Console(file=sys.stderr)
        with console.status(Text(what)):
            yield


def shows_progress(arguments: Namespace) -> bool:
    """Whether progress is shown on standard error: not in a pipe, with --json or with --quiet."""
    return not (getattr(arguments, "json", False) or arguments.quiet) and sys.stderr.isatty()


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
