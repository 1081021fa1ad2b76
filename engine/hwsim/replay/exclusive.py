"""Time: every task is played in program order against the clocks of its engine and of the cells it touches. Integers only.

A cell is the part of a buffer that is waited for as one: (buffer, slot, physical block). Tasks are issued in program order, each into the
queue of its engine; where that is full, issuing waits. A task starts when it is issued and its engine is free, the cells it reads are ready
(RAW), and the cells it writes are read (WAR) and not in the making by another engine (WAW; one engine works in order). It stalls for the
constraint that is met last; of those met together, for the first of these, in this order.

It knows no program, machine or name. What is issued after a moment starts after it, so a loop's state at a moment, seen from there, decides
all that follows: `key` says it, and `steady` skips what comes back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Literal

import msgspec

Cause = Literal["issue", "data", "slot", "port"]
CAUSES: tuple[Cause, ...] = ("issue", "data", "slot", "port")
ISSUE, DATA, SLOT = 0, 1, 2

NOBODY = -1
NEVER = 1 << 4096
"""Later than anything, the longest programs that are refused too: a time that is not known yet."""


class Variant(msgspec.Struct, frozen=True):
    """One kind of task: which engine it occupies for how long, how long after that its result is there, which cells it reads and writes.
    Engines of a machine that work in turn are one engine here.

    A cell that is updated in place stands in `writes` only: the update waits for the writes of other engines all the same. `demands` are
    cycles of ports that other engines use too, asked for `setup` cycles after the start; `duration` is what it takes when nobody else asks.
    """

    engine: int
    duration: int
    latency: int = 0
    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()
    setup: int = 0
    demands: tuple[tuple[int, int], ...] = ()


class Stall(msgspec.Struct, frozen=True):
    """A task's engine waited `cycles` for it: cause "data" for `cell` to be filled, "slot" for it to be free, by a task of variant `by`;
    cause "issue" for the task itself, because the queue of engine `by` was full (`cell` is NOBODY); cause "port" while it ran, for bursts
    of others on the port whose number stands as `cell`."""

    task: int
    engine: int
    cause: Cause
    cell: int
    by: int
    cycles: int


Row = tuple[int, int, int, tuple[int, ...], tuple[int, ...], tuple[tuple[int, int], ...]]
"""(engine, duration, latency, reads, writes, demands) of a variant."""


class Clocks:
    """What has been issued so far: when each task (of variants `numbers`) starts and ends, and the clocks that decide what comes next.

    `table` may grow while it is used. `queues` says how many tasks each engine's queue holds. Here every time is known as soon as a task is
    issued; `shared.SharedClocks` has times that are not known yet, which are NEVER.
    """

    def __init__(self, table: Sequence[Variant], queues: Sequence[int], cell_count: int) -> None:
        engines = len(queues)
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.numbers: list[int] = []
        self.stalls: list[Stall] = []
        self.now = 0
        """The moment of the last issue."""
        self.free = [0] * engines
        self._table = table
        self._rows: list[Row] = []
        self._queues = tuple(queues)
        # When the tasks of each engine start that were in its queue at the last issue.
        self._waiting: list[deque[int]] = [deque() for _ in queues]
        self._blocker = NOBODY
        self._skipped = [0] * engines
        # When each cell is filled and when it is read, and by which task.
        self._ready = [0] * cell_count
        self._writer = [NOBODY] * cell_count
        self._released = [0] * cell_count
        self._reader = [NOBODY] * cell_count
        # When the first so many tasks are over, as far as somebody asked.
        self._over: list[int] = [0]

    def issue(self, number: int) -> None:
        """Issues a task of variant `number`."""
        rows, numbers = self._rows, self.numbers
        if number >= len(rows):
            self._learn()
        engine, duration, latency, reads, writes, demands = rows[number]
        ready, released = self._ready, self._released
        waiting = self._waiting[engine]
        if len(waiting) == self._queues[engine]:
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
        for cell in writes:
            if released[cell] > start:
                start, cause, at, by = released[cell], SLOT, cell, numbers[self._reader[cell]]
            if ready[cell] > start and rows[numbers[self._writer[cell]]][0] != engine:
                start, cause, at, by = ready[cell], SLOT, cell, numbers[self._writer[cell]]
        if start >= NEVER:
            self._postpone(number)
            return
        task = len(numbers)
        numbers.append(number)
        waited = start - idle_from + self._skipped[engine]
        if waited:
            self.stalls.append(Stall(task, engine, CAUSES[cause], at, by, waited))
            self._skipped[engine] = 0
        waiting.append(start)
        self.starts.append(start)
        end = self._shared(number, task, start) if demands else start + duration
        self.ends.append(end)
        self.free[engine] = end
        for cell in reads:
            if end > released[cell]:
                released[cell], self._reader[cell] = end, task
            elif released[cell] >= NEVER:
                self._reads_too(cell, task, end)
        there = end + latency
        for cell in writes:
            ready[cell], self._writer[cell] = there, task

    def _learn(self) -> None:
        self._rows.extend(map(self._row, self._table[len(self._rows) :]))

    def _row(self, variant: Variant) -> Row:
        """What `issue` needs to know of a variant; here nobody asks for ports."""
        return variant.engine, variant.duration, variant.latency, variant.reads, variant.writes, ()

    def _postpone(self, number: int) -> None:
        """Issues a task of which it is not known yet when it starts."""
        raise AssertionError("every time is known")

    def _reads_too(self, cell: int, task: int, end: int) -> None:
        """A task reads a cell beside others of which it is not known yet when they end."""
        raise AssertionError("every time is known")

    def _shared(self, number: int, task: int, start: int) -> int:
        """When a task that asks for ports ends; NEVER where that is not known yet."""
        raise AssertionError("nobody asks for ports")

    def key(self, engines: Sequence[int], cells: Sequence[int]) -> tuple[object, ...]:
        """All that decides the future of tasks on these engines and cells, and how long they will have waited, seen from now.

        What is over does not: nothing that is issued later starts before now.
        """
        now, ready, released, numbers = self.now, self._ready, self._released, self.numbers
        found = [self._blocker]
        for engine in engines:
            ahead = [start - now for start in self._waiting[engine] if start > now]
            found += (self.free[engine] - now - self._skipped[engine], len(ahead), *ahead)
        for cell in cells:
            if ready[cell] > now:
                found += (cell, ready[cell] - now, numbers[self._writer[cell]])
            if released[cell] > now:
                found += (~cell, released[cell] - now, numbers[self._reader[cell]])
        return tuple(found)

    def skip(self, cycles: int, since: int) -> None:
        """So many cycles pass in which engines that have had no task since task `since` do nothing."""
        busy = {self._table[number].engine for number in self.numbers[since:]}
        for engine in range(len(self.free)):
            if engine not in busy:
                self._skipped[engine] += cycles

    def over_by(self, tasks: int) -> int | None:
        """When the first so many tasks are over and their results there; None where that is not known yet."""
        over, ends = self._over, self.ends
        latest = over[-1]
        for task in range(len(over) - 1, tasks):
            if ends[task] >= NEVER:
                return None
            latest = max(latest, ends[task] + self._table[self.numbers[task]].latency)
            over.append(latest)
        return over[tasks]

    def is_settled(self, tasks: int) -> bool:
        """Whether nothing that is issued later can change the times of the first so many tasks."""
        return self.over_by(tasks) is not None

    def finish(self) -> int:
        """When everything is over."""
        over = self.over_by(len(self.numbers))
        assert over is not None
        return over
