"""Clocks of engines that share ports: the duration of a task depends on concurrent transfers.

The start of a task is known as soon as its dependences are; so is its end, unless it requests a shared port. If no other engine can request
its ports before it has released them, it ends as if it were alone. The remaining tasks are simulated event by event: at each event,
requests that complete end their tasks, others are made, and then free ports grant their next burst. Such a task ends when its own work and
all its requests are complete; the time beyond its duration is a stall on the port that completed last.

An unknown time is NEVER, and so are the times that depend on it. Issue does not block on unknown times: tasks are issued ahead of the
ports, which are simulated only as far as required.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import replace

from .arbiter import IDLE, Port
from .clocks import CAUSES, DATA, ISSUE, NEVER, NOBODY, SLOT, Clocks, Pairs, TaskStall, Variant
from .crowd import CrowdPort

Wait = tuple[int, int, int, int]
"""A dependence of a task on another: (cause, cell, task, cycles from the end of that task to the start of this one)."""

_Issued = tuple[int, int, int, list[Wait]]
"""A task whose start is unknown: (task, time of issue, engine whose full queue delayed it, its dependences)."""


class Running:
    """A task whose end depends on ports: the end of its own work, also if nothing delays it (`due`), and the completion of its requests, by
    port, after it has made them.
    """

    __slots__ = ("demands", "dones", "due", "task", "work")

    def __init__(self, task: int, work: int, demands: tuple[tuple[int, int], ...]) -> None:
        self.task = task
        self.work = self.due = work
        self.demands = demands
        self.dones: dict[int, int] = {}


class _Readers:
    """Tasks that read a cell: those with unknown ends, and the last to end of the others."""

    __slots__ = ("last", "open", "until")

    def __init__(self, last: int, until: int) -> None:
        self.last = last
        self.until = until
        self.open: list[int] = []

    def ends(self, task: int, end: int) -> None:
        """Records an end; of those that end together, the first in program order is responsible."""
        if (-end, task) < (-self.until, self.last):
            self.until, self.last = end, task


class SharedClocks(Clocks):
    """Clocks with a law of ports; `bursts` has the cycles of a burst of each port, `users` the ports that matter, with the engines that
    ever request each (default: all engines for all ports). `crowds` has the ports that equal cores share, with the number of cores.
    """

    def __init__(
        self,
        table: list[Variant],
        queues: Sequence[int],
        cell_count: int,
        bursts: Sequence[int],
        users: Mapping[int, Collection[int]] | None = None,
        longest_preload: int = 0,
        crowds: Mapping[int, int] | None = None,
    ) -> None:
        super().__init__(table, queues, cell_count, longest_preload)
        engines = range(len(queues))
        self._pending: list[deque[_Issued]] = [deque() for _ in engines]
        self._running: list[Running | None] = [None for _ in engines]
        # For each engine the task whose end is required to start its first pending task.
        self._awaited: list[int | None] = [None for _ in engines]
        # The last known end on each engine that has tasks with unknown times.
        self._last = [0] * len(engines)
        self._readers: dict[int, _Readers] = {}  # of cells with readers whose ends are unknown
        # The moment up to which ports are simulated.
        self._clock = 0
        self.users = dict.fromkeys(range(len(bursts)), engines) if users is None else users
        self.ports: dict[int, Port] = {number: Port(bursts[number]) for number in self.users}
        self._crowds = {n: CrowdPort(bursts[n], cores) for n, cores in (crowds or {}).items() if n in self.users}
        self.ports.update(self._crowds)
        # The cores that run each task which has not made its requests.
        self._sharing: dict[int, int] = {}
        self.dones: dict[int, int] = {}
        """When the requests of each task at ports of several cores complete."""
        self._unsettled: set[int] = set()
        # The moment at which each engine's task requests its ports, or, after that, the known completion of its last request.
        self._moments = [NEVER] * len(engines)
        # Earliest end of each task with an unknown end.
        self._soonest: dict[int, int] = {}
        # No task is issued before this moment.
        self._ahead = 0
        # The bytes that each engine was granted at a port of several cores, and has not used, by engine and port.
        self._room: dict[tuple[int, int], int] = {}

    def issue(self, number: int) -> None:
        """Issues a task of variant `number`."""
        if number >= len(self._rows):
            self._learn()
        if self._crowds:
            self._sharing[len(self.numbers)] = self.cores
        engine = self._rows[number][0]
        queued = len(self._waiting[engine]) + len(self._pending[engine])
        if self.free[engine] >= NEVER and queued == self.queues[engine]:
            self._make_room(engine)
        if self.free[engine] >= NEVER:
            self._issue_open(number)
        else:
            super().issue(number)

    def _demands(self, variant: Variant) -> Pairs:
        return tuple(asked for asked in variant.demands if asked[0] in self.users)

    def _make_room(self, engine: int) -> None:
        """Advances until the queue has room, at the start of its first task."""
        waiting = self._waiting[engine]
        if not waiting:
            self._ahead = self._begins(engine, self._pending[engine][0])
        while not waiting:
            self._step()
        taken = waiting.popleft()
        if taken > self.now:
            self.now, self._blocker = taken, engine

    # Tasks with unknown starts.

    def _issue_open(self, number: int) -> None:
        engine, duration, _, reads, writes, _, preloads = self._rows[number]
        waits = self._waits(engine, reads, writes, preloads)
        task = len(self.numbers)
        self.numbers.append(number)
        self.starts.append(NEVER)
        self.ends.append(NEVER)
        if self.free[engine] < NEVER:
            self._last[engine], self.free[engine] = self.free[engine], NEVER
        pending, issued = self._pending[engine], (task, self.now, self._blocker, waits)
        begins = self._begins(engine, issued)
        self._soonest[task] = (max(begins, self._soonest[pending[-1][0]]) if pending else begins) + duration
        pending.append(issued)
        self._hold(task, reads)
        for cell in writes:
            # The next user of the cell waits for this task, and no longer for those that it waits for.
            self._readers.pop(cell, None)
            self._released[cell] = 0
            self._ready[cell], self._writer[cell] = NEVER, task

    def _waits(self, engine: int, reads: Sequence[int], writes: Sequence[int], preloads: Pairs) -> list[Wait]:
        """Returns the dependences of a task, in the order of attribution: results that are not ready, and active readers."""
        found: list[Wait] = []
        now, ready, writer = self.now, self._ready, self._writer
        found += [(DATA, cell, writer[cell], self._latency(writer[cell])) for cell in reads if ready[cell] > now]
        for cell, cycles in preloads:
            if ready[cell] + cycles > now and writer[cell] != NOBODY:
                found.append((DATA, cell, writer[cell], self._latency(writer[cell]) + cycles))
        for cell in writes:
            readers = self._readers.get(cell)
            if readers is not None:
                at_work = [*readers.open, *([readers.last] if readers.until > now else [])]
                found += [(SLOT, cell, task, 0) for task in sorted(at_work)]
            elif self._released[cell] > now:
                found.append((SLOT, cell, self._reader[cell], 0))
            if ready[cell] > now and self._rows[self.numbers[writer[cell]]][0] != engine:
                found.append((SLOT, cell, writer[cell], self._latency(writer[cell])))
        return found

    def _latency(self, task: int) -> int:
        return self._rows[self.numbers[task]][2]

    def _hold(self, task: int, reads: Sequence[int]) -> None:
        """Registers the task as a reader of these cells with an unknown end."""
        for cell in reads:
            readers = self._readers.get(cell)
            if readers is None:
                readers = self._readers[cell] = _Readers(self._reader[cell], self._released[cell])
                self._released[cell] = NEVER
            readers.open.append(task)

    def _add_reader(self, cell: int, task: int, end: int) -> None:
        if end < NEVER:
            self._readers[cell].ends(task, end)

    def _begins(self, engine: int, issued: _Issued) -> int:
        """Returns the earliest start of the first task in an engine's queue, by present knowledge."""
        _, begins, _, waits = issued
        running = self._running[engine]
        begins = max(begins, self._last[engine] if running is None else running.work)
        ends, soonest = self.ends, self._soonest
        for _, _, other, cycles in waits:
            clear = ends[other] if ends[other] < NEVER else soonest[other]
            begins = max(begins, clear + cycles)
        return begins

    def _start(self, engine: int, issued: _Issued) -> bool:
        """Computes the start of an engine's next task; returns whether it is known."""
        task, at, blocker, waits = issued
        ends, numbers = self.ends, self.numbers
        idle_from = start = self._last[engine]
        cause, cell, by = ISSUE, NOBODY, blocker
        if at > start:
            start = at
        for why, where, other, cycles in waits:
            if ends[other] >= NEVER:
                self._awaited[engine] = other
                return False
            clear = ends[other] + cycles
            if clear > start:
                start, cause, cell, by = clear, why, where, numbers[other]
        skips = bool(self._skipped[engine])
        if start > idle_from or skips:
            self.stalls.append(TaskStall(task, engine, CAUSES[cause], cell, by, start - idle_from, skips))
            self._skipped[engine] = {}
        self.starts[task] = start
        self._waiting[engine].append(start)
        row = self._rows[numbers[task]]
        end = self._soonest[task] = start + row[1]
        if row[5]:
            end = self._begin(numbers[task], task, start)
        if end < NEVER:
            self._end(task, end)
        return True

    def _start_all(self) -> None:
        """Starts the tasks that waited for ends that are now known."""
        ends, running, awaited = self.ends, self._running, self._awaited
        progress = True
        while progress:
            progress = False
            for engine, pending in enumerate(self._pending):
                while pending and running[engine] is None:
                    before = awaited[engine]
                    if (before is not None and ends[before] >= NEVER) or not self._start(engine, pending[0]):
                        break
                    pending.popleft()
                    awaited[engine] = None
                    progress = True
                if self.free[engine] >= NEVER and not pending and running[engine] is None:
                    self.free[engine] = self._last[engine]

    def _end(self, task: int, end: int) -> None:
        """Records the end of a task, now known."""
        engine, _, latency, reads, writes, _, _ = self._rows[self.numbers[task]]
        self.ends[task] = self._last[engine] = end
        self._soonest.pop(task, None)
        for cell in reads:
            readers = self._readers.get(cell)
            if readers is not None and task in readers.open:
                readers.open.remove(task)
                readers.ends(task, end)
                if not readers.open:
                    self._released[cell], self._reader[cell] = readers.until, readers.last
                    del self._readers[cell]
        for cell in writes:
            if self._writer[cell] == task:
                self._ready[cell] = end + latency

    # Tasks that request ports.

    def _end_of(self, number: int, task: int, start: int) -> int:
        end = self._begin(number, task, start)
        if end >= NEVER:
            self._soonest[task] = start + self._rows[number][1]
            self._hold(task, self._rows[number][3])
        return end

    def _begin(self, number: int, task: int, start: int) -> int:
        engine, duration, _, _, _, demands, _ = self._rows[number]
        if self.table[number].spare:
            demands = self._shortened(engine, demands, self.table[number].spare)
            if not demands:
                return start + duration
        asks = start + self.table[number].setup
        running = self._running[engine] = Running(task, start + duration, demands)
        self._moments[engine] = asks
        end = self._alone(engine, running)
        if end >= NEVER and asks <= self._clock:
            self._ask(engine, running)
        return end

    def _shortened(self, engine: int, demands: Pairs, spare: Sequence[tuple[int, int, int]]) -> Pairs:
        """Returns the requests of a task without a cycle for which earlier tasks of the engine left room."""
        less: set[int] = set()
        for port, left, width in spare:
            room = self._room.get((engine, port), 0) + left
            self._room[engine, port] = room % width
            less.update([port] if room >= width else [])
        return tuple((port, cycles - (port in less)) for port, cycles in demands if cycles > (port in less))

    def _alone(self, engine: int, running: Running) -> int:
        """Returns the end of an engine's task that is about to request its ports, if no other engine can request them meanwhile; else
        NEVER.
        """
        asks = self._moments[engine]
        for number, cycles in running.demands:
            done = asks + cycles
            if number in self._crowds:
                return NEVER
            if done > running.work or not self.ports[number].is_free(self._clock):
                return NEVER
            for other in self.users[number]:
                if other != engine and self._may_ask(other) < done:
                    return NEVER
        for number, _ in running.demands:
            # Requests that complete by now precede its grant.
            self.ports[number].advance(self._clock)
            self.ports[number].pass_to(engine)
        self._running[engine], self._moments[engine] = None, NEVER
        return running.work

    def _may_ask(self, engine: int) -> int:
        """Returns the earliest time of an engine's next request for a port."""
        running, pending = self._running[engine], self._pending[engine]
        if running is not None:
            return running.work if running.dones else self._moments[engine]
        if pending:
            return self._begins(engine, pending[0])
        # Its last task may have ended at this moment.
        free = self.free[engine] if self.free[engine] < NEVER else self._last[engine]
        return max(free, self._issued(engine), self._ahead)

    def _issued(self, engine: int) -> int:
        """Returns a time before which no further task is issued to an engine."""
        return self.now

    def _ask(self, engine: int, running: Running) -> None:
        self._moments[engine] = NEVER
        cores = self._sharing.get(running.task, 1)
        for port, cycles in running.demands:
            if port in self._crowds:
                self._crowds[port].request_of(cores, engine, cycles, self._clock)
            else:
                self.ports[port].request(engine, cycles, self._clock)
            running.dones[port] = NEVER
            self._unsettled.add(port)

    # Ports, event by event.

    def _next(self) -> int:
        """Returns the next moment at which a task requests ports or its last request completes."""
        if self._unsettled:
            for number in self._unsettled:
                port = self.ports[number]
                port.settle(self._clock)
                for engine, done in port.dones():
                    running = self._running[engine]
                    assert running is not None
                    running.dones[number] = done
                    self._moments[engine] = max(running.dones.values())
            self._unsettled.clear()
        return min(self._moments)

    def _step(self) -> None:
        """Advances to the next event."""
        self._clock = now = self._next()
        ended = False
        asking: list[tuple[int, Running]] = []
        for engine, moment in enumerate(self._moments):
            if moment == now:
                running = self._running[engine]
                assert running is not None
                if running.dones:
                    self._done(engine, running)
                    ended = True
                else:
                    asking.append((engine, running))
        for engine, running in asking:
            # More is known now than at its start.
            end = self._alone(engine, running)
            if end < NEVER:
                self._end(running.task, end)
                ended = True
            else:
                self._ask(engine, running)
        if ended:
            self._start_all()

    def _done(self, engine: int, running: Running) -> None:
        """Ends a task whose last request completes now."""
        now, end = self._clock, max(self._clock, running.work)
        self._running[engine], self._moments[engine] = None, NEVER
        if self._crowds:
            crowded = [done for number, done in running.dones.items() if number in self._crowds]
            self.dones[running.task] = max(crowded, default=0)
            self._sharing.pop(running.task, None)
        if end > running.due:
            port = max(number for number, done in running.dones.items() if done == now)
            self.stalls.append(TaskStall(running.task, engine, "port", port, NOBODY, end - running.due))
        self._end(running.task, end)

    def ports_now(self) -> Mapping[int, Port]:
        """Returns the ports at the moment of the last issue: later requests at that moment are possible."""
        self._catch_up()
        for number, port in self.ports.items():
            port.advance(self.now)
            self._unsettled.add(number)
        return self.ports

    def _catch_up(self) -> None:
        """Simulates all events before the moment of the last issue, and completions at it; later requests at that moment are possible."""
        while self._clock < self.now:
            if self._next() > self.now:
                self._clock = self.now
            else:
                self._step()

    def key(self, engines: Sequence[int], cells: Sequence[int], *, idle: bool = True) -> tuple[object, ...]:
        """Like `Clocks.key`; includes every engine that requests a port, or waits for one that does."""
        ports = self.ports_now()
        now, first, numbers = self.now, len(self.numbers), self.numbers
        past = now - self._longest_preload
        found: list[object] = [self._blocker]
        for engine, (running, pending) in enumerate(zip(self._running, self._pending, strict=True)):
            if running is not None:
                task = running.task
                found.append((task - first, numbers[task], self.starts[task] - now))
            elif engine in engines or pending:
                free = self._last[engine] if pending else self.free[engine]
                found.append(self._free_in(engine, free, idle=idle))
            if engine in engines:
                ahead = [start - now for start in self._waiting[engine] if start > now]
                found += (len(ahead), *ahead)
            found += [
                (task - first, numbers[task], self._sharing.get(task, 0), self._seen(waits, first))
                for task, _, _, waits in pending
            ]
        for cell in cells:
            if self._ready[cell] >= NEVER:
                found.append((cell, self._writer[cell] - first))
            elif self._ready[cell] > past and self._writer[cell] != NOBODY:
                found.append((cell, self._ready[cell] - now, numbers[self._writer[cell]]))
            readers = self._readers.get(cell)
            if readers is not None:
                last = readers.last
                known = (last - first, readers.until - now, numbers[last]) if readers.until > now else ()
                found.append((~cell, known, *(task - first for task in readers.open)))
            elif self._released[cell] > now:
                found.append((~cell, self._released[cell] - now, numbers[self._reader[cell]]))
        found += [port.key(now) for port in ports.values()]
        found.append(tuple(sorted(self._room.items())))
        return tuple(found)

    def _seen(self, waits: list[Wait], first: int) -> tuple[tuple[int, ...], ...]:
        """Returns the dependences of a task, relative to now: tasks counted from `first`, or the times of their completion."""
        now, ends = self.now, self.ends
        found: list[tuple[int, ...]] = []
        for cause, cell, task, cycles in waits:
            if ends[task] >= NEVER:
                found.append((cause, cell, task - first, cycles))
            elif ends[task] + cycles > now:
                found.append((cause, cell, ends[task] + cycles - now, self.numbers[task], cycles))
        return tuple(found)

    def finish(self) -> int:
        """Like `Clocks.finish`, after all issued tasks are simulated to their end. No more tasks are issued."""
        self._ahead = NEVER
        while any(self._pending) or any(r is not None for r in self._running):
            self._step()
        return super().finish()

    def begin(self, cycles: int) -> None:
        super().begin(cycles)
        self._ahead = 0
        self._room = {}

    def begin_launch(self, cycles: int) -> None:
        """Begins a launch, with the first engine and core at each port of several cores."""
        super().begin_launch(cycles)
        for port in self._crowds.values():
            # Its last grants may not be counted yet.
            port.advance(self.now)
            port.last = IDLE

    def extend(self, numbers: Sequence[int], starts: Sequence[int], ends: Sequence[int], stalls: Sequence[TaskStall],
               dones: Mapping[int, int], free: Sequence[int]) -> None:  # fmt: skip
        """Adds tasks that were replayed elsewhere, after all others are complete. `stalls` and `dones` count them from the first one."""
        row = len(self.numbers)
        self.numbers += numbers
        self.starts += starts
        self.ends += ends
        self.stalls += [replace(stall, task=row + stall.task) for stall in stalls]
        self.dones.update({row + task: done for task, done in dones.items()})
        self.free = [*free]
        for number in numbers:
            self._skipped[self.table[number].engine] = {}
