"""A timeline as plain figures: lanes, bars in them, lines over them. `views.timeline` makes it, `components.timeline` draws it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

Column = npt.NDArray[np.int64]
Numbers = Sequence[int] | Column


class Bar(msgspec.Struct, frozen=True):
    """Something that lasts from cycle `start` to `end` in lane `lane`; `low` and `high` are fractions of the lane's height.

    `colour` is a colour index of the palette; `soft` bars are paler (memory that is being filled). `tip` is shown on hover.
    """

    lane: int
    start: int
    end: int
    tip: str
    colour: int
    low: float = 0.0
    high: float = 1.0
    soft: bool = False


class Bars:
    """Many bars as columns; a bar is made when it comes into sight.

    `band` numbers what may be drawn as one where there is no room: lane, height and paleness together. `make` gives bar `n`.
    """

    def __init__(self, start: Numbers, end: Numbers, band: Numbers, make: Callable[[int], Bar]) -> None:
        self.start = np.asarray(start, np.int64)
        self.end = np.asarray(end, np.int64)
        self.band = np.asarray(band, np.int64)
        self._make = make

    def __len__(self) -> int:
        return len(self.start)

    def in_sight(self, start: float, end: float, limit: int) -> list[Bar]:
        """The bars between `start` and `end`. Where there are more than `limit`, neighbours of one band become one bar.

        Every cycle that is busy stays covered: no lane looks idle that is not.
        """
        seen = np.nonzero((self.end > start) & (self.start < end))[0]
        if len(seen) <= limit:
            return [self._make(n) for n in seen.tolist()]
        return self._joined(seen, start, end, limit)

    def _joined(self, seen: Column, start: float, end: float, limit: int) -> list[Bar]:
        bands = max(1, len(np.unique(self.band[seen])))
        grain = (end - start) / max(1, limit // bands)
        column = ((self.start[seen] - start) // grain).astype(np.int64)
        order = np.lexsort((column, self.band[seen]))
        seen, column = seen[order], column[order]
        changes = (np.diff(self.band[seen]) != 0) | (np.diff(column) != 0)
        firsts = np.concatenate([[0], np.nonzero(changes)[0] + 1])
        starts = np.minimum.reduceat(self.start[seen], firsts).tolist()
        ends = np.maximum.reduceat(self.end[seen], firsts).tolist()
        counts = np.diff(np.append(firsts, len(seen))).tolist()
        bars: list[Bar] = []
        for first, from_, until, count in zip(seen[firsts].tolist(), starts, ends, counts, strict=True):
            bar = self._make(first)
            tip = bar.tip if count == 1 else f"{count} together, the first:\n{bar.tip}"
            bars.append(Bar(bar.lane, from_, until, tip, bar.colour, bar.low, bar.high, bar.soft))
        return bars


class Steps(msgspec.Struct, frozen=True, eq=False):
    """A quantity that holds `values[n]` (as a fraction of the lane's height) from `times[n]` on."""

    lane: int
    times: Column
    values: npt.NDArray[np.float64]

    def in_sight(self, start: float, end: float, limit: int) -> tuple[list[float], list[float]]:
        """The corners of the line between `start` and `end`; with too many of them, the highest of each stretch."""
        first = max(0, int(np.searchsorted(self.times, start, "right")) - 1)
        last = int(np.searchsorted(self.times, end, "right"))
        times, values = self.times[first:last].astype(np.float64), self.values[first:last]
        if not len(times):
            return [], []
        if len(times) > limit:
            firsts = np.arange(0, len(times), -(-len(times) // limit))
            times, values = times[firsts], np.maximum.reduceat(values, firsts)
        x = np.repeat(np.append(times, end), 2)[1:-1]
        return x.tolist(), np.repeat(values, 2).tolist()


class Lane(msgspec.Struct, frozen=True):
    """A row. A memory's has a line at `limit` (a fraction of its height) where its capacity is in sight; `limit_text` says how much,
    `over` whether it is exceeded."""

    name: str
    limit: float = 0.0
    limit_text: str = ""
    over: bool = False


class Excess(msgspec.Struct, frozen=True):
    """More than there is: in lane `lane` from cycle `start` to `end`, up to `high` (a fraction of the lane's height)."""

    lane: int
    start: int
    end: int
    high: float
    tip: str


class Again(msgspec.Struct, frozen=True):
    """What is drawn from `start` to `end` comes again: `text` says how often ("×63"). `level` counts the repeats around it."""

    start: int
    end: int
    text: str
    level: int
    tip: str


class Clock(msgspec.Struct, frozen=True, eq=False):
    """What the axis says: from `ends[n]` on, the clock is `later[n]` cycles ahead of what is drawn, for the repeats that are not."""

    ends: tuple[int, ...] = ()
    later: tuple[int, ...] = ()


NO_BARS = Bars((), (), (), lambda n: Bar(0, 0, 0, "", 0))


class Chart(msgspec.Struct, frozen=True, eq=False):
    """The engines above, the memories below, over the same `cycles`: as many as are drawn. What repeats is drawn once."""

    cycles: int = 0
    clock: Clock = Clock()
    repeats: tuple[Again, ...] = ()
    engines: tuple[Lane, ...] = ()
    engine_bars: Bars = NO_BARS
    memories: tuple[Lane, ...] = ()
    memory_bars: Bars = NO_BARS
    memory_steps: tuple[Steps, ...] = ()
    excesses: tuple[Excess, ...] = ()
