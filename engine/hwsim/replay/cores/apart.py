"""Replay of blocks of different lengths on cores that do not delay each other: one wave of each kind, and those of each core added up."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapreplace
from itertools import zip_longest

from ....ir import Var
from ...tasks.tree import TaskLoop, TaskNode, TaskProgram
from ..arbiter import Port
from ..clocks import Clocks
from ..repeats import Place
from ..shared_ports import SharedClocks
from ..steady import Simulated, clocks_of
from .all_cores import walk_block
from .dispatch import block_indices, order_of
from .streams import of_block
from .waves import Launch, blocks_of_core, busy_cores, grid_loops, grid_of, is_barrier, start_of, waves_of

MOST = 1_000_000
"""Limit on the tasks of all kinds of waves, and of the first core."""

Kind = tuple[int, ...]
"""The iterations of the loops over blocks that decide what a block runs."""

Turns = tuple[int, ...]
"""The engine that was granted last at each port of a core that delays tasks."""


class ApartCores:
    """The blocks of a loop over blocks, on cores that find all ports of the levels around them free."""

    def __init__(self, program: TaskProgram, node: TaskLoop, residents: int, max_tasks: int) -> None:
        core = program.machine.core
        assert core is not None
        self._program, self._node, self._core, self._residents = program, node, core, residents
        self._max_tasks = max_tasks
        loops = grid_loops(node)
        rows = block_indices(loops, order_of(program.source))
        deciding = _variables(node)
        self._indices = rows.tolist()
        self._blocks = len(rows)
        chosen = [n for n, loop in enumerate(loops) if loop.var in deciding]
        self._kinds: list[Kind] = [tuple(row) for row in rows[:, chosen].tolist()]
        self._known: dict[Kind, list[tuple[int, Place]]] = {}
        # The first of the kinds that run the same tasks.
        self._same: dict[Kind, Kind] = {}
        self._found: dict[tuple[tuple[Kind, ...], Turns], tuple[int, Turns]] = {}
        self._left = MOST
        waves = waves_of(self._blocks, program.machine.cores, residents, core.dispatch)
        self._launch = Launch(grid_of(node), waves, is_barrier(node))

    def run(self, turns: list[Turns]) -> tuple[int, list[range], Launch] | None:
        """Returns the cycles of the last core, the waves of the first, and the blocks; None if these are too many tasks. `turns`
        are those at the ports of each core, which go on.
        """
        cores, dispatch, size = self._program.machine.cores, self._core.dispatch, self._residents
        if dispatch == "persistent":
            return None
        like: dict[tuple[int, ...], Kind] = {}
        for kind, block in dict(zip(self._kinds, range(self._blocks), strict=True)).items():
            tasks = self._known[kind] = list(walk_block((self._node,), {}, (), self._indices[block]))
            self._same[kind] = like.setdefault(tuple(number for number, _ in tasks), kind)
            self._left -= len(tasks)
            if self._left < 0:
                return None
        if dispatch == "first_free" and size == 1:
            last, first = self._first_free(min(cores, self._blocks), turns)
        else:
            own = [
                blocks_of_core(c, self._blocks, cores, dispatch)
                for c in range(busy_cores(self._blocks, cores, dispatch))
            ]
            waves = [[blocks[n : n + size] for n in range(0, len(blocks), size)] for blocks in own]
            last, first = max((self._of_core(each, c, turns) for c, each in enumerate(waves)), default=0), waves[0]
        if self._left < 0:
            return None
        return last, list(first), self._launch

    def _of_core(self, waves: Sequence[Sequence[int]], core: int, turns: list[Turns]) -> int:
        """Returns when a core with these waves ends."""
        end = 0
        for blocks in waves:
            cycles, turns[core] = self._of_wave(blocks, turns[core])
            end += cycles
        return end

    def _first_free(self, cores: int, turns: list[Turns]) -> tuple[int, list[range]]:
        """Returns when the last core ends, and the blocks of the first, if each block goes to the core that ends first."""
        free = [(0, core) for core in range(cores)]
        first: list[range] = []
        last = 0
        for block in range(self._blocks):
            end, core = free[0]
            cycles, turns[core] = self._of_wave(range(block, block + 1), turns[core])
            heapreplace(free, (end + cycles, core))
            last = max(last, end + cycles)
            if core == 0:
                first.append(range(block, block + 1))
        return last, first

    def _of_wave(self, blocks: Sequence[int], turns: Turns) -> tuple[int, Turns]:
        """Returns the cycles of blocks that a core holds at the same time, from the end of those before, and the turns at its ports."""
        key = tuple(self._same[self._kinds[b]] for b in blocks), turns
        if key not in self._found and self._left >= 0:
            clocks = self.clocks()
            for port, last in zip(self._ports(clocks), turns, strict=True):
                port.last = last
            self._wave(clocks, blocks, [])
            end = clocks.finish()
            for port in self._ports(clocks):
                # Its last grants may not be counted yet.
                port.advance(end)
            self._found[key] = end, self.turns(clocks)
            self._left -= len(clocks.numbers)
        return self._found.get(key, (0, turns))

    def _ports(self, clocks: Clocks) -> list[Port]:
        return list(clocks.ports.values()) if isinstance(clocks, SharedClocks) else []

    def turns(self, clocks: Clocks) -> Turns:
        """Returns the engines that were granted last at the ports of a core."""
        return tuple(port.last for port in self._ports(clocks))

    def clocks(self) -> Clocks:
        """Returns new clocks for the tasks of the program."""
        program, cells = self._program, len(self._program.places.of_cell)
        kinds = [of_block(v.replay, n * cells) for v in program.variants for n in range(self._residents)]
        return clocks_of(program, kinds, self._max_tasks, self._residents, is_apart=True)

    def _wave(self, clocks: Clocks, blocks: Sequence[int], places: list[Place]) -> None:
        """Issues each task for all blocks, one after the other."""
        clocks.begin(start_of(self._core, self._launch))
        held = [self._known[self._kinds[b]] for b in blocks]
        for tasks in zip_longest(*held):
            for n, task in enumerate(tasks):
                if task is not None:
                    clocks.issue(task[0] * self._residents + n)
                    places.append(task[1])

    def show(self, clocks: Clocks, waves: Sequence[Sequence[int]], places: list[Place]) -> None:
        """Replays waves with clocks that show all tasks."""
        for blocks in waves:
            if len(places) < MOST:
                self._wave(clocks, blocks, places)


def _variables(node: TaskNode) -> set[Var]:
    """Returns the variables that decide what is run inside of a node."""
    if not isinstance(node, TaskLoop):
        return {*node.variants.iteration_class.variables()}
    return {*node.iteration_class.variables()}.union(*map(_variables, node.children))


def replay_apart(
    program: TaskProgram, residents: int, max_tasks: int
) -> tuple[int, Simulated, tuple[Launch, ...]] | None:
    """Returns the cycles of loops over blocks that follow each other, the tasks of the first core, and the launches; None for a program
    with other work, or with too many tasks.
    """
    loops = [node for node in program.tree if isinstance(node, TaskLoop) and node.grid]
    if not loops or len(loops) < len(program.tree):
        return None
    every = [ApartCores(program, node, residents, max_tasks) for node in loops]
    clocks, places, launches = every[0].clocks(), list[Place](), list[Launch]()
    end, turns = 0, [every[0].turns(clocks)] * program.machine.cores
    for each in every:
        found = each.run(turns)
        if found is None:
            return None
        last, waves, launch = found
        clocks.since = end
        each.show(clocks, waves, places)
        launches.append(launch)
        end += last
    return end, Simulated(clocks, places, (), clocks.finish()), tuple(launches)


__all__ = ["replay_apart"]
