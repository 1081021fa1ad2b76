"""Replay of every task of every core, for programs whose cores do not do the same.

Each core is a stream: it is advanced until an engine's queue is full of tasks whose start is unknown, or a block waits for the end of the
one before; when all streams wait, the ports advance to their next event.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, zip_longest
from math import prod

import msgspec

from ....ir import Var
from ...tasks.tree import TaskLoop, TaskNode, TaskProgram
from ...tasks.variants import NOTHING
from ..clocks import Pairs
from ..repeats import Place
from ..steady import crowds_of, links_of
from .elements import elements_of
from .streams import CoreResult, of_block
from .transfers import Group, GroupClocks, index_of, multicasts
from .waves import Launch, Wave, blocks_of_core, busy_cores, grid_of, has_grid, is_barrier, start_of, waves_of

BEGIN, TAKE = -1, -2

MAX_OF_ALL = 400_000
"""Limit on the tasks of all cores times the cores that have work: each event concerns all of them."""


class CoreTask(msgspec.Struct, frozen=True):
    """A task of a core: its variant, the block in its core, and the iterations of the loops around. Tasks of several cores with one `key`
    are one transfer.
    """

    number: int
    resident: int
    place: Place
    key: tuple[object, ...] | None = None


class _Blocks(msgspec.Struct):
    """The blocks of a loop over blocks, or of other work (one block): the tasks of each, and the waves of each core."""

    launch: Launch
    blocks: list[list[tuple[int, Place]]]
    streams: list[list[list[CoreTask]]] = []


class AllCores:
    """A replay of all cores of a program."""

    def __init__(self, program: TaskProgram, residents: int, users: Mapping[int, Collection[int]]) -> None:
        core, machine = program.machine.core, program.machine
        assert core is not None
        self._program, self._core, self._residents = program, core, residents
        self._cells = len(program.places.of_cell)
        self._launches = [
            _Blocks(
                Launch(
                    extents,
                    waves_of(prod(extents), machine.cores, residents, core.dispatch)
                    if extents
                    else (Wave(0, 1, (1,)),),
                    is_barrier(nodes[0]),
                ),
                [list(walk_block(nodes, at, path, index_of(b, extents))) for b in range(prod(extents))],
            )
            for extents, nodes, at, path in launches_of(program.tree, {}, ())
        ]
        # The next block of the present launch, and when it began.
        self._next = self._since = 0
        self._present = self._launches[0]
        # Whether cores take blocks as they become free.
        self._takes = core.dispatch == "first_free" and residents == 1
        working = max(busy_cores(len(each.blocks), machine.cores, core.dispatch) for each in self._launches)
        self._casts = multicasts(program)
        for each in self._launches:
            each.streams = [self._waves_of(each, c) for c in range(working)]
        self._together = self._transfers()
        self._groups: dict[tuple[object, ...], Group] = {}
        links = links_of(program)
        for port, routes in links.items():
            # All tasks of a transfer wait for it.
            cast = frozenset(kind.replay.engine for kind in program.variants if port in dict(kind.replay.demands))
            users = {**users, port: cast} if routes.link.multicast and self._together else users
        self._elements = elements_of(program)
        self._known: dict[int, dict[tuple[int, ...], int]] = {port: {} for port in self._elements}
        counts = {port: self._count(port, working) for port in self._elements}
        kinds = [of_block(v.replay, n * self._cells) for v in program.variants for n in range(residents)]
        bursts = [port.burst_cycles for port in program.ports]
        queues = [residents * tasks for tasks in machine.queues]
        self.clocks = GroupClocks(kinds, queues, residents * self._cells, bursts, crowds_of(program), users,
                                  [1] * working, machine.longest_preload, links=links, elements=counts)  # fmt: skip

    def _count(self, port: int, working: int) -> int:
        """Numbers the elements that all tasks update; returns how many there are."""
        for each in self._launches:
            for core in range(0, working, self._program.machine.cores_around(self._program.ports[port].level)):
                for number, place in (task for block in each.blocks for task in block):
                    self._element(port, core, number, place)
        return max(len(self._known[port]), 1)

    def _element(self, port: int, core: int, number: int, place: Place) -> int | None:
        """Returns the number of the element that a task updates; None if it updates none."""
        elements = self._elements[port].of_template.get(self._program.variants[number].template)
        if elements is None:
            return None
        known, around = self._known[port], self._program.machine.cores_around(self._program.ports[port].level)
        return known.setdefault((core // around, *elements.at(place)), len(known))

    def _waves_of(self, launch: _Blocks, core: int) -> list[list[CoreTask]]:
        """Returns the waves of blocks of a core, in which it issues the tasks of its blocks in turn."""
        if self._takes:
            return []
        blocks = blocks_of_core(core, len(launch.blocks), self._program.machine.cores, self._core.dispatch)
        size = self._residents
        return [self._wave(launch, blocks[first : first + size], core, first) for first in range(0, len(blocks), size)]

    def _transfers(self) -> dict[tuple[object, ...], tuple[int, ...]]:
        """Returns the cores of each transfer to several."""
        found: dict[tuple[object, ...], list[int]] = {}
        for s, waves in ((s, waves) for each in self._launches for s, waves in enumerate(each.streams)):
            for task in (task for wave in waves for task in wave if task.key is not None):
                found.setdefault(task.key or (), []).append(s)
        return {key: tuple(streams) for key, streams in found.items() if len(streams) > 1}

    def _key(self, number: int, at: Place, core: int, wave: int, resident: int) -> tuple[object, ...] | None:
        template = self._program.variants[number].template if self._casts else 0
        cast = self._casts.get(template)
        if cast is None:
            return None
        loops = self._program.templates[template].outer
        same = tuple(i for n, (i, loop) in enumerate(zip(at, loops, strict=True)) if not loop.grid or n in cast.grid)
        return core // cast.around, wave, resident, number, same

    def _wave(self, launch: _Blocks, blocks: Iterable[int], core: int, wave: int) -> list[CoreTask]:
        held = [
            [CoreTask(n, place, at, self._key(n, at, core, wave, place)) for n, at in launch.blocks[block]]
            for place, block in enumerate(blocks)
        ]
        return [task for tasks in zip_longest(*held) for task in tasks if task is not None]

    def run(self) -> int:
        """Replays all tasks; returns the makespan."""
        for each in self._launches:
            self._next, self._present = 0, each
            self.clocks.begin_turns(self._since)
            self._launch()
            self.clocks.finish_all()
            self._since = max(self._over(s) or 0 for s in range(len(each.streams)))
        return self._since

    def _over(self, stream: int) -> int | None:
        """Returns when a core has completed its tasks, but not before the present launch; None if it is unknown."""
        over = self.clocks.over_of(stream)
        return None if over is None else max(over, self._since)

    def _launch(self) -> None:
        clocks = self.clocks
        actions = [self._actions(s) for s in range(len(self._present.streams))]
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
                        and (over := self._over(s)) is not None), default=None)  # fmt: skip
            # A block that begins now requests ports before they grant anything now.
            if free is not None and (free[0] <= clocks.moment or free[0] < clocks.next_event()):
                self._take(free[1])
                waiting[free[1]] = next(actions[free[1]], None)
            else:
                clocks.step()

    def _take(self, stream: int) -> None:
        """Gives the next block to a core that is free."""
        launch = self._present
        if self._next < len(launch.blocks):
            launch.streams[stream].append(self._wave(launch, [self._next], stream, self._next))
            self._next += 1

    def _actions(self, stream: int) -> Iterator[CoreTask | int]:
        """Yields what a stream does: the tasks that it issues, and BEGIN or TAKE before a block."""
        n, waves = 0, self._present.streams[stream]
        while True:
            if self._takes:
                yield TAKE
            if n == len(waves):
                return
            if self._core.dispatch != "persistent" or n == 0:
                yield BEGIN
            yield from waves[n]
            n += 1

    def _does(self, stream: int, action: CoreTask | int) -> bool:
        """Does the next action of a stream; returns whether it could."""
        if isinstance(action, CoreTask):
            number = action.number * self._residents + action.resident
            if not self.clocks.has_room(stream, number):
                return False
            streams = self._together.get(action.key or ())
            updated = self._updated(stream, action)
            if updated:
                self.clocks.issue_at(stream, number, updated)
            elif streams is None:
                self.clocks.issue_of(stream, number)
            else:
                group = self._groups.get(action.key or ())
                self._groups[action.key or ()] = self.clocks.join(stream, number, streams, group)
            return True
        over = self._over(stream)
        if action == TAKE or over is None:
            return False
        self.clocks.begin_of(stream, over + start_of(self._core, self._present.launch))
        return True

    def _updated(self, core: int, task: CoreTask) -> Pairs:
        """Returns the elements that a task updates, by port."""
        every = ((port, self._element(port, core, task.number, task.place)) for port in self._elements)
        return tuple((port, element) for port, element in every if element is not None)

    @property
    def launches(self) -> tuple[Launch, ...]:
        """The loops over blocks, and the waves of the first core."""
        return tuple(each.launch for each in self._launches)

    @property
    def transfers(self) -> Counter[int]:
        """The transfers of each variant: those of several cores count once."""
        every = (waves for each in self._launches for waves in each.streams)
        found = Counter(task.number for waves in every for wave in waves for task in wave)
        for key, streams in self._together.items():
            number = key[3]
            assert isinstance(number, int)
            found[number] -= len(streams) - 1
        return found

    def result(self, stream: int = 0) -> tuple[CoreResult, list[Place]]:
        """Returns the tasks of one core."""
        every = (wave for each in self._launches for wave in each.streams[stream])
        return self.clocks.result(stream), [task.place for wave in every for task in wave]


def launches_of(
    nodes: Sequence[TaskNode], at: Mapping[Var, int], path: Place
) -> Iterator[tuple[tuple[int, ...], Sequence[TaskNode], Mapping[Var, int], Place]]:
    """Yields the loops over blocks in program order, and the work between them: extents, nodes, and the iterations of loops around."""
    for is_grid, group in groupby(nodes, has_grid):
        rest = list(group)
        if not is_grid:
            yield (), rest, at, path
        for node in rest if is_grid else ():
            if not isinstance(node, TaskLoop) or node.grid:
                yield grid_of(node), (node,), at, path
                continue
            for here in node.iterations():
                yield from launches_of(node.children, {**at, **here}, (*path, *here.values()))


def walk_block(
    nodes: Sequence[TaskNode], at: Mapping[Var, int], path: Place, index: Sequence[int]
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
            yield from walk_block(node.children, {**at, **here}, (*path, *own), rest)
            continue
        for here in node.iterations():
            yield from walk_block(node.children, {**at, **here}, (*path, *here.values()), index)


__all__ = ["MAX_OF_ALL", "AllCores", "walk_block"]
