"""The parser of the command line: usage errors have the form of all other errors, and name the closest valid word."""

from __future__ import annotations

import argparse
import re
from argparse import _ActionsContainer  # pyright: ignore[reportPrivateUsage] (what parsers and groups share)
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

from ...engine.ir import Refusal, TilewrightError

_CHOICES = re.compile(r"invalid choice: '(?P<wrong>.*?)' \(choose from (?P<words>.*)\)")
_OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")

NOTES = """FILE is a path, - for standard input, or a link that contains a notebook. FILE@3 selects the first three lines of the
schedule, FILE@start the program before the schedule, FILE@NAME a branch.

exit codes:
  0  success
  1  the schedule is refused or wrong; lint: an error or a warning; check: a failed check; diff: the programs
     differ; serve: edits could not be saved
  2  invalid input: no such file, no program in it, no such option
  130, 143, 129  stopped by Ctrl-C, SIGTERM or SIGHUP"""


class UsageError(TilewrightError):
    """An invalid command line."""


class Parser(argparse.ArgumentParser):
    """A parser that raises UsageError where argparse prints its usage and exits."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **settings)

    def _parse_optional(self, arg_string: str) -> Any:
        """Treat `-@3` (standard input at step 3) as an argument, not an option."""
        return None if arg_string.startswith("-@") else super()._parse_optional(arg_string)

    def error(self, message: str) -> NoReturn:
        usage = " ".join(self.format_usage().split()).removeprefix("usage: ")
        choice = _CHOICES.search(message)
        wrong = choice["wrong"] if choice else message.rpartition(" ")[2].partition("=")[0]
        words = re.findall(r"[\w.-]+", choice["words"]) if choice else _OPTION.findall(usage)
        is_known = choice is None and message.startswith("argument ")
        near = [] if is_known else get_close_matches(wrong, words, 1)
        expected = ", ".join(words) if choice else usage
        said = f"there is no {wrong!r}" if choice else message
        raise UsageError(Refusal("bad-usage", said, expected=expected, fix=(*near, f"{self.prog} --help")))


def read(parser: Parser, words: Sequence[str]) -> argparse.Namespace:
    """Parse a command line. Raises UsageError; SystemExit for --help and --version."""
    arguments, unknown = parser.parse_known_args(words)
    if unknown:
        arguments.parser.error(
            f"there is no option {unknown[0]}" if unknown[0][:1] == "-" else f"unexpected argument {unknown[0]}"
        )
    return arguments


def takes_json(parser: _ActionsContainer, what: str) -> None:
    parser.add_argument("--json", action="store_true", help=f"print {what} as JSON")
