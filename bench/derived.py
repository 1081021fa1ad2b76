"""Derived schedules against manual ones and bounds: `python bench/derived.py [NAME ...]` writes the tables of docs/explore-quality.md.

For each notebook of tests/hand, and each program of tests/held_out, the program is derived on the notebook's machine, then searched for the
rest of S seconds of processor time. Without names all are searched; with names only these rows of the tables are replaced. With `--bounds`
nothing is searched: the bounds and gaps of the recorded rows are computed again.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import tilewright
from tilewright.app.document import Notebook
from tilewright.app.document.intrinsics import read_intrinsics
from tilewright.engine.explore import Settings, derive_space, explore
from tilewright.engine.explore.bounds.program_bound import program_bound
from tilewright.engine.ir import PrimFunc

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "explore-quality.md"


class Row(NamedTuple):
    """Cycles of a program: the lower bound of every schedule, the reference (that of the manual schedule, or the first derived one) and the
    best found one (0: none fits); the points evaluated after the derivation, and their rate."""

    program: str
    machine: str
    bound: int
    reference: int
    ours: int
    seconds: float
    points: int = 0
    rate: float = 0.0


class Table(NamedTuple):
    """A table of the page: its marker, the folder of its programs, and its columns."""

    marker: str
    folder: Path
    head: tuple[str, str]
    has_manual: bool

    def text(self, row: Row) -> str:
        start = f"| {row.program} | {row.machine} | {row.bound:,} "
        if not row.ours:
            return f"{start}| {row.reference:,} | nothing fits | | | {row.seconds:.1f} |"
        gap = row.ours / row.bound - 1
        if self.has_manual:
            ratio = row.ours / row.reference
            return f"{start}| {row.reference:,} | {row.ours:,} | {ratio:.2f} | {gap:.0%} | {row.seconds:.1f} |"
        return f"{start}| {row.reference:,} | {row.ours:,} | {gap:.0%} | {row.seconds:.1f} | {row.points:,} | {row.rate:.0f} |"


TABLES = (
    Table(
        "derived",
        ROOT / "tests" / "hand",
        (
            "| program | machine | bound | hand | ours | ours/hand | gap | seconds |",
            "|---|---|---:|---:|---:|---:|---:|---:|",
        ),
        has_manual=True,
    ),
    Table(
        "held out",
        ROOT / "tests" / "held_out",
        (
            "| program | machine | bound | first | ours | gap | seconds | points | points/s |",
            "|---|---|---:|---:|---:|---:|---:|---:|---:|",
        ),
        has_manual=False,
    ),
)


def row_of(file: Path, seconds: float, *, has_manual: bool) -> Row:
    """The row of a program after a search of `seconds` of processor time, at most half of them for the derivation."""
    notebook = tilewright.load(file)
    assert notebook.schedule is not None and notebook.machine is not None and isinstance(notebook.program, PrimFunc)
    begun = time.process_time()
    derived = derive_space(
        notebook.program,
        notebook.machine,
        intrinsics=read_intrinsics(notebook.document),
        stop=lambda: time.process_time() - begun > seconds / 2,
    )
    first = derived.space.schedule_at(derived.space.default).schedule
    reference = tilewright.simulate(notebook.schedule if has_manual else first, notebook.machine).cycles
    searched = time.process_time()
    ended = searched

    def watch(_: object) -> None:
        nonlocal ended
        ended = time.process_time()

    study = explore(
        derived.space,
        notebook.machine,
        Settings(trials=1_000_000),
        stop=lambda: time.process_time() - begun > seconds,
        watch=watch,
    )
    ours = study.offers[0].trial.outcome.figures if study.offers else None
    points = len(study.trials)
    rate = points / max(ended - searched, 0.01)
    cycles = ours.cycles if ours is not None else 0
    return Row(file.stem, notebook.machine.name, bound_of(notebook), reference, cycles, ended - begun, points, rate)


def bound_of(notebook: Notebook) -> int:
    assert notebook.machine is not None and isinstance(notebook.program, PrimFunc)
    return program_bound(notebook.program, notebook.machine).cycles


def between(table: Table) -> tuple[str, str, str]:
    """The page before, inside and after the markers of a table."""
    before, start, rest = PAGE.read_text().partition(f"<!-- {table.marker}: start -->\n")
    inside, end, after = rest.partition(f"<!-- {table.marker}: end -->")
    return before + start, inside, end + after


def write(table: Table, rows: dict[str, str]) -> None:
    before, _, after = between(table)
    PAGE.write_text(before + "\n".join([*table.head, *(rows[name] for name in sorted(rows)), ""]) + after)


def recorded(table: Table) -> dict[str, str]:
    """The rows of the page, by program."""
    lines = [line for line in between(table)[1].splitlines() if line.startswith("| ") and line not in table.head]
    return {line.split("|")[1].strip(): line for line in lines}


def with_bound(table: Table, file: Path, line: str) -> str:
    """A recorded row with the present bound."""
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    if not cells[4].replace(",", "").isdigit():
        return line
    bound, ours = bound_of(tilewright.load(file)), int(cells[4].replace(",", ""))
    cells[2], cells[6 if table.has_manual else 5] = f"{bound:,}", f"{ours / bound - 1:.0%}"
    return f"| {' | '.join(cells)} |"


def search(table: Table, names: Sequence[str], seconds: float, *, bounds: bool) -> None:
    rows = recorded(table) if names or bounds else {}
    for file in sorted(table.folder.rglob("*.py")):
        if bounds and file.stem in rows:
            rows[file.stem] = with_bound(table, file, rows[file.stem])
        elif not bounds and (not names or file.stem in names):
            rows[file.stem] = table.text(row_of(file, seconds, has_manual=table.has_manual))
            print(rows[file.stem], flush=True)
            write(table, rows)
    write(table, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--bounds", action="store_true")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    for table in TABLES:
        search(table, given.names, given.seconds, bounds=given.bounds)


if __name__ == "__main__":
    main()
