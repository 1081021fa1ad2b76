"""The time of each task of a sequence, event by event: issue, queues, dependences, ports."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from .ports import Port


class Timed(NamedTuple):
    """A task: its unit, its undisturbed cycles, the cells that it reads and writes, and the cycles of ports that it requests
    `setup` cycles after its start. Cells of `ahead` have to be ready the given number of cycles before its start.
    """

    unit: int
    duration: int
    latency: int
    setup: int
    reads: frozenset[int]
    writes: frozenset[int]
    demands: dict[Port, int]
    ahead: dict[int, int]


class _Request:
    def __init__(self, unit: int, cycles: int) -> None:
        self.unit = unit
        self.cycles = cycles


class _Arbiter:
    """Grants a port to the units that wait, in turn."""

    def __init__(self, grant: int) -> None:
        self.grant = grant
        self.waiting: list[_Request] = []
        self.held: _Request | None = None
        self.until = 0
        self.last = -1

    def finish(self, now: int) -> None:
        """Ends the current grant."""
        held = self.held
        if held is not None and self.until == now:
            self.held = None
            if held.cycles == 0:
                self.waiting.remove(held)

    def give(self, now: int) -> None:
        """Grants the next burst, if the port is free."""
        if self.held is None and self.waiting:
            self.held = min(self.waiting, key=lambda r: (r.unit <= self.last, r.unit))
            self.last = self.held.unit
            cycles = min(self.grant, self.held.cycles)
            self.held.cycles -= cycles
            self.until = now + cycles


class Clock:
    """Replays tasks in program order on units with queues of these capacities."""

    def __init__(self, tasks: Sequence[Timed], queues: Sequence[int]) -> None:
        self.tasks = tasks
        self.queues = queues
        self.starts: list[int | None] = [None] * len(tasks)
        self.ends: list[int | None] = [None] * len(tasks)
        self._needs = _dependences(tasks)
        self._arbiters: dict[Port, _Arbiter] = {}
        self._requests: dict[int, list[_Request]] = {}
        self._queued: dict[int, list[int]] = {unit: [] for unit in range(len(queues))}
        self._running: dict[int, int] = {}
        self._issued = 0

    def run(self) -> int:
        """The cycle in which all results are available."""
        now = 0
        while None in self.ends:
            for arbiter in self._arbiters.values():
                arbiter.finish(now)
            self._complete(now)
            while self._begin(now) or self._issue():
                pass
            self._ask(now)
            for arbiter in self._arbiters.values():
                arbiter.give(now)
            # A task without pending requests may end now, if it needs no time.
            now = self._next(now)
        return max(
            (end + t.latency for end, t in zip(self.ends, self.tasks, strict=True) if end is not None), default=0
        )

    def _complete(self, now: int) -> None:
        for unit, n in list(self._running.items()):
            start = self.starts[n]
            assert start is not None
            left = any(r.cycles or self._is_held(r) for r in self._requests.get(n, ()))
            if now >= start + self.tasks[n].duration and n in self._requests and not left:
                self.ends[n] = now
                del self._running[unit]

    def _is_held(self, request: _Request) -> bool:
        return any(a.held is request for a in self._arbiters.values())

    def _begin(self, now: int) -> bool:
        begun = False
        for unit, queue in self._queued.items():
            if queue and unit not in self._running and self._ready(queue[0]) <= now:
                n = queue.pop(0)
                self.starts[n], self._running[unit], begun = now, n, True
        return begun

    def _ready(self, n: int) -> int:
        """The end of all dependencies of a task; far in the future if unknown."""
        ends = [(self.ends[m], lag) for m, lag in self._needs[n]]
        return max((1 << 60 if end is None else end + lag for end, lag in ends), default=0)

    def _issue(self) -> bool:
        if self._issued == len(self.tasks):
            return False
        queue = self._queued[self.tasks[self._issued].unit]
        if len(queue) >= self.queues[self.tasks[self._issued].unit]:
            return False
        queue.append(self._issued)
        self._issued += 1
        return True

    def _ask(self, now: int) -> None:
        for unit, n in self._running.items():
            start = self.starts[n]
            assert start is not None
            if n not in self._requests and now >= start + self.tasks[n].setup:
                self._requests[n] = []
                for port, cycles in self.tasks[n].demands.items():
                    request = _Request(unit, cycles)
                    self._requests[n].append(request)
                    self._arbiters.setdefault(port, _Arbiter(port.grant)).waiting.append(request)

    def _next(self, now: int) -> int:
        moments = [a.until for a in self._arbiters.values() if a.held is not None]
        for n in self._running.values():
            start = self.starts[n]
            assert start is not None
            moments += [start + self.tasks[n].duration, start + self.tasks[n].setup]
        moments += [self._ready(queue[0]) for queue in self._queued.values() if queue]
        return min((m for m in moments if m > now), default=now + 1)


def _dependences(tasks: Sequence[Timed]) -> list[list[tuple[int, int]]]:
    """For each task the earlier ones that it waits for, with the delays after their ends."""
    writer: dict[int, int] = {}
    readers: dict[int, list[int]] = defaultdict(list)
    found: list[list[tuple[int, int]]] = []
    for n, task in enumerate(tasks):
        needs: list[tuple[int, int]] = []
        for cell in task.reads:
            if cell in writer:
                w = writer[cell]
                needs.append((w, tasks[w].latency + task.ahead.get(cell, 0)))
        for cell in task.writes:
            needs += [(m, 0) for m in readers[cell]]
            if cell in writer and tasks[writer[cell]].unit != task.unit:
                needs.append((writer[cell], tasks[writer[cell]].latency))
        for cell in task.reads:
            readers[cell].append(n)
        for cell in task.writes:
            writer[cell], readers[cell] = n, []
        found.append(needs)
    return found
