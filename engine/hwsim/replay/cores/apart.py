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
from .waves import Launch, blocks_of_core, busy_cores, grid_loops, grid_of, waves_of

MOST = 1_000_000
"""Limit on the tasks of all kinds of waves, and of the first core."""

Kind = tuple[int, ...]
"""The iterations of the loops over blocks that decide what a block runs."""

Turns = tuple[int, ...]
"""The engine that was granted last at each port of a core that delays tasks."""


class ApartCores:
    """The blocks of a program with one loop over blocks, on cores that find all ports of the levels around them free."""

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
        self._found: dict[tuple[tuple[Kind, ...], Turns], tuple[int, Turns]] = {}
        self._left = MOST

    def run(self) -> tuple[int, Simulated, Launch] | None:
        """Returns the cycles of the last core, the tasks of the first, and the blocks; None if these are too many tasks."""
        cores, dispatch, size = self._program.machine.cores, self._core.dispatch, self._residents
        if dispatch == "persistent":
            return None
        for kind, block in dict(zip(self._kinds, range(self._blocks), strict=True)).items():
            self._known[kind] = list(walk_block((self._node,), {}, (), self._indices[block]))
            self._left -= len(self._known[kind])
            if self._left < 0:
                return None
        if dispatch == "first_free" and size == 1:
            last, first = self._first_free(min(cores, self._blocks))
        else:
            own = [
                blocks_of_core(c, self._blocks, cores, dispatch)
                for c in range(busy_cores(self._blocks, cores, dispatch))
            ]
            waves = [[blocks[n : n + size] for n in range(0, len(blocks), size)] for blocks in own]
            last, first = max(map(self._of_core, waves), default=0), waves[0]
        if self._left < 0:
            return None
        launch = Launch(grid_of(self._node), waves_of(self._blocks, cores, size, dispatch))
        return last, self._shown(first), launch

    def _of_core(self, waves: Sequence[Sequence[int]]) -> int:
        """Returns when a core with these waves ends."""
        end, turns = 0, self._turns(self._clocks())
        for blocks in waves:
            cycles, turns = self._of_wave(blocks, turns)
            end += cycles
        return end

    def _first_free(self, cores: int) -> tuple[int, list[range]]:
        """Returns when the last core ends, and the blocks of the first, if each block goes to the core that ends first."""
        free = [(0, core) for core in range(cores)]
        turns = [self._turns(self._clocks())] * cores
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
        key = tuple(self._kinds[b] for b in blocks), turns
        if key not in self._found and self._left >= 0:
            clocks = self._clocks()
            for port, last in zip(self._ports(clocks), turns, strict=True):
                port.last = last
            self._wave(clocks, blocks, [])
            self._found[key] = clocks.finish(), self._turns(clocks)
            self._left -= len(clocks.numbers)
        return self._found.get(key, (0, turns))

    def _ports(self, clocks: Clocks) -> list[Port]:
        return list(clocks.ports.values()) if isinstance(clocks, SharedClocks) else []

    def _turns(self, clocks: Clocks) -> Turns:
        return tuple(port.last for port in self._ports(clocks))

    def _clocks(self) -> Clocks:
        program, cells = self._program, len(self._program.places.of_cell)
        kinds = [of_block(v.replay, n * cells) for v in program.variants for n in range(self._residents)]
        return clocks_of(program, kinds, self._max_tasks, self._residents, is_apart=True)

    def _wave(self, clocks: Clocks, blocks: Sequence[int], places: list[Place]) -> None:
        """Issues each task for all blocks, one after the other."""
        clocks.begin(self._core.start_cycles)
        held = [self._known[self._kinds[b]] for b in blocks]
        for tasks in zip_longest(*held):
            for n, task in enumerate(tasks):
                if task is not None:
                    clocks.issue(task[0] * self._residents + n)
                    places.append(task[1])

    def _shown(self, waves: Sequence[Sequence[int]]) -> Simulated:
        clocks, places = self._clocks(), list[Place]()
        for blocks in waves:
            if len(places) < MOST:
                self._wave(clocks, blocks, places)
        return Simulated(clocks, places, (), clocks.finish())


def _variables(node: TaskNode) -> set[Var]:
    """Returns the variables that decide what is run inside of a node."""
    if not isinstance(node, TaskLoop):
        return {*node.variants.iteration_class.variables()}
    return {*node.iteration_class.variables()}.union(*map(_variables, node.children))


__all__ = ["ApartCores"]
