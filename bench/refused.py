"""Refused drags: each block onto each loop and each loop onto each loop of its nest, in the examples and templates, before and after their
steps.

Run: `python bench/refused.py [FILE …]`. For each refusal code: the refused drags, and those with a repair.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

from tilewright import static
from tilewright.app.document import evaluate, load_document
from tilewright.engine.ir import Refusal
from tilewright.engine.schedule import Schedule, ScheduleError

ROOT = Path(static.__file__).parent


def refusals(schedule: Schedule) -> Iterator[tuple[str, Refusal]]:
    """The refusals of all drags, each with its call."""
    index = schedule.index
    for block in index.block_names:
        for target in schedule.legal_targets(block) if block != index.root.block.name else ():
            if not target.legal:
                yield from _refusal(schedule, target.primitive, block, target.loop)
    for outer, inner in permutations(index.loops, 2):
        if index.is_inside(inner, outer):
            yield from _refusal(schedule, "reorder", inner.loop_var, outer.loop_var)


def _refusal(schedule: Schedule, method: str, *arguments: object) -> Iterator[tuple[str, Refusal]]:
    try:
        getattr(schedule.copy(), method)(*arguments)
    except ScheduleError as error:
        yield method, error.refusal


def main(files: list[Path]) -> None:
    refused: Counter[tuple[str, str]] = Counter()
    repaired: Counter[tuple[str, str]] = Counter()
    for file in files:
        states = evaluate(load_document(file)).states
        for schedule in (states[0].schedule, states[-1].schedule)[: len(states)]:
            for method, refusal in refusals(schedule):
                refused[method, refusal.code] += 1
                repaired[method, refusal.code] += bool(refusal.repair or refusal.instead)
    print("call                refusal              refused  repaired")
    for (method, code), count in refused.most_common():
        print(f"{method:<19} {code:<22} {count:>5} {repaired[method, code]:>9}")


if __name__ == "__main__":
    folders = (ROOT / "examples", ROOT / "templates")
    found = [file for folder in folders for file in sorted(folder.glob("*.py")) if file.stem != "__init__"]
    main([Path(name) for name in sys.argv[1:]] or found)
