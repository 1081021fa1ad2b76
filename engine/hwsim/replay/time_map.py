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

from .repeats import ITSELF, Column, Repeat


class Moment(NamedTuple):
    """A moment of real time: its compressed time, and for each repeat around it (its number, the number of its copy)."""

    simulated: int
    copies: tuple[tuple[int, int], ...]


class TimeInterval(NamedTuple):
    """The compressed interval from `start` to `end`, which occurs `later` in real time."""

    start: int
    end: int
    later: int


_Copies = dict[int, int]
"""The copy of each repeat around, by its number."""


class _Span:
    """A repeat with its inner repeats."""

    def __init__(self, number: int, repeat: Repeat) -> None:
        self.number, self.repeat = number, repeat
        self.start, self.end = repeat.start, repeat.end
        self.inside: list[_Span] = []
        self._known: dict[int, list[int]] = {}

    def around(self, copies: _Copies) -> int:
        """Returns the copy of the repeat over which this one grows."""
        return 0 if self.repeat.over == ITSELF else copies[self.repeat.over]

    def offsets(self, copies: _Copies) -> list[int]:
        """Returns the starts of the inner repeats in real time, relative to a copy of this one."""
        over = next((s.repeat.over for s in self.inside if s.repeat.over != ITSELF), ITSELF)
        key = ITSELF if over == ITSELF else copies[over]
        if key not in self._known:
            later, found = -self.start, list[int]()
            for span in self.inside:
                found.append(span.start + later)
                later += span.repeat.total(span.around(copies)) - (span.end - span.start)
            if key != ITSELF:
                return found
            self._known[key] = found
        return self._known[key]

    def finalize(self) -> None:
        self.inside.sort(key=lambda span: span.start)
        for span in self.inside:
            span.finalize()


class TimeMap:
    """The repeats of a timeline as a tree of intervals; without repeats, both times are equal."""

    def __init__(self, repeats: Sequence[Repeat] = (), length: int = 0) -> None:
        self.repeats = tuple(repeats)
        self._root = _Span(-1, Repeat(0, length, length, 0, 0, 0, 0, (), 0))
        spans = [_Span(number, repeat) for number, repeat in enumerate(self.repeats) if repeat.end > repeat.start]
        self._around: dict[int, tuple[int, ...]] = {}
        around = [self._root]
        # Of two with equal extent the later one is outside: inner ones are found first.
        for span in sorted(spans, key=lambda s: (s.start, -s.end, -s.number)):
            while len(around) > 1 and around[-1].end < span.end:
                around.pop()
            around[-1].inside.append(span)
            around.append(span)
            self._around[span.number] = tuple(s.number for s in around[1:])
        self._root.finalize()

    def at(self, cycle: int) -> Moment:
        """Returns the compressed moment of a real cycle."""
        span, begun = self._root, 0
        copies: _Copies = {}
        while True:
            offset = cycle - begun
            offsets = span.offsets(copies)
            k = bisect_right(offsets, offset) - 1
            if k < 0:
                return Moment(span.start + offset, tuple(copies.items()))
            child = span.inside[k]
            within, around = offset - offsets[k], child.around(copies)
            total = child.repeat.total(around)
            if within >= total:
                return Moment(child.end + within - total, tuple(copies.items()))
            copy = copies[child.number] = child.repeat.at(within, around)
            begun += offsets[k] + child.repeat.before(copy, around)
            span = child

    def stretches(self, start: int, end: int) -> Iterator[TimeInterval]:
        """Yields the intervals of real time from `start` to `end`, exclusive, in order; the time outside costs nothing."""
        return self._within(self._root, 0, {}, start, end, every=True)

    def seen(self, start: int, end: int) -> Iterator[TimeInterval]:
        """Yields the same intervals with at most four copies of each repeat: sufficient for the minimum and the maximum."""
        return self._within(self._root, 0, {}, start, end, every=False)

    def _within(
        self, span: _Span, begun: int, copies: _Copies, start: int, end: int, *, every: bool
    ) -> Iterator[TimeInterval]:
        """Yields the intervals of one copy of `span` that begins at `begun` in real time."""
        offsets = span.offsets(copies)
        k = max(0, bisect_right(offsets, start - begun) - 1)
        simulated, clock = span.start, begun
        if k:
            before = span.inside[k - 1]
            simulated, clock = before.end, begun + offsets[k - 1] + before.repeat.total(before.around(copies))
        for child, offset in zip(span.inside[k:], offsets[k:], strict=True):
            yield from _clipped(simulated, child.start, clock - simulated, start, end)
            first, around, repeat = begun + offset, child.around(copies), child.repeat
            total = repeat.total(around)
            low = repeat.at(max(0, start - first), around) if start - first < total else repeat.copies(around)
            high = repeat.at(end - 1 - first, around) if 0 <= end - 1 - first < total else repeat.copies(around) - 1
            for copy in (
                range(low, high + 1) if every else sorted({*range(low, high + 1)[:2], *range(low, high + 1)[-2:]})
            ):
                inner = {**copies, child.number: copy}
                yield from self._within(child, first + repeat.before(copy, around), inner, start, end, every=every)
            if first + total >= end:
                return
            simulated, clock = child.end, first + total
        yield from _clipped(simulated, span.end if span is not self._root else end, clock - simulated, start, end)

    def levels(self) -> dict[int, int]:
        """Returns the nesting depth of each repeat."""
        found: dict[int, int] = {}
        stack = [(span, 0) for span in self._root.inside]
        while stack:
            span, level = stack.pop()
            found[span.number] = level
            stack += [(inner, level + 1) for inner in span.inside]
        return found

    def around(self, number: int) -> tuple[int, ...]:
        """Returns the numbers of the repeats around one, the outermost first, and its own; none if it takes no time."""
        return self._around.get(number, ())

    def passed(self, moments: Sequence[Moment]) -> Column:
        """Returns for each moment and repeat the number of its runs that ended by then, except the one that compressed time shows."""
        simulated = np.array([m.simulated for m in moments], np.int64)
        found = np.zeros((len(moments), len(self.repeats)), np.int64)
        copies = np.full((len(moments), len(self.repeats)), -1, np.int64)
        for row, moment in enumerate(moments):
            for number, copy in moment.copies:
                copies[row, number] = copy
        for number in self._around:
            found[:, number] = self._runs(self._around[number], simulated, copies)
            found[:, number] -= simulated >= self.repeats[number].end
        return found

    def _runs(self, around: Sequence[int], simulated: Column, copies: Column) -> Column:
        """Returns the number of runs of the last of nested repeats that ended by each moment, in the copies that are under way."""
        first, *inner = around
        repeat, under_way = self.repeats[first], copies[:, first]
        over = copies[:, repeat.over] if repeat.over != ITSELF else np.zeros_like(simulated)
        is_over = (simulated >= repeat.end) * repeat.copies(over)
        passed = np.where(under_way >= 0, under_way, is_over)
        if not inner:
            return passed
        return self._inside(first, inner, passed, over) + np.where(
            under_way >= 0, self._runs(inner, simulated, copies), 0
        )

    def _inside(self, first: int, inner: Sequence[int], copies: Column, over: Column) -> Column:
        """Returns the number of runs of the last of `inner` in the first copies of the repeat around it, in copy `over` of another."""
        found = copies
        for number in inner:
            repeat = self.repeats[number]
            # The sum over all copies of the repeat over which this one grows is their number times the mean.
            if repeat.over == first:
                grown = found * (copies - 1) // 2
            elif repeat.over in inner:
                grown = found * self.repeats[repeat.over].extra // 2
            else:
                grown = found * over
            found = found * (repeat.extra + 1) + repeat.more * grown
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
        self._own = self._per_run()

    def before(self, cycles: Sequence[int]) -> Column:
        """Returns the real cycles that each band (a column) lasts before each of `cycles` (a row)."""
        moments = [self._folding.at(cycle) for cycle in cycles]
        simulated = np.array([m.simulated for m in moments], np.int64)
        return self._simulated(simulated) + self._folding.passed(moments) @ self._own

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

    def _per_run(self) -> Column:
        """Returns the band cycles of one copy of each repeat, without its inner repeats."""
        repeats = self._folding.repeats
        if not repeats:
            return np.zeros((0, self.count), np.int64)
        edges = self._simulated(np.array([r.start for r in repeats] + [r.end for r in repeats], np.int64))
        simulated = edges[len(repeats) :] - edges[: len(repeats)]
        found = simulated.copy()
        for number in range(len(repeats)):
            around = self._folding.around(number)
            if len(around) > 1:
                found[around[-2]] -= simulated[number]
        return found
