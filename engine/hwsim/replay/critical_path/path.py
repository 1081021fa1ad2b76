"""Critical paths as values: steps backward in time, and loops of steps whose cost does not depend on trip counts.

In iterations of a triangular loop the path runs through more or fewer copies of the repeats inside. So the occurrences of an inner loop of
the path are affine in the occurrences of the loops around it, and times are polynomials in them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from ..repeats import ONE, Copied, summed
from ..series import Column, Copies, Series, added, constant


class PathStep(NamedTuple):
    """A task on the path, in real cycles: the path runs through it from `start` to `until`.

    `cause` is what the next task on the path waited for: "engine" for the end of this one on the same engine, "data" or "slot" for `cell`,
    "issue" for its start, which freed a place in a queue, "end" for the end of the run. `port` are cycles of waits for ports in between.
    """

    row: int
    start: int
    until: int
    cause: str
    cell: int
    port: int


class PathTask(NamedTuple):
    """A step by its length. `tried` are the tasks that were compared with the start of the next one before this one was found: their rows,
    and how many cycles later they would have had to be.
    """

    row: int
    cycles: int
    cause: str
    cell: int
    port: int
    tried: tuple[tuple[int, int], ...] = ()

    def until(self, cycle: int) -> PathStep:
        return PathStep(self.row, cycle - self.cycles, cycle, self.cause, self.cell, self.port)


class PathLoop(Copied, msgspec.Struct, frozen=True, dict=True):
    """A part of the path, backward in time, that occurs several times: copy 0 is the last in time."""

    number: int
    steps: tuple[PathTask | PathLoop, ...]
    length: Series
    extra: int
    more: Mapping[int, int]


Steps = Sequence[PathTask | PathLoop]


class Path(NamedTuple):
    """A path: its steps, backward in time from cycle `until`."""

    until: int
    steps: tuple[PathTask | PathLoop, ...]


def path_loop(number: int, steps: Steps, extra: int, more: Mapping[int, int] | None = None) -> PathLoop:
    """Returns a loop of these steps."""
    return PathLoop(number, tuple(steps), summed_over(steps, lambda task: task.cycles), extra, more or {})


def summed_over(steps: Steps, amount: Callable[[PathTask], int]) -> Series:
    """Returns the sum over all tasks of some steps, by the copies of the loops around."""
    return added(
        constant(amount(step)) if isinstance(step, PathTask) else step.summed(summed_over(step.steps, amount))
        for step in steps
    )


def steps_between(path: Path, start: int, end: int) -> Iterator[PathStep]:
    """Yields the steps at work from `start` to `end`, exclusive, backward in time; parts of the path outside cost nothing."""
    yield from _between(path.steps, path.until, start, end, {})


def _between(steps: Steps, until: int, start: int, end: int, copies: Copies) -> Iterator[PathStep]:
    for step in steps:
        if until < start:
            return
        if isinstance(step, PathTask):
            found = step.until(until)
            if found.until > start and found.start < end:
                yield found
            until = found.start
            continue
        total = step.total(copies)
        if until - total < end:
            first = step.copy_at(until - end, copies) if until > end else 0
            for copy in range(first, step.copies(copies)):
                last = until - step.before(copy, copies)
                if last < start:
                    break
                yield from _between(step.steps, last, start, end, {**copies, step.number: copy})
        until -= total


def totals(path: Path) -> Iterator[tuple[PathTask, int]]:
    """Yields each step of the path once, with the number of its occurrences."""
    return _totals(path.steps, ())


def _totals(steps: Steps, around: tuple[PathLoop, ...]) -> Iterator[tuple[PathTask, int]]:
    times = summed(ONE, around)
    for step in steps:
        if isinstance(step, PathTask):
            yield step, times
        else:
            yield from _totals(step.steps, (*around, step))


class PathDensity:
    """The cycles of a path in each band of its tasks; `bands` has the band of each row of the timeline."""

    def __init__(self, path: Path, bands: Sequence[int], count: int) -> None:
        self._path, self._bands, self._count = path, bands, count
        self._known: dict[int, list[Series]] = {}

    def after(self, times: Column) -> Column:
        """Returns the cycles of each band (a column) after each time (a row)."""
        return self._last(self._path.steps, self._path.until - times, {})

    def _last(self, steps: Steps, cycles: Column, copies: Copies) -> Column:
        """Returns the cycles of each band in the last `cycles` cycles of some steps."""
        lengths = [step.cycles if isinstance(step, PathTask) else step.total(copies) for step in steps]
        edges = np.cumsum([0, *lengths])
        spent = np.zeros((len(steps) + 1, self._count), np.int64)
        for n, step in enumerate(steps):
            if isinstance(step, PathTask):
                spent[n + 1, self._bands[step.row]] = step.cycles
            else:
                spent[n + 1] = self._copies(step, np.array([step.copies(copies)]), copies)[0]
        cycles = np.clip(cycles, 0, edges[-1])
        at = np.maximum(np.searchsorted(edges, cycles) - 1, 0)
        found, rest = np.cumsum(spent, axis=0)[at], cycles - edges[at]
        for n in map(int, np.unique(at[rest > 0])):
            step, rows = steps[n], np.flatnonzero((at == n) & (rest > 0))
            if isinstance(step, PathTask):
                found[rows, self._bands[step.row]] += rest[rows]
            else:
                found[rows] += self._within(step, rest[rows], copies)
        return found

    def _within(self, loop: PathLoop, cycles: Column, copies: Copies) -> Column:
        """Returns the cycles of each band in the last `cycles` cycles of a loop."""
        if not loop.length.degree:
            copy, rest = np.divmod(cycles, loop.cycles)
            return self._copies(loop, copy, copies) + self._last(loop.steps, rest, copies)
        copy = np.array([loop.copy_at(cycle, copies) for cycle in cycles.tolist()])
        found = self._copies(loop, copy, copies)
        for n in np.unique(copy).tolist():
            rows = copy == n
            rest = cycles[rows] - loop.before(n, copies)
            found[rows] += self._last(loop.steps, rest, {**copies, loop.number: n})
        return found

    def _copies(self, loop: PathLoop, count: Column, copies: Copies) -> Column:
        """Returns the cycles of each band in the last `count` copies of a loop."""
        if loop.number not in self._known:
            bands = range(self._count)
            self._known[loop.number] = [summed_over(loop.steps, self._in(b)).summed(loop.number) for b in bands]
        at = {number: np.full_like(count, copy) for number, copy in copies.items()}
        at[loop.number] = count
        return np.stack([np.broadcast_to(s.at(at), count.shape) for s in self._known[loop.number]], axis=1)

    def _in(self, band: int) -> Callable[[PathTask], int]:
        return lambda task: task.cycles if self._bands[task.row] == band else 0
