"""A window of the timeline: every task, wait and tile if they fit, else their share of each bin of time. The cost does not depend on trip
counts: events outside of the window are skipped. The browser cuts the windows of most runs itself, from the whole run in compressed time
(`whole_run`, `static/components/timeline/scene.js`).

Folded windows use compressed time, in which each repeat occurs once; others use real time. Both are sent relative to `start`.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from itertools import islice, pairwise
from sys import maxsize
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ....engine.hwsim import TimeMap
from ....engine.hwsim.replay.time_map import TimeInterval
from ..labels.values import Answer, Value
from .data import TimelineData
from .spans import Column, Spans

MAX_EVENTS = 1_500
"""More tasks than this are drawn as bins: a browser draws up to this number with labels in a few milliseconds."""

MAX_RUN = 4_000
"""A run of more tasks in compressed time is not sent as a whole: so many take 200 KiB, and 5 ms to encode."""

BINS = 360
"""The maximum number of bins; a bin is then about two pixels wide."""

MAX_NUMBERS = 24_000
"""The maximum number of values of all bands together."""

CORNERS = 600
"""The maximum number of corners in a memory's line; a line with more is sent as the minimum and maximum of each bin."""


class TaskColumns(Value, frozen=True):
    """Tasks by start, relative to the window. `place` has the iterations of the loops around, `row` numbers in compressed time."""

    kind: list[int]
    start: list[int]
    length: list[int]
    place: list[tuple[int, ...]]
    row: list[int]


class Intervals(Value, frozen=True):
    """Intervals relative to the window, and the entry of a table that each is of."""

    start: list[int]
    length: list[int]
    of: list[int]


class MemoryLine(Value, frozen=True):
    """The bytes of a memory from each of `at` on; `least` if a bin covers several values."""

    at: list[int]
    live: list[int]
    allocated: list[int]
    least: list[int]


Band = tuple[int, str]
"""The number of a template, stall or cell, and its share of each bin, as bytes in base 64."""


class Bins(Value, frozen=True):
    """The bands of a window; empty ones are left out."""

    count: int
    task: list[Band]
    wait: list[Band]
    overlap: list[Band]
    fill: list[Band]
    live: list[Band]


class Window(Value, frozen=True, kw_only=True):
    """A window from cycle `start` to `end`; `folded`: in compressed time."""

    folded: bool
    start: int
    end: int
    bytes: list[MemoryLine]


class ExactWindow(Window, frozen=True, kw_only=True):
    """A window with all its events; in `overlaps` at least two engines are busy."""

    exact: Literal[True] = True
    tasks: TaskColumns
    waits: Intervals
    overlaps: Intervals
    fills: Intervals
    lives: Intervals


class BinnedWindow(Window, frozen=True, kw_only=True):
    """A window with too many tasks, as bins."""

    exact: Literal[False] = False
    bins: Bins


class WindowAnswer(Answer, frozen=True, tag="window"):
    """A requested window of the report."""

    ticket: int
    report: int
    window: ExactWindow | BinnedWindow


def whole_run(data: TimelineData, most: int = MAX_RUN) -> ExactWindow | None:
    """All events and bytes in compressed time; None if there are more than `most` tasks."""
    if len(data.line.starts) > most:
        return None
    found = window(data, 0, data.length, folded=True, most=most, corners=maxsize - 1)
    return found if isinstance(found, ExactWindow) else None


def whole_bins(data: TimelineData, *, folded: bool, most: int = MAX_EVENTS) -> list[BinnedWindow]:
    """The whole run as bins; empty if there are at most `most` tasks."""
    end = data.length if folded else data.report.cycles
    if data.tasks_between(0, end, folded=folded) <= most:
        return []
    found = window(data, 0, end, folded=folded, most=most)
    return [found] if isinstance(found, BinnedWindow) else []


def window(
    data: TimelineData, start: int, end: int, *, folded: bool, most: int = MAX_EVENTS, corners: int = CORNERS
) -> ExactWindow | BinnedWindow:
    """The window from `start` to `end`, exclusive. With more than `most` tasks, bins replace the events."""
    time_map = data.identity_map if folded else data.time_map
    total = data.length if folded else data.report.cycles
    start = min(max(0, start), max(0, total - 1))
    end = min(max(start + 1, end), max(total, start + 1))
    lines = memory_lines(data, time_map, start, end, corners)
    if data.tasks_between(start, end, folded=folded) > most:
        bins = _bins(data, start, end, folded=folded)
        return BinnedWindow(folded=folded, start=start, end=end, bytes=lines, bins=bins)
    intervals = list(time_map.stretches(start, end))
    fills, lives = (_pieces(spans, intervals, start) for spans in data.tile_spans)
    return ExactWindow(
        folded=folded,
        start=start,
        end=end,
        bytes=lines,
        tasks=tasks_of(data, start, end, folded=folded),
        waits=_pieces(data.wait_spans, intervals, start),
        overlaps=_pieces(data.overlaps, intervals, start),
        fills=fills,
        lives=lives,
    )


def tasks_of(data: TimelineData, start: int, end: int, *, folded: bool) -> TaskColumns:
    """The tasks at work from `start` to `end`; in compressed time with their rows, so that iterations of a repeat can be counted on."""
    line = data.line
    if folded:
        rows = np.flatnonzero((line.starts < end) & (np.maximum(line.there, line.starts + 1) > start))
        later = np.zeros(len(rows), np.int64)
        places = [line.places[n] for n in rows.tolist()]
    else:
        found = list(line.unrolled(start, end))
        rows = np.array([r.row for r in found], np.int64)
        later = np.array([r.later for r in found], np.int64)
        places = [r.place for r in found]
    order = np.argsort(line.starts[rows] + later, kind="stable")
    rows, later = rows[order], later[order]
    return TaskColumns(
        data.kind_of[rows].tolist(),
        (line.starts[rows] + later - start).tolist(),
        (line.ends[rows] - line.starts[rows]).tolist(),
        [places[n] for n in order.tolist()],
        rows.tolist() if folded else [],
    )


def _pieces(spans: Spans, intervals: Iterable[TimeInterval], origin: int) -> Intervals:
    """The spans within the intervals; pieces that were cut at the seam between two intervals are joined again."""
    reach = np.maximum.accumulate(spans.ends) if len(spans.ends) else spans.ends
    found: list[tuple[npt.NDArray[Any], ...]] = []
    for x in intervals:
        first, last = int(np.searchsorted(reach, x.start, "right")), int(np.searchsorted(spans.starts, x.end))
        starts, ends, of = spans.starts[first:last], spans.ends[first:last], spans.of[first:last]
        kept = ends > x.start
        starts, ends, of = starts[kept], ends[kept], of[kept]
        later = x.later - origin
        low, high = np.maximum(starts, x.start) + later, np.minimum(ends, x.end) + later
        found.append((low, high, of, starts < x.start, ends > x.end))
    if not found:
        return Intervals([], [], [])
    low, high, of, goes_before, goes_on = (np.concatenate(c) for c in zip(*found, strict=True))
    order = np.lexsort((low, of))
    low, high, of, goes_before, goes_on = (c[order] for c in (low, high, of, goes_before, goes_on))
    joins = (of[1:] == of[:-1]) & (low[1:] == high[:-1]) & goes_on[:-1] & goes_before[1:]
    begins = np.flatnonzero(np.concatenate([[True], ~joins])) if len(low) else np.zeros(0, np.int64)
    until = np.concatenate([begins[1:], [len(low)]])[: len(begins)] - 1
    starts, ends, of = low[begins], high[until], of[begins]
    order = np.argsort(starts, kind="stable")
    return Intervals(starts[order].tolist(), (ends - starts)[order].tolist(), of[order].tolist())


def edges_of(start: int, end: int, bins: int) -> list[int]:
    """The cycles that divide an interval into bins of about the same width."""
    bins = max(1, min(bins, end - start))
    return [start + (end - start) * n // bins for n in range(bins + 1)]


def _bins(data: TimelineData, start: int, end: int, *, folded: bool) -> Bins:
    """Each band's share of each bin, as bytes in base 64; empty bands are left out."""
    bands = data.bands
    edges = edges_of(start, end, min(BINS, max(60, MAX_NUMBERS // max(1, len(bands)))))
    shares = (data.compressed_density if folded else data.real_time_density).shares(edges)
    found: dict[str, list[Band]] = {"task": [], "wait": [], "overlap": [], "fill": [], "live": []}
    for n, (what, number) in enumerate(bands):
        if shares[:, n].any():
            found[what].append((number, packed(shares[:, n])))
    return Bins(len(edges) - 1, **found)


def packed(shares: Sequence[float] | np.ndarray[Any, np.dtype[np.float64]]) -> str:
    """Shares from 0 to 1 as bytes in base 64. Rounds up, so that a busy engine never appears idle."""
    values = np.asarray(shares, np.float64)
    levels = np.clip(np.ceil(values * 255 - 1e-9), 0, 255)
    return base64.b64encode(levels.astype(np.uint8).tobytes()).decode()


def memory_lines(data: TimelineData, time_map: TimeMap, start: int, end: int, most: int = CORNERS) -> list[MemoryLine]:
    """The bytes of each memory, with at most so many corners."""
    intervals = list(islice(time_map.stretches(start, end), most + 1))
    binned: Extremes | None = None
    found: list[MemoryLine] = []
    for columns in data.steps:
        exact = _corners(*columns, intervals, start, most) if len(intervals) <= most else None
        if exact is None:
            binned = binned or Extremes(time_map, edges_of(start, end, BINS // 2))
            exact = binned.of(*columns)
        found.append(exact)
    return found


def _corners(
    times: Column, live: Column, allocated: Column, intervals: Sequence[TimeInterval], origin: int, most: int
) -> MemoryLine | None:
    """Every corner of the lines; None if there are more than `most`."""
    cuts: list[tuple[Column, Column]] = []
    count = 0
    for x in intervals:
        first, last = int(np.searchsorted(times, x.start, "right")) - 1, int(np.searchsorted(times, x.end))
        numbers = np.arange(max(0, first), last)
        cuts.append((np.maximum(times[numbers], x.start) + x.later - origin, numbers))
        count += len(numbers)
        if count > most:
            return None
    if not count:
        return MemoryLine([0], [0], [0], [])
    at, numbers = (np.concatenate(c) for c in zip(*cuts, strict=True))
    changes = np.concatenate([[True], (np.diff(live[numbers]) != 0) | (np.diff(allocated[numbers]) != 0)])
    at, numbers = at[changes], numbers[changes]
    return MemoryLine(at.tolist(), live[numbers].tolist(), allocated[numbers].tolist(), [])


class Extremes:
    """The minimum and maximum of lines in each bin between edges. The compressed intervals of each bin are found once for all lines."""

    def __init__(self, time_map: TimeMap, edges: Sequence[int]) -> None:
        seen = [(n, x.start, x.end) for n, (low, high) in enumerate(pairwise(edges)) for x in time_map.seen(low, high)]
        self._bins, self._from, self._until = np.array(seen, np.int64).T
        self._at = [edge - edges[0] for edge in edges[:-1]]

    def of(self, times: Column, live: Column, allocated: Column) -> MemoryLine:
        first = np.maximum(np.searchsorted(times, self._from, "right") - 1, 0)
        last = np.maximum(np.searchsorted(times, self._until), first + 1)
        most, least, held = (np.zeros(len(self._at), np.int64) for _ in range(3))
        least += np.iinfo(np.int64).max
        pairs = np.stack([first, last], axis=1).reshape(-1)
        for how, column, into in ((np.maximum, live, most), (np.minimum, live, least), (np.maximum, allocated, held)):
            # Every second slice of `reduceat` is a requested one; the extra entry lets the last slice end at the end of the column.
            how.at(into, self._bins, how.reduceat(np.append(column, column[-1:]), pairs)[::2])
        return MemoryLine(self._at, most.tolist(), held.tolist(), least.tolist())
