"""Replay of tasks in program order against the clocks of their engine and of the cells they access. Integers only.

A cell is the unit of synchronisation of a buffer: (buffer, slot, physical block). Tasks are issued in program order, each into the queue of
its engine; a full queue blocks the issue of all. A task starts after its issue, when its engine is free, the cells it reads are ready
(RAW), and the cells it writes are read (WAR) and not being written by another engine (WAW; one engine works in order). Its stall is
attributed to the constraint that is met last; of those met together, to the first in this order.

This module knows no program, machine or name. A task issued after a moment starts after it, so the state at a moment, relative to it,
determines the future: `key` returns that state.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from typing import Literal

import msgspec

Cause = Literal["issue", "data", "slot", "port", "flag"]
CAUSES: tuple[Cause, ...] = ("issue", "data", "slot", "port", "flag")
ISSUE, DATA, SLOT = 0, 1, 2

NOBODY = -1
NEVER = 1 << 4096
"""Unknown time: later than any other, even in programs that are too long to be accepted."""


class Variant(msgspec.Struct, frozen=True):
    """One kind of task: its engine, its duration, the latency of its result, the cells it reads and writes. Engines of a machine that share
    a unit are one engine here.

    A cell that is updated in place is in `writes` only: the update waits for the writes of other engines all the same. `demands` are cycles
    of ports that other engines use too, requested `setup` cycles after the start; `duration` is the time without other requests. `preloads`
    are cells of `reads` that have to be ready some cycles before the start, unless they are ready from the beginning. `spare` has for ports
    of `demands` the bytes that the last cycle has room for, of how many: an engine uses them for its next requests in the block. `waited`
    are cycles of the duration that blocks which run at once spend together.
    """

    engine: int
    duration: int
    latency: int = 0
    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()
    setup: int = 0
    demands: tuple[tuple[int, int], ...] = ()
    preloads: tuple[tuple[int, int], ...] = ()
    spare: tuple[tuple[int, int, int], ...] = ()
    waited: int = 0


class TaskStall(msgspec.Struct, frozen=True):
    """A stall of a task's engine for `cycles`: cause "data" until `cell` is filled, "slot" until it is free, by a task of variant `by`;
    cause "issue" for the task itself, because the queue of engine `by` was full (`cell` is NOBODY); cause "port" while it ran, for bursts
    of others on the port whose number is `cell`; cause "flag" is "data" of a cell without data, a token. `cycles` are compressed time; a
    stall that `skips` lasts for repeats too.
    """

    task: int
    engine: int
    cause: Cause
    cell: int
    by: int
    cycles: int
    skips: bool = False


Pairs = tuple[tuple[int, int], ...]

Row = tuple[int, int, int, tuple[int, ...], tuple[int, ...], Pairs, Pairs]
"""(engine, duration, latency, reads, writes, demands, preloads) of a variant."""


class Clocks:
    """State of a replay: start and end of each issued task (of variants `numbers`), and the clocks that determine later ones.

    `table` may grow during use. `queues` is the capacity of each engine's queue, in tasks; `longest_preload` the most cycles of any
    preload. Every time is known as soon as a task is issued, as no task requests a port. A law of ports leaves times open: they are NEVER
    until it determines them, and it overrides the methods at the end.
    """

    def __init__(self, table: list[Variant], queues: Sequence[int], cell_count: int, longest_preload: int = 0) -> None:
        engines = len(queues)
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.numbers: list[int] = []
        self.stalls: list[TaskStall] = []
        self.now = 0
        """The moment of the last issue."""
        self.free = [0] * engines
        self.users: Mapping[int, Collection[int]] = {}
        """The ports that can delay tasks, with the engines that request them."""
        self.cores = 1
        """The cores that run the tasks issued from now on, each its own; the tasks of one are replayed."""
        self.table = table
        self._rows: list[Row] = []
        self.queues = tuple(queues)
        self.cell_count = cell_count
        self._longest_preload = longest_preload
        # Start times of each engine's tasks that were in its queue at the last issue.
        self._waiting: list[deque[int]] = [deque() for _ in queues]
        self._blocker = NOBODY
        # The repeats that were skipped since each engine's last task, with their cycles.
        self._skipped: list[dict[int, int]] = [{} for _ in queues]
        # When each cell is filled and when it is read, and by which task.
        self._ready = [0] * cell_count
        self._writer = [NOBODY] * cell_count
        self._released = [0] * cell_count
        self._reader = [NOBODY] * cell_count
        self.since = 0
        """No block begins before this moment."""
        # Completion time of the first n tasks, as far as requested.
        self._over: list[int] = [0]

    def issue(self, number: int) -> None:
        """Issues a task of variant `number`."""
        rows, numbers = self._rows, self.numbers
        if number >= len(rows):
            self._learn()
        engine, duration, latency, reads, writes, demands, preloads = rows[number]
        ready, released = self._ready, self._released
        waiting = self._waiting[engine]
        if len(waiting) == self.queues[engine]:
            taken = waiting.popleft()
            if taken > self.now:
                self.now, self._blocker = taken, engine
        idle_from = start = self.free[engine]
        cause, at, by = ISSUE, NOBODY, self._blocker
        if self.now > start:
            start = self.now
        for cell in reads:
            if ready[cell] > start:
                start, cause, at, by = ready[cell], DATA, cell, numbers[self._writer[cell]]
        for cell, cycles in preloads:
            if ready[cell] + cycles > start and self._writer[cell] != NOBODY:
                start, cause, at, by = ready[cell] + cycles, DATA, cell, numbers[self._writer[cell]]
        for cell in writes:
            if released[cell] > start:
                start, cause, at, by = released[cell], SLOT, cell, numbers[self._reader[cell]]
            if ready[cell] > start and rows[numbers[self._writer[cell]]][0] != engine:
                start, cause, at, by = ready[cell], SLOT, cell, numbers[self._writer[cell]]
        if start >= NEVER:
            self._issue_open(number)
            return
        task = len(numbers)
        numbers.append(number)
        skips = bool(self._skipped[engine])
        if start > idle_from or skips:
            self.stalls.append(TaskStall(task, engine, CAUSES[cause], at, by, start - idle_from, skips))
            self._skipped[engine] = {}
        waiting.append(start)
        self.starts.append(start)
        end = self._end_of(number, task, start) if demands else start + duration
        self.ends.append(end)
        self.free[engine] = end
        for cell in reads:
            if end > released[cell]:
                released[cell], self._reader[cell] = end, task
            elif released[cell] >= NEVER:
                self._add_reader(cell, task, end)
        there = end + latency
        for cell in writes:
            ready[cell], self._writer[cell] = there, task

    def _learn(self) -> None:
        self._rows.extend(map(self._row, self.table[len(self._rows) :]))

    def _row(self, variant: Variant) -> Row:
        """Returns the data of a variant for `issue`."""
        v = variant
        return v.engine, v.duration, v.latency, v.reads, v.writes, self._demands(v), v.preloads

    def key(self, engines: Sequence[int], cells: Sequence[int], *, idle: bool = True) -> tuple[object, ...]:
        """Returns the state that determines the future of tasks on these engines and cells, and their stalls, relative to now. Without
        `idle`, the length of a stall of an engine that is idle now is not part of it.

        Completed tasks are not part of it: a task issued later starts at now or later.
        """
        now, ready, released, numbers = self.now, self._ready, self._released, self.numbers
        past = now - self._longest_preload
        found = [self._blocker]
        for engine in engines:
            ahead = [start - now for start in self._waiting[engine] if start > now]
            found += (self._free_in(engine, self.free[engine], idle=idle), len(ahead), *ahead)
        for cell in cells:
            if ready[cell] > past and self._writer[cell] != NOBODY:
                found += (cell, ready[cell] - now, numbers[self._writer[cell]])
            if released[cell] > now:
                found += (~cell, released[cell] - now, numbers[self._reader[cell]])
        return tuple(found)

    def _free_in(self, engine: int, free: int, *, idle: bool) -> int:
        """Returns when an engine is free, relative to now: before now by the time that it is idle, or else by one cycle."""
        if not idle:
            return max(free - self.now - bool(self._skipped[engine]), -1)
        return free - self.now - sum(self._skipped[engine].values())

    def skip(self, cycles: Mapping[int, int], number: int, since: int) -> None:
        """Skips repeat `number`: engines without a task since task `since` are idle. `cycles` are those of repeats that were skipped."""
        busy = {self.table[number].engine for number in self.numbers[since:]}
        for engine, skipped in enumerate(self._skipped):
            for other in skipped:
                skipped[other] = cycles.get(other, skipped[other])
            if engine not in busy and cycles[number]:
                skipped[number] = cycles[number]

    @property
    def units(self) -> list[int]:
        """The engine of each issued task."""
        return [self.table[number].engine for number in self.numbers]

    @property
    def latencies(self) -> list[int]:
        """The latency of the result of each issued task."""
        return [self.table[number].latency for number in self.numbers]

    def over_by(self, tasks: int) -> int | None:
        """Returns when the first `tasks` tasks are complete, with their results; None if unknown."""
        over, ends = self._over, self.ends
        latest = over[-1]
        for task in range(len(over) - 1, tasks):
            if ends[task] >= NEVER:
                return None
            latest = max(latest, ends[task] + self.table[self.numbers[task]].latency)
            over.append(latest)
        return over[tasks]

    def is_settled(self, tasks: int) -> bool:
        """Returns whether later tasks cannot change the times of the first `tasks` tasks."""
        return self.over_by(tasks) is not None

    def finish(self) -> int:
        """Returns the completion time of all tasks."""
        over = self.over_by(len(self.numbers))
        assert over is not None
        return over

    def begin(self, cycles: int) -> None:
        """Begins a block: the next task is issued as many cycles after all tasks are complete, with their results."""
        self.now, self._blocker = max(self.finish(), self.since) + cycles, NOBODY

    def begin_launch(self, cycles: int) -> None:
        """Begins a launch as many cycles after all tasks are complete: no block begins before."""
        self.since = self.finish() + cycles
        self.begin(0)

    # Open times: where a law of ports comes in.

    def _demands(self, variant: Variant) -> Pairs:
        """Returns the requests of a variant that can delay a task."""
        return ()

    def _issue_open(self, number: int) -> None:
        """Issues a task whose start is open."""
        raise AssertionError("every time is known")

    def _end_of(self, number: int, task: int, start: int) -> int:
        """Returns the end of a task that requests ports; NEVER if it is open."""
        raise AssertionError("no task requests ports")

    def _add_reader(self, cell: int, task: int, end: int) -> None:
        """Adds a reader to a cell that has readers with open ends."""
        raise AssertionError("every time is known")
