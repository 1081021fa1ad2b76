"""Replay of every task of every core, for programs whose cores do not do the same.

Each core issues its tasks in order (a stream). The clocks are those of all engines: a stream is advanced until an engine's queue is full of
tasks whose start is unknown, or a block waits for the end of the one before; when all streams wait, the ports advance to their next event.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from math import lcm, prod

import msgspec
from msgspec.structs import replace

from ....ir import Var
from ...tasks.tree import TaskLoop, TaskNode, TaskProgram
from ...tasks.variants import NOTHING
from ..arbiter import IDLE, Port
from ..clocks import NEVER, NOBODY, TaskStall, Variant
from ..repeats import Place
from ..shared_ports import SharedClocks
from ..steady import crowds_of
from .waves import Launch, Wave, blocks_of_core, busy_cores, grid_of, of_block, waves_of

BEGIN, TAKE = -1, -2

MAX_OF_ALL = 400_000
"""Limit on the tasks of all cores times the cores that have work: each event concerns all of them."""


class CorePort(Port):
    """A port that cores share round-robin, and the engines of a core in the turns of their core. A core has `engines` engines."""

    __slots__ = ("_engines", "_last_of")

    def __init__(self, burst: int, engines: int) -> None:
        super().__init__(burst)
        self._engines = engines
        self._last_of: dict[int, int] = {}

    def pass_to(self, engine: int) -> None:
        self.last = engine
        self._last_of[engine // self._engines] = engine

    def dones(self) -> list[tuple[int, int]]:
        if self.holder == IDLE:
            return []
        ahead = CorePort(self.burst, self._engines)
        ahead.wants, ahead.holder, ahead.until = dict(self.wants), self.holder, self.until
        ahead.last, ahead._last_of = self.last, dict(self._last_of)
        found: dict[int, int] = {} if self.holder in self.wants else {self.holder: self.until}
        while ahead.wants:
            ahead._skip_rounds(NEVER)
            ahead._grant(ahead.until)
            if ahead.holder not in ahead.wants:
                found[ahead.holder] = ahead.until
        return list(found.items())

    def _turns(self) -> list[list[int]]:
        """Returns the waiting engines of each core in their order, the core that is next first."""
        of_core: dict[int, list[int]] = {}
        for engine in sorted(self.wants):
            of_core.setdefault(engine // self._engines, []).append(engine)
        last = self.last // self._engines if self.last != IDLE else IDLE
        order = sorted(of_core, key=lambda core: (core <= last, core))
        found: list[list[int]] = []
        for core in order:
            before = self._last_of.get(core, IDLE)
            found.append(sorted(of_core[core], key=lambda engine: (engine <= before, engine)))
        return found

    def _in_turn(self) -> list[int]:
        return [engines[0] for engines in self._turns()]

    def _grant(self, at: int) -> None:
        super()._grant(at)
        self.pass_to(self.holder)

    def _skip_rounds(self, now: int) -> None:
        """Skips rounds in which each engine of a core has as many turns as the others, and keeps a burst."""
        turns = self._turns()
        whole = lcm(*(len(engines) for engines in turns))
        length = self.burst * whole * len(turns)
        rounds = (now - self.until - 1) // length
        for engines in turns:
            rounds = min(rounds, *((self.wants[e] - 1) // self.burst // (whole // len(engines)) for e in engines))
        if rounds > 0:
            self.until += rounds * length
            for engines in turns:
                self.pass_to(engines[-1])
                for engine in engines:
                    self.wants[engine] -= rounds * self.burst * (whole // len(engines))


class StreamClocks(SharedClocks):
    """Clocks of `streams` cores, each of which issues its tasks in order. The variants, engines, cells and ports of a core have numbers of
    their own: variant n of core s is n * streams + s.
    """

    def __init__(self, kinds: Sequence[Variant], queues: Sequence[int], cells: int, bursts: Sequence[int], around: Mapping[int, int],
                 users: Mapping[int, Collection[int]], streams: int, preload: int) -> None:  # fmt: skip
        self._streams, self._engines, self._cells, self._around = streams, len(queues), cells, around
        every = [self._of_stream(kind, s) for kind in kinds for s in range(streams)]
        mine: dict[int, set[int]] = {}
        for port, engines in users.items():
            for s in range(streams):
                mine.setdefault(self._port(port, s), set()).update(e + s * len(queues) for e in engines)
        long = [bursts[port // streams] for port in range(len(bursts) * streams)]
        super().__init__(every, list(queues) * streams, cells * streams, long, mine, preload)
        self._ports = {port: CorePort(long[port], len(queues)) for port in mine}
        self._nows = [0] * streams
        self._blockers = [NOBODY] * streams
        self.tasks: list[list[int]] = [[] for _ in range(streams)]
        # How many tasks of each stream are known to be complete, and when.
        self._known = [(0, 0)] * streams

    def _port(self, port: int, stream: int) -> int:
        return port * self._streams + stream // self._around.get(port, 1)

    def _of_stream(self, kind: Variant, s: int) -> Variant:
        demands = tuple((self._port(port, s), cycles) for port, cycles in kind.demands)
        return replace(of_block(kind, s * self._cells), engine=kind.engine + s * self._engines, demands=demands)

    def has_room(self, stream: int, number: int) -> bool:
        """Returns whether a task of a stream can be issued by present knowledge."""
        engine = self.table[number * self._streams + stream].engine
        if self.free[engine] < NEVER:
            return True
        queued = len(self._waiting[engine]) + len(self._pending[engine])
        return queued < self.queues[engine] or bool(self._waiting[engine])

    def issue_of(self, stream: int, number: int) -> None:
        """Issues a task of a stream."""
        self.now, self._blocker = self._nows[stream], self._blockers[stream]
        self.tasks[stream].append(len(self.numbers))
        self.issue(number * self._streams + stream)
        self._nows[stream], self._blockers[stream] = self.now, self._blocker

    def over_of(self, stream: int) -> int | None:
        """Returns when all tasks of a stream are complete, with their results; None if unknown."""
        count, latest = self._known[stream]
        tasks = self.tasks[stream]
        while count < len(tasks) and self.ends[tasks[count]] < NEVER:
            latest = max(latest, self.ends[tasks[count]] + self.table[self.numbers[tasks[count]]].latency)
            count += 1
        self._known[stream] = count, latest
        return latest if count == len(tasks) else None

    def begin_of(self, stream: int, at: int) -> None:
        """Issues no further task of a stream before a moment."""
        self._nows[stream], self._blockers[stream] = at, NOBODY

    def next_event(self) -> int:
        """Returns when the next task requests ports or its last request completes."""
        return self._next()

    def step(self) -> None:
        """Advances the ports to their next event."""
        self._step()

    def _issued(self, engine: int) -> int:
        return self._nows[engine // self._engines]


class CoreTask(msgspec.Struct, frozen=True):
    """A task of a core: its variant, the block in its core, and the iterations of the loops around."""

    number: int
    resident: int
    place: Place


class CoreResult(msgspec.Struct):
    """The tasks of one core, as `Clocks` has them."""

    numbers: list[int]
    starts: list[int]
    ends: list[int]
    stalls: list[TaskStall]
    free: list[int]
    units: list[int]
    latencies: list[int]
    users: Mapping[int, object] = {}


class AllCores:
    """A replay of all cores of a program with one loop over blocks."""

    def __init__(self, program: TaskProgram, residents: int, users: Mapping[int, Collection[int]]) -> None:
        core, machine = program.machine.core, program.machine
        assert core is not None
        self._program, self._core, self._residents = program, core, residents
        self._node: TaskNode | None = next((n for n in program.tree if isinstance(n, TaskLoop) and n.grid), None)
        self._cells = len(program.places.of_cell)
        self._extents = grid_of(self._node) if self._node is not None else ()
        self._blocks = [list(self._block(b)) for b in range(prod(self._extents))]
        # The next block, if cores take blocks as they become free.
        self._next = 0 if core.dispatch == "first_free" and residents == 1 else None
        working = busy_cores(len(self._blocks), machine.cores, core.dispatch)
        self.streams = [self._waves_of(c) for c in range(working)]
        kinds = [of_block(v.replay, n * self._cells) for v in program.variants for n in range(residents)]
        bursts = [port.burst_cycles for port in program.ports]
        queues = [residents * tasks for tasks in machine.queues]
        self.clocks = StreamClocks(kinds, queues, residents * self._cells, bursts, crowds_of(program), users, working,
                                   machine.longest_preload)  # fmt: skip

    def _waves_of(self, core: int) -> list[list[CoreTask]]:
        """Returns the waves of blocks of a core, in which it issues the tasks of its blocks in turn."""
        if self._next is not None:
            return []
        blocks = blocks_of_core(core, len(self._blocks), self._program.machine.cores, self._core.dispatch)
        size = self._residents
        return [self._wave(blocks[first : first + size]) for first in range(0, len(blocks), size)]

    def _wave(self, blocks: Iterable[int]) -> list[CoreTask]:
        held = [[CoreTask(n, place, at) for n, at in self._blocks[block]] for place, block in enumerate(blocks)]
        return [task for tasks in zip_longest(*held) for task in tasks if task is not None]

    def _block(self, block: int) -> Iterator[tuple[int, Place]]:
        index: list[int] = []
        for extent in reversed(self._extents):
            block, i = divmod(block, extent)
            index.insert(0, i)
        nodes = self._program.tree if self._node is None else (self._node,)
        return self._walk(nodes, {}, (), index)

    def _walk(
        self, nodes: Sequence[TaskNode], at: Mapping[Var, int], path: Place, index: Sequence[int]
    ) -> Iterator[tuple[int, Place]]:
        for node in nodes:
            if not isinstance(node, TaskLoop):
                number = node.variants.at(at)
                if number != NOTHING:
                    yield number, path
                continue
            if node.grid:
                own, rest = index[: len(node.loops)], index[len(node.loops) :]
                here = {loop.var: i for loop, i in zip(node.loops, own, strict=True)}
                yield from self._walk(node.children, {**at, **here}, (*path, *own), rest)
                continue
            for i in range(node.extent):
                digits: list[int] = []
                left = i
                for loop in reversed(node.loops):
                    left, digit = divmod(left, loop.extent)
                    digits.insert(0, digit)
                here = {loop.var: digit for loop, digit in zip(node.loops, digits, strict=True)}
                yield from self._walk(node.children, {**at, **here}, (*path, *digits), index)

    def run(self) -> int:
        """Replays all tasks; returns the makespan."""
        clocks = self.clocks
        actions = [self._actions(s) for s in range(len(self.streams))]
        waiting = {s: next(stream, None) for s, stream in enumerate(actions)}
        while any(action is not None for action in waiting.values()):
            moved = False
            for s, stream in enumerate(actions):
                while (action := waiting[s]) is not None and self._does(s, action):
                    waiting[s] = next(stream, None)
                    moved = True
            if moved:
                continue
            free = min(((over, s) for s, action in waiting.items() if action == TAKE
                        and (over := clocks.over_of(s)) is not None), default=None)  # fmt: skip
            if free is not None and free[0] < clocks.next_event():
                self._take(free[1])
                waiting[free[1]] = next(actions[free[1]], None)
            else:
                clocks.step()
        clocks.finish()
        return max((clocks.over_of(s) or 0 for s in range(len(self.streams)) if self.streams[s]), default=0)

    def _take(self, stream: int) -> None:
        """Gives the next block to a core that is free."""
        if self._next is not None and self._next < len(self._blocks):
            self.streams[stream].append(self._wave([self._next]))
            self._next += 1

    def _actions(self, stream: int) -> Iterator[int]:
        """Yields what a stream does: the variants that it issues, and BEGIN or TAKE before a block."""
        n = 0
        while True:
            if self._next is not None:
                yield TAKE
            if n == len(self.streams[stream]):
                return
            if self._core.dispatch != "persistent" or n == 0:
                yield BEGIN
            yield from (task.number * self._residents + task.resident for task in self.streams[stream][n])
            n += 1

    def _does(self, stream: int, action: int) -> bool:
        """Does the next action of a stream; returns whether it could."""
        if action >= 0:
            if not self.clocks.has_room(stream, action):
                return False
            self.clocks.issue_of(stream, action)
            return True
        over = self.clocks.over_of(stream)
        if action == TAKE or over is None:
            return False
        self.clocks.begin_of(stream, over + self._core.start_cycles)
        return True

    @property
    def launches(self) -> tuple[Launch, ...]:
        """The blocks, and the waves of the first core."""
        core = self._core
        waves = waves_of(len(self._blocks), self._program.machine.cores, self._residents, core.dispatch)
        return (Launch(self._extents, waves if self._node is not None else (Wave(0, 1, (1,)),)),)

    def result(self, stream: int = 0) -> tuple[CoreResult, list[Place]]:
        """Returns the tasks of one core."""
        clocks, count = self.clocks, len(self.streams)
        tasks = clocks.tasks[stream]
        rows = {task: row for row, task in enumerate(tasks)}
        engines, cells = len(clocks.free) // count, clocks.cell_count // count
        stalls = [
            replace(
                stall, task=rows[stall.task], engine=stall.engine % engines,
                cell=stall.cell // count if stall.cause == "port" else stall.cell % cells if stall.cell >= 0 else stall.cell,
                by=stall.by % engines if stall.cause == "issue" and stall.by >= 0 else stall.by // count if stall.by >= 0 else stall.by,
            )
            for stall in clocks.stalls if stall.task in rows
        ]  # fmt: skip
        numbers = [clocks.numbers[task] // count for task in tasks]
        latencies = [clocks.table[clocks.numbers[task]].latency for task in tasks]
        units = [clocks.table[clocks.numbers[task]].engine % engines for task in tasks]
        free = clocks.free[stream * engines : (stream + 1) * engines]
        found = CoreResult(
            numbers, [clocks.starts[t] for t in tasks], [clocks.ends[t] for t in tasks], stalls, free, units, latencies
        )
        return found, [task.place for wave in self.streams[stream] for task in wave]


__all__ = ["MAX_OF_ALL", "AllCores", "CoreResult"]
