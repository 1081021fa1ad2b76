"""The rows of a timeline as a tree of repeats, and the tasks that the program runs: a row in certain copies of the repeats around it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from propcache.api import cached_property

from .repeats import Repeat, nested
from .series import Copies, Series, added


class RowPart:
    """The rows of a repeat, and the repeats inside; the root has no repeat."""

    def __init__(self, number: int, first: int, last: int, repeat: Repeat | None, parent: RowPart | None) -> None:
        self.number, self.first, self.last, self.repeat, self.parent = number, first, last, repeat, parent
        self.inside: list[RowPart] = []
        self.firsts: list[int] = []

    def child_at(self, row: int) -> RowPart | None:
        """Returns the repeat inside that contains a row."""
        n = bisect_right(self.firsts, row) - 1
        return self.inside[n] if n >= 0 and row < self.inside[n].last else None

    @cached_property
    def _lengthened(self) -> list[Series]:
        """The cycles that the repeats inside omit, of the first n of them."""
        omitted = (child.repeat.lengthens for child in self.inside if child.repeat is not None)
        return [*accumulate(omitted, lambda a, b: added((a, b)), initial=Series())]

    def omitted_before(self, row: int, copies: Copies) -> int:
        """Returns the cycles that the repeats inside up to a row omit."""
        n = bisect_right(self.firsts, row)
        if n and self.inside[n - 1].last > row:
            n -= 1
        return self._lengthened[n].at(copies)

    def count(self, copies: Copies) -> int:
        """Returns the number of copies."""
        assert self.repeat is not None
        return self.repeat.copies(copies)

    def around(self) -> Iterator[RowPart]:
        """Yields the part and those around it that are repeats, the innermost first."""
        part: RowPart | None = self
        while part is not None and part.repeat is not None:
            yield part
            part = part.parent


class RunTask(NamedTuple):
    """A task that the program runs: a row in certain copies of the repeats around it."""

    row: int
    part: RowPart
    copies: Copies


class RowTree:
    """The repeats of `rows` rows, nested."""

    def __init__(self, repeats: Sequence[Repeat], rows: int) -> None:
        self.root = RowPart(len(repeats), 0, rows, None, None)
        parts = {self.root.number: self.root}
        for repeat, around in nested(repeats):
            parent = parts[around[-2].number] if len(around) > 1 else self.root
            part = parts[repeat.number] = RowPart(repeat.number, repeat.first, repeat.last, repeat, parent)
            parent.inside.append(part)
            parent.firsts.append(part.first)

    def part_of(self, row: int) -> RowPart:
        """Returns the innermost repeat around a row."""
        part = self.root
        while (inner := part.child_at(row)) is not None:
            part = inner
        return part

    def before(self, task: RunTask, marked: Sequence[int]) -> Iterator[RunTask]:
        """Yields the tasks of `marked` rows before a task, the last one first."""
        until, part, copies = task
        while True:
            yield from self._inside(marked, part, copies, until)
            if part.parent is None:
                return
            copy = copies[part.number]
            outer = {number: n for number, n in copies.items() if number != part.number}
            if copy:
                until, copies = part.last, {**outer, part.number: copy - 1}
            else:
                until, part, copies = part.first, part.parent, outer

    def _inside(self, marked: Sequence[int], part: RowPart, copies: Copies, until: int) -> Iterator[RunTask]:
        """Yields the tasks of `marked` rows in one copy of a part, before row `until`."""
        n = bisect_left(marked, until)
        while n and marked[n - 1] >= part.first:
            child = part.child_at(marked[n - 1])
            if child is None:
                n -= 1
                yield RunTask(marked[n], part, copies)
                continue
            for copy in reversed(range(child.count(copies))):
                yield from self._inside(marked, child, {**copies, child.number: copy}, child.last)
            n = bisect_left(marked, child.first)

    def steady_before(self, task: RunTask, marked: Sequence[int]) -> RunTask | None:
        """Returns the task of the last `marked` row before a task, in any copy of the innermost repeat around it; copy 0 has copy -1 before
        it. None if there is none.
        """
        found = self._last(task.part, task.copies, bisect_left(marked, task.row), marked)
        if found is None and task.part.repeat is not None:
            copies = {**task.copies, task.part.number: task.copies[task.part.number] - 1}
            found = self._last(task.part, copies, bisect_left(marked, task.part.last), marked)
        return found

    def _last(self, part: RowPart, copies: Copies, n: int, marked: Sequence[int]) -> RunTask | None:
        """Returns the task of marked row `n - 1` in a part, in the last copies of the repeats inside."""
        if not n or marked[n - 1] < part.first:
            return None
        while (child := part.child_at(marked[n - 1])) is not None:
            part, copies = child, {**copies, child.number: child.count(copies) - 1}
        return RunTask(marked[n - 1], part, copies)

    def later(self, task: RunTask) -> int:
        """Returns the cycles from compressed to real time of a task."""
        row, part, copies = task
        later = 0
        at: RowPart | None = part
        while at is not None:
            later += at.omitted_before(row, copies)
            later += at.repeat.before(copies[at.number], copies) if at.repeat is not None else 0
            row, at = at.first, at.parent
        return later
