"""Growth of the iterations of a triangular loop: what differs from one block of iterations to the next, if it grows evenly.

Blocks begin in the same state, up to the time that engines have been idle, and run the same tasks. So they are equal in compressed time,
and differ in the copies of their repeats, and in the iterations of inner loops behind them. Blocks that differ evenly prove it for all:
their trip counts are affine, and the difference is a number of whole periods. The repeats of a block may grow over each other, as those of
a triangle within a triangle do; all their copies are affine in the number of the block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import msgspec

from .clocks import TaskStall
from .repeats import Place, Repeat


class Mark(msgspec.Struct, frozen=True):
    """Progress of the replay before an iteration: moment, tasks, repeats, stalls."""

    now: int
    tasks: int
    repeats: int
    stalls: int


class Growth(msgspec.Struct):
    """The difference of a block to the one before: `more` copies of its repeats, inner loops at later iterations (by row)."""

    more: tuple[int, ...]
    moves: Mapping[int, Place]


class IterationBlock(msgspec.Struct, frozen=True, eq=False):
    """The replay of some iterations, from one mark to another; the loop is at `depth` among the loops around."""

    start: Mark
    end: Mark
    depth: int
    numbers: Sequence[int]
    places: Sequence[Place]
    repeats: Sequence[Repeat]
    stalls: Sequence[TaskStall]

    def shape(self) -> list[object]:
        """Returns all about its repeats that blocks have in common."""
        row, now, number = self.start.tasks, self.start.now, self.start.repeats
        return [
            (
                r.start - now, r.end - now, r.first - row, r.last - row, r.depth, r.extents, r.iterations,
                {around - number: more for around, more in r.more.items()},
                {moved - row: move for moved, move in r.moves.items()},
            )
            for r in self.repeats
        ]  # fmt: skip

    def stalled(self) -> set[tuple[object, ...]]:
        """Returns its stalls, by row in the block."""
        row = self.start.tasks
        return {(s.task - row, s.engine, s.cause, s.cell, s.by, s.cycles, s.skips) for s in self.stalls}

    def is_like(self, other: IterationBlock) -> bool:
        """Returns whether the blocks run the same tasks with the same repeats."""
        return list(self.numbers) == list(other.numbers) and self.shape() == other.shape()


def block_of(start: Mark, end: Mark, depth: int, numbers: Sequence[int], places: Sequence[Place], repeats: Sequence[Repeat],
             stalls: Sequence[TaskStall]) -> IterationBlock:  # fmt: skip
    """Returns the block of a replay between two marks."""
    low, high = start.tasks, end.tasks
    found = [s for s in stalls[start.stalls :] if low <= s.task < high]
    return IterationBlock(
        start, end, depth, numbers[low:high], places[low:high], repeats[start.repeats : end.repeats], found
    )


def growth_between(before: IterationBlock, after: IterationBlock) -> Growth | None:
    """Returns the difference of two blocks; None if they differ in more."""
    if not after.is_like(before):
        return None
    more = tuple(b.extra - a.extra for a, b in zip(before.repeats, after.repeats, strict=True))
    inner = after.depth + 1
    moves: dict[int, Place] = {}
    for row, (a, b) in enumerate(zip(before.places, after.places, strict=True)):
        move = tuple(j - i for i, j in zip(a[inner:], b[inner:], strict=True))
        if any(move):
            moves[row] = move
    return Growth(more, moves)


def common_growth(blocks: Sequence[IterationBlock], settled: int) -> Growth | None:
    """Returns the difference of each block to the one before; None if it is not the same for all. All stalls of the first `settled` blocks
    are known, and have to be the same.
    """
    found: Growth | None = None
    if any(block.stalled() != blocks[0].stalled() for block in blocks[1:settled]):
        return None
    for before, after in pairwise(blocks):
        growth = growth_between(before, after)
        if growth is None or (found is not None and growth != found):
            return None
        found = growth
    return found


def most_copies(growth: Growth, block: IterationBlock) -> int | None:
    """Returns how many more blocks can follow before a repeat has no copies left, in any copies around it; None if they only grow."""
    first = block.start.repeats
    now = {r.number: r.extra for r in block.repeats}
    later = {r.number: r.extra + growth.more[r.number - first] for r in block.repeats}
    limits: list[int] = []
    for repeat in block.repeats:
        # The least is at a corner of the copies around, and each corner moves evenly.
        for a, b in zip(_corners(repeat, block, now), _corners(repeat, block, later), strict=True):
            if b < a:
                limits.append(max(a, 0) // (a - b))
    return min(limits, default=None)


def _corners(repeat: Repeat, block: IterationBlock, extra: Mapping[int, int]) -> list[int]:
    """Returns the further copies of a repeat in the first and the last copies of those over which it grows, and so on outwards."""
    first = block.start.repeats
    found: list[int] = []

    def visit(copies: dict[int, int], amount: int, over: dict[int, int]) -> None:
        if not over:
            found.append(amount)
            return
        # The innermost is known once those around it are.
        outer = max(over)
        rest = {n: m for n, m in over.items() if n != outer}
        around = block.repeats[outer - first]
        last = extra[outer] + sum(more * copies.get(n, 0) for n, more in around.more.items())
        for copy in (0, last):
            visit({**copies, outer: copy}, amount + over[outer] * copy, rest)

    needed = _around(repeat, block)
    visit({}, extra[repeat.number], {n: repeat.more.get(n, 0) for n in needed})
    return found


def _around(repeat: Repeat, block: IterationBlock) -> set[int]:
    """Returns the repeats over which one grows, and those over which these grow."""
    found: set[int] = set()
    waiting = list(repeat.more)
    while waiting:
        number = waiting.pop()
        if number not in found:
            found.add(number)
            waiting += block.repeats[number - block.start.repeats].more
    return found
