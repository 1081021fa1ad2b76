"""Tasks of a replay as columns, in compressed time (each repeat once) and in real time (repeats included)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from math import prod
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec.structs import replace
from propcache.api import cached_property

from ...cancellation import checkpoint
from ..errors import refuse
from ..tasks.tree import TaskProgram
from .clocks import TaskStall
from .cores.chip import ChipRun
from .repeats import Place, Repeat, weights
from .series import Column, Copies
from .stall_cycles import stall_cycles
from .steady import Simulated
from .time_map import TimeMap

MAX_COUNT = 2**62
"""Times, addresses and counts are kept in 64 bits."""


class Row(NamedTuple):
    """A task that the program runs: the row of its replayed task, its delay in real time, and its iterations of the loops around."""

    row: int
    later: int
    place: Place


class ReplayTimeline(msgspec.Struct, frozen=True, eq=False, dict=True):
    """A row for each replayed task, in program order, in compressed times: `starts`, `ends` (the engine is free again), `there` (the result
    is available). `times` is the number of runs, `numbers` the variant, `instances` the instance of its template, `units` the engine, one
    number for engines that share a unit.

    `places` are the iterations of the loops around each, `instances` these as one number, row-major. `free` is when each unit of engines
    completes its last task; `cycles` the makespan, in real cycles. On a chip the tasks are those of the first core.
    """

    numbers: Column
    places: list[Place]
    instances: Column
    starts: Column
    ends: Column
    there: Column
    times: Column
    engines: Column
    units: Column
    free: tuple[int, ...]
    stalls: list[TaskStall]
    repeats: tuple[Repeat, ...]
    cycles: int
    chip: ChipRun | None = None

    @property
    def length(self) -> int:
        """The makespan in compressed cycles."""
        return int(self.there.max(initial=0))

    @cached_property
    def time_map(self) -> TimeMap:
        """The map between compressed and real time."""
        return TimeMap(self.repeats, self.length)

    @property
    def counts(self) -> dict[int, int]:
        """The number of runs of each variant."""
        found: dict[int, int] = {}
        for number, times in zip(self.numbers.tolist(), self.times.tolist(), strict=True):
            found[number] = found.get(number, 0) + times
        return found

    def real(self, times: Sequence[int] | Column, *, ending: bool = False) -> Column:
        """Returns the real times of compressed times, in the first copy of all repeats. With `ending`, a time at the end of a repeat
        precedes its copies.
        """
        at = np.asarray(times, np.int64)
        if not self.repeats:
            return at
        ends, before = self._shifts()
        return at + before[np.searchsorted(ends, at, side="left" if ending else "right")]

    def unrolled(self, start: int = 0, end: int | None = None) -> Iterator[Row]:
        """Yields the tasks that the program runs, repeats expanded, in program order: those at work from `start` to `end`, exclusive (real
        cycles). Tasks outside of the interval cost nothing.
        """
        walk = _Walk(self)
        for rows, later, ahead in walk.chunks(start, self.cycles + 1 if end is None else end, walk.everything, (), 0):
            found: list[int] = rows.tolist()
            for row in found:
                yield Row(row, later, walk.place(row, ahead))

    def at_work(self, variants: npt.NDArray[np.bool_]) -> tuple[Column, Column]:
        """Returns the real starts and ends of all tasks whose variant is marked in `variants`, repeats expanded, in program order."""
        walk = _Walk(self)
        marked = variants[self.numbers]
        found: list[tuple[Column, Column]] = []
        for rows, later, _ in walk.chunks(0, self.cycles + 1, walk.everything, (), 0):
            checkpoint()
            chosen = rows[marked[rows]]
            if len(chosen):
                found.append((self.starts[chosen] + later, self.ends[chosen] + later))
        if not found:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        return np.concatenate([starts for starts, _ in found]), np.concatenate([ends for _, ends in found])

    @property
    def stalled(self) -> list[int]:
        """The cycles of each stall in all runs of its task."""
        columns = (self.times, self.starts, self.ends, self.units)
        return stall_cycles(self.stalls, self.repeats, *(column.tolist() for column in columns))

    def find(self, variants: npt.NDArray[np.bool_], place: Place) -> int | None:
        """Returns the real start of the task at `place`, among those whose variant is marked in `variants`; None if no task matches.

        Earlier tasks are not visited: the copy of a repeat is computed.
        """
        walk = _Walk(self)
        return walk.find(np.flatnonzero(variants[self.numbers]), place, walk.everything, (), 0)

    def _shifts(self) -> tuple[Column, Column]:
        """Returns the ends of repeats in order, and the cycles of all copies before each."""
        found = sorted((r.end, r.omitted) for r in self.repeats)
        return np.array([end for end, _ in found], np.int64), np.cumsum([0, *(cycles for _, cycles in found)])

    def lengths(self, times: Column) -> Column:
        """Returns the real cycles from each of the (ordered) times to the next, all repeats included."""
        if not self.repeats:
            return np.diff(times)
        edges = moments(times, *(np.array([r.start, r.end], np.int64) for r in self.repeats))
        ranges = [tuple(np.searchsorted(edges, (r.start, r.end)).tolist()) for r in self.repeats]
        often = weights(self.repeats, ranges, len(edges))
        total = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.diff(edges) * often[:-1])])
        return np.diff(total[np.searchsorted(edges, times)])


_Part = tuple[int, int, int]
"""Rows from the first to the second, exclusive, and the repeats inside: those before the third."""

_Ahead = tuple[tuple[Repeat, int], ...]
"""The repeats around, the innermost first, each with the number of its copy."""


def _copies(ahead: _Ahead) -> Copies:
    return {repeat.number: copy for repeat, copy in ahead}


class _Walk:
    """Traversal of a timeline with its repeats expanded."""

    def __init__(self, timeline: ReplayTimeline) -> None:
        self._line = timeline
        self._repeats = timeline.repeats
        # Of several that begin at one row, the outermost, which was found last, is first.
        self._order = sorted(range(len(self._repeats)), key=lambda n: (self._repeats[n].first, -n))
        self._firsts = [self._repeats[n].first for n in self._order]
        self.everything: _Part = (0, len(timeline.numbers), len(self._repeats))

    def _pieces(self, part: _Part) -> Iterator[tuple[int, int, int | None]]:
        """Yields the rows of a part up to each repeat in it, and that repeat's number; last the rows after all of them, and None."""
        row, last, within = part
        at = bisect_left(self._firsts, row)
        while at < len(self._order):
            number = self._order[at]
            repeat = self._repeats[number]
            if repeat.first >= last:
                break
            if number >= within or repeat.last > last:
                at += 1
                continue
            yield row, repeat.first, number
            row = repeat.last
            at = bisect_left(self._firsts, row)
        yield row, last, None

    def chunks(
        self, start: int, end: int, part: _Part, ahead: _Ahead, later: int
    ) -> Iterator[tuple[Column, int, _Ahead]]:
        """Yields the rows of a part at work from `start` to `end`, if the part occurs `later` in real time."""
        line = self._line
        for row, until, number in self._pieces(part):
            if until > row:
                starts, there = line.starts[row:until] + later, line.there[row:until] + later
                yield row + np.flatnonzero((starts < end) & (np.maximum(there, starts + 1) > start)), later, ahead
            if number is None:
                return
            repeat = self._repeats[number]
            around = _copies(ahead)
            width, total = repeat.end - repeat.start, repeat.total(around)
            # Copies from the first that reaches `start` to the last that begins before `end`.
            over = int(line.there[repeat.first : repeat.last].max()) - width + later
            copies = repeat.copies(around)
            low = bisect_left(range(copies), start - over, key=lambda n: repeat.before(n + 1, around)) if total else 0
            for copy in range(low, copies):
                shift = later + repeat.before(copy, around)
                if repeat.start + shift >= end and total:
                    break
                moved = ((repeat, copy), *ahead)
                yield from self.chunks(start, end, (repeat.first, repeat.last, number), moved, shift)
            later += total - width

    def place(self, row: int, ahead: _Ahead) -> Place:
        """Returns the place of a row's task in these copies of the repeats around it."""
        place = self._line.places[row]
        for around, copies in ahead:
            place = around.later(place, copies, row)
        return place

    def find(self, marked: Column, place: Place, part: _Part, ahead: _Ahead, later: int) -> int | None:
        """Returns the start of the first task at `place` among those rows of a part that are `marked`."""
        line = self._line
        for row, until, number in self._pieces(part):
            for n in marked[np.searchsorted(marked, row) : np.searchsorted(marked, until)].tolist():
                if self.place(n, ahead) == place:
                    return int(line.starts[n]) + later
            if number is None:
                break
            repeat = self._repeats[number]
            around = _copies(ahead)
            for copy in self._copies(repeat, marked, place, ahead):
                inside = (repeat.first, repeat.last, number)
                moved = ((repeat, copy), *ahead)
                found = self.find(marked, place, inside, moved, later + repeat.before(copy, around))
                if found is not None:
                    return found
            later += repeat.total(around) - (repeat.end - repeat.start)
        return None

    def _copies(self, repeat: Repeat, marked: Column, place: Place, ahead: _Ahead) -> Iterator[int]:
        """Yields the copies of a repeat that may hold a task at `place`."""
        rows = marked[np.searchsorted(marked, repeat.first) : np.searchsorted(marked, repeat.last)]
        depth = repeat.depth
        if not len(rows) or len(place) < depth + len(repeat.extents):
            return
        first = self.place(int(rows[0]), ahead)
        if first[:depth] != place[:depth]:
            return
        # A copy may begin inside of an iteration: its neighbours are searched too.
        nearest = (repeat.iteration(place) - repeat.iteration(first)) // repeat.iterations
        for copy in (nearest, nearest - 1, nearest + 1):
            if 0 <= copy < repeat.copies(_copies(ahead)):
                yield copy


def timeline_of(program: TaskProgram, simulated: Simulated, chip: ChipRun | None = None) -> ReplayTimeline:
    """Returns the columns of a replay. Raises MachineError if the program exceeds the limit on cycles."""
    clocks = simulated.clocks
    cycles = simulated.cycles if chip is None else chip.cycles
    require_countable("cycles", cycles)
    numbers = np.array(clocks.numbers, np.int64)
    variants = program.variants
    starts = np.array(clocks.starts, np.int64)
    ends = np.array(clocks.ends, np.int64)
    checkpoint()
    times = weights(simulated.repeats, [(r.first, r.last) for r in simulated.repeats], len(numbers))
    return ReplayTimeline(
        numbers,
        simulated.places,
        _instances(program, numbers, simulated.places),
        starts,
        ends,
        ends + np.array(clocks.latencies, np.int64),
        times,
        _of(numbers, [v.engine for v in variants]),
        np.array(clocks.units, np.int64),
        tuple(clocks.free),
        _with_flags(program, clocks.stalls),
        simulated.repeats,
        cycles,
        chip,
    )


def _with_flags(program: TaskProgram, stalls: list[TaskStall]) -> list[TaskStall]:
    """Returns the stalls; those on tokens are stalls on flags."""
    places = program.places
    if not places.tokens:
        return stalls
    return [replace(s, cause="flag") if s.cause == "data" and places.is_token(s.cell) else s for s in stalls]


def _of(numbers: Column, table: Sequence[int]) -> Column:
    return np.array(table, np.int64)[numbers] if len(numbers) else np.zeros(0, np.int64)


def _instances(program: TaskProgram, numbers: Column, places: Sequence[Place]) -> Column:
    """Returns the instance numbers, row-major over the loops around each task."""
    found = np.zeros(len(places), np.int64)
    templates = _of(numbers, [v.template for v in program.variants])
    for template in program.templates:
        checkpoint()
        extents = [loop.extent for loop in template.outer]
        require_countable("tasks", prod(extents))
        rows = np.flatnonzero(templates == template.number)
        if extents and len(rows):
            steps = [prod(extents[depth + 1 :]) for depth in range(len(extents))]
            found[rows] = np.array([places[row] for row in rows.tolist()], np.int64) @ np.array(steps, np.int64)
    return found


def moments(*columns: Column) -> Column:
    """Returns the distinct times of all columns, in order."""
    times = np.sort(np.concatenate(columns))
    return times[np.append(True, times[1:] != times[:-1])] if len(times) else times


def require_countable(what: str, count: int) -> None:
    if count > MAX_COUNT:
        raise refuse("too-large", f"the program needs {count:.0e} {what}", expected=f"at most {MAX_COUNT:.0e} {what}")
