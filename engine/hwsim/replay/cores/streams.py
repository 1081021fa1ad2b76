"""Clocks of several cores that share ports, each of which issues its tasks in order (a stream)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise

import msgspec
from msgspec.structs import replace

from ...access.ports import over
from ...machine.links import Routes, Segment
from ..arbiter import IDLE
from ..clocks import NEVER, NOBODY, Clocks, Pairs, TaskStall, Variant
from ..shared_ports import SharedClocks


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


class StreamClocks(SharedClocks):
    """Clocks of several cores, each of which issues its tasks in order. The variants, engines and ports of a core have numbers of their
    own: variant n of core s is n * streams + s, and so for engines: a port is granted engine by engine, each on one core after the other.

    `crowds` are the cores around each port. If it `folds`, core s stands for `weights[s]` equal ones, and all ports are common to all.
    `elements` are the ports that each element of a buffer has, with the number of elements.
    """

    def __init__(self, kinds: Sequence[Variant], queues: Sequence[int], cells: int, bursts: Sequence[int], crowds: Mapping[int, int],
                 users: Mapping[int, Collection[int]], weights: Sequence[int], preload: int, *, folds: bool = False,
                 links: Mapping[int, Routes] | None = None, elements: Mapping[int, int] | None = None) -> None:  # fmt: skip
        streams = self._streams = len(weights)
        self._cells, self._weights = cells, weights
        # The streams in one instance of a port.
        self._around = dict.fromkeys(crowds, streams) if folds else crowds
        self._links, self._elements = links or {}, elements or {}
        self._rows_of_elements: dict[tuple[int, int, Pairs], int] = {}
        # The numbers of segments, behind those of all other ports, and the port of each.
        self._segments: dict[tuple[int, int, Segment], int] = {}
        self._port_of = [port for port in range(len(bursts)) for _ in range(streams)]
        self.kinds = list(kinds)
        self._kind_of = [number for number in range(len(kinds)) for _ in range(streams)]
        every = [self._of_stream(kind, s) for kind in kinds for s in range(streams)]
        mine: dict[int, set[int]] = {}
        for port, engines in users.items():
            for s in range(streams):
                for number in self._near(port, s):
                    mine.setdefault(number, set()).update(e * streams + s for e in engines)
        long = [bursts[port] for port in self._port_of]
        folded = {port * streams: cores for port, cores in crowds.items()} if folds else None
        each = [tasks for tasks in queues for _ in range(streams)]
        super().__init__(every, each, cells * streams, long, mine, preload, folded)
        self._nows = [0] * streams
        # The tasks of each stream before each of its blocks.
        self._begun: list[list[int]] = [[] for _ in range(streams)]
        self._blockers = [NOBODY] * streams
        self.tasks: list[list[int]] = [[] for _ in range(streams)]
        # How many tasks of each stream are known to be complete, and when.
        self._known = [(0, 0)] * streams

    def _port(self, port: int, stream: int) -> int:
        return port * self._streams + stream // self._around.get(port, 1)

    def _numbers(
        self, port: int, stream: int, others: Sequence[int] = (), elements: Mapping[int, int] | None = None
    ) -> dict[int, tuple[int, int]]:
        """Returns the ports of a stream that its requests at a port concern, with the part of the cycles of each: (parts, of how many). A
        transfer of several streams concerns a tree of segments.
        """
        routes = self._links.get(port)
        if port in self._elements:
            return {self._segment(port, (elements or {}).get(port, 0), ELEMENT): (1, 1)}
        if routes is None:
            return {self._port(port, stream): (1, 1)}
        path, instance = routes.path([stream, *others]), stream // routes.around
        return {self._segment(port, instance, segment): (parts, path.of) for segment, parts in path.parts.items()}

    def _near(self, port: int, stream: int) -> Iterable[int]:
        """Returns the ports that requests of a stream at a port may concern."""
        routes = self._links.get(port)
        if port in self._elements:
            return [self._segment(port, n, ELEMENT) for n in range(self._elements[port])]
        if routes is None or not routes.link.multicast:
            return self._numbers(port, stream)
        every = {segment for ways in routes.ways for way in ways for segment in way}
        return [self._segment(port, stream // routes.around, segment) for segment in sorted(every)]

    def _requests(
        self,
        asked: Iterable[tuple[int, int]],
        stream: int,
        others: Sequence[int] = (),
        elements: Mapping[int, int] | None = None,
    ) -> Pairs:
        """Returns the requests of a stream for cycles of these ports."""
        return tuple(
            (number, over(cycles * parts, of))
            for port, cycles in asked
            for number, (parts, of) in self._numbers(port, stream, others, elements).items()
        )

    def is_outside(self, port: int) -> bool:
        """Returns whether a port is outside of the cores."""
        return port in self._links or self._around.get(port, 1) > 1

    def add_row(self, kind: Variant, number: int) -> int:
        """Adds a variant of a stream, of its variant `number`; returns its place in the table."""
        self.table.append(kind)
        self._kind_of.append(number)
        return len(self.table) - 1

    def _segment(self, port: int, instance: int, segment: Segment) -> int:
        key = port, instance, segment
        if key not in self._segments:
            self._segments[key] = len(self._port_of)
            self._port_of.append(port)
        return self._segments[key]

    def _of_stream(self, kind: Variant, s: int, elements: Mapping[int, int] | None = None) -> Variant:
        demands = self._requests(kind.demands, s, elements=elements)
        spare = tuple(
            (number, left, width)
            for port, left, width in kind.spare
            for number, (parts, of) in self._numbers(port, s).items()
            if parts == of
        )
        there = on_core(kind, self._links, s)
        return replace(
            of_block(there, s * self._cells), engine=kind.engine * self._streams + s, demands=demands, spare=spare
        )

    def has_room(self, stream: int, number: int) -> bool:
        """Returns whether a task of a stream can be issued by present knowledge."""
        engine = self.table[number * self._streams + stream].engine
        if self.free[engine] < NEVER:
            return True
        queued = len(self._waiting[engine]) + len(self._pending[engine])
        return queued < self.queues[engine] or bool(self._waiting[engine])

    def issue_of(self, stream: int, number: int) -> None:
        """Issues a task of a stream."""
        self.issue_row(stream, number * self._streams + stream)

    def issue_at(self, stream: int, number: int, elements: Pairs) -> None:
        """Issues a task of a stream that updates these elements, by port."""
        key = stream, number, elements
        if key not in self._rows_of_elements:
            kind = self._of_stream(self.kinds[number], stream, dict(elements))
            self._rows_of_elements[key] = self.add_row(kind, number)
        self.issue_row(stream, self._rows_of_elements[key])

    def issue_row(self, stream: int, row: int) -> None:
        """Issues a task of a stream, of the variant at this place in the table."""
        self.now, self._blocker, self.cores = self._nows[stream], self._blockers[stream], self._weights[stream]
        self.tasks[stream].append(len(self.numbers))
        self.issue(row)
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
        self._begun[stream].append(len(self.tasks[stream]))
        self._room = {
            (engine, port): left for (engine, port), left in self._room.items() if engine % self._streams != stream
        }

    def begin_turns(self, now: int) -> None:
        """Begins with the first engine and core at each port outside of the cores, where all tasks are complete."""
        for number, port in self.ports.items():
            if self.is_outside(self._port_of[number]):
                port.advance(now)
                port.last = IDLE

    def continue_idle(self, clocks: Clocks) -> None:
        """Begins the first stream where clocks, whose tasks are complete, stand."""
        for engine, free in enumerate(clocks.free):
            self.free[engine * self._streams] = free
            self._skipped[engine * self._streams] = dict(clocks._skipped[engine])

    @property
    def moment(self) -> int:
        """The moment up to which ports are simulated."""
        return self._clock

    def next_event(self) -> int:
        """Returns when the next task requests ports or its last request completes."""
        return self._next()

    def step(self) -> None:
        """Advances the ports to their next event."""
        self._step()

    def finish_all(self) -> None:
        """Advances the ports until all issued tasks are complete."""
        while any(self.over_of(stream) is None for stream in range(self._streams)):
            self._step()

    def result(self, stream: int) -> CoreResult:
        """Returns the tasks of one core."""
        count, tasks = self._streams, self.tasks[stream]
        rows = {task: row for row, task in enumerate(tasks)}
        stalls = [
            replace(
                stall, task=rows[stall.task], engine=stall.engine // count,
                cell=self._port_of[stall.cell] if stall.cause == "port" else stall.cell % self._cells if stall.cell >= 0 else stall.cell,
                by=stall.by if stall.by < 0 else stall.by // count if stall.cause == "issue" else self._kind_of[stall.by],
            )
            for stall in self.stalls if stall.task in rows
        ]  # fmt: skip
        numbers = [self._kind_of[self.numbers[task]] for task in tasks]
        kinds = [self.table[self.numbers[task]] for task in tasks]
        return CoreResult(numbers, [self.starts[t] for t in tasks], [self.ends[t] for t in tasks], stalls, self.free[stream::count],
                          [kind.engine // count for kind in kinds], [kind.latency for kind in kinds])  # fmt: skip

    def segments(self) -> dict[int, dict[tuple[int, Segment], int]]:
        """Returns the cycles that tasks requested of each segment of the links, by port."""
        names = {
            number: (port, (instance, segment))
            for (port, instance, segment), number in self._segments.items()
            if segment is not ELEMENT
        }
        found: dict[int, dict[tuple[int, Segment], int]] = {port: {} for port in self._links}
        for number, times in Counter(self.numbers).items():
            for asked, cycles in self.table[number].demands if self._links else ():
                if asked in names and self.is_requested(number, asked):
                    port, segment = names[asked]
                    found[port][segment] = found[port].get(segment, 0) + cycles * times
        for asked, cycles in self._saved().items():
            if asked in names:
                port, segment = names[asked]
                found[port][segment] -= cycles
        return found

    def _saved(self) -> Counter[int]:
        """Returns the cycles of ports for which tasks found room that earlier ones of the engine had left in the same block."""
        found: Counter[int] = Counter()
        for stream, tasks in enumerate(self.tasks):
            edges = [*dict.fromkeys((0, *self._begun[stream], len(tasks)))]
            for first, last in pairwise(edges):
                room: Counter[tuple[int, int, int]] = Counter()
                for number in (self.numbers[task] for task in tasks[first:last]):
                    for port, left, width in self.table[number].spare:
                        room[self.table[number].engine, port, width] += left
                for (_, port, width), left in room.items():
                    found[port] += left // width
        return found

    def is_requested(self, number: int, port: int) -> bool:
        """Returns whether tasks of a variant make their request at a port themselves."""
        return True

    def waited(self) -> dict[int, list[int]]:
        """Returns the cycles that each stream waited for each port."""
        found: dict[int, list[int]] = {}
        for stall in self.stalls:
            if stall.cause == "port":
                of_port = found.setdefault(self._port_of[stall.cell], [0] * self._streams)
                of_port[stall.engine % self._streams] += stall.cycles
        return found

    def _issued(self, engine: int) -> int:
        return self._nows[engine % self._streams]


ELEMENT: Segment = (-1, -1)
"""In place of a segment of a link: the port of an element."""


def delay_of(kind: Variant, links: Mapping[int, Routes], core: int) -> int:
    """Returns the delay of a task by the hops of a core."""
    return max((links[port].delay([core], core) for port, _ in kind.demands if port in links), default=0)


def on_core(kind: Variant, links: Mapping[int, Routes], core: int) -> Variant:
    """Returns a task with the delay of a core's hops."""
    delay = delay_of(kind, links, core)
    return replace(kind, latency=kind.latency + delay) if delay else kind


def of_block(variant: Variant, cells: int) -> Variant:
    """Returns the variant with its cells so many later."""
    return replace(
        variant,
        reads=tuple(cell + cells for cell in variant.reads),
        writes=tuple(cell + cells for cell in variant.writes),
        preloads=tuple((cell + cells, cycles) for cell, cycles in variant.preloads),
    )


def of_blocks(variant: Variant, blocks: int, cells: int) -> Variant:
    """Returns the tasks of so many blocks that run at once as one task: each at its part of the rate of the engine and of the ports."""
    demands = dict(variant.demands)
    spare: list[tuple[int, int, int]] = []
    for port, left, width in variant.spare:
        more, rest = divmod(blocks * left, width)
        demands[port] = demands[port] * blocks - more
        spare.append((port, rest, width))
    whole = {port for port, _, _ in variant.spare}
    asked = tuple((port, cycles if port in whole else cycles * blocks) for port, cycles in demands.items())
    return replace(
        of_block(variant, cells),
        duration=(variant.duration - variant.waited) * blocks + variant.waited,
        setup=variant.setup * blocks,
        demands=asked,
        spare=tuple(spare),
    )


__all__ = ["CoreResult", "StreamClocks", "delay_of", "of_block", "of_blocks", "on_core"]
