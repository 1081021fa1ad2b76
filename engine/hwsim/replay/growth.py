"""Growth of the iterations of a triangular loop: what differs from one block of iterations to the next, if it grows evenly.

Blocks begin in the same state, up to the time that engines have been idle, and run the same tasks. So they are equal in compressed time,
and differ in the copies of their repeats, in the stalls that these prolong, and in the iterations of inner loops behind them. Three
blocks that differ evenly prove it for all: their trip counts are affine, and the difference is a number of whole periods.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from .exclusive import Stall
from .repeats import ITSELF, Place, Repeat


class Mark(msgspec.Struct, frozen=True):
    """Progress of the replay before an iteration: moment, tasks, repeats, stalls, cycles skipped in all and by each engine that is idle."""

    now: int
    tasks: int
    repeats: int
    stalls: int
    skipped: int
    idle: tuple[int, ...]


_Stalled = Mapping[tuple[int, int, str, int, int], tuple[int, int]]
"""The number of a stall in the replay, and its cycles; by row in the block, engine, cause, cell and responsible variant."""


class Growth(msgspec.Struct):
    """The difference of a block to the one before: `step` cycles, `more` copies of its repeats and `longer` copies, longer stalls (by key),
    inner loops at later iterations (by row).
    """

    step: int
    more: tuple[int, ...]
    longer: tuple[int, ...]
    stalls: Mapping[tuple[int, int, str, int, int], int]
    moves: Mapping[int, Place]


class Block(msgspec.Struct, frozen=True, eq=False):
    """The replay of some iterations, from one mark to another; the loop is at `depth` among the loops around."""

    start: Mark
    end: Mark
    depth: int
    numbers: Sequence[int]
    places: Sequence[Place]
    repeats: Sequence[Repeat]
    stalls: _Stalled

    @property
    def cycles(self) -> int:
        return self.end.now - self.start.now + self.end.skipped - self.start.skipped

    def shape(self) -> list[tuple[object, ...]]:
        """Returns all about its repeats that blocks have in common."""
        row, now = self.start.tasks, self.start.now
        return [(r.start - now, r.end - now, r.first - row, r.last - row, r.depth, r.extents, r.iterations, r.step, r.more)
                for r in self.repeats]  # fmt: skip

    def is_like(self, other: Block) -> bool:
        """Returns whether the blocks run the same tasks with the same repeats."""
        return list(self.numbers) == list(other.numbers) and self.shape() == other.shape()


def block_of(start: Mark, end: Mark, depth: int, numbers: Sequence[int], places: Sequence[Place], repeats: Sequence[Repeat],
             stalls: Sequence[Stall]) -> Block:  # fmt: skip
    """Returns the block of a replay between two marks."""
    low, high = start.tasks, end.tasks
    found = {
        (s.task - low, s.engine, s.cause, s.cell, s.by): (n, s.cycles)
        for n, s in enumerate(stalls[start.stalls :], start.stalls)
        if low <= s.task < high
    }
    return Block(start, end, depth, numbers[low:high], places[low:high], repeats[start.repeats : end.repeats], found)


def growth_between(before: Block, after: Block) -> Growth | None:
    """Returns the difference of two blocks; None if they differ in more."""
    if not after.is_like(before) or after.stalls.keys() != before.stalls.keys():
        return None
    more = tuple(b.extra - a.extra for a, b in zip(before.repeats, after.repeats, strict=True))
    longer = tuple(b.cycles - a.cycles for a, b in zip(before.repeats, after.repeats, strict=True))
    inner = after.depth + 1
    moves: dict[int, Place] = {}
    for row, (a, b) in enumerate(zip(before.places, after.places, strict=True)):
        move = tuple(j - i for i, j in zip(a[inner:], b[inner:], strict=True))
        if any(move):
            moves[row] = move
    stalls = {key: cycles - before.stalls[key][1] for key, (_, cycles) in after.stalls.items()}
    return Growth(after.cycles - before.cycles, more, longer, stalls, moves)


def is_even(growth: Growth, block: Block) -> bool:
    """Returns whether the block's length is linear in its number: no repeat that grows is inside of another, or grows by itself."""
    growing = [r for r, more in zip(block.repeats, growth.more, strict=True) if more]
    if not growing:
        return not any(growth.longer) and not any(growth.stalls.values())
    apart = all(a.last <= b.first or b.last <= a.first for n, a in enumerate(growing) for b in growing[:n])
    inside = (r.first <= row < r.last for row, *_ in (key for key, n in growth.stalls.items() if n)
              for r in _at(growing, block.start.tasks))  # fmt: skip
    return (
        apart
        and not any(r.step or r.over != ITSELF for r in block.repeats)
        and not any(more and longer for more, longer in zip(growth.more, growth.longer, strict=True))
        and not any(inside)
    )


def _at(repeats: Sequence[Repeat], row: int) -> list[Repeat]:
    return [replace(r, first=r.first - row, last=r.last - row) for r in repeats]


def most_copies(growth: Growth, block: Block) -> int | None:
    """Returns how many more blocks can follow before a repeat has no copies left; None if they only grow."""
    return min((r.extra // -more for r, more in zip(block.repeats, growth.more, strict=True) if more < 0), default=None)
