"""The critical path of a replay: from the last result back to cycle 0, each time to the task that the present one waited for.

The steps of the path cover the run without gaps. Through a repeat the path is found once per period: where it enters two copies at the same
task for the same reason, all copies between are alike, so its length does not depend on trip counts. Copies that grow evenly
(`growing_path`) are skipped, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ....cancellation import checkpoint
from ...tasks.tree import TaskProgram
from ..clocks import NOBODY, TaskStall, Variant
from ..repeats import Repeat
from ..row_tree import RowPart, RowTree, RunTask
from ..series import Copies
from ..timeline import ReplayTimeline
from .growing_path import PathLog
from .path import Path, PathTask


def critical_path(program: TaskProgram, timeline: ReplayTimeline) -> Path:
    """Returns the critical path, backward in time."""
    return _Search(program, timeline).path() if len(timeline.numbers) else Path(0, ())


def _latest(there: Sequence[int], repeats: Sequence[Repeat]) -> list[int]:
    """Returns for each row a time in its copy, in compressed time, by which the results of all tasks up to the row's are there."""
    times = np.array(there, np.int64)
    found = np.maximum.accumulate(times)
    for repeat in repeats:
        # A task of an earlier copy begins at least a copy earlier.
        rows = slice(repeat.first, repeat.last)
        before = int(times[rows].max()) - (repeat.end - repeat.start)
        found[rows] = np.maximum(found[rows], before)
    return found.tolist()


class _Search:
    """The walk from task to task."""

    def __init__(self, program: TaskProgram, timeline: ReplayTimeline) -> None:
        self._line = timeline
        self._tree = RowTree(timeline.repeats, len(timeline.numbers))
        self._latest = _latest(timeline.there.tolist(), timeline.repeats)
        self._log = PathLog(timeline.repeats)
        # The cycles from the end of a block to the first task of the next one.
        self._lead = timeline.chip.start_cycles if timeline.chip is not None else 0
        self._tried: list[tuple[int, int]] = []
        self._variants: list[Variant] = [v.replay for v in program.variants]
        self._numbers: list[int] = timeline.numbers.tolist()
        self._starts: list[int]
        self._ends: list[int]
        self._there: list[int]
        self._starts, self._ends, self._there = (
            column.tolist() for column in (timeline.starts, timeline.ends, timeline.there)
        )
        self._stalls: dict[int, TaskStall] = {}
        self._port = dict[int, int]()
        for stall in timeline.stalls:
            if stall.cause == "port":
                self._port[stall.task] = self._port.get(stall.task, 0) + stall.cycles
            else:
                self._stalls[stall.task] = stall
        self._rows_of: dict[tuple[str, int], list[int]] = {}
        self._by_variant: dict[int, list[int]] = {}
        for row, number in enumerate(self._numbers):
            self._by_variant.setdefault(number, []).append(row)

    # ---- Tasks, backward in program order.

    def _rows(self, kind: str, which: int) -> list[int]:
        """Returns the rows of the tasks on a unit of engines ("unit"), or that read or write a cell ("writer", "user")."""
        found = self._rows_of.get((kind, which))
        if found is None:
            is_one: dict[str, Callable[[int], bool]] = {
                "unit": lambda n: self._variants[n].engine == which,
                "writer": lambda n: which in self._variants[n].writes,
                "user": lambda n: which in self._variants[n].writes or which in self._variants[n].reads,
            }
            rows = (row for n, of in self._by_variant.items() if is_one[kind](n) for row in of)
            found = self._rows_of[kind, which] = sorted(rows)
        return found

    # ---- The path.

    def path(self) -> Path:
        """Returns the path from the task with the last result, the first in program order of several."""
        task = max(self._final(self._tree.root, {}), key=self._result)
        until = time = self._result(task)
        cause, cell = "end", NOBODY
        while True:
            checkpoint()
            start = self._start(task)
            port = self._port.get(task.row, 0) if cause != "issue" else 0
            since = start if start > self._lead else 0
            self._log.add(PathTask(task.row, time - since, cause, cell, port, tuple(self._tried)))
            if start <= self._lead:
                return Path(until, self._log.steps)
            self._tried.clear()
            task, cause, cell = self._awaited(task, start)
            skipped = self._log.skip(task, (cause, cell), start - self._start(task))
            time = start if skipped is None else self._start(skipped) + start - self._start(task)
            task = skipped or task

    def _final(self, part: RowPart, copies: Copies) -> Iterator[RunTask]:
        """Yields the tasks whose result may be the last: one before and after each repeat, and those of its last copy."""
        row = part.first
        for child in (*part.inside, None):
            until = child.first if child is not None else part.last
            if until > row:
                yield RunTask(max(range(row, until), key=self._there.__getitem__), part, copies)
            if child is not None:
                yield from self._final(child, {**copies, child.number: child.count(copies) - 1})
                row = child.last

    def _start(self, task: RunTask) -> int:
        return self._starts[task.row] + self._tree.later(task)

    def _result(self, task: RunTask) -> int:
        return self._there[task.row] + self._tree.later(task)

    def _awaited(self, task: RunTask, start: int) -> tuple[RunTask, str, int]:
        """Returns the task that one waited for, the reason, and the cell, if any."""
        variant = self._variants[self._numbers[task.row]]
        stall = self._stalls.get(task.row)
        unit = self._rows("unit", variant.engine)
        if stall is None or (found := self._of_stall(task, stall, start)) is None:
            before = next(self._tree.before(task, unit), None)
            if before is not None and self._is_at(before, self._ends, start):
                return before, "engine", NOBODY
            found = self._any(task, start)
        return found

    def _of_stall(self, task: RunTask, stall: TaskStall, start: int) -> tuple[RunTask, str, int] | None:
        if stall.cause == "issue":
            found = self._first(task, self._rows("unit", stall.by), self._starts, start) if stall.by >= 0 else None
            if stall.by < 0 and start > self._lead:
                every = range(len(self._numbers))
                found = self._first(task, every, self._there, start - self._lead)
                before = next(self._tree.before(task, every), None)
                if found is None and before is not None:
                    # Other cores end the loop over blocks before it later, or a barrier takes its time.
                    over = self._latest[before.row] + self._tree.later(before)
                    found = self._first(task, every, self._there, over)
        elif stall.cause in ("data", "flag"):
            early = dict(self._variants[self._numbers[task.row]].preloads).get(stall.cell, 0)
            found = next(self._tree.before(task, self._rows("writer", stall.cell)), None)
            if found is not None and not self._is_at(found, self._there, start, start - early):
                found = None
        else:
            users = self._rows("user", stall.cell)
            found = self._first(task, users, self._ends, start) or self._first(task, users, self._there, start)
        return None if found is None else (found, str(stall.cause), stall.cell)

    def _any(self, task: RunTask, start: int) -> tuple[RunTask, str, int]:
        """Returns a task that the stalls do not name: all constraints are tried."""
        variant = self._variants[self._numbers[task.row]]
        for cell in (*variant.reads, *variant.writes):
            for cause, column in (("data", self._there), ("slot", self._ends)):
                if found := self._first(task, self._rows("user", cell), column, start):
                    return found, cause, cell
        everything = range(len(self._numbers))
        if found := self._first(task, everything, self._starts, start):
            return found, "issue", NOBODY
        raise AssertionError(f"no task explains the start of row {task.row} at cycle {start}")

    def _first(self, task: RunTask, rows: Sequence[int], column: Sequence[int], time: int) -> RunTask | None:
        """Returns the last task of these rows before one whose time in `column` is `time`."""
        for found in self._tree.before(task, rows):
            if self._is_at(found, column, time):
                return found
            if self._latest[found.row] + self._tree.later(found) < time:
                return None
        return None

    def _is_at(self, task: RunTask, column: Sequence[int], *times: int) -> bool:
        """Returns whether the time of a task in `column` is one of these."""
        time = column[task.row] + self._tree.later(task)
        self._tried.append((task.row, times[0] - time))
        return time in times
