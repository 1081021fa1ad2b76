"""Repeats of a timeline: intervals that occur once in compressed time and several times in real time.

The iterations of a triangular loop differ in the trip counts of inner loops only. Such a repeat `grows`: with each of its copies, repeats
inside of it have some more copies, and last some cycles longer.

    outer   ──┬──A──┬─────         each copy of the outer repeat has one more copy of A
    real    ──A──┬──A──A──┬──A──A──A──┬──
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

Place = tuple[int, ...]
"""Iterations of the loops around a task, outermost first."""

Column = npt.NDArray[np.int64]
Number = TypeVar("Number", int, Column)

ITSELF = -1


class Repeat(msgspec.Struct, frozen=True):
    """A repeat: the interval of the timeline from `start` to `end` occurs `extra` more times, each `cycles` long.

    `cycles` includes the repeats inside of the interval, `start` and `end` do not: they are compressed times. Its tasks are those from
    `first` to `last`, exclusive, in the order of issue: `iterations` of the loop at `depth` among the loops around, or of several loops
    that run as one from there on, of these `extents`.

    With each copy of repeat number `over`, which is around it, the repeat has `more` copies and each is `step` cycles longer; these are the
    figures in the first one. If `over` is ITSELF, each copy is `step` cycles longer than the one before. `moves` are then the rows whose
    inner loops are at later iterations in each copy, with their increase.
    """

    start: int
    end: int
    cycles: int
    extra: int
    first: int
    last: int
    depth: int
    extents: tuple[int, ...]
    iterations: int
    over: int = ITSELF
    more: int = 0
    step: int = 0
    moves: Mapping[int, Place] = msgspec.field(default_factory=dict[int, Place])

    def later(self, place: Place, copies: int, row: int) -> Place:
        """Returns the place of the equivalent task so many copies later, of the task of a row."""
        depth, iterations = self.depth, copies * self.iterations
        digits: list[int] = []
        for i, extent in zip(reversed(place[depth : depth + len(self.extents)]), reversed(self.extents), strict=True):
            iterations, digit = divmod(i + iterations, extent)
            digits.append(digit)
        inner = place[depth + len(digits) :]
        if row in self.moves:
            inner = tuple(i + copies * step for i, step in zip(inner, self.moves[row], strict=True))
        return (*place[:depth], *reversed(digits), *inner)

    def number(self, place: Place) -> int:
        """Returns the iteration of a place in the repeat's loops, counted as one loop."""
        number = 0
        for i, extent in zip(place[self.depth : self.depth + len(self.extents)], self.extents, strict=True):
            number = number * extent + i
        return number

    def copies(self, around: Number) -> Number:
        """Returns the number of copies in copy `around` of `over`."""
        return self.extra + 1 + self.more * around

    def before(self, copy: Number, around: Number) -> Number:
        """Returns the cycles from the first copy to the start of another one."""
        grown = copy * (copy - 1) // 2 if self.over == ITSELF else copy * around
        return copy * self.cycles + self.step * grown

    def total(self, around: int = 0) -> int:
        """Returns the cycles of all copies."""
        return self.before(self.copies(around), around)

    def at(self, cycle: int, around: int) -> int:
        """Returns the copy at a cycle from the start of the first one."""
        if self.over != ITSELF or not self.step:
            return cycle // (self.cycles + self.step * around)
        low, high = 0, self.copies(around)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.before(middle, around) <= cycle else (low, middle)
        return low

    @property
    def omitted(self) -> int:
        """The cycles of the copies that the timeline leaves out, in the first copy of the repeats around it."""
        return self.total() - self.cycles


def weights(repeats: Sequence[Repeat], ranges: Sequence[tuple[int, int]], length: int) -> Column:
    """Returns how often each of `length` parts of a timeline occurs; each repeat is a range of parts."""
    found = np.ones(length, np.int64)
    for number, (repeat, (low, high)) in enumerate(zip(repeats, ranges, strict=True)):
        times = np.full(high - low, repeat.extra + 1, np.int64)
        for inner, (first, last) in zip(repeats[:number], ranges, strict=False):
            if inner.over == number and inner.more:
                copies = repeat.extra + 1
                times[first - low : last - low] = copies * (inner.extra + 1) + inner.more * copies * (copies - 1) // 2
        if not repeat.more:
            found[low:high] *= times
    return found
