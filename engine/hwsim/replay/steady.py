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
from .growth import Growth, IterationBlock, Mark, block_of, common_growth, most_copies
from .repeats import Place, Repeat, length_of
from .shared_ports import SharedClocks

SHORT = 4
"""A run of up to this many periods has none to skip: two are replayed before the earliest recurrence, and two after it."""

WHOLE = 100
"""A program of up to this many tasks is replayed completely: its timeline then shows real time."""

MAX_TASKS = 5_000_000

STEADY = 4
"""Blocks of iterations that grow evenly, before those that follow are skipped."""

SETTLED = 3
"""Those of them whose tasks no later task can change."""

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
    skipped = sum(repeat.omitted for repeat in replay.repeats)
    return Simulated(replay.clocks, replay.places, tuple(replay.repeats), replay.clocks.finish() + skipped)


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
        for run, same, around in node.paired(at, like):
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
            marks.append(Mark(clocks.now, len(clocks.starts), len(self.repeats), len(clocks.stalls)))
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
        repeat = self._repeat(node, marks[until - period], marks[until], extra, period)
        self.clocks.skip({repeat.number: repeat.omitted}, repeat.number, repeat.last)
        # The tasks replayed behind the repeat are those of the last iterations.
        for n in range(repeat.last, len(self.places)):
            self.places[n] = repeat.later(self.places[n], extra, n)
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

    def _repeat(self, node: TaskLoop, start: Mark, end: Mark, extra: int, period: int) -> Repeat:
        """Adds a repeat of the tasks between two marks."""
        depth, extents = len(self._path) - len(node.loops), tuple(loop.extent for loop in node.loops)
        inside = self.repeats[start.repeats : end.repeats]
        length = length_of(end.now - start.now, inside)
        repeat = Repeat(len(self.repeats), start.now, end.now, length, extra, start.tasks, end.tasks, depth, extents, period)  # fmt: skip
        self.repeats.append(repeat)
        return repeat

    def _grow(self, node: TaskLoop, marks: list[Mark], keys: list[tuple[object, ...]], left: int) -> int:
        """Like `_skip`, for iterations that grow."""
        here = len(marks) - 1
        for period in range(1, min(here // STEADY, MAX_GROWING) + 1):
            count = 0
            while here >= (count + 1) * period and keys[here - (count + 1) * period] == keys[here]:
                count += 1
            if count < STEADY or left < period:
                continue
            if marks[here].tasks == marks[here - period].tasks:
                return left // period * period  # no work at all
            until = self._settled(marks, here - count * period, period)
            if until is None or until - SETTLED * period < here - count * period:
                continue
            blocks = [self._block(marks[n], marks[n + period]) for n in range(until - SETTLED * period, here, period)]
            growth = common_growth(blocks, SETTLED)
            if growth is None:
                continue
            most = most_copies(growth, blocks[-1])
            extra = left // period if most is None else min(left // period, most)
            if extra:
                self._skip_growing(node, growth, blocks[SETTLED - 1 :], extra, period)
                marks.clear()
                keys.clear()
                return extra * period
        return 0

    def _block(self, start: Mark, end: Mark) -> IterationBlock:
        return block_of(
            start, end, len(self._path) - 1, self.clocks.numbers, self.places, self.repeats, self.clocks.stalls
        )

    def _skip_growing(
        self, node: TaskLoop, growth: Growth, blocks: Sequence[IterationBlock], extra: int, period: int
    ) -> None:
        """Repeats the first of these blocks. The others are moved behind its copies, and have as many more copies of their repeats."""
        first, *later = blocks
        number = len(self.repeats)
        for block in blocks:
            for n, more in enumerate(growth.more, block.start.repeats):
                over, further = ({number: more}, 0) if block is first else ({}, more * extra)
                self._lengthen(n, block.start.repeats, over, further)
        moves = {first.start.tasks + row: move for row, move in growth.moves.items()}
        repeat = replace(self._repeat(node, first.start, first.end, extra, period), moves=moves)
        self.repeats[number] = repeat
        for block in later:
            for row in range(block.start.tasks, block.end.tasks):
                same = first.start.tasks + row - block.start.tasks
                self.places[row] = repeat.later(self.places[row], extra, same)
        cycles = {r.number: r.omitted for r in self.repeats[first.start.repeats :]}
        self.clocks.skip(cycles, number, repeat.last)

    def _lengthen(self, number: int, since: int, more: Mapping[int, int], extra: int) -> None:
        """Adds copies to a repeat whose inner repeats, from number `since` on, have theirs."""
        r = self.repeats[number]
        length = length_of(
            r.end - r.start, [i for i in self.repeats[since:number] if r.first <= i.first and i.last <= r.last]
        )
        more = {n: m for n, m in (*r.more.items(), *more.items()) if m}
        self.repeats[number] = replace(r, length=length, extra=r.extra + extra, more=more)
