"""The file of a database: SQLite, for several processes at a time, also on a file server.

The journal is SQLite's rollback journal: it needs no memory that processes share, so that it works on network file systems. A write is
one short transaction; another process waits for it. What a file holds is data from elsewhere: its tables must be those below and nothing
else, records that cannot be decoded are skipped, and schedules are text for the reader of notebooks.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Generator, Iterable
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from urllib.parse import quote

import msgspec

from ...ir import Refusal, TilewrightError
from .record import TuningRecord, nearest, spread
from .target import MachineTarget
from .workload import Workload

VERSION = 1
"""The version of the tables."""

APPLICATION = 0x546C7772
"""SQLite's `application_id` of a database: "Tlwr"."""

KEPT = 4
"""Records of one program on one machine: the fastest by the latest rules."""

MOST_READ = 512
"""Records of one structure that a query reads, the latest."""

MOST_TEXT = 1 << 16
"""Characters of a record's schedule."""

WAIT_SECONDS = 10.0

_TABLE = """CREATE TABLE records (
    id integer primary key, structure text not null, program text not null, machine text not null, lines text not null,
    rules integer not null, cycles integer not null, record text not null, unique (program, machine, lines)
)"""
_INDEX = "CREATE INDEX records_by_structure on records (structure)"


class DatabaseError(TilewrightError):
    """A file that is no database, or cannot be read or written."""


class Database:
    """Found schedules in a file. A missing file is an empty database; the first record creates it."""

    def __init__(self, path: str | Path) -> None:
        """Opens the file. Raises DatabaseError "not-a-database", "newer-database", "database-unusable"."""
        self.path = Path(path)
        self._connection: sqlite3.Connection | None = None
        if self.path.exists():
            self._open("rw")

    def query(self, workload: Workload, target: MachineTarget, most: int) -> list[TuningRecord]:
        """The records nearest to a program on a machine, those for itself first. Raises DatabaseError "database-unusable"."""
        rows = self._rows(
            "select record from records where structure = ? order by id desc limit ?", workload.structure, MOST_READ
        )
        return spread(nearest(rows, workload, target), most)

    def records(self) -> list[TuningRecord]:
        """All records, sorted by program, machine and cycles. Raises DatabaseError "database-unusable"."""
        found = self._rows("select record from records order by id")
        return sorted(found, key=lambda r: (r.workload.title, r.target.name, r.cycles))

    def commit(self, *records: TuningRecord) -> None:
        """Writes records. Of each program on each machine, the fastest are kept. A record with the lines of an earlier one replaces it.
        Raises DatabaseError "database-unusable"."""
        if not self.path.exists():
            self.close()
        if self._connection is None:
            self._open("rwc")
        with self._transaction() as base:
            for record in records:
                program, machine, lines = _keys(record)
                base.execute(
                    "insert or replace into records (structure, program, machine, lines, rules, cycles, record) "
                    "values (?, ?, ?, ?, ?, ?, ?)",
                    (record.workload.structure, program, machine, lines, record.rules, record.cycles, _encoded(record)),
                )
                base.execute(
                    "delete from records where program = ? and machine = ? and id not in "
                    "(select id from records where program = ? and machine = ? order by rules desc, cycles, id limit ?)",
                    (program, machine, program, machine, KEPT),
                )

    def remove(self, *records: TuningRecord) -> None:
        """Removes records. Raises DatabaseError "database-unusable"."""
        with self._transaction() as base:
            base.executemany(
                "delete from records where program = ? and machine = ? and lines = ?", [_keys(r) for r in records]
            )

    def merge(self, other: Database) -> int:
        """Adds the records of another database; of equal schedules the one with fewer cycles stays. Returns how many are new or faster."""
        mine = {_keys(record): record.cycles for record in self.records()}
        better = [r for r in other.records() if r.cycles < mine.get(_keys(r), r.cycles + 1)]
        if better:
            self.commit(*better)
        return len({_keys(r) for r in self.records()} & {_keys(r) for r in better})

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self) -> Database:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _open(self, mode: str) -> None:
        """Opens the file in SQLite's mode "rw" or "rwc", and creates the tables of a new one."""
        address = f"file:{quote(str(self.path.absolute()))}?mode={mode}"
        try:
            base = sqlite3.connect(
                address, uri=True, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False
            )
            try:
                base.execute("pragma trusted_schema = off")
                self._require_tables(base, creates=mode == "rwc")
            except BaseException:
                base.close()
                raise
        except sqlite3.Error as error:
            raise self._failed(error) from error
        self._connection = base

    def _require_tables(self, base: sqlite3.Connection, *, creates: bool) -> None:
        """Raises DatabaseError unless the file has the tables of this version; creates them in an empty file."""
        found = [sql for (sql,) in base.execute("select sql from sqlite_master where sql is not null")]
        if not found:
            if creates:
                base.execute("begin immediate")
                if not base.execute("select 1 from sqlite_master").fetchall():  # else another process was faster
                    base.execute(_TABLE)
                    base.execute(_INDEX)
                    base.execute(f"pragma application_id = {APPLICATION}")
                    base.execute(f"pragma user_version = {VERSION}")
                base.execute("commit")
            return
        (application,) = base.execute("pragma application_id").fetchone()
        (version,) = base.execute("pragma user_version").fetchone()
        if application == APPLICATION and version > VERSION:
            message = f"{self.path} was written by a newer version of Tilewright"
            raise DatabaseError(
                Refusal("newer-database", message, f"version {version}", f"version {VERSION} or earlier")
            )
        if (application, version, sorted(found)) != (APPLICATION, VERSION, sorted([_TABLE, _INDEX])):
            raise DatabaseError(
                Refusal(
                    "not-a-database", f"{self.path} is not a database of found schedules",
                    expected="a new file, or one that `tilewright explore` wrote",
                )
            )  # fmt: skip

    def _rows(self, query: str, *arguments: object) -> list[TuningRecord]:
        """The records of a query; those that cannot be decoded are skipped."""
        if self._connection is None:
            return []
        try:
            with closing(self._connection.execute(query, arguments)) as rows:
                return [record for (text,) in rows if (record := _decoded(text)) is not None]
        except sqlite3.Error as error:
            raise self._failed(error) from error

    @contextmanager
    def _transaction(self) -> Generator[sqlite3.Connection]:
        base = self._connection
        if base is None:
            raise self._failed(sqlite3.OperationalError("there is no such file"))
        try:
            base.execute("begin immediate")
            try:
                yield base
            except BaseException:
                with suppress(sqlite3.Error):
                    base.execute("rollback")
                raise
            base.execute("commit")
        except sqlite3.Error as error:
            raise self._failed(error) from error

    def _failed(self, error: sqlite3.Error) -> DatabaseError:
        """The error of SQLite as one of Tilewright."""
        return DatabaseError(
            Refusal(
                "database-unusable", f"{self.path} cannot be used as a database of found schedules", str(error),
                "a file that can be read and written; delete a damaged one",
            )
        )  # fmt: skip


def _keys(record: TuningRecord) -> tuple[str, str, str]:
    """The program, the machine and the schedule of a record, as digests."""
    workload, target = record.workload, record.target
    parts: Iterable[object] = (
        (workload.structure, workload.numbers, workload.dtypes),
        (target.structure, target.numbers),
        (record.lines, workload.names, workload.blocks),
    )
    program, machine, lines = (hashlib.sha256(msgspec.json.encode(part)).hexdigest() for part in parts)
    return program, machine, lines


def _encoded(record: TuningRecord) -> str:
    return msgspec.json.encode(record).decode()


def _decoded(text: object) -> TuningRecord | None:
    """The record; None for a text that is none, or that no search would have written."""
    if not isinstance(text, str):
        return None
    try:
        record = msgspec.json.decode(text, type=TuningRecord)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return None
    return record if 0 <= record.cycles < 1 << 63 and len(record.text) <= MOST_TEXT else None


__all__ = ["Database", "DatabaseError"]
