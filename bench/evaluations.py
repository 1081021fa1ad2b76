"""Exact evaluations a second in one process: `python bench/evaluations.py [POINTS]` prints the rates of docs/explore.md.

Points of derived spaces of programs in tests/hand are evaluated in the order of their numbers from a random start, and in random
order: each to its cycles, and against the cycles of the default point. Times are processor times.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import tilewright
from tilewright.engine.explore import Space, derive_space
from tilewright.engine.explore.space.model import Point
from tilewright.engine.explore.trials.evaluator import EvaluationRequest, Evaluator
from tilewright.engine.hwsim import Machine

HAND = Path(__file__).parents[1] / "tests" / "hand"
NAMES = ("softmax", "gemm_gelu", "conv3x3", "conv_nchw", "depthwise", "gemmini_conv")


def rate(space: Space, machine: Machine, points: Sequence[Point], known: tuple[tuple[float, ...], ...]) -> str:
    """Points a second, and how many have each status."""
    evaluator = Evaluator(space, machine, ("cycles",))
    begun = time.process_time()
    found = Counter(evaluator.tried(EvaluationRequest(n, p, known)).status for n, p in enumerate(points))
    spent = time.process_time() - begun
    return f"{len(points) / spent:.0f} ({', '.join(f'{count} {status}' for status, count in found.most_common())})"


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
    print("| space | points | in order, each to its cycles | in order, with a result to beat | in random order |")
    print("|---|---:|---|---|---|")
    for name in NAMES:
        notebook = tilewright.load(next(HAND.rglob(f"{name}.py")))
        assert notebook.machine is not None and notebook.program is not None
        space = derive_space(notebook.program, notebook.machine).space
        best = Evaluator(space, notebook.machine, ("cycles",)).tried(EvaluationRequest(0, space.default)).figures
        rng = random.Random(0)
        first = rng.randrange(max(1, space.size - count))
        ordered = [space.point_at(n) for n in range(first, min(space.size, first + count))]
        mixed = [space.point_at(rng.randrange(space.size)) for _ in range(count)]
        known = ((float(best.cycles),),) if best is not None else ()
        rates = (
            rate(space, notebook.machine, points, to_beat)
            for points, to_beat in ((ordered, ()), (ordered, known), (mixed, ()))
        )
        print(f"| {name} | {space.size:,} | {' | '.join(rates)} |", flush=True)


if __name__ == "__main__":
    main()
