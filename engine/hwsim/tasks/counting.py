"""Number of runs of each kind of task, without a replay: the first of equivalent iterations represents all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import pairwise

from ...cancellation import checkpoint
from ...ir import Var
from ..errors import refuse
from .periodicity import Run
from .tree import TaskLoop, TaskNode, TaskProgram
from .variants import NOTHING

Counts = Counter[int]

NEW_COST = 50
"""A task whose cost is not cached counts as this many tasks, since computing a cost takes as long."""


def counts_of(program: TaskProgram, max_tasks: int) -> dict[int, int]:
    """Returns counts by variant. Raises MachineError if more than `max_tasks` tasks differ."""
    if max_tasks not in program.counts:
        program.counts[max_tasks] = _Counting(max_tasks).nodes(program.tree, {}, {})
    return program.counts[max_tasks]


def block_counts(nodes: tuple[TaskNode, ...], at: Mapping[Var, int], max_tasks: int) -> dict[int, int]:
    """Returns counts by variant with the loops around at iterations `at`. Raises MachineError as `counts_of` does."""
    return _Counting(max_tasks).nodes(nodes, at, at)


class _Counting:
    def __init__(self, max_tasks: int) -> None:
        self._left = max_tasks

    def nodes(self, nodes: tuple[TaskNode, ...], at: Mapping[Var, int], like: Mapping[Var, int]) -> Counts:
        """Returns the counts with loops around at iterations `at`, whose tasks are equivalent to those at `like`."""
        found: Counts = Counter()
        for node in nodes:
            if isinstance(node, TaskLoop):
                for run, same, around in node.paired(at, like):
                    found.update(self._run(node, run, same, at, around))
                continue
            known = node.variants.costs
            number = node.variants.at(like)
            self._left -= 1 + NEW_COST * (node.variants.costs - known)
            if self._left < 0:
                raise refuse("too-many-tasks", "the schedule creates too many distinct tasks", *node.blocks,
                             expected="larger tiles, or factors that divide the extents")  # fmt: skip
            if number != NOTHING:
                found[number] += 1
        return found

    def _run(self, node: TaskLoop, run: Run, same: Run, at: Mapping[Var, int], like: Mapping[Var, int]) -> Counts:
        found: Counts = Counter()
        for n in range(min(run.period, run.stop - run.start)):
            checkpoint()
            # Each iteration represents all that are whole periods later.
            often = -(-(run.stop - run.start - n) // run.period)

            def counts(periods: int, n: int = n) -> Counts:
                here = {**at, **node.place(run.start + n + periods * run.period)}
                return self.nodes(node.children, here, {**like, **node.place(same.start + n)})

            if run.grows:
                found.update(_series(counts, often, node.depth - 1))
            else:
                for number, count in counts(0).items():
                    found[number] += count * often
        return found


def _series(counts: Callable[[int], Counts], often: int, degree: int) -> Counts:
    """Returns the sum of the first `often` counts, which are polynomials of their number, by finite differences."""
    rows = [counts(n) for n in range(min(degree + 1, often))]
    found: Counts = Counter()
    for number in dict.fromkeys(number for row in rows for number in row):
        differences, chosen = [row[number] for row in rows], often
        for order in range(len(rows)):
            found[number] += differences[0] * chosen
            differences = [b - a for a, b in pairwise(differences)]
            chosen = chosen * (often - 1 - order) // (order + 2)
    return found
