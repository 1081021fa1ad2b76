"""Derived schedules against manual ones: `python bench/derived.py [NAME ...]` writes the table of docs/explore-quality.md.

For each notebook of tests/hand the program is derived on the notebook's machine, then searched for the rest of S seconds. Without names all
notebooks are searched; with names only these rows of the table are replaced.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import NamedTuple

import tilewright
from tilewright.app.document.intrinsics import read_intrinsics
from tilewright.engine.explore import Settings, derive_space, explore
from tilewright.engine.explore.bounds.program_bound import program_bound
from tilewright.engine.ir import PrimFunc

ROOT = Path(__file__).parents[1]
HAND = ROOT / "tests" / "hand"
PAGE = ROOT / "docs" / "explore-quality.md"
START, END = "<!-- derived: start -->", "<!-- derived: end -->"
HEAD = (
    "| program | machine | bound | hand | ours | ours/hand | gap | seconds |",
    "|---|---|---:|---:|---:|---:|---:|---:|",
)


class Row(NamedTuple):
    """Cycles of a program: the lower bound of every schedule, the manual schedule, the best derived one (0: none fits)."""

    program: str
    machine: str
    bound: int
    hand: int
    ours: int
    seconds: float

    @property
    def text(self) -> str:
        if not self.ours:
            return f"| {self.program} | {self.machine} | {self.bound:,} | {self.hand:,} | nothing fits | | | {self.seconds:.1f} |"
        ratio, gap = self.ours / self.hand, self.ours / self.bound - 1
        return (
            f"| {self.program} | {self.machine} | {self.bound:,} | {self.hand:,} | {self.ours:,} | {ratio:.2f} | {gap:.0%} "
            f"| {self.seconds:.1f} |"
        )


def row_of(file: Path, seconds: float) -> Row:
    """The row of a notebook after a search of `seconds`, including the derivation."""
    notebook = tilewright.load(file)
    assert notebook.schedule is not None and notebook.machine is not None and isinstance(notebook.program, PrimFunc)
    hand = tilewright.simulate(notebook.schedule, notebook.machine).cycles
    begun = time.perf_counter()
    derived = derive_space(notebook.program, notebook.machine, intrinsics=read_intrinsics(notebook.document))
    left = seconds - (time.perf_counter() - begun)
    study = explore(derived.space, notebook.machine, Settings(trials=1_000_000, seconds=max(1.0, left)))
    spent = time.perf_counter() - begun
    ours = study.offers[0].trial.outcome.figures if study.offers else None
    bound = program_bound(notebook.program, notebook.machine).cycles
    return Row(file.stem, notebook.machine.name, bound, hand, ours.cycles if ours is not None else 0, spent)


def written(rows: dict[str, str]) -> None:
    """Writes the rows between the markers of the page."""
    before, _, rest = PAGE.read_text().partition(START)
    _, _, after = rest.partition(END)
    table = "\n".join([START, *HEAD, *(rows[name] for name in sorted(rows)), END])
    PAGE.write_text(before + table + after)


def recorded() -> dict[str, str]:
    """The rows of the page, by program."""
    text = PAGE.read_text().partition(START)[2].partition(END)[0]
    lines = [line for line in text.splitlines() if line.startswith("| ") and line not in HEAD]
    return {line.split("|")[1].strip(): line for line in lines}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    rows = recorded() if given.names else {}
    for file in sorted(HAND.rglob("*.py")):
        if not given.names or file.stem in given.names:
            rows[file.stem] = row_of(file, given.seconds).text
            print(rows[file.stem], flush=True)
    written(rows)


if __name__ == "__main__":
    main()
