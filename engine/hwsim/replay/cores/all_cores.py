"""Replay of every task of every core, for programs whose cores do not do the same.

Each core is a stream: it is advanced until an engine's queue is full of tasks whose start is unknown, or a block waits for the end of the
one before; when all streams wait, the ports advance to their next event.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from math import prod

import msgspec

from ....ir import Var
from ...tasks.tree import TaskLoop, TaskNode, TaskProgram
from ...tasks.variants import NOTHING
from ..repeats import Place
from ..steady import crowds_of, links_of
from .streams import CoreResult, of_block
from .transfers import Group, GroupClocks, index_of, multicasts
from .waves import Launch, Wave, blocks_of_core, busy_cores, grid_of, waves_of

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
        self._casts = multicasts(program)
        self.streams = [self._waves_of(c) for c in range(working)]
        self._together = self._transfers()
        self._groups: dict[tuple[object, ...], Group] = {}
        links = links_of(program)
        for port, routes in links.items():
            # All tasks of a transfer wait for it.
            cast = frozenset(kind.replay.engine for kind in program.variants if port in dict(kind.replay.demands))
            users = {**users, port: cast} if routes.link.multicast and self._together else users
        kinds = [of_block(v.replay, n * self._cells) for v in program.variants for n in range(residents)]
        bursts = [port.burst_cycles for port in program.ports]
        queues = [residents * tasks for tasks in machine.queues]
        self.clocks = GroupClocks(kinds, queues, residents * self._cells, bursts, crowds_of(program), users,
                                  [1] * working, machine.longest_preload, links=links)  # fmt: skip

    def _waves_of(self, core: int) -> list[list[CoreTask]]:
        """Returns the waves of blocks of a core, in which it issues the tasks of its blocks in turn."""
        if self._next is not None:
            return []
        blocks = blocks_of_core(core, len(self._blocks), self._program.machine.cores, self._core.dispatch)
        size = self._residents
        return [self._wave(blocks[first : first + size], core, first) for first in range(0, len(blocks), size)]

    def _transfers(self) -> dict[tuple[object, ...], tuple[int, ...]]:
        """Returns the cores of each transfer to several."""
        found: dict[tuple[object, ...], list[int]] = {}
        for s, waves in enumerate(self.streams):
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

    def _wave(self, blocks: Iterable[int], core: int, wave: int) -> list[CoreTask]:
        held = [
            [CoreTask(n, place, at, self._key(n, at, core, wave, place)) for n, at in self._blocks[block]]
            for place, block in enumerate(blocks)
        ]
        return [task for tasks in zip_longest(*held) for task in tasks if task is not None]

    def _block(self, block: int) -> Iterator[tuple[int, Place]]:
        nodes = self._program.tree if self._node is None else (self._node,)
        return walk_block(nodes, {}, (), index_of(block, self._extents))

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
            # A block that begins now requests ports before they grant anything now.
            if free is not None and (free[0] <= clocks.moment or free[0] < clocks.next_event()):
                self._take(free[1])
                waiting[free[1]] = next(actions[free[1]], None)
            else:
                clocks.step()
        clocks.finish()
        return max((clocks.over_of(s) or 0 for s in range(len(self.streams)) if self.streams[s]), default=0)

    def _take(self, stream: int) -> None:
        """Gives the next block to a core that is free."""
        if self._next is not None and self._next < len(self._blocks):
            self.streams[stream].append(self._wave([self._next], stream, self._next))
            self._next += 1

    def _actions(self, stream: int) -> Iterator[CoreTask | int]:
        """Yields what a stream does: the tasks that it issues, and BEGIN or TAKE before a block."""
        n = 0
        while True:
            if self._next is not None:
                yield TAKE
            if n == len(self.streams[stream]):
                return
            if self._core.dispatch != "persistent" or n == 0:
                yield BEGIN
            yield from self.streams[stream][n]
            n += 1

    def _does(self, stream: int, action: CoreTask | int) -> bool:
        """Does the next action of a stream; returns whether it could."""
        if isinstance(action, CoreTask):
            number = action.number * self._residents + action.resident
            if not self.clocks.has_room(stream, number):
                return False
            streams = self._together.get(action.key or ())
            if streams is None:
                self.clocks.issue_of(stream, number)
            else:
                group = self._groups.get(action.key or ())
                self._groups[action.key or ()] = self.clocks.join(stream, number, streams, group)
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

    @property
    def transfers(self) -> Counter[int]:
        """The transfers of each variant: those of several cores count once."""
        found = Counter(task.number for waves in self.streams for wave in waves for task in wave)
        for key, streams in self._together.items():
            number = key[3]
            assert isinstance(number, int)
            found[number] -= len(streams) - 1
        return found

    def result(self, stream: int = 0) -> tuple[CoreResult, list[Place]]:
        """Returns the tasks of one core."""
        return self.clocks.result(stream), [task.place for wave in self.streams[stream] for task in wave]


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
        for i in range(node.extent):
            digits: list[int] = []
            left = i
            for loop in reversed(node.loops):
                left, digit = divmod(left, loop.extent)
                digits.insert(0, digit)
            here = {loop.var: digit for loop, digit in zip(node.loops, digits, strict=True)}
            yield from walk_block(node.children, {**at, **here}, (*path, *digits), index)


__all__ = ["MAX_OF_ALL", "AllCores", "walk_block"]
