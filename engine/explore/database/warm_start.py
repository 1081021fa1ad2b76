"""Warm starts: what a database knows about a program on a machine, and what a search adds to it.

A search must not fail because of a database: a file that cannot be used is reported as a `problem`, and the search goes on without it.
"""

from __future__ import annotations

from ast import unparse
from collections.abc import Callable, Mapping
from functools import partial
from json import dumps
from pathlib import Path
from types import TracebackType

import msgspec

from ...execute import Verdict
from ...hwsim import Machine
from ...ir import IRModule, PrimFunc, Refusal
from ...script import python_tree
from ..derive.groups import SketchChoice
from ..space.model import Point, Space
from ..space.pins import unpinned
from ..trials.outcome import Outcome
from .database import MOST_TEXT, Database, DatabaseError
from .record import RULES, TuningRecord
from .renamed import SCHEDULE, renamed_lines
from .target import target_of
from .transfer import points_from
from .workload import workload_of

NEAREST = 6
"""Records that a search begins with."""


CHOOSE_CALL = "choose("


class SpaceOrigin(msgspec.Struct, frozen=True):
    """Where a space comes from: its lines with comments, and the choice of its sketch, if it was derived."""

    text: str = ""
    choice: SketchChoice | None = None


class WarmStartUse(msgspec.Struct, frozen=True):
    """What a search took from a database: the records, and for each whether it is for this very program and machine. `problem` is why the
    database could not be used."""

    path: str = ""
    records: tuple[TuningRecord, ...] = ()
    exact: int = 0
    problem: Refusal | None = None
    written: bool = False

    @property
    def text(self) -> str:
        """What was used, in a sentence; empty if nothing."""
        if self.problem is not None:
            found = f": {self.problem.found}" if self.problem.found else ""
            return f"{self.problem.message}{found}; the search goes on without it"
        if not self.records:
            return ""
        first = self.records[0]
        others = f" and {len(self.records) - 1} more" if len(self.records) > 1 else ""
        kind = "the schedule found before" if self.exact else "the nearest found schedule"
        return f"starts from {kind}: {first.workload.title} on {first.target.name}, {first.cycles:,} cycles{others}"


class WarmStart:
    """The records of a database for one program on one machine. `database` None knows nothing and writes nothing."""

    def __init__(
        self,
        database: Database | str | Path | None,
        program: IRModule | PrimFunc,
        sizes: Mapping[str, int],
        machine: Machine,
    ) -> None:
        self.records: list[TuningRecord] = []
        self._database: Database | None = database if isinstance(database, Database) else None
        self._owns = not isinstance(database, Database)
        self.use = WarmStartUse("" if database is None else str(getattr(database, "path", database)))
        if database is None:
            return
        self.workload, self.target = workload_of(program, sizes), target_of(machine)
        try:
            self._database = self._database or Database(str(database))
            self.records = self._database.query(self.workload, self.target, NEAREST)
        except DatabaseError as error:
            self._failed(error)
        exact = sum(record.is_for(self.workload, self.target) for record in self.records)
        self.use = msgspec.structs.replace(self.use, records=tuple(self.records), exact=exact)

    def points(self, space: Space) -> tuple[Point, ...]:
        """The points of a space to evaluate first."""
        return points_from(space, self.workload, self.records) if self.records else ()

    def commit(self, space: Space, point: Point, cycles: int, verdict: Verdict, origin: SpaceOrigin) -> None:
        """Writes the schedule of a point with its cycles, unless its results are wrong."""
        if self._database is None or verdict.status == "failed":
            return
        lines = found_lines(space, point, origin.text)
        if len(lines) > MOST_TEXT:
            return
        record = TuningRecord(self.workload, self.target, lines, cycles, verdict.status, verdict.detail, origin.choice)
        self._written(lambda database: database.commit(record))

    def correct(self, space: Space, outcomes: Mapping[Point, Outcome]) -> None:
        """Compares the records for this program and machine with their outcomes: cycles that differ are corrected, and a schedule that
        is refused or does not fit is removed."""
        for record in self.records:
            point = next((p for p in outcomes if record.text_is(found_lines(space, p))), None)
            if point is None or not record.is_for(self.workload, self.target):
                continue
            outcome = outcomes[point]
            if outcome.fits and outcome.figures is not None and outcome.figures.cycles != record.cycles:
                right = msgspec.structs.replace(record, cycles=outcome.figures.cycles, rules=RULES)
                self._written(partial(_replace, record, right))
            elif outcome.status == "refused" or outcome.code == "capacity-overflow":
                self._written(partial(_remove, record))

    def close(self) -> None:
        """Closes the file, if this opened it."""
        if self._database is not None and self._owns:
            self._database.close()

    def __enter__(self) -> WarmStart:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _written(self, write: Callable[[Database], object]) -> None:
        if self._database is None:
            return
        try:
            write(self._database)
            self.use = msgspec.structs.replace(self.use, written=True)
        except DatabaseError as error:
            self._failed(error)

    def _failed(self, error: DatabaseError) -> None:
        self.use = msgspec.structs.replace(self.use, problem=error.refusal)
        self.close()
        self._database = None


def _replace(old: TuningRecord, new: TuningRecord, database: Database) -> None:
    database.remove(old)
    database.commit(new)


def _remove(record: TuningRecord, database: Database) -> None:
    database.remove(record)


def found_lines(space: Space, point: Point, text: str = "") -> str:
    """The lines of a space with the values of a point in front, for a record, without pins. `text` are the same lines with comments."""
    space, point = unpinned(space, point)
    chosen = space.chosen_at(point)
    lines = [unparse(python_tree(line.text)) if "\n" in line.text else line.text for line in space.lines]
    if text:
        lines = text.splitlines()
    holes = {hole.target: hole for hole in space.holes}
    shown: list[str] = []
    for line in lines:
        hole = holes.get(line.partition("=")[0].strip())
        if hole is None or CHOOSE_CALL not in line:
            shown.append(line)
            continue
        first = chosen[hole.name]
        values = [hole.texts[first], *(t for n, t in enumerate(hole.texts) if n != first)]
        shown.append(
            f"{hole.target} = tilewright.choose({dumps(hole.name, ensure_ascii=False)}, [{', '.join(values)}])"
        )
    return renamed_lines("".join(f"{line}\n" for line in shown), {}, space.schedule_name, SCHEDULE)


__all__ = ["SpaceOrigin", "WarmStart", "WarmStartUse", "found_lines"]
