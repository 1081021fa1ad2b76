"""`tilewright database`: lists the schedules that searches found, prints one, and merges or removes them."""

from __future__ import annotations

import argparse
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from ....engine.explore import Database, TuningRecord
from ....engine.export.report_text import table
from ....engine.ir import Refusal
from ...document import DocumentError
from ...storage.databases import folder_database
from ..exit_codes import EXIT_OK
from ..opened import no_such_file
from ..output import print_json, print_line, print_text
from ..usage import Parser, takes_json

EXAMPLES = (
    "",
    "kernels",
    "found.sqlite3 --json",
    "kernels --show 3",
    "team.sqlite3 --merge kernels",
    "kernels --remove 3",
)

MAGIC = b"SQLite format 3\x00"


def add_arguments(parser: Parser) -> None:
    parser.add_argument(
        "place", nargs="?", type=Path, default=Path(), metavar="PLACE",
        help="a database, or a notebook, model or folder for the database of its folder (default: the working directory)",
    )  # fmt: skip
    takes_json(parser, "the records with their schedules")
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--show", metavar="N", type=_number, help="print the lines of a schedule, by its number in the list"
    )
    what.add_argument(
        "--merge", metavar="OTHER", type=Path, help="add the records of another database, notebook, model or folder"
    )
    what.add_argument("--remove", metavar="N", type=_number, action="append", help="remove a schedule; repeatable")


def run(arguments: Namespace) -> int:
    path = _database_at(arguments.place, is_new=arguments.merge is not None)
    with Database(path) as database:
        if arguments.merge is not None:
            with Database(_database_at(arguments.merge)) as other:
                added = database.merge(other)
            print_line(f"{added:,} new or faster schedules in {path}")
            return EXIT_OK
        records = database.records()
        if arguments.remove:
            removed = [_record(records, number, path) for number in arguments.remove]
            database.remove(*removed)
            print_line(f"{len(removed):,} removed from {path}")
        elif arguments.show is not None:
            print_text(_record(records, arguments.show, path).text)
        elif arguments.json:
            print_json({"file": str(path), "records": [_as_json(n, r) for n, r in enumerate(records, 1)]})
        else:
            print_line(_text(path, records))
    return EXIT_OK


def _database_at(place: Path, *, is_new: bool = False) -> Path:
    """The file of a database: the file itself, or that of the folder of a notebook, model or folder. Raises DocumentError "no-file"."""
    if not place.exists() and not is_new:
        raise no_such_file(place)
    if place.is_dir() or (place.is_file() and place.stat().st_size and not _is_sqlite(place)):
        return folder_database(place)
    return place


def _is_sqlite(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(len(MAGIC)) == MAGIC


def _record(records: Sequence[TuningRecord], number: int, path: Path) -> TuningRecord:
    if number > len(records):
        expected = f"1 to {len(records)}" if records else "a database with records"
        raise DocumentError(Refusal("no-such-record", f"{path} has no schedule {number}", expected=expected))
    return records[number - 1]


def _text(path: Path, records: Sequence[TuningRecord]) -> str:
    if not records:
        return f"{path}: no schedules found yet"
    rows = [
        (str(n), r.workload.title, r.target.name, f"{r.cycles:,}", r.status, str(len(r.lines)))
        for n, r in enumerate(records, 1)
    ]
    heads = ("", "program", "machine", "cycles", "verdict", "lines")
    return f"{path}: {len(records):,} schedules\n\n{table([heads, *rows], right=(0, 3, 5))}"


def _as_json(number: int, record: TuningRecord) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(record)
    return {"number": number, "program": record.workload.title, "machine": record.target.name, **found}


def _number(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not the number of a schedule")
    return int(text)
