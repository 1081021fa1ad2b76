"""The critical path of a replay: from the last result back to cycle 0, each time to the task that the present one waited for.

The steps of the path cover the run without gaps. Through a repeat the path is found once per period: where it enters two copies at the same
task for the same reason, all copies between are alike, so its length does not depend on trip counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from ...cancellation import checkpoint
from ..tasks.tree import TaskProgram
from .exclusive import NOBODY, Stall, Variant
from .repeats import Repeat
from .row_tree import Part, RowTree, RunTask
from .series import Copies
from .timeline import Timeline

MOST_CANDIDATES = 100_000
"""More tasks than this are not searched for a predecessor: those that hold a resource are among the last to use it."""


class PathStep(NamedTuple):
    """A task on the path, in real cycles: the path runs through it from `start` to `until`.

    `cause` is what the next task on the path waited for: "engine" for the end of this one on the same engine, "data" or "slot" for `cell`,
    "issue" for its start, which freed a place in a queue, "end" for the end of the run. `port` are cycles of waits for ports in between.
    """

    row: int
    start: int
    until: int
    cause: str
    cell: int
    port: int

    def later(self, cycles: int) -> PathStep:
        return self._replace(start=self.start + cycles, until=self.until + cycles)


class PathLoop(NamedTuple):
    """A part of the path that occurs `times` times, `cycles` apart; `steps` are those of the last occurrence, backward in time."""

    steps: tuple[PathStep | PathLoop, ...]
    times: int
    cycles: int
    until: int
    """The end of the last occurrence."""


Path = tuple[PathStep | PathLoop, ...]


def critical_path(program: TaskProgram, timeline: Timeline) -> Path:
    """Returns the critical path, backward in time."""
    return _Search(program, timeline).path() if len(timeline.numbers) else ()


def steps_between(path: Path, start: int, end: int, later: int = 0) -> Iterator[PathStep]:
    """Yields the steps at work from `start` to `end`, exclusive, backward in time; parts of the path outside cost nothing."""
    for part in path:
        if isinstance(part, PathStep):
            step = part.later(later)
            if step.until > start and step.start < end:
                yield step
            continue
        # Occurrence `n` back in time covers the cycles from until - (n + 1) * cycles to until - n * cycles.
        until, cycles = part.until + later, part.cycles
        first = max(0, (until - end) // cycles) if cycles else 0
        last = min(part.times - 1, (until - start - 1) // cycles) if cycles else part.times - 1
        for n in range(first, last + 1):
            yield from steps_between(part.steps, start, end, later - n * cycles)


def totals(path: Path, times: int = 1) -> Iterator[tuple[PathStep, int]]:
    """Yields each step of the path once, with the number of its occurrences."""
    for part in path:
        if isinstance(part, PathStep):
            yield part, times
        else:
            yield from totals(part.steps, times * part.times)


def _growing(repeats: Sequence[Repeat]) -> set[int]:
    """Returns the repeats whose copies differ."""
    return {number for repeat in repeats for number in repeat.more}


class _Search:
    """The walk from task to task."""

    def __init__(self, program: TaskProgram, timeline: Timeline) -> None:
        self._line = timeline
        self._tree = RowTree(timeline.repeats, len(timeline.numbers))
        self._growing = _growing(timeline.repeats)
        self._variants: list[Variant] = [v.replay for v in program.variants]
        self._numbers: list[int] = timeline.numbers.tolist()
        self._starts: list[int]
        self._ends: list[int]
        self._there: list[int]
        self._starts, self._ends, self._there = (
            column.tolist() for column in (timeline.starts, timeline.ends, timeline.there)
        )
        self._stalls: dict[int, Stall] = {}
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
        last = max(self._final(self._tree.root, {}), key=self._result)
        time, cause, cell = self._result(last), "end", NOBODY
        log: list[PathStep | PathLoop] = []
        seen: dict[tuple[object, ...], tuple[int, int, int]] = {}
        task = last
        while True:
            checkpoint()
            start = self._starts[task.row] + self._tree.later(task)
            port = self._port.get(task.row, 0) if cause != "issue" else 0
            log.append(PathStep(task.row, start, time, cause, cell, port))
            if start <= 0:
                return tuple(log)
            task, cause, cell = self._awaited(task, start)
            time = start
            task, time = self._skip(task, (cause, cell), time, log, seen)

    def _final(self, part: Part, copies: Copies) -> Iterator[RunTask]:
        """Yields the tasks whose result may be the last: one before and after each repeat, and those of its last copy."""
        row = part.first
        for child in (*part.inside, None):
            until = child.first if child is not None else part.last
            if until > row:
                yield RunTask(max(range(row, until), key=self._there.__getitem__), part, copies)
            if child is not None:
                yield from self._final(child, {**copies, child.number: child.count(copies) - 1})
                row = child.last

    def _result(self, task: RunTask) -> int:
        return self._there[task.row] + self._tree.later(task)

    def _awaited(self, task: RunTask, start: int) -> tuple[RunTask, str, int]:
        """Returns the task that one waited for, the reason, and the cell, if any."""
        variant = self._variants[self._numbers[task.row]]
        stall = self._stalls.get(task.row)
        unit = self._rows("unit", variant.engine)
        if stall is None or (found := self._of_stall(task, stall, start)) is None:
            before = next(self._tree.before(task, unit), None)
            if before is not None and self._ends[before.row] + self._tree.later(before) == start:
                return before, "engine", NOBODY
            found = self._any(task, start)
        return found

    def _of_stall(self, task: RunTask, stall: Stall, start: int) -> tuple[RunTask, str, int] | None:
        if stall.cause == "issue":
            found = self._first(task, self._rows("unit", stall.by), self._starts, start) if stall.by >= 0 else None
        elif stall.cause == "data":
            early = dict(self._variants[self._numbers[task.row]].preloads).get(stall.cell, 0)
            found = next(self._tree.before(task, self._rows("writer", stall.cell)), None)
            if found is not None and self._result(found) not in (start, start - early):
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
        candidates = islice(self._tree.before(task, rows), MOST_CANDIDATES)
        return next((t for t in candidates if column[t.row] + self._tree.later(t) == time), None)

    def _skip(
        self,
        task: RunTask,
        why: tuple[str, int],
        time: int,
        log: list[PathStep | PathLoop],
        seen: dict[tuple[object, ...], tuple[int, int, int]],
    ) -> tuple[RunTask, int]:
        """Returns the task and the time where the path goes on after the copies that are like the last ones."""
        part: Part | None = task.part
        while part is not None and part.repeat is not None:
            copy = task.copies[part.number]
            others = tuple(sorted((n, c) for n, c in task.copies.items() if n != part.number))
            key = (part.number, task.row, why, others)
            known = seen.get(key)
            seen[key] = copy, time, len(log)
            if known is not None and part.number not in self._growing and known[0] > copy and known[2] <= len(log):
                period, cycles = known[0] - copy, known[1] - time
                times = copy // period
                if times:
                    log[known[2] :] = [PathLoop(tuple(log[known[2] :]), times + 1, cycles, known[1])]
                    for other in [other for other, (_, _, at) in seen.items() if at > known[2]]:
                        del seen[other]
                    return task._replace(
                        copies={**task.copies, part.number: copy - times * period}
                    ), time - times * cycles
            part = part.parent
        return task, time
