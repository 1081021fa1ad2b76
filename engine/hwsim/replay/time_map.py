"""Where a moment of the clock lies on a timeline whose repeats are drawn once, and how busy each of many bands is between two moments,
all repeats counted, without going through them.

    timeline  ──┬──A──┬─────────      folded: A is there once, and comes `extra` more times
    clock     ──┬──A──┬──A──┬──A──┬─────────
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .steady import Repeat

Column = npt.NDArray[np.int64]


class Moment(NamedTuple):
    """A moment of the clock: the time of the timeline as played, and of each repeat around it (its number, which of its copies)."""

    played: int
    copies: tuple[tuple[int, int], ...]


class TimeInterval(NamedTuple):
    """The timeline as played from `start` to `end`, as it comes `later` by the clock."""

    start: int
    end: int
    later: int


class _Span:
    """A repeat with those inside of it. `offsets` say when each of these begins, by the clock, in a copy of this one."""

    def __init__(self, number: int, repeat: Repeat) -> None:
        self.number, self.start, self.end = number, repeat.start, repeat.end
        self.cycles, self.extra = repeat.cycles, repeat.extra
        self.inside: list[_Span] = []
        self.offsets: list[int] = []

    @property
    def total(self) -> int:
        return self.cycles * (self.extra + 1)

    def settle(self) -> None:
        later = 0
        self.inside.sort(key=lambda span: span.start)
        for span in self.inside:
            self.offsets.append(span.start - self.start + later)
            later += span.total - (span.end - span.start)
            span.settle()


class TimeMap:
    """The repeats of a timeline as a tree of stretches; without any, the clock is that of the timeline."""

    def __init__(self, repeats: Sequence[Repeat] = (), length: int = 0) -> None:
        self.repeats = tuple(repeats)
        self._root = _Span(-1, Repeat(0, length, length, 0, 0, 0, 0, (), 0))
        spans = [_Span(number, repeat) for number, repeat in enumerate(self.repeats) if repeat.end > repeat.start]
        around = [self._root]
        # Of two of the same extent the later one is around the other: inner ones are found first.
        for span in sorted(spans, key=lambda s: (s.start, -s.end, -s.number)):
            while len(around) > 1 and around[-1].end < span.end:
                around.pop()
            around[-1].inside.append(span)
            around.append(span)
        self._root.settle()

    def at(self, cycle: int) -> Moment:
        """Where a cycle of the clock lies."""
        span, begun = self._root, 0
        copies: list[tuple[int, int]] = []
        while True:
            offset = cycle - begun
            k = bisect_right(span.offsets, offset) - 1
            if k < 0:
                return Moment(span.start + offset, tuple(copies))
            child = span.inside[k]
            within = offset - span.offsets[k]
            if within >= child.total:
                return Moment(child.end + within - child.total, tuple(copies))
            copy = within // child.cycles
            copies.append((child.number, copy))
            begun += span.offsets[k] + copy * child.cycles
            span = child

    def stretches(self, start: int, end: int) -> Iterator[TimeInterval]:
        """What the clock shows from `start` to `end`, exclusive, piece by piece; what lies outside is not gone through."""
        return self._within(self._root, 0, start, end, every=True)

    def seen(self, start: int, end: int) -> Iterator[TimeInterval]:
        """The same, where what comes again and again is there once or a few times only: enough to tell the least and the most."""
        return self._within(self._root, 0, start, end, every=False)

    def _within(self, span: _Span, begun: int, start: int, end: int, *, every: bool) -> Iterator[TimeInterval]:
        """The pieces of one copy of `span`, that begins at `begun` by the clock."""
        k = max(0, bisect_right(span.offsets, start - begun) - 1)
        played, clock = span.start, begun
        if k:
            before = span.inside[k - 1]
            played, clock = before.end, begun + span.offsets[k - 1] + before.total
        for child, offset in zip(span.inside[k:], span.offsets[k:], strict=True):
            yield from _clipped(played, child.start, clock - played, start, end)
            first = begun + offset
            low, high = max(0, (start - first) // child.cycles), min(child.extra, (end - 1 - first) // child.cycles)
            for copy in (
                range(low, high + 1) if every else sorted({*range(low, high + 1)[:2], *range(low, high + 1)[-2:]})
            ):
                yield from self._within(child, first + copy * child.cycles, start, end, every=every)
            if first + child.total >= end:
                return
            played, clock = child.end, first + child.total
        yield from _clipped(played, span.end if span is not self._root else end, clock - played, start, end)

    def inner_first(self) -> Iterator[tuple[int, tuple[int, ...]]]:
        """The number of each repeat with those of the repeats right inside of it, after these."""
        stack = [(span, False) for span in self._root.inside]
        while stack:
            span, is_done = stack.pop()
            if is_done:
                yield span.number, tuple(inner.number for inner in span.inside)
            else:
                stack += [(span, True), *((inner, False) for inner in span.inside)]

    def levels(self) -> dict[int, int]:
        """How many repeats stand around each."""
        found: dict[int, int] = {}
        stack = [(span, 0) for span in self._root.inside]
        while stack:
            span, level = stack.pop()
            found[span.number] = level
            stack += [(inner, level + 1) for inner in span.inside]
        return found

    def passed(self, moments: Sequence[Moment]) -> Column:
        """For each moment and repeat: how many more copies than the first have passed by then."""
        played = np.array([m.played for m in moments], np.int64)
        found = np.zeros((len(moments), len(self.repeats)), np.int64)
        for number, repeat in enumerate(self.repeats):
            found[:, number] = np.where(played >= repeat.end, repeat.extra, 0)
        for row, moment in enumerate(moments):
            for number, copy in moment.copies:
                found[row, number] = copy
        return found


def _clipped(played: int, until: int, later: int, start: int, end: int) -> Iterator[TimeInterval]:
    low, high = max(played, start - later), min(until, end - later)
    if low < high:
        yield TimeInterval(low, high, later)


class Density:
    """How much of each of many bands lies before a moment of the clock.

    A band is a set of intervals of the timeline as played: those from `starts` to `ends` whose `bands` entry is its number.
    """

    def __init__(self, starts: Column, ends: Column, bands: Column, count: int, folding: TimeMap) -> None:
        self.count = count
        self._folding = folding
        order = np.argsort(bands, kind="stable")
        cuts = np.searchsorted(bands[order], np.arange(1, count))
        sides = ([np.sort(part) for part in np.split(column[order], cuts)] for column in (starts, ends))
        # Each edge with the sum of all edges before it.
        self._sides = [[(edges, np.concatenate([[0], np.cumsum(edges)])) for edges in side] for side in sides]
        self._copies = self._per_copy()

    def before(self, cycles: Sequence[int]) -> Column:
        """Cycles of the clock that each band (a column) lasts before each of `cycles` (a row)."""
        moments = [self._folding.at(cycle) for cycle in cycles]
        played = np.array([m.played for m in moments], np.int64)
        return self._played(played) + self._folding.passed(moments) @ self._copies

    def shares(self, edges: Sequence[int]) -> npt.NDArray[np.float64]:
        """Which part of the time between each edge and the next (a row) each band takes (a column): 1.0 for all of it."""
        widths = np.maximum(np.diff(np.asarray(edges, np.float64)), 1e-9)
        return np.diff(self.before(edges), axis=0) / widths[:, None]

    def _played(self, times: Column) -> Column:
        """Of the timeline as played: what begins before a time lasts from then until the time, less what is after its end."""
        found = np.zeros((len(times), self.count), np.int64)
        for sign, side in zip((1, -1), self._sides, strict=True):
            for band, (edges, sums) in enumerate(side):
                before = np.searchsorted(edges, times)
                found[:, band] += sign * (before * times - sums[before])
        return found

    def _per_copy(self) -> Column:
        """What one copy of each repeat comes to, those inside of it counted."""
        repeats = self._folding.repeats
        found = np.zeros((len(repeats), self.count), np.int64)
        if not repeats:
            return found
        edges = self._played(np.array([r.start for r in repeats] + [r.end for r in repeats], np.int64))
        played = edges[len(repeats) :] - edges[: len(repeats)]
        for number, inside in self._folding.inner_first():
            found[number] = played[number]
            for inner in inside:
                found[number] += (repeats[inner].extra + 1) * found[inner] - played[inner]
        return found
