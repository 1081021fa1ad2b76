"""Simulation of a program on a machine, up to its report: plan, read, place, make tasks, replay, summarise."""

from __future__ import annotations

import re

from msgspec.structs import replace

from ..analysis import lowering_refusal
from ..ir import BlockRealize, PrimFunc, refusing_depth
from ..lower import LowerError, Plan, RewriteResult, missing_sizes, planned, same_threads
from .access.placement import place
from .caches.shared.orders import with_misses
from .caches.tasks import MAX_ACCESSES, cached
from .errors import MachineError, refuse
from .machine.model import Machine
from .replay.cores.chip import of_residents, replay_chip
from .replay.cores.residency import residency_of
from .replay.steady import MAX_TASKS, WHOLE, replay_tasks
from .replay.timeline import ReplayTimeline, require_countable, timeline_of
from .report.metrics import report_of
from .report.model import Report
from .tasks.nest import read_nest
from .tasks.tree import TaskProgram, make_tasks

EXAMPLE_SIZE = 256
"""Example value in the error for a size that is not set."""

CHANNELS = re.compile(r"(?:n|num)?_?ch(?:an(?:nel)?)?s?|rgb", re.IGNORECASE)
"""Names of sizes that are the channels of an image."""


def example_size(name: str) -> int:
    """A value to begin with for a symbolic size: 3 for the channels of an image."""
    return 3 if CHANNELS.fullmatch(name) else EXAMPLE_SIZE


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
    """Simulates `func` on `machine`, exact to the cycle. Deterministic: equal input gives equal reports on every computer.

    Repeats are not replayed, unless the program has at most `whole` tasks: the metrics equal those of a replay of every task, and the
    timeline contains repeats.
    Raises MachineError if the machine cannot run the program: an operand that no engine reaches, a scope without memory, unknown sizes
    (`lower.with_sizes` sets them), more than `max_tasks` different tasks. A memory that overflows is a finding, not an error.

    With caches, repeated states are skipped. If the other accesses cost more than `max_accesses`, the report excludes cache stalls, with a
    finding.

    `known_plan` is a precomputed `lower.planned(func)`.
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
) -> tuple[TaskProgram, ReplayTimeline]:
    """Returns the tasks of a program and their timeline, the input of a report. Arguments and errors are those of `simulate`."""
    return _replayed(tasks_of(func, machine, known_plan, max_accesses), max_tasks, whole)


def simulate_tasks(program: TaskProgram, max_tasks: int = MAX_TASKS, *, whole: int = WHOLE) -> Report:
    """Returns the report of tasks from `tasks_of`: the second half of `simulate`, for callers that check `lower_bound_of` in between."""
    return report_of(*_replayed(program, max_tasks, whole))


def _replayed(program: TaskProgram, max_tasks: int, whole: int) -> tuple[TaskProgram, ReplayTimeline]:
    if program.machine.core is None:
        return program, timeline_of(program, replay_tasks(program, max_tasks, whole))
    run = replay_chip(program, residency_of(program), max_tasks, whole)
    program = of_residents(program, run.residents)
    return program, timeline_of(program, run.simulated, run)


# A simulation requires that all parts are known.
def require_known(func: PrimFunc) -> None:
    refusal = lowering_refusal(func)
    if refusal is not None:
        raise MachineError(refusal)


# A simulation requires that all sizes are numbers.
def require_sizes(func: PrimFunc) -> None:
    missing = missing_sizes(func)
    if missing:
        line = ", ".join(f'"{name}": {example_size(name)}' for name in missing)
        names = missing[0] if len(missing) == 1 else f"{', '.join(missing[:-1])} and {missing[-1]}"
        are = "the size {} has" if len(missing) == 1 else "the sizes {} have"
        raise refuse("missing-sizes", f"{are.format(names)} no value, so the cost of the program is unknown", found=", ".join(missing),
                     expected="a number for each size", fix=(f"sizes = {{{line}}}",))  # fmt: skip


@refusing_depth(MachineError)
def tasks_of(
    func: PrimFunc, machine: Machine, known_plan: Plan | None = None, max_accesses: int = MAX_ACCESSES
) -> TaskProgram:
    """Returns the tasks of a program, before the replay. Without a root block, `func` is already lowered: its allocations stay in place."""
    require_known(func)
    require_sizes(func)
    is_planned = not isinstance(func.body, BlockRealize)
    piped = require_sound(Plan(same_threads(func), {}) if is_planned else known_plan or planned(func))
    nest = read_nest(piped.func, set(piped.buffers.values()))
    places = place(machine.before_caches.by_channel, nest, func)
    require_countable("bytes", sum(placement.part_bytes for placement in places.of_cell))
    program = make_tasks(func, nest, places)
    if machine.shared_cache is not None:
        return with_misses(program, machine)
    if not machine.caches:
        return program
    found = cached(func, program, known_plan, max_accesses)
    return replace(make_tasks(func, nest, places, found.waits), cached=found)


# Stages of a pipeline break no dependence, and views fit their buffers.
def require_sound(plan: Plan) -> RewriteResult:
    """Returns the program without views of buffers, with its software pipelines injected."""
    try:
        return plan.piped
    except LowerError as error:
        raise MachineError(error.refusal) from error
