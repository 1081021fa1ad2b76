"""From a program and a machine to a report: plan, read, place, make tasks, replay, sum up."""

from __future__ import annotations

from msgspec.structs import replace

from ..ir import BlockRealize, PrimFunc, refusing_depth
from ..lower import LowerError, Plan, RewriteResult, missing_sizes, planned
from .access.placement import place
from .caches.tasks import MAX_ACCESSES, cached
from .errors import MachineError, refuse
from .machine.model import Machine
from .replay.steady import MAX_TASKS, WHOLE, play
from .replay.timeline import Timeline, require_countable, timeline_of
from .report.metrics import report_of
from .report.model import Report
from .tasks.nest import read_nest
from .tasks.tree import TaskProgram, make_tasks

EXAMPLE_SIZE = 256
"""What is proposed for a size that nobody gave."""


@refusing_depth(MachineError)
def simulate(
    func: PrimFunc,
    machine: Machine,
    max_tasks: int = MAX_TASKS,
    *,
    known_plan: Plan | None = None,
    whole: int = WHOLE,
    max_accesses: int = MAX_ACCESSES,
) -> Report:
    """What `func` costs on `machine`, to the cycle: the same input gives the same report everywhere.

    What repeats is not played again, unless there are `whole` tasks at most: the figures are those of a replay of every task, the timeline
    has repeats.
    Raises MachineError when the machine cannot run it: an operand that no engine reaches, a scope without memory, sizes that are not
    known (`lower.with_sizes` gives them), more than `max_tasks` tasks that are not alike. More bytes than a memory holds are a finding, not
    an error.

    Behind caches every access is gone through, up to `max_accesses`; with more the report is without the waiting, and says so.

    `known_plan` is `lower.planned(func)` where somebody made it already.
    """
    return report_of(*replayed(func, machine, max_tasks, known_plan=known_plan, whole=whole, max_accesses=max_accesses))


def replayed(
    func: PrimFunc,
    machine: Machine,
    max_tasks: int = MAX_TASKS,
    *,
    known_plan: Plan | None = None,
    whole: int = WHOLE,
    max_accesses: int = MAX_ACCESSES,
) -> tuple[TaskProgram, Timeline]:
    """The tasks of a program, and when they run: what a report is made of. Arguments and errors are those of `simulate`."""
    program = tasks_of(func, machine, known_plan, max_accesses)
    return program, timeline_of(program, play(program, max_tasks, whole))


def simulate_tasks(program: TaskProgram, max_tasks: int = MAX_TASKS, *, whole: int = WHOLE) -> Report:
    """The report of tasks that `tasks_of` made: `simulate` in two halves, for whoever looks at `least_of` in between."""
    return report_of(program, timeline_of(program, play(program, max_tasks, whole)))


# A program takes a time when its sizes are numbers.
def require_sizes(func: PrimFunc) -> None:
    missing = missing_sizes(func)
    if missing:
        line = ", ".join(f'"{name}": {EXAMPLE_SIZE}' for name in missing)
        names = missing[0] if len(missing) == 1 else f"{', '.join(missing[:-1])} and {missing[-1]}"
        are = "the size {} is" if len(missing) == 1 else "the sizes {} are"
        raise refuse("missing-sizes", f"{are.format(names)} not known, so neither is what the program costs", found=", ".join(missing),
                     expected="a number for each", fix=(f"sizes = {{{line}}}",))  # fmt: skip


@refusing_depth(MachineError)
def tasks_of(
    func: PrimFunc, machine: Machine, known_plan: Plan | None = None, max_accesses: int = MAX_ACCESSES
) -> TaskProgram:
    """The tasks of a program, before any is played. What has no root block is lowered already, its allocations are where they belong."""
    require_sizes(func)
    is_planned = not isinstance(func.body, BlockRealize)
    piped = require_sound(Plan(func, {}) if is_planned else known_plan or planned(func))
    nest = read_nest(piped.func, set(piped.buffers.values()))
    places = place(machine, nest)
    require_countable("bytes", sum(placement.part_bytes for placement in places.of_cell))
    program = make_tasks(nest, places)
    if not machine.caches:
        return program
    found = cached(func, program, known_plan, max_accesses)
    return replace(make_tasks(nest, places, found.waits), cached=found)


# Stages of a pipeline break no dependence, views fit what they stand for.
def require_sound(plan: Plan) -> RewriteResult:
    """The program without views of buffers, with its software pipelines injected."""
    try:
        return plan.piped
    except LowerError as error:
        raise MachineError(error.refusal) from error
