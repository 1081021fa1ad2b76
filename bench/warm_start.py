"""Transfer of search results between sizes: `python bench/warm_start.py`.

For each pair of programs of one structure, the first is derived and searched, with a database. The second one is then derived and searched
twice, without and with that database. The table has the fewest cycles by number of evaluations, including those of the derivation.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support.programs.gemms import CONVOLUTION, GEMM

from tilewright.app.document import load_document
from tilewright.engine.explore import Evaluator, Outcome, Settings, WarmStart, derive_space, explore
from tilewright.engine.hwsim import Machine, load_machine
from tilewright.engine.ir import PrimFunc
from tilewright.engine.script import parse

HAND = Path(__file__).resolve().parents[1] / "tests" / "hand"
COUNTS = (1, 2, 4, 8, 16, 32, 64)
TRIALS = 128


def program(text: str) -> PrimFunc:
    found = parse(text).program
    assert isinstance(found, PrimFunc)
    return found


def gemm(size: int) -> PrimFunc:
    return program(GEMM.format(m=size, n=size, k=size, dtype="int8"))


def convolution(size: int, channels: int, filters: int) -> PrimFunc:
    sizes = {"h": size + 2, "w": size + 2, "oh": size, "ow": size, "c": channels, "f": filters}
    return program(CONVOLUTION.format(fh=3, fw=3, s=1, **sizes))


def of_hand(name: str, *changes: tuple[str, str]) -> PrimFunc:
    """The program of a manual schedule with other sizes."""
    (cell,) = load_document(HAND / name).of_kind("workload")
    text = cell.body
    for old, new in changes:
        text = text.replace(old, new)
    return program(text)


def pairs() -> Iterator[tuple[str, str, PrimFunc, PrimFunc]]:
    """Yields (case, machine, the program in the database, the program to search)."""
    yield "GEMM 512 → 768", "gemmini", gemm(512), gemm(768)
    yield "GEMM 768 → 512", "gemmini", gemm(768), gemm(512)
    yield "conv 3×3 56²×64 → 28²×128", "gemmini", convolution(56, 64, 64), convolution(28, 128, 128)
    yield (
        "softmax 512×384 → 2048×768",
        "dual-bank-npu",
        of_hand("rows/softmax.py"),
        of_hand("rows/softmax.py", ("512", "2048"), ("384", "768")),
    )
    yield (
        "layer norm → 4 × the rows",
        "dual-bank-npu",
        of_hand("rows/layer_norm.py"),
        of_hand("rows/layer_norm.py", ("256", "1024")),
    )


class Counted:
    """Counts the evaluations of a derivation and a search in this process."""

    def __init__(self) -> None:
        self.best: list[float] = []

    def run(self, func: PrimFunc, machine: Machine, database: Path | None) -> list[float]:
        """The fewest cycles after each evaluation."""
        original = Evaluator.tried

        def tried(evaluator: Evaluator, question: Any) -> Outcome:
            outcome = original(evaluator, question)
            fits = outcome.fits and outcome.figures is not None
            cycles = outcome.figures.cycles if fits and outcome.figures is not None else inf
            self.best.append(min(cycles, self.best[-1] if self.best else inf))
            return outcome

        Evaluator.tried = tried
        try:
            with WarmStart(database, func, {}, machine) as warm:
                derived = derive_space(func, machine, records=warm.records)
            explore(derived.space, machine, Settings(trials=TRIALS), database=database, origin=derived.origin)
        finally:
            Evaluator.tried = original
        return self.best


def main() -> None:
    print(f"| program | database | {' | '.join(map(str, COUNTS))} | all |")
    print(f"|---|---|{'---:|' * (len(COUNTS) + 1)}")
    for what, name, first, second in pairs():
        machine = load_machine(name)
        with TemporaryDirectory() as folder:
            database = Path(folder) / "found.sqlite3"
            cold = Counted().run(second, machine, None)
            Counted().run(first, machine, database)
            warm = Counted().run(second, machine, database)
        for kind, best in (("without", cold), ("with", warm)):
            cells = [best[min(n, len(best)) - 1] for n in (*COUNTS, len(best))]
            shown = " | ".join("none fits" if c == inf else f"{c:,}" for c in cells)
            print(f"| {what if kind == 'without' else ''} | {kind} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
