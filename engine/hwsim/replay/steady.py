"""Replay whose cost depends on the structure of the program: repeats are replayed until a steady state, and the rest is skipped, exactly.

At each iteration of a loop the state is read relative to the last issue (`Clocks.key`). If a state recurs, the iterations in between recur
too, shifted in time, while iterations are equivalent. Two whole periods are replayed that no earlier task overlaps, and the remaining ones
are left out of the timeline. A repeat has its position, its count and the tasks that it represents; every metric weights them by that
count.

    time  ──────┬────────┬────────┬──────────     replayed: warm-up, a period that is repeated, the final period
                │ period │ period │
                └─ ×N ───┘
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from ...cancellation import checkpoint
from ...ir import Var
from ..access.ports import holding_up
from ..errors import refuse
from ..tasks.counting import counts_of
from ..tasks.periodicity import Run
from ..tasks.tree import TaskLoop, TaskNode, TaskProgram
from ..tasks.variants import NOTHING
from .exclusive import Clocks, Variant
from .growth import Block, Growth, Mark, block_of, growth_between, is_even, most_copies
from .repeats import Place, Repeat
from .shared_ports import SharedClocks

SHORT = 4
"""A run of up to this many periods has none to skip: two are replayed before the earliest recurrence, and two after it."""

WHOLE = 100
"""A program of up to this many tasks is replayed completely: its timeline then shows real time."""

MAX_TASKS = 5_000_000

STEADY = 4
"""Blocks of iterations that grow evenly, before those that follow are skipped."""

MAX_GROWING = 8
"""Limit on the iterations of such a block."""


class Simulated(msgspec.Struct, frozen=True, eq=False):
    """The replayed tasks, in program order: clocks, the iterations of the loops around each, and the repeats, inner before outer. `cycles`
    is the makespan.
    """

    clocks: Clocks | SharedClocks
    places: list[Place]
    repeats: tuple[Repeat, ...]
    cycles: int


def replay_tasks(program: TaskProgram, max_tasks: int = MAX_TASKS, whole: int = WHOLE) -> Simulated:
    """Replays a program, up to `whole` tasks completely. Raises MachineError if more than `max_tasks` tasks have to be replayed."""
    # A complete replay compares no states.
    replay = _Replay(program, max_tasks, watches=_most(program.tree) > whole)
    replay.nodes(program.tree, {}, {})
    return Simulated(replay.clocks, replay.places, tuple(replay.repeats), replay.clocks.finish() + replay.skipped)


def clocks_of(program: TaskProgram, kinds: Sequence[Variant], max_tasks: int = MAX_TASKS) -> Clocks | SharedClocks:
    """Returns the clocks for tasks of these kinds, a list that may grow. They include only those ports of the program that can delay a
    task.
    """
    known = kinds, program.machine.queues, len(program.places.of_cell)
    bursts = [port.burst_cycles for port in program.ports]
    preload = program.machine.longest_preload
    if not bursts:
        return Clocks(*known, preload)
    every = [program.variants[number].replay for number in counts_of(program, max_tasks)]
    late = holding_up(every, bursts)
    return SharedClocks(*known, bursts, late, preload) if late else Clocks(*known, preload)


def _most(nodes: tuple[TaskNode, ...]) -> int:
    """Returns the maximum number of tasks, including empty ones."""
    return sum(n.extent * _most(n.children) if isinstance(n, TaskLoop) else 1 for n in nodes)


class _Body(msgspec.Struct, frozen=True, eq=False):
    """The iterations of a run: those of the loops around, and the same for iterations that are equivalent up to trip counts."""

    node: TaskLoop
    run: Run
    same: Run
    at: dict[Var, int]
    like: dict[Var, int]


class _Replay:
    def __init__(self, program: TaskProgram, max_tasks: int, *, watches: bool) -> None:
        self._kinds: list[Variant] = []
        self._variants = program.variants
        self.clocks = clocks_of(program, self._kinds, max_tasks)
        self.places: list[Place] = []
        self.repeats: list[Repeat] = []
        self._max_tasks = max_tasks
        self._watches = watches
        self._path: list[int] = []
        self.skipped = 0

    def nodes(self, nodes: tuple[TaskNode, ...], at: Mapping[Var, int], like: Mapping[Var, int]) -> None:
        """Replays the tasks with loops around at iterations `at`; they are equivalent to those at `like`."""
        for node in nodes:
            if isinstance(node, TaskLoop):
                self._loop(node, at, like)
                continue
            number = node.variants.at(like)
            if number != NOTHING:
                if number >= len(self._kinds):
                    self._kinds.extend(v.replay for v in self._variants[len(self._kinds) :])
                self.clocks.issue(number)
                self.places.append(tuple(self._path))
                if len(self.places) > self._max_tasks:
                    raise refuse("too-many-tasks", f"the schedule creates more than {self._max_tasks} distinct tasks, too many to replay "
                                 "one by one", *node.blocks,
                                 expected="larger tiles, or factors that divide the extents")  # fmt: skip

    def _loop(self, node: TaskLoop, at: Mapping[Var, int], like: Mapping[Var, int]) -> None:
        depth = len(self._path)
        self._path += [0] * len(node.loops)
        runs, around = node.paired(at, like)
        for run, same in runs:
            body = _Body(node, run, same, dict(at), dict(around))
            if self._watches and run.stop - run.start > SHORT * run.period:
                self._watched(body)
            else:
                for i in range(run.start, run.stop):
                    self._iteration(body, i)
        del self._path[depth:]

    def _iteration(self, body: _Body, i: int) -> None:
        checkpoint()
        node, run = body.node, body.run
        number = (i - run.start) % run.period
        body.at.update(node.place(i if run.grows else run.start + number))
        body.like.update(node.place(body.same.start + number))
        for n, loop in zip(range(-1, -len(node.loops), -1), reversed(node.loops[1:]), strict=True):
            i, self._path[n] = divmod(i, loop.extent)
        self._path[-len(node.loops)] = i
        self.nodes(node.children, body.at, body.like)

    def _watched(self, body: _Body) -> None:
        clocks, node, run = self.clocks, body.node, body.run
        marks: list[Mark] = []
        keys: list[tuple[object, ...]] = []
        seen: dict[tuple[object, ...], int] = {}
        i = run.start
        steady: tuple[int, int] | None = None
        while i < run.stop:
            marks.append(
                Mark(
                    clocks.now, len(clocks.starts), len(self.repeats), len(clocks.stalls), self.skipped, clocks.skipped
                )
            )
            here = len(marks) - 1
            if steady is None:
                key = ((i - run.start) % run.period, *clocks.key(node.engines, node.cells, idle=not run.grows))
                if run.grows:
                    keys.append(key)
                    i += self._grow(node, marks, keys, run.stop - i)
                else:
                    first = seen.setdefault(key, here)
                    steady = (first, here - first) if first < here else None
            if steady is not None:
                i += self._skip(node, marks, *steady, run.stop - i)
            if i < run.stop:
                self._iteration(body, i)
                i += 1

    def _skip(self, node: TaskLoop, marks: list[Mark], first: int, period: int, left: int) -> int:
        """Returns the number of iterations skipped here: all remaining whole periods, after steady ones were replayed."""
        here = len(marks) - 1
        extra = left // period
        if extra == 0 or (here - first) % period:
            return 0
        if marks[here].tasks == marks[first].tasks:
            return extra * period  # no work at all
        until = self._settled(marks, first, period)
        if until is None:
            return 0
        start, end = marks[until - period], marks[until]
        cycles = end.now - start.now + end.skipped - start.skipped
        self.repeats.append(self._repeat(node, start, end, cycles, extra, period))
        self.clocks.skip(cycles * extra, end.tasks)
        self.skipped += cycles * extra
        # The tasks replayed behind the repeat are those of the last iterations.
        for n in range(end.tasks, len(self.places)):
            self.places[n] = self.repeats[-1].later(self.places[n], extra, n)
        marks.clear()
        return extra * period

    def _settled(self, marks: Sequence[Mark], first: int, period: int) -> int | None:
        """Returns the end of a period that can be repeated: the last one whose tasks no later task can change; None if there is none."""
        here = len(marks) - 1
        until = next((n for n in range(here - period, first, -period) if self.clocks.is_settled(marks[n].tasks)), first)
        if until - period < first:
            return None
        # No task from before the first period overlaps the repeated one, and the tasks of the first complete before that ends.
        before, steady = (self.clocks.over_by(marks[n].tasks) for n in (first, first + period))
        if before is None or before > marks[until - period].now or steady is None or steady > marks[until].now:
            return None
        return until

    def _repeat(self, node: TaskLoop, start: Mark, end: Mark, cycles: int, extra: int, period: int) -> Repeat:
        depth, extents = len(self._path) - len(node.loops), tuple(loop.extent for loop in node.loops)
        return Repeat(start.now, end.now, cycles, extra, start.tasks, end.tasks, depth, extents, period)

    def _grow(self, node: TaskLoop, marks: list[Mark], keys: list[tuple[object, ...]], left: int) -> int:
        """Like `_skip`, for iterations that grow."""
        here = len(marks) - 1
        for period in range(1, min(here // STEADY, MAX_GROWING) + 1):
            blocks = 0
            while here >= (blocks + 1) * period and keys[here - (blocks + 1) * period] == keys[here]:
                blocks += 1
            if blocks < STEADY or left < period:
                continue
            until = self._settled(marks, here - blocks * period, period)
            if until is None or until - 3 * period < here - blocks * period:
                continue
            found = [self._block(marks[n], marks[n + period]) for n in range(until - 3 * period, here, period)]
            growth = growth_between(found[1], found[2])
            if (
                growth is not None
                and growth == growth_between(found[0], found[1])
                and is_even(growth, found[2])
                and all(block.is_like(found[2]) for block in found[3:])
            ):
                most = most_copies(growth, found[-1])
                extra = left // period if most is None else min(left // period, most)
                if extra:
                    self._skip_growing(node, growth, found[2:], extra, period)
                    marks.clear()
                    keys.clear()
                    return extra * period
        return 0

    def _block(self, start: Mark, end: Mark) -> Block:
        return block_of(
            start, end, len(self._path) - 1, self.clocks.numbers, self.places, self.repeats, self.clocks.stalls
        )

    def _skip_growing(self, node: TaskLoop, growth: Growth, blocks: Sequence[Block], extra: int, period: int) -> None:
        """Repeats the first of these blocks. The others are moved behind its copies, and grow by as many."""
        first, *later = blocks
        number, stalls = len(self.repeats), self.clocks.stalls
        repeat = self._repeat(node, first.start, first.end, first.cycles, extra, period)
        moves = {first.start.tasks + row: move for row, move in growth.moves.items()}
        repeat = replace(repeat, step=growth.step, moves=moves)
        for block in blocks:
            is_first = block is first
            for n, (more, longer) in enumerate(zip(growth.more, growth.longer, strict=True), block.start.repeats):
                r = self.repeats[n]
                if is_first and (more or longer):
                    self.repeats[n] = replace(r, over=number, more=more, step=longer)
                elif more or longer:
                    self.repeats[n] = replace(r, extra=r.extra + more * extra, cycles=r.cycles + longer * extra)
            for key, (n, cycles) in block.stalls.items():
                step = growth.stalls.get(key, 0)
                if step:
                    s = stalls[n]
                    stalls[n] = (
                        replace(s, over=number, step=step) if is_first else replace(s, cycles=cycles + step * extra)
                    )
            if not is_first:
                for row in range(block.start.tasks, block.end.tasks):
                    same = first.start.tasks + row - block.start.tasks
                    self.places[row] = repeat.later(self.places[row], extra, same)
        self.repeats.append(repeat)
        cycles = repeat.omitted + len(later) * extra * growth.step
        last = blocks[-1]
        idle = [(b - a) * extra for a, b in zip(last.start.idle, last.end.idle, strict=True)]
        self.clocks.skip(cycles, first.end.tasks, idle)
        self.skipped += cycles
