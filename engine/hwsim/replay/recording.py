"""What a replay has recorded so far: the tasks with their clocks, the iterations of the loops around each, and the repeats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from ..tasks.tree import TaskLoop
from .clocks import Clocks
from .growth import Growth, IterationBlock, Mark, block_of
from .repeats import Place, Repeat, length_of


class Recording(msgspec.Struct, eq=False):
    """The clocks, and of each task its place; the repeats, inner before outer. `path` has the iterations of the loops around. A core holds
    `residents` blocks, each with `cells` cells of its own.
    """

    clocks: Clocks
    places: list[Place] = []
    repeats: list[Repeat] = []
    path: list[int] = []
    residents: int = 1
    cells: int = 0

    def cells_of(self, node: TaskLoop) -> Sequence[int]:
        """Returns the cells of a loop, of all blocks that the core holds."""
        if self.residents == 1:
            return node.cells
        return [cell + n * self.cells for n in range(self.residents) for cell in node.cells]

    def mark(self) -> Mark:
        """Returns the progress."""
        return Mark(self.clocks.now, len(self.clocks.starts), len(self.repeats), len(self.clocks.stalls))

    def settled(self, marks: Sequence[Mark], first: int, period: int) -> int | None:
        """Returns the end of a period that can be repeated: the last one whose tasks no later task can change; None if there is none."""
        clocks, here = self.clocks, len(marks) - 1
        until = next((n for n in range(here - period, first, -period) if clocks.is_settled(marks[n].tasks)), first)
        if until - period < first:
            return None
        # No task from before the first period overlaps the repeated one, and the tasks of the first complete before that ends.
        before, steady = (clocks.over_by(marks[n].tasks) for n in (first, first + period))
        if before is None or before > marks[until - period].now or steady is None or steady > marks[until].now:
            return None
        return until

    def block(self, start: Mark, end: Mark) -> IterationBlock:
        """Returns the iterations of the innermost loop between two marks."""
        clocks = self.clocks
        return block_of(start, end, len(self.path) - 1, clocks.numbers, self.places, self.repeats, clocks.stalls)

    def repeat(self, node: TaskLoop, start: Mark, end: Mark, extra: int, period: int) -> None:
        """Skips `extra` copies of the tasks between two marks, `period` iterations each."""
        repeat = self._add(node, start, end, extra, period)
        self.clocks.skip({repeat.number: repeat.omitted}, repeat.number, repeat.last)
        # The tasks replayed behind the repeat are those of the last iterations.
        for n in range(repeat.last, len(self.places)):
            self.places[n] = repeat.later(self.places[n], extra, n)

    def repeat_growing(
        self, node: TaskLoop, growth: Growth, blocks: Sequence[IterationBlock], extra: int, period: int
    ) -> None:
        """Skips `extra` copies of the first of these blocks. The others are moved behind its copies, and have as many more copies of their
        repeats.
        """
        first, *later = blocks
        number = len(self.repeats)
        for block in blocks:
            for n, more in enumerate(growth.more, block.start.repeats):
                over, further = ({number: more}, 0) if block is first else ({}, more * extra)
                self._lengthen(n, block.start.repeats, over, further)
        moves = {first.start.tasks + row: move for row, move in growth.moves.items()}
        repeat = replace(self._add(node, first.start, first.end, extra, period), moves=moves)
        self.repeats[number] = repeat
        for block in later:
            for row in range(block.start.tasks, block.end.tasks):
                same = first.start.tasks + row - block.start.tasks
                self.places[row] = repeat.later(self.places[row], extra, same)
        cycles = {r.number: r.omitted for r in self.repeats[first.start.repeats :]}
        self.clocks.skip(cycles, number, repeat.last)

    def _add(self, node: TaskLoop, start: Mark, end: Mark, extra: int, period: int) -> Repeat:
        depth, extents = len(self.path) - len(node.loops), tuple(loop.extent for loop in node.loops)
        length = length_of(end.now - start.now, self.repeats[start.repeats : end.repeats])
        repeat = Repeat(len(self.repeats), start.now, end.now, length, extra, start.tasks, end.tasks, depth, extents, period)  # fmt: skip
        self.repeats.append(repeat)
        return repeat

    def _lengthen(self, number: int, since: int, more: Mapping[int, int], extra: int) -> None:
        """Adds copies to a repeat whose inner repeats, from number `since` on, have theirs."""
        r = self.repeats[number]
        inner = [i for i in self.repeats[since:number] if r.first <= i.first and i.last <= r.last]
        more = {n: m for n, m in (*r.more.items(), *more.items()) if m}
        self.repeats[number] = replace(r, length=length_of(r.end - r.start, inner), extra=r.extra + extra, more=more)
