"""Replay of a program whose blocks run on several equal cores: the tasks of the first core, at ports that all cores share.

    core 0     ── wave ──┬── wave ──┬── last ──        replayed
    core 1      ── wave ──┬── wave ──┬── last ──       the same, up to a burst later
    core 2       ── wave ──┬── wave ──┤                has no block of the last wave

Blocks are equal, so cores differ only in how many they run: each wave has blocks for the first cores. A core holds up to `residents`
blocks at a time. It issues each task of a block for all of them, one after the other: each block has cells and places in the queues of
its own, all share the engines.

The law of `crowd.CrowdPort` is exact if each core has at most one engine at each shared port, bursts have one length, and no other ports
delay tasks. By induction over the grants: core i is granted each burst i bursts after the first core; times are maxima and sums of
grants and constants, so a request of core i is made at most i bursts after that of the first core, and not before it; so it waits when its
turn comes. Otherwise the run is bounded from both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

import msgspec
from msgspec.structs import replace

from ....ir import Var
from ...machine.parts import Level
from ...tasks.periodicity import Run
from ...tasks.tree import TaskLoop, TaskNode, TaskProgram
from ..clocks import NEVER, Clocks, Variant
from ..recurrence import recurrence_of
from ..shared_ports import SharedClocks
from ..steady import SHORT, Replay
from .later_core import LaterClocks, LaterCore

Change = Callable[[Variant], Variant]


class Wave(msgspec.Struct, frozen=True):
    """`count` waves of blocks. In each the first `cores[n]` cores run an n-th block. `first` is the number of the first wave."""

    first: int
    count: int
    cores: tuple[int, ...]


def waves_of(blocks: int, cores: int, residents: int, dispatch: str) -> tuple[Wave, ...]:
    """Returns the waves of equal blocks on equal cores."""
    per_core = -(-blocks // cores)

    def running(n: int) -> int:
        """Returns the cores that have an n-th block."""
        if n >= per_core:
            return 0
        return -(-(blocks - n) // per_core) if dispatch == "static" else min(cores, blocks - n * cores)

    def wave(number: int) -> tuple[int, ...]:
        return tuple(filter(None, (running(number * residents + n) for n in range(residents))))

    found: list[Wave] = []
    total, first = -(-per_core // residents), 0
    while first < total:
        # The numbers of cores fall from wave to wave.
        low, high = first, total - 1
        while low < high:
            middle = -(-(low + high) // 2)
            low, high = (middle, high) if wave(middle) == wave(first) else (low, middle - 1)
        found.append(Wave(first, low - first + 1, wave(first)))
        first = low + 1
    return tuple(found)


def blocks_of_core(core: int, blocks: int, cores: int, dispatch: str) -> range:
    """Returns the blocks that a core runs, if the order of dispatch is fixed."""
    if dispatch == "static":
        per_core = -(-blocks // cores)
        return range(min(core * per_core, blocks), min((core + 1) * per_core, blocks))
    return range(core, blocks, cores)


def busy_cores(blocks: int, cores: int, dispatch: str) -> int:
    """Returns the cores that have blocks: the first ones."""
    return -(-blocks // -(-blocks // cores)) if dispatch == "static" else min(cores, blocks)


def grid_of(node: TaskNode) -> tuple[int, ...]:
    """Returns the extents of the loops over blocks from a node on, outermost first."""
    if not isinstance(node, TaskLoop) or not node.grid:
        return ()
    own = tuple(loop.extent for loop in node.loops)
    return own + max((grid_of(child) for child in node.children), key=len, default=())


def has_equal_blocks(node: TaskNode) -> bool:
    """Returns whether all blocks of a loop over blocks run the same tasks."""
    if not isinstance(node, TaskLoop) or not node.grid:
        return True
    if node.matters:
        return False
    own = len(node.loops) > 1 or [piece.whole for piece in node.pieces({})] == [Run(0, node.extent, 1)]
    inner = {grid_of(child) for child in node.children if grid_of(child)}
    return own and len(inner) <= 1 and all(map(has_equal_blocks, node.children))


class Launch(msgspec.Struct, frozen=True):
    """The blocks of a loop over blocks, or of other work (one block), and their waves."""

    extents: tuple[int, ...]
    waves: tuple[Wave, ...]

    @property
    def blocks(self) -> int:
        return prod(self.extents)


class WaveReplay(Replay):
    """A replay of the first core. `burst` are the cycles of a burst at shared ports, if the law holds. `least` leaves out blocks that
    only a part of the cores of a wave have, if the wave has other blocks; else all cores of the wave have them.
    Tasks are changed by `change`.
    """

    def __init__(self, program: TaskProgram, clocks: Clocks, max_tasks: int, *, watches: bool, core: Level, residents: int,
                 burst: int = 0, least: bool = False, change: Change | None = None) -> None:  # fmt: skip
        super().__init__(program, clocks, max_tasks, watches=watches)
        self.recording.residents, self.recording.cells = residents, len(program.places.of_cell)
        self.launches: list[Launch] = []
        self.ends: list[tuple[int, int]] = []
        """The tasks up to the end of each series of waves of the last launch, and the cores that run the last of them."""
        self.begins: dict[int, int] = {}
        """The tasks that begin a block, with the cycles until their issue."""
        self.shortest = NEVER
        """The cycles of the shortest wave, if blocks do not overlap."""
        self._core, self._residents, self._burst, self._least = core, residents, burst, least
        self._change = change
        self._cores: tuple[int, ...] = ()
        # Where the present launch began, and its present block.
        self._first = self._since = self._begun = 0

    def nodes(self, nodes: tuple[TaskNode, ...], at: Mapping[Var, int], like: Mapping[Var, int]) -> None:
        if self._cores:
            super().nodes(nodes, at, like)
            return
        # Outside of blocks: the work between loops over blocks is one block.
        for n, node in enumerate(nodes):
            if isinstance(node, TaskLoop) and (node.grid or has_grid(node)):
                self._loop(node, at, like)
            elif n == 0 or (isinstance(nodes[n - 1], TaskLoop) and has_grid(nodes[n - 1])):
                rest = nodes[n:]
                until = next((i for i, other in enumerate(rest) if has_grid(other)), len(rest))
                self._launch(Launch((), (Wave(0, 1, (1,)),)), rest[:until], at, like, None)

    def _loop(self, node: TaskLoop, at: Mapping[Var, int], like: Mapping[Var, int]) -> None:
        if not node.grid:
            super()._loop(node, at, like)
        elif self._cores:
            # An inner loop over blocks, in the first block.
            depth = len(self.recording.path)
            self.recording.path += [0] * len(node.loops)
            here = node.place(0)
            self.nodes(node.children, {**at, **here}, {**like, **here})
            del self.recording.path[depth:]
        else:
            extents = grid_of(node)
            waves = waves_of(prod(extents), self.program.machine.cores, self._residents, self._core.dispatch)
            self._launch(Launch(extents, waves), node.children, at, like, node)

    def _launch(self, launch: Launch, nodes: tuple[TaskNode, ...], at: Mapping[Var, int], like: Mapping[Var, int],
                node: TaskLoop | None) -> None:  # fmt: skip
        found = self.recording
        found.clocks.begin(self.later if self.launches else 0)
        self._first, self._since = len(found.places), found.clocks.now
        self.launches.append(launch)
        self.ends = []
        for wave in launch.waves:
            most = wave.cores[0]
            cores = tuple(n for n in wave.cores if n == most) if self._least else (most,) * len(wave.cores)
            self._waves(replace(wave, cores=cores), nodes, at, like, node)
            self.ends.append((len(self.recording.places), most))

    def _waves(self, wave: Wave, nodes: tuple[TaskNode, ...], at: Mapping[Var, int], like: Mapping[Var, int],
               node: TaskLoop | None) -> None:  # fmt: skip
        recording, path, core = self.recording, self.recording.path, self._core
        in_turn = self.program.machine.cores * self._residents
        step = self._residents if core.dispatch == "static" else in_turn
        depth = len(path)
        path += [0] * (len(node.loops) if node else 0)
        run = Run(wave.first, wave.first + wave.count, 1)
        watched = self._watches and node is not None and wave.count > SHORT
        recurrence = recurrence_of(recording, node, run, step) if watched and node is not None else None
        here = node.place(0) if node else {}
        i = run.start
        while i < run.stop:
            i += recurrence.skip(i) if recurrence is not None else 0
            if i >= run.stop:
                break
            if core.dispatch != "persistent" or i == 0:
                self._begin(core.start_cycles, between=i > 0)
            block = i * step
            for n, loop in zip(range(len(path) - 1, depth - 1, -1), reversed(node.loops if node else ()), strict=True):
                block, path[n] = divmod(block, loop.extent)
            self._cores = wave.cores
            self.nodes(nodes, {**at, **here}, {**like, **here})
            self._cores = ()
            i += 1
        del path[depth:]

    def _begin(self, cycles: int, *, between: bool) -> None:
        clocks = self.recording.clocks
        clocks.begin(cycles)
        self.begins[len(self.recording.places)] = cycles
        if between:
            self.shortest = min(self.shortest, clocks.now - self._begun)
        self._begun = clocks.now

    @property
    def later(self) -> int:
        """The cycles from the end of the present launch on the first core to its end on the last one that runs it."""
        first, found, clocks = self._first, self.recording, self.recording.clocks
        inside = [r for r in found.repeats if r.first >= first]
        own = clocks.finish() + sum(r.omitted for r in inside)
        if self._burst == 0 or not isinstance(clocks, SharedClocks):
            return 0
        known = clocks.table, clocks.queues, clocks.cell_count, self.program.machine.longest_preload
        last = own
        for until, cores in self.ends:
            if cores > 1:
                other = LaterClocks(*known, frozenset(clocks.users))
                other.now = self._since
                core = LaterCore(other, clocks.numbers, clocks.dones, self.begins, (cores - 1) * self._burst)
                last = max(last, core.run(inside, first, until))
        return last - own

    def _issue(self, number: int) -> None:
        found, clocks, residents = self.recording, self.recording.clocks, self._residents
        if residents * number >= len(clocks.table):
            known = len(clocks.table) // residents
            for variant in self.program.variants[known:]:
                timed = self._change(variant.replay) if self._change else variant.replay
                clocks.table.extend(of_block(timed, n * found.cells) for n in range(residents))
        for n, cores in enumerate(self._cores):
            clocks.cores = cores
            clocks.issue(residents * number + n)
            found.places.append(tuple(found.path))


def has_grid(node: TaskNode) -> bool:
    return isinstance(node, TaskLoop) and (node.grid or any(map(has_grid, node.children)))


def of_block(variant: Variant, cells: int) -> Variant:
    """Returns the variant with its cells so many later."""
    return replace(
        variant,
        reads=tuple(cell + cells for cell in variant.reads),
        writes=tuple(cell + cells for cell in variant.writes),
        preloads=tuple((cell + cells, cycles) for cell, cycles in variant.preloads),
    )
