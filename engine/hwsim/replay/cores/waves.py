"""Replay of a program whose blocks run on several equal cores: the tasks of the first core, at ports that all cores share.

    core 0     ── wave ──┬── wave ──┬── last ──        replayed
    core 1      ── wave ──┬── wave ──┬── last ──       the same, up to a burst later
    core 2       ── wave ──┬── wave ──┤                has no block of the last wave

Blocks are equal, so cores differ only in how many they run: each wave has blocks for the first cores. A core holds up to `residents`
blocks at a time. It issues each task of a block for all of them, one after the other: each block has cells and places in the queues of
its own, all share the engines.

The law of `crowd.CrowdPort` is exact if bursts have one length and no other ports delay tasks: a port is granted engine by engine, each
on one core after the other. By induction over the grants: core i is granted each burst i bursts after the first core; times are maxima and
sums of grants and constants, so a request of core i is made at most i bursts after that of the first core, and not before it; so it waits
when its turn comes. The same holds for a class of cores after another one (`mixed_wave`). Otherwise the run is bounded from both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

import msgspec
from msgspec.structs import replace

from ....ir import Var
from ...machine.parts import Level
from ...tasks.nest import Loop
from ...tasks.periodicity import Run
from ...tasks.tree import TaskLoop, TaskNode, TaskProgram
from ..clocks import NEVER, Clocks, Variant
from ..recurrence import recurrence_of
from ..shared_ports import SharedClocks
from ..steady import SHORT, Replay, crowds_of, most_tasks
from .later_core import LaterClocks, LaterCore
from .mixed_wave import MOST, WaveTasks, replay_mixed
from .streams import of_block, of_blocks

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


def grid_loops(node: TaskNode) -> tuple[Loop, ...]:
    """Returns the nested loops over blocks from a node on, outermost first."""
    if not isinstance(node, TaskLoop) or not node.grid:
        return ()
    return node.loops + max((grid_loops(child) for child in node.children), key=len, default=())


def grid_of(node: TaskNode) -> tuple[int, ...]:
    """Returns the extents of the loops over blocks from a node on, outermost first."""
    return tuple(loop.extent for loop in grid_loops(node))


def is_barrier(node: TaskNode) -> bool:
    """Returns whether a loop over blocks is behind a barrier of all blocks."""
    return isinstance(node, TaskLoop) and node.loops[0].barrier


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
    """The blocks of a loop over blocks, or of other work (one block), and their waves. One behind a `barrier` has the blocks of the one
    before, which have to be on the cores at the same time.
    """

    extents: tuple[int, ...]
    waves: tuple[Wave, ...]
    barrier: bool = False

    @property
    def blocks(self) -> int:
        return prod(self.extents)


def start_of(core: Level, launch: Launch) -> int:
    """Returns the cycles until a block begins, or goes on behind a barrier."""
    return core.barrier_cycles if launch.barrier else core.start_cycles


class WaveReplay(Replay):
    """A replay of the first core. `burst` are the cycles of a burst at shared ports of `together` cores, if the law holds. `least` leaves
    out blocks that only a part of the cores of a wave have, if the wave has other blocks; else all cores of the wave have them. Tasks are
    changed by `change`.
    """

    def __init__(self, program: TaskProgram, clocks: Clocks, max_tasks: int, *, watches: bool, core: Level, residents: int,
                 burst: int = 0, together: int = 1, least: bool = False, change: Change | None = None) -> None:  # fmt: skip
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
        self._is_together = core.sharing == "together" and all(map(has_equal_blocks, program.tree))
        self._together = together
        self._change = change
        self._cores: tuple[int, ...] = ()
        self.is_split = True
        """Whether all waves in which some cores hold more blocks than others were replayed as two classes."""
        # The tasks of a block that is not replayed yet, and the last wave as two classes, with the row of its first task.
        self._held: list[int] | None = None
        self._mixed: tuple[int, WaveTasks] | None = None
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
            self._launch(Launch(extents, waves, node.loops[0].barrier), node.children, at, like, node)

    def _launch(self, launch: Launch, nodes: tuple[TaskNode, ...], at: Mapping[Var, int], like: Mapping[Var, int],
                node: TaskLoop | None) -> None:  # fmt: skip
        found = self.recording
        found.clocks.finish()
        found.clocks.begin_launch(self.later if self.launches else 0)
        self._first, self._since = len(found.places), found.clocks.now
        self.launches.append(launch)
        self.ends, self._mixed = [], None
        for number, wave in enumerate(launch.waves):
            most = wave.cores[0]
            if self._burst and wave.cores[-1] < most:
                if number == len(launch.waves) - 1 and self._splits(wave, nodes):
                    self._mixed_wave(wave, nodes, at, like, node)
                    continue
                self.is_split = False
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
                self._begin(start_of(core, self.launches[-1]), between=i > 0)
            block = i * step
            for n, loop in zip(range(len(path) - 1, depth - 1, -1), reversed(node.loops if node else ()), strict=True):
                block, path[n] = divmod(block, loop.extent)
            self._cores = wave.cores
            self.nodes(nodes, {**at, **here}, {**like, **here})
            self._cores = ()
            i += 1
        del path[depth:]

    def _splits(self, wave: Wave, nodes: tuple[TaskNode, ...]) -> bool:
        """Returns whether a last wave with two classes of cores begins when all before is complete, and is short."""
        machine = self.program.machine
        is_clean = wave.count == 1 and not machine.longest_preload
        if self._core.dispatch == "persistent" and wave.first > 0:
            return False
        is_short = most_tasks(nodes) * sum(wave.cores) <= MOST * max(wave.cores)
        return is_clean and is_short and self._together == machine.cores

    def _mixed_wave(self, wave: Wave, nodes: tuple[TaskNode, ...], at: Mapping[Var, int], like: Mapping[Var, int],
                    node: TaskLoop | None) -> None:  # fmt: skip
        """Replays a wave in which the first cores hold more blocks than the others."""
        found, clocks, watches = self.recording, self.recording.clocks, self._watches
        assert isinstance(clocks, SharedClocks)
        row, first, others = len(found.places), wave.cores[-1], wave.cores[0] - wave.cores[-1]
        held = len(wave.cores), sum(1 for cores in wave.cores if cores > first)
        self._watches, self._held = False, []
        self._waves(wave, nodes, at, like, node)
        self._watches, numbers, self._held = watches, self._held, None
        self._learn(max(numbers, default=0))
        kinds = [[n for number in numbers for n in self._kinds_of(number, blocks)] for blocks in held]
        # When the first core of the second class begins, in the time of the first core.
        late = self._core_at(row, first * self._burst) - self._finished(row) if row > self._first else 0
        begins = clocks.now, clocks.now + late
        tasks = replay_mixed(
            clocks, crowds_of(self.program), self.program.machine.longest_preload, kinds, (first, others), begins
        )
        self._mixed = row, tasks
        own = tasks.results[0]
        clocks.extend(own.numbers, own.starts, own.ends, own.stalls, tasks.dones[0], own.free)
        self.ends.append((len(found.places), first))

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
        if self._burst == 0 or not isinstance(self.recording.clocks, SharedClocks):
            return 0
        last = own = self._finished(len(self.recording.places))
        for until, cores in self.ends:
            if cores > 1:
                last = max(last, self._core_at(until, (min(cores, self._together) - 1) * self._burst))
        if self._mixed is not None:
            cores = self.launches[-1].waves[-1].cores
            last = max(
                last, self._core_at(self._mixed[0], (cores[0] - 1) * self._burst, of_second=cores[-1] * self._burst)
            )
        return last - own

    def _finished(self, until: int) -> int:
        """Returns when the first core has completed the rows up to `until`, exclusive, of the present launch, in real time."""
        skipped = sum(r.omitted for r in self.recording.repeats if r.first >= self._first)
        over = self.recording.clocks.over_by(until)
        assert over is not None
        return over + skipped

    def _core_at(self, until: int, later: int, *, of_second: int | None = None) -> int:
        """Returns when a core that is granted each burst so much later has completed the rows up to `until` of the present launch. If it is
        of the second class of the last wave, whose first core is granted bursts `of_second` later, it runs the tasks of that too.
        """
        clocks, first = self.recording.clocks, self._first
        assert isinstance(clocks, SharedClocks)
        numbers, dones = clocks.numbers, clocks.dones
        if of_second is not None and self._mixed is not None:
            row, wave = self._mixed
            numbers = [*numbers[:row], *wave.results[1].numbers]
            dones = {
                **{n: done for n, done in dones.items() if n < row},
                **{row + n: done - of_second for n, done in wave.dones[1].items()},
            }
            until = len(numbers)
        other = LaterClocks(
            clocks.table,
            clocks.queues,
            clocks.cell_count,
            self.program.machine.longest_preload,
            frozenset(clocks.users),
        )
        other.since = self._since
        core = LaterCore(other, numbers, dones, self.begins, later)
        return core.run([r for r in self.recording.repeats if r.first >= first], first, until)

    def _learn(self, number: int) -> None:
        """Adds the variants of the program up to this one to the clocks, one for each block that a core holds."""
        found, clocks, residents = self.recording, self.recording.clocks, self._residents
        if residents * number >= len(clocks.table):
            known = len(clocks.table) // residents
            for variant in self.program.variants[known:]:
                timed = self._change(variant.replay) if self._change else variant.replay
                if self._is_together:
                    clocks.table.extend(of_blocks(timed, n + 1, n * found.cells) for n in range(residents))
                else:
                    clocks.table.extend(of_block(timed, n * found.cells) for n in range(residents))

    def _kinds_of(self, number: int, blocks: int) -> range:
        """Returns the variants that a core issues for a task of so many blocks: one for all of them if they run together."""
        first = self._residents * number
        return range(first + blocks - 1, first + blocks) if self._is_together else range(first, first + blocks)

    def _issue(self, number: int) -> None:
        found, clocks = self.recording, self.recording.clocks
        kinds = self._kinds_of(number, len(self._cores))
        if self._held is not None:
            self._held.append(number)
            found.places += [tuple(found.path)] * len(kinds)
            return
        self._learn(number)
        for kind, cores in zip(kinds, self._cores, strict=False):
            clocks.cores = cores
            clocks.issue(kind)
            found.places.append(tuple(found.path))


def has_grid(node: TaskNode) -> bool:
    return isinstance(node, TaskLoop) and (node.grid or any(map(has_grid, node.children)))
