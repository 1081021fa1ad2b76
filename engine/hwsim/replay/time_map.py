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

from .repeats import ONE, Repeat
from .series import Column, Copies, Series


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
    """A repeat with its inner repeats."""

    def __init__(self, repeat: Repeat) -> None:
        self.number, self.repeat = repeat.number, repeat
        self.start, self.end = repeat.start, repeat.end
        self.inside: list[_Span] = []
        self._offsets: list[int] | None = None

    def offsets(self, copies: Copies) -> list[int]:
        """Returns the starts of the inner repeats in real time, relative to a copy of this one."""
        if self._offsets is not None:
            return self._offsets
        later, found = -self.start, list[int]()
        for span in self.inside:
            found.append(span.start + later)
            later += span.repeat.total(copies) - (span.end - span.start)
        if all(span.repeat.is_constant for span in self.inside):
            self._offsets = found
        return found

    def finalize(self) -> None:
        self.inside.sort(key=lambda span: span.start)
        for span in self.inside:
            span.finalize()


class TimeMap:
    """The repeats of a timeline as a tree of intervals; without repeats, both times are equal."""

    def __init__(self, repeats: Sequence[Repeat] = (), length: int = 0) -> None:
        self.repeats = tuple(repeats)
        self._root = _Span(Repeat(-1, 0, length, Series(), 0, 0, 0, 0, (), 0))
        spans = [_Span(repeat) for repeat in self.repeats if repeat.end > repeat.start]
        self._around: dict[int, tuple[int, ...]] = {}
        self._known: dict[int, list[Series]] = {}
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
        copies: dict[int, int] = {}
        while True:
            offset = cycle - begun
            offsets = span.offsets(copies)
            k = bisect_right(offsets, offset) - 1
            if k < 0:
                return Moment(span.start + offset, tuple(copies.items()))
            child = span.inside[k]
            within = offset - offsets[k]
            total = child.repeat.total(copies)
            if within >= total:
                return Moment(child.end + within - total, tuple(copies.items()))
            copy = copies[child.number] = child.repeat.copy_at(within, copies)
            begun += offsets[k] + child.repeat.before(copy, copies)
            span = child

    def stretches(self, start: int, end: int) -> Iterator[TimeInterval]:
        """Yields the intervals of real time from `start` to `end`, exclusive, in order; the time outside costs nothing."""
        return self._within(self._root, 0, {}, start, end, every=True)

    def seen(self, start: int, end: int) -> Iterator[TimeInterval]:
        """Yields the same intervals with at most four copies of each repeat: sufficient for the minimum and the maximum."""
        return self._within(self._root, 0, {}, start, end, every=False)

    def _within(
        self, span: _Span, begun: int, copies: Copies, start: int, end: int, *, every: bool
    ) -> Iterator[TimeInterval]:
        """Yields the intervals of one copy of `span` that begins at `begun` in real time."""
        offsets = span.offsets(copies)
        k = max(0, bisect_right(offsets, start - begun) - 1)
        simulated, clock = span.start, begun
        if k:
            before = span.inside[k - 1]
            simulated, clock = before.end, begun + offsets[k - 1] + before.repeat.total(copies)
        for child, offset in zip(span.inside[k:], offsets[k:], strict=True):
            yield from _clipped(simulated, child.start, clock - simulated, start, end)
            first, repeat = begun + offset, child.repeat
            count, total = repeat.copies(copies), repeat.total(copies)
            low = repeat.copy_at(max(0, start - first), copies) if start - first < total else count
            high = repeat.copy_at(end - 1 - first, copies) if 0 <= end - 1 - first < total else count - 1
            for copy in (
                range(low, high + 1) if every else sorted({*range(low, high + 1)[:2], *range(low, high + 1)[-2:]})
            ):
                inner = {**copies, child.number: copy}
                yield from self._within(child, first + repeat.before(copy, copies), inner, start, end, every=every)
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
        found, under_way = np.zeros_like(simulated), np.ones(len(simulated), bool)
        chosen: dict[int, Column] = {}
        for number, runs in zip(around, self._sums(around), strict=True):
            repeat, column = self.repeats[number], copies[:, number]
            passed = np.where(column >= 0, column, (simulated >= repeat.end) * repeat.copies(chosen))
            found += np.where(under_way, runs.at({**chosen, number: passed}), 0)
            under_way &= column >= 0
            chosen[number] = np.maximum(column, 0)
        return found

    def _sums(self, around: Sequence[int]) -> list[Series]:
        """Returns for each of nested repeats the number of runs of the last one in its first n copies."""
        found = self._known.get(around[-1])
        if found is None:
            found, runs = self._known.setdefault(around[-1], []), ONE
            for number in reversed(around):
                found.insert(0, runs.summed(number))
                runs = self.repeats[number].summed(runs)
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
