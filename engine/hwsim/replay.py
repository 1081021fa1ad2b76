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


class Clocks:
    """What has been issued so far: when each task (of variants `numbers`) starts and ends, and the clocks that decide what comes next.

    `table` may grow while it is used. `queues` says how many tasks each engine's queue holds.
    """

    def __init__(self, table: Sequence[Variant], queues: Sequence[int], cell_count: int) -> None:
        engines = len(queues)
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.numbers: list[int] = []
        self.stalls: list[Stall] = []
        self._over: list[int] = [0]
        self.now = 0
        """The moment of the last issue."""
        self.free = [0] * engines
        self._table = table
        self._rows: list[tuple[int, int, int, tuple[int, ...], tuple[int, ...]]] = []
        self._queues = tuple(queues)
        self._waiting: list[deque[int]] = [deque() for _ in queues]
        self._blocker = NOBODY
        self._skipped = [0] * engines
        self._ready = [0] * cell_count
        self._writer = [NOBODY] * cell_count
        self._released = [0] * cell_count
        self._reader = [NOBODY] * cell_count

    def issue(self, number: int) -> None:
        """Issues a task of variant `number`."""
        rows = self._rows
        if number >= len(rows):
            rows.extend((v.engine, v.duration, v.latency, v.reads, v.writes) for v in self._table[len(rows) :])
        engine, duration, latency, reads, writes = rows[number]
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
                start, cause, at, by = ready[cell], DATA, cell, self._writer[cell]
        for cell in writes:
            if released[cell] > start:
                start, cause, at, by = released[cell], SLOT, cell, self._reader[cell]
            if ready[cell] > start and rows[self._writer[cell]][0] != engine:
                start, cause, at, by = ready[cell], SLOT, cell, self._writer[cell]
        waited = start - idle_from + self._skipped[engine]
        if waited:
            self.stalls.append(Stall(len(self.starts), engine, CAUSES[cause], at, by, waited))
            self._skipped[engine] = 0
        waiting.append(start)
        self.starts.append(start)
        self.numbers.append(number)
        end = self.free[engine] = start + duration
        self.ends.append(end)
        for cell in reads:
            if end > released[cell]:
                released[cell], self._reader[cell] = end, number
        there = end + latency
        for cell in writes:
            ready[cell], self._writer[cell] = there, number
        self._over.append(max(self._over[-1], there))

    def key(self, engines: Sequence[int], cells: Sequence[int]) -> tuple[object, ...]:
        """All that decides the future of tasks on these engines and cells, and how long they will have waited, seen from now.

        What is over does not: nothing that is issued later starts before now.
        """
        now, ready, released = self.now, self._ready, self._released
        found = [self._blocker]
        for engine in engines:
            ahead = [start - now for start in self._waiting[engine] if start > now]
            found += (self.free[engine] - now - self._skipped[engine], len(ahead), *ahead)
        for cell in cells:
            if ready[cell] > now:
                found += (cell, ready[cell] - now, self._writer[cell])
            if released[cell] > now:
                found += (~cell, released[cell] - now, self._reader[cell])
        return tuple(found)

    def skip(self, cycles: int, since: int) -> None:
        """So many cycles pass in which engines that have had no task since task `since` do nothing."""
        busy = {self._rows[number][0] for number in self.numbers[since:]}
        for engine in range(len(self.free)):
            if engine not in busy:
                self._skipped[engine] += cycles

    def over_by(self, tasks: int) -> int | None:
        """When the first so many tasks are over and their results there; None where that is not known yet."""
        return self._over[tasks]

    def is_settled(self, tasks: int) -> bool:
        """Whether nothing that is issued later can change the times of the first so many tasks."""
        return tasks <= len(self.numbers)

    def finish(self) -> int:
        """When everything is over."""
        return self._over[-1]
