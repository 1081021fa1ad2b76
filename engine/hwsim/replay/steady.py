"""Replay whose cost depends on the structure of the program: repeats are replayed until a steady state, and the rest is skipped, exactly.

At each iteration of a loop the state is read relative to the last issue (`Clocks.key`). If a state recurs, the iterations in between recur
too (`recurrence.py`). Two whole periods are replayed that no earlier task overlaps, and the remaining ones
are left out of the timeline. A repeat has its position, its count and the tasks that it represents; every metric weights them by that
count.

    time  ──────┬────────┬────────┬──────────     replayed: warm-up, a period that is repeated, the final period
                │ period │ period │
                └─ ×N ───┘
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from ...cancellation import checkpoint
from ...ir import Var
from ..access.ports import holding_up
from ..errors import refuse
from ..machine.links import Routes, routes_of
from ..tasks.counting import counts_of
from ..tasks.periodicity import Run
from ..tasks.tree import TaskLoop, TaskNode, TaskProgram
from ..tasks.variants import NOTHING
from .clocks import Clocks, Variant
from .recording import Recording
from .recurrence import recurrence_of
from .repeats import Place, Repeat
from .shared_ports import SharedClocks

SHORT = 4
"""A run of up to this many periods has none to skip: two are replayed before the earliest recurrence, and two after it."""

WHOLE = 100
"""A program of up to this many tasks is replayed completely: its timeline then shows real time."""

MAX_TASKS = 5_000_000


class Simulated(msgspec.Struct, frozen=True, eq=False):
    """The replayed tasks, in program order: clocks, the iterations of the loops around each, and the repeats, inner before outer. `cycles`
    is the makespan.
    """

    clocks: Clocks
    places: list[Place]
    repeats: tuple[Repeat, ...]
    cycles: int


def replay_tasks(program: TaskProgram, max_tasks: int = MAX_TASKS, whole: int = WHOLE) -> Simulated:
    """Replays a program, up to `whole` tasks completely. Raises MachineError if more than `max_tasks` tasks have to be replayed."""
    # A complete replay compares no states.
    replay = Replay(program, clocks_of(program, [], max_tasks), max_tasks, watches=most_tasks(program.tree) > whole)
    return replay.simulated()


def clocks_of(program: TaskProgram, kinds: list[Variant], max_tasks: int = MAX_TASKS, residents: int = 1, *,
              is_apart: bool = False) -> Clocks:  # fmt: skip
    """Returns the clocks for tasks of these kinds, a list that may grow, of so many blocks at a time. They include only those ports of the
    program that can delay a task; if cores are apart, none that cores share.
    """
    queues = tuple(residents * tasks for tasks in program.machine.queues)
    known = kinds, queues, residents * len(program.places.of_cell)
    bursts = [port.burst_cycles for port in program.ports]
    preload = program.machine.longest_preload
    if not bursts:
        return Clocks(*known, preload)
    every = [program.variants[number].replay for number in counts_of(program, max_tasks)]
    crowds = crowds_of(program)
    routed = [n for n, port in enumerate(program.ports) if port.link or port.elements]
    late = holding_up(every, bursts, crowds, routed)
    if is_apart:
        late = {port: engines for port, engines in late.items() if port not in crowds}
    return SharedClocks(*known, bursts, late, preload, crowds) if late else Clocks(*known, preload)


def links_of(program: TaskProgram) -> dict[int, Routes]:
    """Returns the links among the ports of a program whose segments differ by core."""
    links = {link.name: link for link in program.machine.links}
    return {n: routes_of(links[port.link], program.machine) for n, port in enumerate(program.ports) if port.link}


def crowds_of(program: TaskProgram) -> dict[int, int]:
    """Returns the ports that several cores share, by number, with the cores around one; of a link, the most around a segment."""
    around = {number: program.machine.cores_around(port.level) for number, port in enumerate(program.ports)}
    around |= {number: routes.crowd for number, routes in links_of(program).items()}
    return {number: cores for number, cores in around.items() if cores > 1}


def most_tasks(nodes: tuple[TaskNode, ...]) -> int:
    """Returns the maximum number of tasks, including empty ones."""
    return sum(n.extent * most_tasks(n.children) if isinstance(n, TaskLoop) else 1 for n in nodes)


class _Body(msgspec.Struct, frozen=True, eq=False):
    """The iterations of a run: those of the loops around, and the same for iterations that are equivalent up to trip counts."""

    node: TaskLoop
    run: Run
    same: Run
    at: dict[Var, int]
    like: dict[Var, int]


class Replay:
    """A replay of the tasks of a program, with these clocks."""

    def __init__(self, program: TaskProgram, clocks: Clocks, max_tasks: int, *, watches: bool) -> None:
        self.program = program
        self.recording = Recording(clocks)
        self._max_tasks = max_tasks
        self._watches = watches

    def simulated(self) -> Simulated:
        """Replays all tasks."""
        self.nodes(self.program.tree, {}, {})
        found = self.recording
        skipped = sum(repeat.omitted for repeat in found.repeats)
        return Simulated(found.clocks, found.places, tuple(found.repeats), found.clocks.finish() + skipped)

    def nodes(self, nodes: tuple[TaskNode, ...], at: Mapping[Var, int], like: Mapping[Var, int]) -> None:
        """Replays the tasks with loops around at iterations `at`; they are equivalent to those at `like`."""
        places = self.recording.places
        for node in nodes:
            if isinstance(node, TaskLoop):
                self._loop(node, at, like)
                continue
            number = node.variants.at(like)
            if number != NOTHING:
                self._issue(number)
                if len(places) > self._max_tasks:
                    raise refuse("too-many-tasks", f"the schedule creates more than {self._max_tasks} distinct tasks, too many to replay "
                                 "one by one", *node.blocks,
                                 expected="larger tiles, or factors that divide the extents")  # fmt: skip

    def _issue(self, number: int) -> None:
        """Issues a task of a variant."""
        clocks, found = self.recording.clocks, self.recording
        if number >= len(clocks.table):
            clocks.table.extend(v.replay for v in self.program.variants[len(clocks.table) :])
        clocks.issue(number)
        found.places.append(tuple(found.path))

    def _loop(self, node: TaskLoop, at: Mapping[Var, int], like: Mapping[Var, int]) -> None:
        path = self.recording.path
        depth = len(path)
        path += [0] * len(node.loops)
        for run, same, around in node.paired(at, like):
            body = _Body(node, run, same, dict(at), dict(around))
            watched = self._watches and run.stop - run.start > SHORT * run.period
            recurrence = recurrence_of(self.recording, node, run) if watched else None
            i = run.start
            while i < run.stop:
                i += recurrence.skip(i) if recurrence is not None else 0
                if i < run.stop:
                    self._iteration(body, i)
                    i += 1
        del path[depth:]

    def _iteration(self, body: _Body, i: int) -> None:
        checkpoint()
        node, run, path = body.node, body.run, self.recording.path
        number = (i - run.start) % run.period
        body.at.update(node.place(i if run.grows else run.start + number))
        body.like.update(node.place(body.same.start + number))
        for n, loop in zip(range(-1, -len(node.loops), -1), reversed(node.loops[1:]), strict=True):
            i, path[n] = divmod(i, loop.extent)
        path[-len(node.loops)] = i
        self.nodes(node.children, body.at, body.like)
