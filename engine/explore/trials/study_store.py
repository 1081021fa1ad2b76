"""A study on disk that can be resumed: every outcome is written before it is reported.

The file (SQLite) has the settings, the outcome of each number, and the verdicts on the best. That suffices: the sampler is seeded, so with
the same outcomes it asks for the same points, and points with a known outcome are not evaluated again. A kill at any moment loses the
candidates that were being evaluated, and nothing is counted twice.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import msgspec

from ...execute import Verdict
from ...hwsim import Machine
from ...ir import Refusal, TilewrightError
from ...script import to_script
from ..space.model import Point, Space
from .outcome import LOST, Outcome
from .study import Settings, Trial

_TABLES = """
create table if not exists study (id integer primary key check (id = 0), fingerprint text not null, settings text not null);
create table if not exists trials (number integer primary key, point text not null, outcome text not null);
create table if not exists starts (number integer primary key, point text not null);
create table if not exists checks (number integer primary key, point text not null, verdict text not null);
"""


class StoreError(TilewrightError):
    """A file that is no study, or a different study."""


class StudyStore:
    """The outcomes of one study in a file."""

    def __init__(self, path: str | Path, space: Space, machine: Machine, settings: Settings) -> None:
        """Opens or creates the file. Raises StoreError "not-a-study", "other-study"."""
        self._path = str(path)
        mark = fingerprint(space, machine, settings)
        try:
            self._base = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
            self._base.execute("pragma journal_mode = wal")
            self._base.execute("pragma synchronous = normal")
            self._base.executescript(_TABLES)
            text = msgspec.json.encode(settings).decode()
            self._base.execute("insert or ignore into study values (0, ?, ?)", (mark, text))
            (found,) = self._base.execute("select fingerprint from study").fetchone()
        except sqlite3.DatabaseError as error:
            raise StoreError(
                Refusal(
                    "not-a-study",
                    f"{path} cannot be used as a study",
                    str(error),
                    "a new file, or the file of an earlier study",
                )
            ) from error
        if found != mark:
            raise StoreError(
                Refusal(
                    "other-study", f"{path} belongs to another schedule, machine or settings",
                    expected="the same schedule with its holes, machine, objectives, budgets, seed and batch; or another file",
                )
            )  # fmt: skip

    def starts(self, points: Sequence[Point]) -> tuple[Point, ...]:
        """The points that the study begins with: those stored, in a new study these."""
        if not self._base.execute("select 1 from trials limit 1").fetchone():
            rows = [(number, msgspec.json.encode(point).decode()) for number, point in enumerate(points)]
            self._base.execute("begin")
            self._base.execute("delete from starts")
            self._base.executemany("insert into starts values (?, ?)", rows)
            self._base.execute("commit")
        known = self._base.execute("select point from starts order by number").fetchall()
        return tuple(msgspec.json.decode(point, type=Point) for (point,) in known)

    def outcomes(self) -> dict[tuple[int, Point], Outcome]:
        """The stored outcomes, by number and point, except those of lost workers."""
        rows = self._base.execute("select number, point, outcome from trials").fetchall()
        found = {
            (number, msgspec.json.decode(point, type=Point)): msgspec.json.decode(outcome, type=Outcome)
            for number, point, outcome in rows
        }
        return {key: outcome for key, outcome in found.items() if outcome.code != LOST}

    def keep(self, trial: Trial) -> None:
        """Writes an outcome; it is on disk on return."""
        point, outcome = msgspec.json.encode(trial.point), msgspec.json.encode(trial.outcome)
        self._base.execute(
            "insert or replace into trials values (?, ?, ?)", (trial.number, point.decode(), outcome.decode())
        )

    def verdicts(self) -> dict[tuple[int, Point], Verdict]:
        """The stored verdicts on the best, by number and point."""
        rows = self._base.execute("select number, point, verdict from checks").fetchall()
        return {
            (number, msgspec.json.decode(point, type=Point)): msgspec.json.decode(verdict, type=Verdict)
            for number, point, verdict in rows
        }

    def keep_verdict(self, trial: Trial, verdict: Verdict) -> None:
        """Writes a verdict."""
        point, found = msgspec.json.encode(trial.point), msgspec.json.encode(verdict)
        self._base.execute(
            "insert or replace into checks values (?, ?, ?)", (trial.number, point.decode(), found.decode())
        )

    def close(self) -> None:
        self._base.close()


def fingerprint(space: Space, machine: Machine, settings: Settings) -> str:
    """The hash that identifies a study: it covers everything that decides the points and their outcomes. More trials or more time continue
    the same study."""
    parts = (
        to_script(space.program),
        "" if space.kernel is None else space.kernel.text,
        [line.text for line in space.lines],
        space.schedule_name,
        sorted(space.sizes.items()),
        sorted(space.intrinsics or ()),
        msgspec.to_builtins(machine),
        msgspec.to_builtins(msgspec.structs.replace(settings, trials=0, seconds=0.0)),
    )
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


__all__ = ["StoreError", "StudyStore", "fingerprint"]
