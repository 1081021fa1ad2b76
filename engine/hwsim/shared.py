"""Time where engines share ports: as `replay`, but how long a task takes depends on who else moves data meanwhile.

Moments are gone through in order. At each, requests that are done end tasks, ended tasks let others start, what starts makes room in a
queue and asks for its ports; only then the ports that are free grant their next burst. A task ends when its own work is done and all its
requests are. What it takes beyond its duration alone is a stall for the port that was done last.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from .arbiter import Port
from .replay import CAUSES, DATA, ISSUE, NOBODY, SLOT, Stall, Variant

NEVER = 1 << 62

Wait = tuple[int, int, int, bool]
"""A task waits for another: (cause, cell, task, whether for its result, which may come after its end)."""


class _Issued(NamedTuple):
    """A task in a queue. `seen` are its waits with tasks counted from it."""

    task: int
    at: int
    blocker: int
    waits: tuple[Wait, ...]
    seen: tuple[tuple[int, int, int, bool], ...]


class _Running:
    """The task of an engine: when its own work is done, how many requests are not done, and of which port the last was."""

    __slots__ = ("open", "port", "task", "variant", "work")

    def __init__(self, task: int, variant: Variant, now: int) -> None:
        self.task = task
        self.variant = variant
        self.work = now + variant.duration
        self.open = len(variant.demands)
        self.port = NOBODY


class SharedClocks:
    """As `replay.Clocks`; `bursts` has the cycles of a burst of each shared port."""

    def __init__(self, table: Sequence[Variant], queues: Sequence[int], cell_count: int, bursts: Sequence[int]) -> None:
        engines = len(queues)
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.numbers: list[int] = []
        self.stalls: list[Stall] = []
        self.now = 0
        self.free = [0] * engines
        self._table = table
        self._queues = tuple(queues)
        self._there: list[int] = []
        self._over: list[int] = [0]
        self._waiting: list[deque[_Issued]] = [deque() for _ in queues]
        self._running: list[_Running | None] = [None] * engines
        # When each engine's task begins, asks for its ports or has done its own work, and when each port has done a request.
        self._events = [NEVER] * engines
        self._ports = [Port(burst) for burst in bursts]
        self._dones = [NEVER] * len(self._ports)
        self._unsettled: set[int] = set()
        self._landing: list[int] = []
        self._blocker = NOBODY
        self._skipped = [0] * engines
        self._writer = [NOBODY] * cell_count
        self._readers: list[list[int]] = [[] for _ in range(cell_count)]

    def issue(self, number: int) -> None:
        """Issues a task of variant `number`."""
        variant = self._table[number]
        engine = variant.engine
        while len(self._waiting[engine]) == self._queues[engine]:
            self._blocker = engine
            self._step()
        task = len(self.numbers)
        waits = tuple(self._waits(variant))
        self.numbers.append(number)
        self.starts.append(NOBODY)
        self.ends.append(NOBODY)
        self._there.append(NOBODY)
        for cell in variant.reads:
            self._readers[cell] = [t for t in self._readers[cell] if self.ends[t] == NOBODY]
            self._readers[cell].append(task)
        for cell in variant.writes:
            self._writer[cell], self._readers[cell] = task, []
        seen = tuple([(cause, cell, other - task, result) for cause, cell, other, result in waits])
        self._waiting[engine].append(_Issued(task, self.now, self._blocker, waits, seen))
        self._start(engine)

    def _waits(self, variant: Variant) -> list[Wait]:
        """What the task has to wait for, in the order in which it is to blame."""
        found = [(DATA, cell, self._writer[cell], True) for cell in variant.reads if self._is_open(self._writer[cell])]
        for cell in variant.writes:
            found += [(SLOT, cell, t, False) for t in self._readers[cell] if self.ends[t] == NOBODY]
            writer = self._writer[cell]
            if self._is_open(writer) and self._table[self.numbers[writer]].engine != variant.engine:
                found.append((SLOT, cell, writer, True))
        return found

    def _is_open(self, task: int) -> bool:
        """Whether the result of a task is still to come."""
        return task != NOBODY and (self.ends[task] == NOBODY or self._there[task] > self.now)

    def _start(self, engine: int) -> None:
        """Starts the first task in the queue of an engine that has nothing to do, now or when it is known to be able to."""
        if self._events[engine] != NEVER or self._running[engine] is not None or not self._waiting[engine]:
            return
        issued = self._waiting[engine][0]
        ends = self.ends
        idle_from = start = self.free[engine]
        cause, cell, by = ISSUE, NOBODY, issued.blocker
        start = max(start, issued.at)
        for why, where, task, result in issued.waits:
            if ends[task] == NOBODY:
                return
            clear = self._there[task] if result else ends[task]
            if clear > start:
                start, cause, cell, by = clear, why, where, self.numbers[task]
        waited = start - idle_from + self._skipped[engine]
        if waited:
            self.stalls.append(Stall(issued.task, engine, CAUSES[cause], cell, by, waited))
            self._skipped[engine] = 0
        if start > self.now:
            self._events[engine] = start
        else:
            self._begin(engine)

    def _begin(self, engine: int) -> None:
        task = self._waiting[engine].popleft().task
        variant = self._table[self.numbers[task]]
        self.starts[task] = self.now
        self._running[engine] = running = _Running(task, variant, self.now)
        if variant.demands and variant.setup:
            self._events[engine] = self.now + variant.setup
        else:
            self._ask(engine, running)

    def _ask(self, engine: int, running: _Running) -> None:
        self._events[engine] = running.work
        for port, cycles in running.variant.demands:
            self._ports[port].request(engine, cycles, self.now)
            self._unsettled.add(port)

    def _step(self) -> None:
        """Goes on to the next moment at which something happens."""
        dones, events = self._dones, self._events
        for number in self._unsettled:
            port = self._ports[number]
            port.settle(self.now)
            dones[number] = port.next_done() or NEVER
        self._unsettled.clear()
        self.now = now = min(*events, *dones)
        ended = False
        for number, done in enumerate(dones):
            if done == now:
                engine = self._ports[number].advance(now)
                self._unsettled.add(number)
                running = self._running[engine]
                assert running is not None
                running.open -= 1
                running.port = number
                if running.open == 0 and running.work <= now:
                    events[engine] = now
        for engine, event in enumerate(events):
            if event == now:
                ended |= self._happens(engine)
        if ended:
            for engine in range(len(events)):
                self._start(engine)

    def _happens(self, engine: int) -> bool:
        """What is due for an engine just now; whether its task has ended."""
        running = self._running[engine]
        self._events[engine] = NEVER
        if running is None:
            self._begin(engine)
        elif running.work > self.now:
            self._ask(engine, running)
        elif running.open == 0:
            self._end(engine, running)
            return True
        return False

    def _end(self, engine: int, running: _Running) -> None:
        task, now = running.task, self.now
        variant = running.variant
        self._running[engine] = None
        self.ends[task] = self.free[engine] = now
        self._there[task] = now + variant.latency
        if variant.latency:
            self._landing = [t for t in self._landing if self._there[t] > now]
            self._landing.append(task)
        shared = now - self.starts[task] - variant.duration
        if shared:
            self.stalls.append(Stall(task, engine, "port", running.port, NOBODY, shared))
        while (first := len(self._over) - 1) < len(self.ends) and self.ends[first] != NOBODY:
            self._over.append(max(self._over[-1], self._there[first]))

    def key(self, engines: Sequence[int], cells: Sequence[int]) -> tuple[object, ...]:
        """As `Clocks.key`; every engine that is at work counts, for it may share a port."""
        now, first = self.now, len(self.numbers)
        found: list[object] = [self._blocker]
        for engine, running in enumerate(self._running):
            if running is not None:
                task = running.task
                found.append((task - first, self.numbers[task], self.starts[task] - now, running.open))
            elif engine in engines:
                found.append(self.free[engine] - now - self._skipped[engine])
            event = self._events[engine]
            found.append(None if event == NEVER else event - now)
            found += [(w.task - first, self.numbers[w.task], w.seen) for w in self._waiting[engine]]
        there = self._there
        found += [(t - first, there[t] - now, self.numbers[t]) for t in self._landing if there[t] > now]
        for cell in cells:
            writer = self._writer[cell]
            if self._is_open(writer):
                found.append((cell, writer - first))
            found += [(~cell, reader - first) for reader in self._readers[cell] if self.ends[reader] == NOBODY]
        found += [port.key(now) for port in self._ports]
        return tuple(found)

    def skip(self, cycles: int, since: int) -> None:
        """As `Clocks.skip`."""
        busy = {self._table[number].engine for number in self.numbers[since:]}
        for engine in range(len(self.free)):
            if engine not in busy:
                self._skipped[engine] += cycles

    def over_by(self, tasks: int) -> int | None:
        """As `Clocks.over_by`."""
        return self._over[tasks] if tasks < len(self._over) else None

    def is_settled(self, tasks: int) -> bool:
        """As `Clocks.is_settled`: they are over. What is still at work may have to share a port with what comes."""
        return tasks < len(self._over)

    def finish(self) -> int:
        """As `Clocks.finish`, when all that was issued is played to its end."""
        while any(self._waiting) or any(r is not None for r in self._running):
            self._step()
        return self._over[-1]
