"""Replay at the cost of the structure: what repeats is played until it is steady, and the rest of it is skipped, exactly.

At each iteration of a loop the state is looked at from the moment of the last issue (`Clocks.key`). When it comes back, the iterations in
between come back too, shifted in time, for as long as the iterations are alike. Two whole periods are played that no earlier task reaches
into, and the remaining ones are left out of the timeline. A repeat says where, how often, and which tasks it stands for; every figure
counts it as often.

    time  ──────┬────────┬────────┬──────────     played: warming up, a period that is repeated, a period as it ends
                │ period │ period │
                └─ ×N ───┘
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

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
"""A run of so few periods has none to skip: two are played before the state comes back at the earliest, and two after it."""

WHOLE = 100
"""A program of so few tasks is played as a whole: its timeline is then that of the clock."""

MAX_TASKS = 5_000_000


Place = tuple[int, ...]
"""Iterations of the loops around a task, outermost first."""


class Repeat(msgspec.Struct, frozen=True):
    """The stretch of the timeline from `start` to `end` comes `extra` more times before the timeline goes on, each `cycles` long.

    `cycles` counts the repeats inside of the stretch, `start` and `end` do not: they are times of the timeline as played. The tasks in
    it are those from `first` to `last`, exclusive, in the order of issue: `iterations` of the loop at `depth` among the loops around, or of
    several loops that run as one from there on, of these `extents`.
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
        """The place of a task that is the same, so many iterations on."""
        depth = self.depth
        digits: list[int] = []
        for i, extent in zip(reversed(place[depth : depth + len(self.extents)]), reversed(self.extents), strict=True):
            iterations, digit = divmod(i + iterations, extent)
            digits.append(digit)
        return (*place[:depth], *reversed(digits), *place[depth + len(digits) :])

    def number(self, place: Place) -> int:
        """Which iteration of its loops, taken as one, a place is in."""
        number = 0
        for i, extent in zip(place[self.depth : self.depth + len(self.extents)], self.extents, strict=True):
            number = number * extent + i
        return number


class Simulated(msgspec.Struct, frozen=True, eq=False):
    """The tasks that were played, in program order: clocks, the iterations of the loops around each, and the repeats, inner before outer.
    `cycles` is the makespan."""

    clocks: Clocks | SharedClocks
    places: list[Place]
    repeats: tuple[Repeat, ...]
    cycles: int


class _Mark(msgspec.Struct, frozen=True):
    """How far the replay had come before an iteration: moment, tasks, repeats, cycles skipped."""

    now: int
    tasks: int
    repeats: int
    skipped: int


def play(program: TaskProgram, max_tasks: int = MAX_TASKS, whole: int = WHOLE) -> Simulated:
    """Replays a program; of up to `whole` tasks all are played. Raises MachineError where `max_tasks` are not enough."""
    # What is played as a whole has no state to look at.
    player = _Player(program, max_tasks, watches=_most(program.tree) > whole)
    player.nodes(program.tree, {})
    return Simulated(player.clocks, player.places, tuple(player.repeats), player.clocks.finish() + player.skipped)


def clocks_of(program: TaskProgram, kinds: Sequence[Variant], max_tasks: int = MAX_TASKS) -> Clocks | SharedClocks:
    """What tasks of these kinds, which may become more, are to be issued to: of the program's ports those count that may make any late."""
    known = kinds, program.machine.queues, len(program.places.of_cell)
    bursts = [port.burst_cycles for port in program.ports]
    if not bursts:
        return Clocks(*known)
    every = [program.variants[number].replay for number in counts_of(program, max_tasks)]
    late = holding_up(every, bursts)
    return SharedClocks(*known, bursts, late) if late else Clocks(*known)


def _most(nodes: tuple[TaskNode, ...]) -> int:
    """How many tasks there are at most, those with nothing to do among them."""
    return sum(n.extent * _most(n.children) if isinstance(n, TaskLoop) else 1 for n in nodes)


class _Player:
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
                    raise refuse("too-many-tasks", f"the schedule makes more than {self._max_tasks} tasks that are not alike: too many "
                                 "to replay one by one", *node.blocks, expected="larger tiles, or extents that divide evenly")  # fmt: skip

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
        if len(node.loops) == 1:
            at[node.loops[0].var] = run.like(i)
            self._path[-1] = i
        else:
            for n, loop in zip(range(-1, -len(node.loops) - 1, -1), reversed(node.loops), strict=True):
                at[loop.var] = 0  # all are alike
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
        """How many iterations are skipped here: all whole periods that are left, once steady ones were played."""
        here = len(marks) - 1
        extra = left // period
        if extra == 0 or (here - first) % period:
            return 0
        if marks[here].tasks == marks[first].tasks:
            return extra * period  # nothing is done at all
        # The repeated period is the last one whose tasks nothing that follows can change.
        until = next((n for n in range(here - period, first, -period) if self.clocks.is_settled(marks[n].tasks)), first)
        if until - period < first:
            return 0
        start, end = marks[until - period], marks[until]
        # No task from before the first period reaches into the repeated one, and the tasks of the first are over when that ends.
        before, steady = (self.clocks.over_by(marks[n].tasks) for n in (first, first + period))
        if before is None or before > start.now or steady is None or steady > end.now:
            return 0
        cycles = end.now - start.now + end.skipped - start.skipped
        depth, extents = len(self._path) - len(node.loops), tuple(loop.extent for loop in node.loops)
        repeat = Repeat(start.now, end.now, cycles, extra, start.tasks, end.tasks, depth, extents, period)
        self.repeats.append(repeat)
        self.clocks.skip(cycles * extra, end.tasks)
        self.skipped += cycles * extra
        # The tasks played behind the repeat are those of the last iterations.
        for n in range(end.tasks, len(self.places)):
            self.places[n] = repeat.later(self.places[n], extra * period)
        marks.clear()
        return extra * period
