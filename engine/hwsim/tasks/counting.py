"""Number of runs of each kind of task, without a replay: the first of equivalent iterations represents all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...cancellation import checkpoint
from ...ir import Var
from ..errors import refuse
from .tree import TaskLoop, TaskNode, TaskProgram, Template
from .variants import NOTHING


def counts_of(program: TaskProgram, max_tasks: int) -> dict[int, int]:
    """Returns counts by variant. Raises MachineError if more than `max_tasks` tasks differ."""
    counts: dict[int, int] = {}
    for seen, (template, number, times) in enumerate(_met(program.tree, {}, 1)):
        if seen >= max_tasks:
            raise refuse("too-many-tasks", "the schedule creates too many distinct tasks", *template.blocks,
                         expected="larger tiles, or factors that divide the extents")  # fmt: skip
        if number != NOTHING:
            counts[number] = counts.get(number, 0) + times
    return counts


def _met(nodes: tuple[TaskNode, ...], at: Mapping[Var, int], times: int) -> Iterator[tuple[Template, int, int]]:
    """Yields tasks that are not known to be equivalent: the template, the number of its variant and the number of runs."""
    for node in nodes:
        if not isinstance(node, TaskLoop):
            yield node, node.variants.at(at), times
            continue
        for run in node.runs(at):
            for i in range(run.start, min(run.start + run.period, run.stop)):
                checkpoint()
                # Each iteration represents all that are whole periods later.
                often = -(-(run.stop - i) // run.period)
                place = {loop.var: i if len(node.loops) == 1 else 0 for loop in node.loops}
                yield from _met(node.children, {**at, **place}, times * often)
