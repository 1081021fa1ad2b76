"""Map between compressed time, in which each repeat occurs once, and real time; and the density of bands of intervals over real time, all
repeats included, at a cost independent of their count.

    compressed  ──┬──A──┬─────────      A occurs once, with `extra` more copies
    real        ──┬──A──┬──A──┬──A──┬─────────
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
    """A moment of real time: its compressed time, and for each repeat around it (its number, the number of its copy)."""

    simulated: int
    copies: tuple[tuple[int, int], ...]


class TimeInterval(NamedTuple):
    """The compressed interval from `start` to `end`, which occurs `later` in real time."""

    start: int
    end: int
    later: int


class _Span:
    """A repeat with its inner repeats. `offsets` are their starts in real time, relative to a copy of this one."""

    def __init__(self, number: int, repeat: Repeat) -> None:
        self.number, self.start, self.end = number, repeat.start, repeat.end
        self.cycles, self.extra = repeat.cycles, repeat.extra
        self.inside: list[_Span] = []
        self.offsets: list[int] = []

    @property
    def total(self) -> int:
        return self.cycles * (self.extra + 1)

    def finalize(self) -> None:
        later = 0
        self.inside.sort(key=lambda span: span.start)
        for span in self.inside:
            self.offsets.append(span.start - self.start + later)
            later += span.total - (span.end - span.start)
            span.finalize()


class TimeMap:
    """The repeats of a timeline as a tree of intervals; without repeats, both times are equal."""

    def __init__(self, repeats: Sequence[Repeat] = (), length: int = 0) -> None:
        self.repeats = tuple(repeats)
        self._root = _Span(-1, Repeat(0, length, length, 0, 0, 0, 0, (), 0))
        spans = [_Span(number, repeat) for number, repeat in enumerate(self.repeats) if repeat.end > repeat.start]
        around = [self._root]
        # Of two with equal extent the later one is outside: inner ones are found first.
        for span in sorted(spans, key=lambda s: (s.start, -s.end, -s.number)):
            while len(around) > 1 and around[-1].end < span.end:
                around.pop()
            around[-1].inside.append(span)
            around.append(span)
        self._root.finalize()

    def at(self, cycle: int) -> Moment:
        """Returns the compressed moment of a real cycle."""
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
        """Yields the intervals of real time from `start` to `end`, exclusive, in order; the time outside costs nothing."""
        return self._within(self._root, 0, start, end, every=True)

    def seen(self, start: int, end: int) -> Iterator[TimeInterval]:
        """Yields the same intervals with at most four copies of each repeat: sufficient for the minimum and the maximum."""
        return self._within(self._root, 0, start, end, every=False)

    def _within(self, span: _Span, begun: int, start: int, end: int, *, every: bool) -> Iterator[TimeInterval]:
        """Yields the intervals of one copy of `span` that begins at `begun` in real time."""
        k = max(0, bisect_right(span.offsets, start - begun) - 1)
        simulated, clock = span.start, begun
        if k:
            before = span.inside[k - 1]
            simulated, clock = before.end, begun + span.offsets[k - 1] + before.total
        for child, offset in zip(span.inside[k:], span.offsets[k:], strict=True):
            yield from _clipped(simulated, child.start, clock - simulated, start, end)
            first = begun + offset
            low, high = max(0, (start - first) // child.cycles), min(child.extra, (end - 1 - first) // child.cycles)
            for copy in (
                range(low, high + 1) if every else sorted({*range(low, high + 1)[:2], *range(low, high + 1)[-2:]})
            ):
                yield from self._within(child, first + copy * child.cycles, start, end, every=every)
            if first + child.total >= end:
                return
            simulated, clock = child.end, first + child.total
        yield from _clipped(simulated, span.end if span is not self._root else end, clock - simulated, start, end)

    def inner_first(self) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Yields the number of each repeat with those of its direct inner repeats, after these."""
        stack = [(span, False) for span in self._root.inside]
        while stack:
            span, is_done = stack.pop()
            if is_done:
                yield span.number, tuple(inner.number for inner in span.inside)
            else:
                stack += [(span, True), *((inner, False) for inner in span.inside)]

    def levels(self) -> dict[int, int]:
        """Returns the nesting depth of each repeat."""
        found: dict[int, int] = {}
        stack = [(span, 0) for span in self._root.inside]
        while stack:
            span, level = stack.pop()
            found[span.number] = level
            stack += [(inner, level + 1) for inner in span.inside]
        return found

    def passed(self, moments: Sequence[Moment]) -> Column:
        """Returns for each moment and repeat the number of copies, beyond the first, that have passed by then."""
        simulated = np.array([m.simulated for m in moments], np.int64)
        found = np.zeros((len(moments), len(self.repeats)), np.int64)
        for number, repeat in enumerate(self.repeats):
            found[:, number] = np.where(simulated >= repeat.end, repeat.extra, 0)
        for row, moment in enumerate(moments):
            for number, copy in moment.copies:
                found[row, number] = copy
        return found


def _clipped(simulated: int, until: int, later: int, start: int, end: int) -> Iterator[TimeInterval]:
    low, high = max(simulated, start - later), min(until, end - later)
    if low < high:
        yield TimeInterval(low, high, later)


class Density:
    """Cumulative time of bands before a moment of real time.

    A band is a set of compressed intervals: those from `starts` to `ends` whose `bands` entry is its number.
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
        """Returns the real cycles that each band (a column) lasts before each of `cycles` (a row)."""
        moments = [self._folding.at(cycle) for cycle in cycles]
        simulated = np.array([m.simulated for m in moments], np.int64)
        return self._simulated(simulated) + self._folding.passed(moments) @ self._copies

    def shares(self, edges: Sequence[int]) -> npt.NDArray[np.float64]:
        """Returns the fraction of the time between each edge and the next (a row) that each band occupies (a column): 1.0 for all of it."""
        widths = np.maximum(np.diff(np.asarray(edges, np.float64)), 1e-9)
        return np.diff(self.before(edges), axis=0) / widths[:, None]

    def _simulated(self, times: Column) -> Column:
        """In compressed time: an interval that begins before a time lasts from then until the time, less the part after its end."""
        found = np.zeros((len(times), self.count), np.int64)
        for sign, side in zip((1, -1), self._sides, strict=True):
            for band, (edges, sums) in enumerate(side):
                before = np.searchsorted(edges, times)
                found[:, band] += sign * (before * times - sums[before])
        return found

    def _per_copy(self) -> Column:
        """Returns the band cycles of one copy of each repeat, including its inner repeats."""
        repeats = self._folding.repeats
        found = np.zeros((len(repeats), self.count), np.int64)
        if not repeats:
            return found
        edges = self._simulated(np.array([r.start for r in repeats] + [r.end for r in repeats], np.int64))
        simulated = edges[len(repeats) :] - edges[: len(repeats)]
        for number, inside in self._folding.inner_first():
            found[number] = simulated[number]
            for inner in inside:
                found[number] += (repeats[inner].extra + 1) * found[inner] - simulated[inner]
        return found
