"""Arguments that several commands share: files, the machine, sizes, `--json`, and the parsers of their values."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from math import inf
from typing import Any

from msgspec.structs import replace

from ...engine.adopt import value_name
from ...engine.processes import Budget, OverBudgetError, within
from ..document import DEFAULT_MACHINE
from ..limits import LIMITS

TEXTS = "a notebook, TVMScript, TE text or a forum post"
TEXTS_AND_STEPS = f"{TEXTS}; FILE@3: after the first three lines of its schedule"

_SIZE = re.compile(r"(?P<number>\d{1,30}(?:\.\d{1,30})?)\s*(?P<unit>B|KB|KiB|K|MB|MiB|M|GB|GiB|G)?", re.IGNORECASE)
_SCALE = {"": 1, "b": 1, "k": 1 << 10, "kib": 1 << 10, "m": 1 << 20, "mib": 1 << 20, "g": 1 << 30, "gib": 1 << 30}
_DECIMAL = {"kb": 10**3, "mb": 10**6, "gb": 10**9}


_INTEGERS = re.compile(r"-?\d{1,19}(,-?\d{1,19})*")

_OUTER_COMMA = re.compile(r",(?![^(\[]*[)\]])")
"""A comma that is not inside brackets."""
_VALUE = re.compile(r"\d{1,18}(?:x\d{1,18}){0,15}(?:x[A-Za-z]\w{0,31})?|[A-Za-z_][\w.]{0,63}")
"""A number, a list 16x64, a tensor 16x64xfloat16, or a word such as float16 or shared.dyn."""


def takes_file(parser: argparse.ArgumentParser, name: str = "file", words: str = TEXTS, **settings: Any) -> None:
    """Add an argument for a text that `source` reads."""
    parser.add_argument(name, help=f"{words}; - reads standard input", **{"metavar": "FILE", **settings})


def takes_setting(parser: argparse.ArgumentParser) -> None:
    """Add the options for the machine, the sizes and the data."""
    takes_machine(parser)
    takes_sizes(parser)
    takes_data(parser)


def takes_machine(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--machine",
        metavar="M",
        help=f"name or TOML file of a machine (default: that of the file, else {DEFAULT_MACHINE})",
    )


def takes_sizes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--size",
        "--sizes",
        metavar="NAME=NUMBER",
        action="extend",
        type=_size_list,
        default=[],
        help="values of the program's symbolic sizes: M=256, or M=256,K=512; repeatable",
    )


def takes_data(parser: argparse.ArgumentParser) -> None:
    """Add the options for data on which trip counts and addresses depend."""
    parser.add_argument(
        "--mean",
        metavar="NAME=NUMBER",
        action="append",
        dest="data",
        type=_mean,
        default=[],
        help="mean trip count of a loop that depends on data, or mean of an integer parameter: j=12; repeatable",
    )
    parser.add_argument(
        "--data",
        metavar="NAME=VALUES",
        action="append",
        type=_data,
        default=[],
        help="integers of a parameter: indptr=FILE.npy or indptr=0,3,7; or facts for generated ones: rows=distinct,0..63 or "
        "indptr=sorted; repeatable",
    )


def takes_values(parser: argparse.ArgumentParser) -> None:
    """Add the options for the machine, and for sizes and parameters of functions that make programs."""
    takes_machine(parser)
    parser.add_argument(
        "--size",
        "--sizes",
        metavar="NAME=VALUE",
        action="extend",
        type=_value_list,
        default=[],
        help="values of symbolic sizes, and of parameters of functions that make the program: M=256,dtype=float16; repeatable",
    )


def takes_limit(parser: argparse.ArgumentParser, of: str = "", seconds: float = LIMITS.command_seconds) -> None:
    """Add the option for the budget of the command; with `of`, of parts for which the command itself calls `within_limit`."""
    parser.add_argument(
        "--limit",
        metavar="SECONDS",
        type=_seconds,
        default=seconds,
        help=f"maximum processor time of {of or 'the command'}; 0: no limit of time and memory (default: %(default)g)",
    )
    if not of:
        parser.set_defaults(within=within_limit)


@contextmanager
def within_limit(arguments: argparse.Namespace) -> Iterator[None]:
    """Run the body within the budget of `--limit`. Raises OverBudgetError."""
    limit: float = arguments.limit
    try:
        with within(Budget(limit, LIMITS.memory_bytes), "the command") if limit else nullcontext():
            yield
    except OverBudgetError as error:
        raise OverBudgetError(replace(error.refusal, fix=(f"--limit {3 * limit:g}",))) from None


def _seconds(text: str) -> float:
    try:
        value = float(text.removesuffix("s"))
    except ValueError:
        value = -1.0
    if not 0 <= value < inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    return value


def _size_list(text: str) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    for part in text.split(","):
        name, _, number = part.partition("=")
        if not name.strip() or not number.strip().isdecimal() or int(number) < 1:
            raise argparse.ArgumentTypeError(f"{text!r} is not NAME=NUMBER, such as M=256")
        found.append((name.strip(), int(number)))
    return found


def _mean(text: str) -> tuple[str, float | int]:
    name, _, number = text.partition("=")
    try:
        value = float(number)
    except ValueError:
        value = -1.0
    if not name.strip() or not 0 <= value < inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=NUMBER, such as j=12")
    return name.strip(), int(value) if value.is_integer() else value


def _data(text: str) -> tuple[str, str | tuple[int, ...]]:
    name, _, value = (part.strip() for part in text.partition("="))
    if not name or not value:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=FILE.npy, NAME=0,3,7 or NAME=sorted")
    return name, tuple(map(int, value.split(","))) if _INTEGERS.fullmatch(value) else value


def _value_list(text: str) -> list[tuple[str, int | str]]:
    found: list[tuple[str, int | str]] = []
    for part in _OUTER_COMMA.split(text):
        name, _, value = part.rpartition("=")
        name, value = value_name(name), value.strip()
        if not name or not _VALUE.fullmatch(value):
            raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE, such as M=256 or dtype=float16")
        found.append((name, int(value) if value.isdecimal() else value))
    return found


def size_bytes(text: str) -> int:
    """Parse a size in bytes: `64KiB`, `64K` and `65536` are equal; KB, MB and GB are decimal."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise argparse.ArgumentTypeError(f"{text[:80]!r} is not a size such as 64KiB")
    unit = (found["unit"] or "").lower()
    return int(float(found["number"]) * {**_SCALE, **_DECIMAL}[unit])


def seconds(text: str) -> float:
    """Parse a positive number of seconds."""
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 < found < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    return found


def workers(text: str) -> int:
    """Parse a number of processes, 0 for none."""
    if not text.isdecimal() or int(text) > 1024:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of processes")
    return int(text)
