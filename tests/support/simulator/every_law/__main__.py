"""Compares the simulator with a machine that runs every task, element by element: random programs on random machines.

PYTHONPATH=tests python -m support.simulator.every_law --first 0 --count 1000
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from random import Random

from tilewright.engine.hwsim import MachineError
from tilewright.engine.ir.errors import TilewrightError

from .cases.machines import random_machine
from .cases.programs import random_program
from .compare import MOST_ELEMENTS, compare
from .machine_tasks import TooManyElementsError

REPORTED = 250
"""A long run reports its progress after this many programs."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--most", type=int, default=MOST_ELEMENTS, help="elements that the tasks of a program access")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    for n, seed in enumerate(range(options.first, options.first + options.count)):
        if n and n % REPORTED == 0:
            print(f"{n} done, {counts['programs that differ']} differ", file=sys.stderr, flush=True)
        try:
            found = compare(random_program(Random(seed)), random_machine(Random(seed)), options.most)
        except (MachineError, TilewrightError) as refused:
            counts[f"refused: {refused.refusal.code}"] += 1
            continue
        except TooManyElementsError:
            counts["with too many elements"] += 1
            continue
        counts["programs"] += 1
        counts["with waits for ports"] += found.waited
        counts["tasks"] += found.tasks
        counts["tasks that are replayed"] += found.replayed
        counts.update({f"tasks of a {kind}": count for kind, count in found.kinds.items()})
        counts.update(f"with {law}" for law in found.laws)
        if found.difference:
            print(f"program {seed}: {found.difference}", flush=True)
            counts["programs that differ"] += 1
    for what, count in counts.items():
        print(f"{count:10,} {what}")


if __name__ == "__main__":
    main()
