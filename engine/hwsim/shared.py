"""Time where engines share ports: as `replay`, but how long a task takes depends on who else moves data meanwhile.

When a task starts is known as soon as all that it waits for is; and when it ends, unless it asks for a shared port. Only those that do are
gone through moment by moment: at each, requests that are done end their tasks, others ask, and only then the ports that are free grant
their next burst. Such a task ends when its own work is done and all its requests are; what it takes beyond its duration alone is a stall
for the port that was done last.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from .arbiter import NEVER, Port
from .replay import CAUSES, DATA, ISSUE, NOBODY, SLOT, Stall, Variant

Wait = tuple[int, int, int, bool]
"""A task waits for another: (cause, cell, task, whether for its result, which may come after its end)."""


_Issued = tuple[int, int, int, list[Wait]]
"""A task of which it is not known when it starts: (task, since when it is issued, whose full queue it had to wait for, its waits)."""


class _Running:
    """A task whose end depends on ports: when its own work is done, how many requests are not done, and of which port the last was."""

    __slots__ = ("open", "port", "task", "variant", "work")

    def __init__(self, task: int, variant: Variant, start: int) -> None:
        self.task = task
        self.variant = variant
        self.work = start + variant.duration
        self.open = len(variant.demands)
        self.port = NOBODY


class SharedClocks:
    """As `replay.Clocks`; `bursts` has the cycles of a burst of each shared port. Starts and ends that are not known yet are NOBODY."""

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
        self._engines: list[int] = []
        self._there: list[int] = []
        self._over: list[int] = [0]
        # The tasks of each engine that have not started by now, and those among them of which it is not known when they will.
        self._waiting: list[deque[int]] = [deque() for _ in queues]
        self._pending: list[deque[_Issued]] = [deque() for _ in queues]
        self._running: list[_Running | None] = [None] * engines
        # When each engine's task asks for its ports, and when each port has done a request.
        self._asks = [NEVER] * engines
        self._ports = [Port(burst) for burst in bursts]
        self._dones = [NEVER] * len(self._ports)
        self._unsettled: set[int] = set()
        self._blocker = NOBODY
        self._skipped = [0] * engines
        self._writer = [NOBODY] * cell_count
        self._readers: list[list[int]] = [[] for _ in range(cell_count)]

    def issue(self, number: int) -> None:
        """Issues a task of variant `number`."""
        variant = self._table[number]
        engine = variant.engine
        queue = self._waiting[engine]
        if len(queue) == self._queues[engine]:
            self._make_room(engine, queue)
        task = len(self.numbers)
        waits = self._waits(task, variant)
        queue.append(task)
        self.numbers.append(number)
        self._engines.append(engine)
        self.starts.append(NOBODY)
        self.ends.append(NOBODY)
        self._there.append(NOBODY)
        issued = task, self.now, self._blocker, waits
        if self._pending[engine] or self._running[engine] is not None or not self._start(engine, issued):
            self._pending[engine].append(issued)

    def _make_room(self, engine: int, queue: deque[int]) -> None:
        """Goes on to when the queue has room: when the first task in it starts."""
        starts, first = self.starts, queue[0]
        while (start := starts[first]) == NOBODY or start > self.now:
            self._blocker = engine
            # Ports grant what is asked for by now only when time goes on: more may be issued at this moment.
            if start != NOBODY and start < self._next():
                self.now = start
            else:
                self._step()
        while queue and NOBODY != starts[queue[0]] <= self.now:
            queue.popleft()

    def _waits(self, task: int, variant: Variant) -> list[Wait]:
        """What the task has to wait for, in the order in which it is to blame: results that are still to come, and readers at work.
        Whoever wants its cells next waits for the task."""
        found: list[Wait] = []
        now, ends, there, writers, readers = self.now, self.ends, self._there, self._writer, self._readers
        for cell in variant.reads:
            writer = writers[cell]
            if writer != NOBODY and (ends[writer] == NOBODY or there[writer] > now):
                found.append((DATA, cell, writer, True))
            known = readers[cell]
            if known and ends[known[0]] != NOBODY and ends[known[0]] <= now:
                known[:] = [t for t in known if ends[t] == NOBODY or ends[t] > now]
            known.append(task)
        for cell in variant.writes:
            if known := readers[cell]:
                found += [(SLOT, cell, t, False) for t in known if t != task and (ends[t] == NOBODY or ends[t] > now)]
                known.clear()
            writer, writers[cell] = writers[cell], task
            if writer == NOBODY or self._engines[writer] == variant.engine:
                continue
            if ends[writer] == NOBODY or there[writer] > now:
                found.append((SLOT, cell, writer, True))
        return found

    def _start(self, engine: int, issued: _Issued) -> bool:
        """Finds out when the next task of an engine starts, and when it ends; whether that is known."""
        task, at, blocker, waits = issued
        ends, there = self.ends, self._there
        idle_from = start = self.free[engine]
        cause, cell, by = ISSUE, NOBODY, blocker
        if at > start:
            start = at
        for why, where, other, result in waits:
            clear = ends[other]
            if clear == NOBODY:
                return False
            if result:
                clear = there[other]
            if clear > start:
                start, cause, cell, by = clear, why, where, self.numbers[other]
        waited = start - idle_from + self._skipped[engine]
        if waited:
            self.stalls.append(Stall(task, engine, CAUSES[cause], cell, by, waited))
            self._skipped[engine] = 0
        self.starts[task] = start
        variant = self._table[self.numbers[task]]
        if not variant.demands:
            self._end(engine, task, start + variant.duration, variant.latency)
            return True
        self._running[engine] = _Running(task, variant, start)
        self._asks[engine] = start + variant.setup
        if start + variant.setup <= self.now:
            self._ask(engine)
        return True

    def _end(self, engine: int, task: int, end: int, latency: int) -> None:
        ends, there, over = self.ends, self._there, self._over
        ends[task] = self.free[engine] = end
        there[task] = end + latency
        if task == len(ends) - 1 == len(over) - 1:
            over.append(max(over[-1], end + latency))
        elif len(over) == task + 1:
            latest = over[-1]
            while task < len(ends) and ends[task] != NOBODY:
                latest = max(latest, there[task])
                over.append(latest)
                task += 1

    def _ask(self, engine: int) -> None:
        self._asks[engine] = NEVER
        running = self._running[engine]
        assert running is not None
        for port, cycles in running.variant.demands:
            self._ports[port].request(engine, cycles, self.now)
            self._unsettled.add(port)

    def _next(self) -> int:
        """The next moment at which a task asks for ports or a port has done a request."""
        if self._unsettled:
            for number in self._unsettled:
                port = self._ports[number]
                port.settle(self.now)
                self._dones[number] = port.next_done()
            self._unsettled.clear()
        return min(*self._asks, *self._dones)

    def _step(self) -> None:
        """Goes on to that moment."""
        self.now = now = self._next()
        ended = False
        for number, done in enumerate(self._dones):
            if done == now:
                engine = self._ports[number].advance(now)
                self._unsettled.add(number)
                running = self._running[engine]
                assert running is not None
                running.open -= 1
                running.port = number
                if running.open == 0:
                    self._done(engine, running)
                    ended = True
        if now in self._asks:
            for engine, asks in enumerate(self._asks):
                if asks == now:
                    self._ask(engine)
        if ended:
            self._start_all()

    def _done(self, engine: int, running: _Running) -> None:
        """The last request of a task is done, just now."""
        task, variant = running.task, running.variant
        end = max(running.work, self.now)
        self._running[engine] = None
        if end > running.work:
            self.stalls.append(Stall(task, engine, "port", running.port, NOBODY, end - running.work))
        self._end(engine, task, end, variant.latency)

    def _start_all(self) -> None:
        """Starts what waited for tasks whose end has become known."""
        progress = True
        while progress:
            progress = False
            for engine, pending in enumerate(self._pending):
                while pending and self._running[engine] is None and self._start(engine, pending[0]):
                    pending.popleft()
                    progress = True

    def key(self, engines: Sequence[int], cells: Sequence[int]) -> tuple[object, ...]:
        """As `Clocks.key`; every engine that has a port to ask for, or waits for one that has, counts."""
        now, first, starts, ends, there = self.now, len(self.numbers), self.starts, self.ends, self._there
        found: list[object] = [self._blocker]
        for engine, running in enumerate(self._running):
            pending = self._pending[engine]
            if running is not None:
                task = running.task
                found.append((task - first, self.numbers[task], starts[task] - now, running.open))
            elif engine in engines or pending:
                found.append(self.free[engine] - now - self._skipped[engine])
            if engine in engines:
                ahead = [starts[t] - now for t in self._waiting[engine] if starts[t] != NOBODY and starts[t] > now]
                found += (len(ahead), *ahead)
            found += [(task - first, self.numbers[task], self._seen(waits, first)) for task, _, _, waits in pending]
        for cell in cells:
            writer = self._writer[cell]
            if writer != NOBODY:
                if ends[writer] == NOBODY:
                    found.append((cell, writer - first))
                elif there[writer] > now:
                    found.append((cell, there[writer] - now, self.numbers[writer]))
            for reader in self._readers[cell]:
                if ends[reader] == NOBODY:
                    found.append((~cell, reader - first))
                elif ends[reader] > now:
                    found.append((~cell, ends[reader] - now, self.numbers[reader]))
        found += [port.key(now) for port in self._ports]
        return tuple(found)

    def _seen(self, waits: list[Wait], first: int) -> tuple[tuple[int, ...], ...]:
        """What a task waits for, seen from now: tasks counted from `first`, or when they are out of the way."""
        now, ends = self.now, self.ends
        found: list[tuple[int, ...]] = []
        for cause, cell, task, result in waits:
            if ends[task] == NOBODY:
                found.append((cause, cell, task - first, result))
            elif (clear := self._there[task] if result else ends[task]) > now:
                found.append((cause, cell, clear - now, self.numbers[task], result))
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
        """As `Clocks.is_settled`: it is known when they end. What is still at work may have to share a port with what comes."""
        return tasks < len(self._over)

    def finish(self) -> int:
        """As `Clocks.finish`, when all that was issued is played to its end."""
        while any(self._pending) or any(r is not None for r in self._running):
            self._step()
        return self._over[-1]
