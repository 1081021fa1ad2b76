"""Copies of the same bytes to several cores that are one transfer, over a link with multicast.

Each core of the group begins its copy, and after its set-up waits for the others; then the first of them makes the requests at ports
outside of the cores, on the tree of paths to all of them. The copy ends on each core when these requests and its own work are complete.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

import msgspec
from msgspec.structs import replace

from ....ir import free_vars
from ...access.ports import over
from ...machine.links import Routes, Segment, outer_memory
from ...machine.parts import DmaEngine, Link
from ...tasks.tree import TaskLoop, TaskProgram, Template
from ..clocks import NEVER
from ..shared_ports import Running
from .streams import StreamClocks
from .waves import blocks_of_core, grid_of, has_equal_blocks


class Multicast(msgspec.Struct, frozen=True):
    """Copies of a template are one transfer if these loops over blocks (by number, from the outermost) are at the same iterations, on cores
    around one memory, each of which has so many `around` it.
    """

    grid: tuple[int, ...]
    around: int


def multicasts(program: TaskProgram) -> dict[int, Multicast]:
    """Returns the templates whose copies to several cores are one transfer, if they read the same in one wave of blocks.

    Only programs of one loop over blocks have such: equal ones, or on cores that hold one at a time. All cores then meet at their transfers
    in one order.
    """
    core, links = program.machine.core, [link for link in program.machine.links if link.multicast]
    node = program.tree[0] if len(program.tree) == 1 else None
    if core is None or not links or not isinstance(node, TaskLoop) or not node.grid:
        return {}
    if core.blocks > 1 and not has_equal_blocks(node):
        return {}
    return {t.number: found for t in program.templates if (found := _multicast(program, t, links)) is not None}


def _multicast(program: TaskProgram, template: Template, links: Sequence[Link]) -> Multicast | None:
    machine, placed = program.machine, program.places.by_buffer
    if not isinstance(machine.engines[template.engine], DmaEngine):
        return None
    works = [piece.measured.work for piece in template.variants.pieces]
    sides = [(read, write) for work in works for read in work.reads for write in work.writes]
    ends = {(placed[read.buffer].memory.name, placed[write.buffer].memory.name) for read, write in sides}
    link = next((link for link in links if (link.origin, link.target) in ends), None)
    if link is None:
        return None
    used = {v for read, _ in sides for e in (*read.indices, *read.extents) for v in free_vars(e)}
    grid = tuple(n for n, loop in enumerate(template.outer) if loop.grid and loop.var in used)
    return Multicast(grid, machine.cores_around(machine.memory(outer_memory(link, machine)).level))


class Transfers:
    """The transfers of a program of equal blocks on all cores: how often, and the cycles of each segment of each link. If blocks differ, a
    replay of all cores knows them.

    `counts` are the tasks of each variant on all cores, of blocks of which a core holds `residents`.
    """

    def __init__(self, program: TaskProgram, counts: Mapping[int, int], residents: int) -> None:
        self._program, self._counts, self._residents = program, counts, residents
        node = program.tree[0] if len(program.tree) == 1 else None
        self._extents = grid_of(node) if node is not None else ()
        is_equal = bool(self._extents) and node is not None and has_equal_blocks(node)
        self._per_block = {n: count // prod(self._extents) for n, count in counts.items()} if is_equal else {}
        self._casts = multicasts(program)
        self._known: dict[Multicast | None, Counter[tuple[int, ...]]] = {}

    @property
    def merged(self) -> dict[int, int]:
        """The transfers of each variant of which several tasks are one; the fewest possible, if blocks differ."""
        casts = {n: self._casts.get(self._program.variants[n].template) for n in self._counts} if self._casts else {}
        if not self._per_block:
            return {n: over(self._counts[n], cast.around) for n, cast in casts.items() if cast is not None}
        return {n: self._per_block[n] * self._groups(cast).total() for n, cast in casts.items() if cast is not None}

    def segments(self, port: int, routes: Routes) -> Counter[tuple[int, Segment]]:
        """Returns the cycles of each segment of a link: of its instance and ends. Nothing if blocks differ."""
        found: Counter[tuple[int, Segment]] = Counter()
        for number, per_block in self._per_block.items():
            variant = self._program.variants[number]
            cycles = dict(variant.replay.demands).get(port, 0)
            cast = self._casts.get(variant.template) if self._casts else None
            for cores, times in self._groups(cast).items() if cycles else ():
                path, instance = routes.path(cores), cores[0] // routes.around
                for segment, parts in path.parts.items():
                    found[instance, segment] += over(cycles * parts, path.of) * per_block * times
        for cores, times in self._groups(None).items():
            path, instance = routes.path(cores), cores[0] // routes.around
            whole = [segment for segment, parts in path.parts.items() if parts == path.of]
            saved = self._saved(port, times) if whole else 0
            found.update(dict.fromkeys(((instance, segment) for segment in whole), -saved) if saved else {})
        return found

    def _saved(self, port: int, blocks: int) -> int:
        """Returns the cycles of a port for which tasks of a core find room that earlier ones of the engine have left: in its wave, or, if
        blocks follow each other like iterations, in all of them.
        """
        room: Counter[tuple[int, int]] = Counter()
        for number, per_block in self._per_block.items():
            kind = self._program.variants[number]
            cast = self._casts.get(kind.template) if self._casts else None
            if cast is None or all(len(cores) == 1 for cores in self._groups(cast)):
                for asked, left, width in kind.replay.spare:
                    room[kind.replay.engine, width] += left * per_block * (asked == port)
        core = self._program.machine.core
        assert core is not None
        if core.dispatch == "persistent":
            return sum(left * blocks // width for (_, width), left in room.items())
        waves, rest = divmod(blocks, self._residents)
        return sum(left * self._residents // width * waves + left * rest // width for (_, width), left in room.items())

    def _groups(self, cast: Multicast | None) -> Counter[tuple[int, ...]]:
        """Returns the groups of cores whose blocks make one transfer together, with the number of such transfers for one task."""
        if cast not in self._known:
            self._known[cast] = Counter(self._alone() if cast is None else self._together(cast))
        return self._known[cast]

    def _alone(self) -> dict[tuple[int, ...], int]:
        core, cores, blocks = self._program.machine.core, self._program.machine.cores, prod(self._extents)
        assert core is not None
        # If the order of dispatch is not fixed, blocks are assumed to be in turn.
        return {(c,): len(blocks_of_core(c, blocks, cores, core.dispatch)) for c in range(min(cores, blocks))}

    def _together(self, cast: Multicast) -> Iterator[tuple[int, ...]]:
        core, cores, blocks = self._program.machine.core, self._program.machine.cores, prod(self._extents)
        assert core is not None
        found: dict[tuple[int, ...], list[int]] = {}
        for c in range(cores):
            for n, block in enumerate(blocks_of_core(c, blocks, cores, core.dispatch)):
                index = index_of(block, self._extents)
                place = divmod(n, self._residents)
                found.setdefault((c // cast.around, *place, *(index[i] for i in cast.grid)), []).append(c)
        return (tuple(group) for group in found.values())


def index_of(block: int, extents: Sequence[int]) -> tuple[int, ...]:
    """Returns the iterations of the loops over blocks of a block."""
    index: list[int] = []
    for extent in reversed(extents):
        block, i = divmod(block, extent)
        index.insert(0, i)
    return tuple(index)


class Group:
    """Tasks of several cores that are one transfer: their streams, the ports at which the first makes the requests, and its engine; the
    engines whose tasks have begun.
    """

    __slots__ = ("arrived", "engine", "ports", "streams")

    def __init__(self, streams: tuple[int, ...], ports: tuple[int, ...], engine: int) -> None:
        self.streams, self.ports, self.engine = streams, ports, engine
        self.arrived: dict[int, Running] = {}

    @property
    def is_complete(self) -> bool:
        return len(self.arrived) == len(self.streams)


class GroupClocks(StreamClocks):
    """Clocks of several cores, of which groups make one transfer together."""

    def __init__(self, *args: Any, **keys: Any) -> None:
        self._groups: dict[int, Group] = {}
        self._active: list[Group] = []
        self._rows_of_groups: dict[tuple[int, int, tuple[int, ...]], tuple[int, tuple[int, ...]]] = {}
        # The port of the transfer, of variants that wait for another core's requests there.
        self._followers: dict[int, int] = {}
        super().__init__(*args, **keys)

    def is_requested(self, number: int, port: int) -> bool:
        return self._followers.get(number) != port

    def join(self, stream: int, number: int, streams: tuple[int, ...], group: Group | None) -> Group:
        """Issues a task of a stream that is one transfer with those of other streams; returns their group, made by the first that joins."""
        row, ports = self._row_of(stream, number, streams)
        group = group or Group(streams, ports, self.table[row].engine - stream + streams[0])
        self._groups[len(self.numbers)] = group
        self.issue_row(stream, row)
        return group

    def _row_of(self, stream: int, number: int, streams: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
        """Returns the variant of a task of a group, and the ports of the group."""
        key = number, stream, streams
        if key not in self._rows_of_groups:
            kind, first = self.kinds[number], streams[0]
            outside = [asked for asked in kind.demands if self.is_outside(asked[0])]
            inside = tuple((self._port(port, stream), n) for port, n in kind.demands if not self.is_outside(port))
            tree = self._requests(outside, first, streams[1:])
            # The first is a segment of the link.
            ports = tuple(sorted((n for n, _ in tree if n in self.users), reverse=True))
            delay = max(self._links[port].delay(streams, stream) for port, _ in outside if port in self._links)
            asked = (*tree, *inside) if stream == first else (*inside, (ports[0], 1))
            own = replace(self._of_stream(kind, stream), latency=kind.latency + delay, demands=asked, spare=())
            self._rows_of_groups[key] = self.add_row(own, number), ports
            if stream != first:
                self._followers[self._rows_of_groups[key][0]] = ports[0]
        return self._rows_of_groups[key]

    def _alone(self, engine: int, running: Running) -> int:
        return NEVER if running.task in self._groups else super()._alone(engine, running)

    def _may_ask(self, engine: int) -> int:
        running = self._running[engine]
        if running is not None and GATHERING in running.dones:
            return self._clock
        return super()._may_ask(engine)

    def _ask(self, engine: int, running: Running) -> None:
        group = self._groups.get(running.task)
        if group is None:
            super()._ask(engine, running)
            return
        self._moments[engine] = NEVER
        running.dones[GATHERING] = NEVER
        group.arrived[engine] = running
        if not group.is_complete:
            return
        self._active.append(group)
        for other, own in sorted(group.arrived.items()):
            del own.dones[GATHERING]
            kind = self.table[self.numbers[own.task]]
            own.work = self._soonest[own.task] = self._clock + kind.duration - kind.setup
            asked = own.demands
            if other != group.engine:
                own.demands = tuple((port, cycles) for port, cycles in asked if port not in group.ports)
            super()._ask(other, own)
            if other != group.engine:
                own.dones[group.ports[0]] = NEVER

    def _next(self) -> int:
        found = super()._next()
        if not self._active:
            return found
        for group in self._active:
            done = max(group.arrived[group.engine].dones[port] for port in group.ports)
            for engine, running in group.arrived.items():
                if self._running[engine] is running and engine != group.engine:
                    running.dones[group.ports[0]] = done
                    self._moments[engine] = max(running.dones.values())
        self._active = [g for g in self._active if any(self._running[e] is r for e, r in g.arrived.items())]
        return min(self._moments)


GATHERING = -1
"""In place of a port, while a task waits for those of other cores."""

__all__ = ["Group", "GroupClocks", "Multicast", "Transfers", "index_of", "multicasts"]
