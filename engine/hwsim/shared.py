"""Time where engines share ports: as `replay`, but how long a task takes depends on who else moves data meanwhile.

Moments are gone through in order. At each, requests that are done end tasks, ended tasks let others start, what starts makes room in a
queue and asks for its ports; only then the ports that are free grant their next burst. A task ends when its own work is done and all its
requests are. What it takes beyond its duration alone is a stall for the port that was done last.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from .arbiter import NEVER, Port
from .replay import CAUSES, DATA, ISSUE, NOBODY, SLOT, Stall, Variant

Wait = tuple[int, int, int, bool]
"""A task waits for another: (cause, cell, task, whether for its result, which may come after its end)."""


class _Issued:
    """A task in a queue, since when, the engine whose full queue it had to wait for, and what it waits for."""

    __slots__ = ("at", "blocker", "seen", "task", "waits")

    def __init__(self, task: int, at: int, blocker: int, waits: list[Wait]) -> None:
        self.task = task
        self.at = at
        self.blocker = blocker
        self.waits = waits
        self.seen: tuple[Wait, ...] | None = None

    def seen_from_it(self) -> tuple[Wait, ...]:
        """Its waits, with tasks counted from it."""
        if self.seen is None:
            self.seen = tuple([(cause, cell, other - self.task, result) for cause, cell, other, result in self.waits])
        return self.seen


class _Running:
    """The task of an engine: when its own work is done, how many requests are not done, and of which port the last was."""

    __slots__ = ("duration", "latency", "open", "port", "task", "work")

    def __init__(self, task: int, variant: Variant, now: int) -> None:
        self.task = task
        self.duration = variant.duration
        self.latency = variant.latency
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
        self._engines: list[int] = []
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
        queue = self._waiting[engine]
        while len(queue) == self._queues[engine]:
            self._blocker = engine
            self._step()
        task = len(self.numbers)
        queue.append(_Issued(task, self.now, self._blocker, self._waits(variant)))
        self.numbers.append(number)
        self._engines.append(engine)
        self.starts.append(NOBODY)
        self.ends.append(NOBODY)
        self._there.append(NOBODY)
        ends, readers = self.ends, self._readers
        for cell in variant.reads:
            known = readers[cell]
            if known and ends[known[0]] != NOBODY:
                known[:] = [t for t in known if ends[t] == NOBODY]
            known.append(task)
        for cell in variant.writes:
            self._writer[cell] = task
            readers[cell].clear()
        if self._running[engine] is None and self._events[engine] == NEVER:
            self._start(engine)

    def _waits(self, variant: Variant) -> list[Wait]:
        """What the task has to wait for, in the order in which it is to blame: results that are still to come, and running readers."""
        found: list[Wait] = []
        now, ends, there, writers = self.now, self.ends, self._there, self._writer
        readers, engines = self._readers, self._engines
        for cell in variant.reads:
            writer = writers[cell]
            if writer != NOBODY and (ends[writer] == NOBODY or there[writer] > now):
                found.append((DATA, cell, writer, True))
        for cell in variant.writes:
            if readers[cell]:
                found += [(SLOT, cell, reader, False) for reader in readers[cell] if ends[reader] == NOBODY]
            writer = writers[cell]
            if writer == NOBODY or engines[writer] == variant.engine:
                continue
            if ends[writer] == NOBODY or there[writer] > now:
                found.append((SLOT, cell, writer, True))
        return found

    def _start(self, engine: int) -> None:
        """Starts the first task in the queue of an engine that has nothing to do, now or when it is known to be able to."""
        issued = self._waiting[engine][0]
        ends, there = self.ends, self._there
        idle_from = start = self.free[engine]
        cause, cell, by = ISSUE, NOBODY, issued.blocker
        if issued.at > start:
            start = issued.at
        for why, where, task, result in issued.waits:
            clear = ends[task]
            if clear == NOBODY:
                return
            if result:
                clear = there[task]
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
        now = self.starts[task] = self.now
        self._running[engine] = running = _Running(task, variant, now)
        if variant.demands and variant.setup:
            self._events[engine] = now + variant.setup
        else:
            self._ask(engine, running)

    def _ask(self, engine: int, running: _Running) -> None:
        self._events[engine] = running.work
        for port, cycles in self._table[self.numbers[running.task]].demands:
            self._ports[port].request(engine, cycles, self.now)
            self._unsettled.add(port)

    def _step(self) -> None:
        """Goes on to the next moment at which something happens."""
        dones, events, unsettled, all_running = self._dones, self._events, self._unsettled, self._running
        if unsettled:
            for number in unsettled:
                port = self._ports[number]
                port.settle(self.now)
                dones[number] = port.next_done()
            unsettled.clear()
        now, first_done = min(events), min(dones, default=NEVER)
        ended = False
        if first_done <= now:
            self.now = now = first_done
            for number, done in enumerate(dones):
                if done == now:
                    engine = self._ports[number].advance(now)
                    unsettled.add(number)
                    running = all_running[engine]
                    assert running is not None
                    running.open -= 1
                    running.port = number
                    if running.open == 0 and running.work <= now:
                        events[engine] = now
        self.now = now
        for engine, event in enumerate(events):
            if event == now:
                events[engine] = NEVER
                running = all_running[engine]
                if running is None:
                    self._begin(engine)
                elif running.work > now:
                    self._ask(engine, running)
                elif running.open == 0:
                    self._end(engine, running)
                    ended = True
        if ended:
            for engine, waiting in enumerate(self._waiting):
                if waiting and all_running[engine] is None and events[engine] == NEVER:
                    self._start(engine)

    def _end(self, engine: int, running: _Running) -> None:
        task, now = running.task, self.now
        self._running[engine] = None
        self.ends[task] = self.free[engine] = now
        self._there[task] = now + running.latency
        if running.latency:
            self._landing = [t for t in self._landing if self._there[t] > now]
            self._landing.append(task)
        shared = now - self.starts[task] - running.duration
        if shared:
            self.stalls.append(Stall(task, engine, "port", running.port, NOBODY, shared))
        over, ends = self._over, self.ends
        if ends[first := len(over) - 1] != NOBODY:
            latest = over[-1]
            while first < len(ends) and ends[first] != NOBODY:
                latest = max(latest, self._there[first])
                over.append(latest)
                first += 1

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
            found += [(w.task - first, self.numbers[w.task], w.seen_from_it()) for w in self._waiting[engine]]
        there = self._there
        found += [(t - first, there[t] - now, self.numbers[t]) for t in self._landing if there[t] > now]
        for cell in cells:
            writer = self._writer[cell]
            if writer != NOBODY and (self.ends[writer] == NOBODY or there[writer] > now):
                found.append((cell, writer - first))
            found += [(~cell, reader - first) for reader in self._readers[cell] if self.ends[reader] == NOBODY]
        found += [port.key(now) for port in self._ports]
        return tuple(found)

    def skip(self, cycles: int, since: int) -> None:
        """As `Clocks.skip`."""
        busy = set(self._engines[since:])
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
