"""Repeats of a timeline: intervals that occur once in compressed time and several times in real time.

The iterations of a triangular loop differ in the trip counts of inner loops only. With each copy of such a repeat, repeats inside of it
have some more copies. So the number of copies is affine in the copies around, and times are polynomials in them.

    outer   ──┬──A──┬─────         each copy of the outer repeat has one more copy of A
    real    ──A──┬──A──A──┬──A──A──A──┬──
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np
from propcache.api import cached_property

from .series import Column, Copies, Number, Series, added, constant, newton

Place = tuple[int, ...]
"""Iterations of the loops around a task, outermost first."""

ONE = constant(1)


class Copied:
    """What occurs in copies, `length` cycles each: `extra` + 1 of them, and `more` with each copy of something around, by its number."""

    number: int
    length: Series
    extra: int
    more: Mapping[int, int]

    def copies(self, around: Mapping[int, Number]) -> Number | int:
        """Returns the number of copies in these copies of what is around."""
        found: Number | int = self.extra + 1
        for number, more in self.more.items():
            found = found + more * around.get(number, 0)
        return found

    @cached_property
    def _begins(self) -> Series:
        return self.length.summed(self.number)

    def before(self, copy: int, around: Copies) -> int:
        """Returns the cycles from the first copy to the start of another one."""
        return self._begins.at({**around, self.number: copy})

    def total(self, around: Copies) -> int:
        """Returns the cycles of all copies."""
        return self.before(self.copies(around), around)

    def copy_at(self, cycle: int, around: Copies) -> int:
        """Returns the copy at a cycle from the start of the first one."""
        if not self.length.degree:
            return cycle // self.cycles
        low, high = 0, self.copies(around)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.before(middle, around) <= cycle else (low, middle)
        return low

    def summed(self, series: Series) -> Series:
        """Returns the sum of a series over all copies, by the copies of what is around."""
        found = series.summed(self.number)
        variables = (found.variables - {self.number}) | self.more.keys()
        return newton(lambda around: found.at({**around, self.number: self.copies(around)}), variables, found.degree)

    @cached_property
    def cycles(self) -> int:
        """The cycles of the first copy."""
        return self.length.at({})


class Repeat(Copied, msgspec.Struct, frozen=True, dict=True):
    """A repeat: the interval of the timeline from `start` to `end` occurs `extra` more times. `number` is its place in the list of repeats.

    `length` are the real cycles of a copy, repeats inside of the interval included; `start` and `end` are compressed times. Its tasks
    are those from `first` to `last`, exclusive, in the order of issue: `iterations` of the loop at `depth` among the loops around, or of
    several loops that run as one from there on, of these `extents`.

    With each copy of a repeat around it, by its number, the repeat has `more` copies; `extra` are those in the first ones. `moves` are the
    rows whose inner loops are at later iterations in each copy, with their increase.
    """

    number: int
    start: int
    end: int
    length: Series
    extra: int
    first: int
    last: int
    depth: int
    extents: tuple[int, ...]
    iterations: int
    more: Mapping[int, int] = msgspec.field(default_factory=dict[int, int])
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

    def iteration(self, place: Place) -> int:
        """Returns the iteration of a place in the repeat's loops, counted as one loop."""
        found = 0
        for i, extent in zip(place[self.depth : self.depth + len(self.extents)], self.extents, strict=True):
            found = found * extent + i
        return found

    @cached_property
    def is_constant(self) -> bool:
        """Whether all copies together last as long in any copies of the repeats around."""
        return not self.more and self.length.variables <= {self.number}

    @cached_property
    def lengthens(self) -> Series:
        """The cycles of all copies but those that the timeline shows, by the copies around."""
        return added((self.summed(self.length), constant(self.start - self.end)))

    @cached_property
    def omitted(self) -> int:
        """The cycles of the copies that the timeline leaves out, in the first copies of the repeats around it."""
        return self.total({}) - self.cycles


def length_of(cycles: int, inside: Sequence[Repeat]) -> Series:
    """Returns the length of tasks with these repeats that are `cycles` long in compressed time."""
    inner = [repeat for repeat, around in nested(inside) if len(around) == 1]
    return added((constant(cycles), *(repeat.lengthens for repeat in inner)))


def nested(repeats: Sequence[Repeat]) -> Iterator[tuple[Repeat, list[Repeat]]]:
    """Yields the repeats in the order of their rows, outer before inner, each with those around it and itself, the outermost first."""
    around: list[Repeat] = []
    for repeat in sorted(repeats, key=lambda r: (r.first, -r.last, -r.number)):
        while around and not (around[-1].first <= repeat.first and repeat.last <= around[-1].last):
            around.pop()
        around.append(repeat)
        yield repeat, list(around)


def summed(series: Series, around: Sequence[Copied]) -> int:
    """Returns the sum of a series over all copies of what is nested, the outermost first."""
    for repeat in reversed(around):
        series = repeat.summed(series)
    return series.at({})


def runs_of(repeats: Sequence[Repeat]) -> dict[int, int]:
    """Returns how often the interval of each repeat occurs in the whole run, by number, outer ones before inner ones."""
    return {repeat.number: summed(ONE, around) for repeat, around in nested(repeats)}


def weights(repeats: Sequence[Repeat], ranges: Sequence[tuple[int, int]], length: int) -> Column:
    """Returns how often each of `length` parts of a timeline occurs; each repeat is a range of parts."""
    found = np.ones(length, np.int64)
    for number, runs in runs_of(repeats).items():
        low, high = ranges[number]
        found[low:high] = runs
    return found
