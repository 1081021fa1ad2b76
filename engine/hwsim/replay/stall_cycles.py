"""The cycles of stalls in all runs of their tasks: from the end of the engine's task before to the start, repeats in between included."""

from __future__ import annotations

from collections.abc import Sequence

from ...cancellation import checkpoint
from .clocks import TaskStall
from .repeats import Repeat, nested, summed
from .row_tree import RowTree, RunTask
from .series import newton


def stall_cycles(
    stalls: Sequence[TaskStall], repeats: Sequence[Repeat], times: Sequence[int], starts: Sequence[int], ends: Sequence[int],
    units: Sequence[int],
) -> list[int]:  # fmt: skip
    """Returns the cycles of each stall in all runs of its task. By row: how often a task runs, its start and end in compressed time, and
    its engine (those that share a unit are one).
    """
    if not any(stall.skips for stall in stalls):
        return [times[s.task] * s.cycles for s in stalls]
    checkpoint()
    tree = RowTree(repeats, len(starts))
    rows: dict[int, list[int]] = {}
    for row, unit in enumerate(units):
        rows.setdefault(unit, []).append(row)
    around = {repeat.number: outer for repeat, outer in nested(repeats)}
    growing = {number for repeat in repeats for number in repeat.more}
    degree = 1 + max((repeat.length.degree for repeat in repeats), default=0)

    def total(stall: TaskStall) -> int:
        part = tree.part_of(stall.task)
        outer = around.get(part.number, [])

        def cycles(copies: dict[int, int]) -> int:
            task = RunTask(stall.task, part, {r.number: copies.get(r.number, 0) for r in outer})
            idle_from = tree.steady_before(task, rows[units[stall.task]])
            since = 0 if idle_from is None else ends[idle_from.row] + tree.later(idle_from)
            return starts[stall.task] + tree.later(task) - since

        variables = [r.number for r in outer if r.number in growing]
        series = newton(cycles, variables, degree if variables else 0)
        return summed(series, outer)

    return [total(s) if s.skips else times[s.task] * s.cycles for s in stalls]
