"""Files of TVM's meta-schedule and its JSON of modules: `save_json`, `database_workload.json`, `database_tuning_record.json`.

A record has the trace of a schedule and its measured time; the program is that of its workload, by number.
"""

from __future__ import annotations

import binascii
import json
import re
from base64 import b64decode
from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from ...cancellation import checkpoint
from ...ir import Place, Refusal
from ...script import Note
from .content import CarrierError, Content, Piece, Segment, left_out, limited, lines_in, piece_of
from .module_json import JSONError, module_text

MOST_RECORDS = 64
"""Maximum number of records that are listed: the fastest."""

_WORKLOAD = re.compile(r'\[\s*"\d+"\s*,\s*"[A-Za-z0-9+/]')
_RECORD = re.compile(r"\[\s*\d+\s*,\s*\[\s*\[\s*\[\s*(?:\[|\])")
_GRAPH = re.compile(r'"root(?:_index)?"\s*:\s*\d')


class Record(msgspec.Struct, frozen=True):
    """A line of a tuning record: the number of its workload, its trace as JSON, its time in seconds, and its target. `number` counts the
    records."""

    number: int
    line: int
    workload: int
    trace: str
    seconds: float | None
    target: str

    @property
    def name(self) -> str:
        """What the record is, for lists."""
        time = "not measured" if self.seconds is None else f"{self.seconds * 1e6:,.1f} µs"
        return f"record {self.number} ({time}{f' on {self.target}' if self.target else ''})"


def is_module_json(text: str) -> bool:
    """Whether a text is TVM's JSON of an object."""
    return text.startswith("{") and '"nodes"' in text and _GRAPH.search(text) is not None


def read_module_json(text: str) -> Content:
    """Return the program of TVM's JSON. Raises JSONError."""
    return Content("TVM's JSON of a module", (_program(_loaded(text, 1), "the module"),))


def is_tuning(text: str) -> bool:
    """Whether a text has lines of a database of meta-schedule."""
    return _WORKLOAD.match(text) is not None or _RECORD.match(text) is not None


def has_records_only(text: str) -> bool:
    """Whether a text has records without their workloads."""
    return _RECORD.match(text.lstrip()) is not None and re.search(rf"^{_WORKLOAD.pattern}", text, re.MULTILINE) is None


def read_tuning(text: str) -> Content:
    """Return the program of each workload, with the schedule of each record of it. Raises CarrierError "no-workload", "bad-record"."""
    workloads: list[tuple[int, str]] = []
    for number, line in enumerate(lines_in(text), 1):
        if _WORKLOAD.match(line.lstrip()):
            workloads.append((number, line))
    records = records_of(text)
    if not workloads:
        raise CarrierError(
            Refusal("no-workload", "a tuning record does not contain its program", found=f"{len(records)} records",
                    expected="the lines of database_workload.json above those of database_tuning_record.json",
                    fix=("keep both files in one folder", "tilewright import FILE --program PROGRAM.py"))
        )  # fmt: skip
    notes: list[Note] = []
    chosen = sorted(records, key=lambda r: (r.seconds is None, r.seconds or 0.0))[:MOST_RECORDS]
    if len(chosen) < len(records):
        notes.append(left_out(f"each of {len(records) - len(chosen)} slower records", records[-1].line))
    programs = _programs(
        workloads, {record.workload for record in chosen} if records else set(range(len(workloads))), notes
    )
    pieces: list[Piece] = [] if records else list(programs.values())
    for record in sorted(chosen, key=lambda r: r.line):
        program = programs.get(record.workload)
        if program is None:
            notes.append(
                left_out(f"a record of workload {record.workload}, which is not in the text or not read,", record.line)
            )
        else:
            pieces.append(msgspec.structs.replace(program, name=record.name, trace=record.trace))
    return Content("a tuning database", tuple(pieces), limited(notes))


def _programs(workloads: Sequence[tuple[int, str]], wanted: set[int], notes: list[Note]) -> dict[int, Piece]:
    """The programs of the workloads by number. One that is not read is noted; if none is, its error is raised."""
    found: dict[int, Piece] = {}
    wrong: CarrierError | None = None
    for number in sorted(wanted):
        checkpoint()
        if number >= len(workloads):
            continue
        line, text = workloads[number]
        try:
            found[number] = _program(_decoded(text, line), f"workload {number}")
        except JSONError as error:
            wrong = wrong or error
            notes.append(left_out(f"workload {number}, since {error.refusal.message},", line))
    if not found and wrong is not None:
        raise wrong
    return found


def _program(data: Any, name: str) -> Piece:
    text = module_text(data)
    return piece_of([Segment("code", lines_in(text.rstrip("\n")), name)])


def _decoded(line: str, number: int) -> Any:
    """The JSON of the module in a workload: TVM writes its length before it."""
    match _loaded(line, number):
        case [str(), str(encoded)]:
            try:
                data = b64decode(encoded, validate=True)
                text = (data[8:] if int.from_bytes(data[:8], "little") == len(data) - 8 else data).decode("utf-8")
            except (binascii.Error, ValueError) as error:
                raise _bad("the module of this workload is damaged", number) from error
            found = _loaded(text, number)
            return _loaded(found, number) if isinstance(found, str) else found
        case _:
            raise _bad("this is not a workload", number)


def records_of(text: str) -> list[Record]:
    """Return the records in a text. Raises CarrierError "bad-record"."""
    lines = [(line, number) for number, line in enumerate(lines_in(text), 1) if _RECORD.match(line.lstrip())]
    return [_record(line, number, count) for count, (line, number) in enumerate(lines, 1)]


def _record(line: str, number: int, count: int) -> Record:
    match _loaded(line, number):
        case [int(workload), [list(), *_]]:
            trace, *parts = cast("list[Any]", _loaded(line, number)[1])
            times: list[Any] = cast("list[Any]", parts[0]) if parts and isinstance(parts[0], list) else []
            known = [float(t) for t in times if isinstance(t, int | float)]
            target = parts[1] if len(parts) > 1 else None
            kind = cast("dict[str, Any]", target).get("kind", "") if isinstance(target, dict) else target or ""
            seconds = sum(known) / len(known) if known and 0 <= sum(known) < 1e6 else None
            return Record(count, number, workload, json.dumps(trace), seconds, str(kind)[:40])
        case _:
            raise _bad("this is not a record of a schedule", number)


def _loaded(text: str, number: int) -> Any:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _bad(f"the JSON is damaged: {error}", number) from error
    if not isinstance(found, dict | list | str):
        raise _bad("the JSON is damaged", number)
    return cast("Mapping[str, Any] | list[Any] | str", found)


def _bad(message: str, number: int) -> CarrierError:
    return JSONError(
        Refusal("bad-record", message, expected="a line of a database of meta-schedule, or the result of save_json",
                place=Place(number, 1, number, 1))
    )  # fmt: skip


__all__ = ["Record", "has_records_only", "is_module_json", "is_tuning", "read_module_json", "read_tuning", "records_of"]
