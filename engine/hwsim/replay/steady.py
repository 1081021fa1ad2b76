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

from collections.abc import Sequence

import msgspec

from ...cancellation import checkpoint
from ...ir import Var
from ..access.ports import holding_up
from ..errors import refuse
from ..tasks.counting import counts_of
from ..tasks.periodicity import Run
from ..tasks.tree import TaskLoop, TaskNode, TaskProgram
from ..tasks.variants import NOTHING
from .exclusive import Clocks, Variant
from .shared_ports import SharedClocks

SHORT = 4
"""A run of up to this many periods has none to skip: two are replayed before the earliest recurrence, and two after it."""

WHOLE = 100
"""A program of up to this many tasks is replayed completely: its timeline then shows real time."""

MAX_TASKS = 5_000_000


Place = tuple[int, ...]
"""Iterations of the loops around a task, outermost first."""


class Repeat(msgspec.Struct, frozen=True):
    """A repeat: the interval of the timeline from `start` to `end` occurs `extra` more times, each `cycles` long.

    `cycles` includes the repeats inside of the interval, `start` and `end` do not: they are compressed times. Its tasks are those from
    `first` to `last`, exclusive, in the order of issue: `iterations` of the loop at `depth` among the loops around, or of several loops
    that run as one from there on, of these `extents`.
    """

    start: int
    end: int
    cycles: int
    extra: int
    first: int
    last: int
    depth: int
    extents: tuple[int, ...]
    iterations: int

    def later(self, place: Place, iterations: int) -> Place:
        """Returns the place of the equivalent task `iterations` later."""
        depth = self.depth
        digits: list[int] = []
        for i, extent in zip(reversed(place[depth : depth + len(self.extents)]), reversed(self.extents), strict=True):
            iterations, digit = divmod(i + iterations, extent)
            digits.append(digit)
        return (*place[:depth], *reversed(digits), *place[depth + len(digits) :])

    def number(self, place: Place) -> int:
        """Returns the iteration of a place in the repeat's loops, counted as one loop."""
        number = 0
        for i, extent in zip(place[self.depth : self.depth + len(self.extents)], self.extents, strict=True):
            number = number * extent + i
        return number


class Simulated(msgspec.Struct, frozen=True, eq=False):
    """The replayed tasks, in program order: clocks, the iterations of the loops around each, and the repeats, inner before outer. `cycles`
    is the makespan.
    """

    clocks: Clocks | SharedClocks
    places: list[Place]
    repeats: tuple[Repeat, ...]
    cycles: int


class _Mark(msgspec.Struct, frozen=True):
    """Progress of the replay before an iteration: moment, tasks, repeats, cycles skipped."""

    now: int
    tasks: int
    repeats: int
    skipped: int


def replay_tasks(program: TaskProgram, max_tasks: int = MAX_TASKS, whole: int = WHOLE) -> Simulated:
    """Replays a program, up to `whole` tasks completely. Raises MachineError if more than `max_tasks` tasks have to be replayed."""
    # A complete replay compares no states.
    replay = _Replay(program, max_tasks, watches=_most(program.tree) > whole)
    replay.nodes(program.tree, {})
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

    def nodes(self, nodes: tuple[TaskNode, ...], at: dict[Var, int]) -> None:
        for node in nodes:
            if isinstance(node, TaskLoop):
                self._loop(node, at)
                continue
            number = node.variants.at(at)
            if number != NOTHING:
                if number >= len(self._kinds):
                    self._kinds.extend(v.replay for v in self._variants[len(self._kinds) :])
                self.clocks.issue(number)
                self.places.append(tuple(self._path))
                if len(self.places) > self._max_tasks:
                    raise refuse("too-many-tasks", f"the schedule creates more than {self._max_tasks} distinct tasks, too many to replay "
                                 "one by one", *node.blocks,
                                 expected="larger tiles, or factors that divide the extents")  # fmt: skip

    def _loop(self, node: TaskLoop, at: dict[Var, int]) -> None:
        depth = len(self._path)
        self._path += [0] * len(node.loops)
        for run in node.runs(at):
            if self._watches and run.stop - run.start > SHORT * run.period:
                self._watched(node, run, at)
            else:
                for i in range(run.start, run.stop):
                    self._iteration(node, run, i, at)
        del self._path[depth:]
        for loop in node.loops:
            at.pop(loop.var, None)

    def _iteration(self, node: TaskLoop, run: Run, i: int, at: dict[Var, int]) -> None:
        checkpoint()
        if len(node.loops) == 1:
            at[node.loops[0].var] = run.like(i)
            self._path[-1] = i
        else:
            for n, loop in zip(range(-1, -len(node.loops) - 1, -1), reversed(node.loops), strict=True):
                at[loop.var] = 0  # all are equivalent
                i, self._path[n] = divmod(i, loop.extent)
        self.nodes(node.children, at)

    def _watched(self, node: TaskLoop, run: Run, at: dict[Var, int]) -> None:
        clocks = self.clocks
        marks: list[_Mark] = []
        seen: dict[tuple[object, ...], int] = {}
        i = run.start
        steady: tuple[int, int] | None = None
        while i < run.stop:
            marks.append(_Mark(clocks.now, len(clocks.starts), len(self.repeats), self.skipped))
            here = len(marks) - 1
            if steady is None:
                key = ((i - run.start) % run.period, *clocks.key(node.engines, node.cells))
                first = seen.setdefault(key, here)
                steady = (first, here - first) if first < here else None
            if steady is not None:
                i += self._skip(node, marks, *steady, run.stop - i)
            if i < run.stop:
                self._iteration(node, run, i, at)
                i += 1

    def _skip(self, node: TaskLoop, marks: list[_Mark], first: int, period: int, left: int) -> int:
        """Returns the number of iterations skipped here: all remaining whole periods, after steady ones were replayed."""
        here = len(marks) - 1
        extra = left // period
        if extra == 0 or (here - first) % period:
            return 0
        if marks[here].tasks == marks[first].tasks:
            return extra * period  # no work at all
        # The repeated period is the last one whose tasks no later task can change.
        until = next((n for n in range(here - period, first, -period) if self.clocks.is_settled(marks[n].tasks)), first)
        if until - period < first:
            return 0
        start, end = marks[until - period], marks[until]
        # No task from before the first period overlaps the repeated one, and the tasks of the first complete before that ends.
        before, steady = (self.clocks.over_by(marks[n].tasks) for n in (first, first + period))
        if before is None or before > start.now or steady is None or steady > end.now:
            return 0
        cycles = end.now - start.now + end.skipped - start.skipped
        depth, extents = len(self._path) - len(node.loops), tuple(loop.extent for loop in node.loops)
        repeat = Repeat(start.now, end.now, cycles, extra, start.tasks, end.tasks, depth, extents, period)
        self.repeats.append(repeat)
        self.clocks.skip(cycles * extra, end.tasks)
        self.skipped += cycles * extra
        # The tasks replayed behind the repeat are those of the last iterations.
        for n in range(end.tasks, len(self.places)):
            self.places[n] = repeat.later(self.places[n], extra * period)
        marks.clear()
        return extra * period
