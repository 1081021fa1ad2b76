"""Sensitivity of a program to machine parameters: each is improved by a factor of two, one at a time, and the program is replayed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from ..ir import PrimFunc
from ..lower import Plan, planned
from .errors import MachineError
from .machine.model import Machine, engine_of_channel
from .replay.steady import MAX_TASKS
from .report.model import Report
from .simulate import simulate

FASTER = ("bytes_per_cycle", "read_bytes_per_cycle", "write_bytes_per_cycle", "vector_bytes", "tile_rows", "tile_columns", "tile_depth",
          "register_rows", "register_columns", "rows", "columns", "queue_tasks", "banks", "capacity_bytes")  # fmt: skip
"""Parameters that are doubled."""

SHORTER = (
    "setup_cycles",
    "wait_cycles",
    "signal_cycles",
    "latency_cycles",
    "hop_cycles",
    "cycles_per_tile",
    "cycles_per_operation",
)
"""Parameters that are halved."""


class MachineParameter(msgspec.Struct, frozen=True):
    """A machine parameter by its path (`Machine.replace`), its value and the improved one, the program's cycles with the latter, and the
    cycles saved.
    """

    path: str
    value: int
    better: int
    cycles: int
    saved: int


class Improvement(NamedTuple):
    """A parameter to improve: its path, its value and the improved one."""

    path: str
    value: int
    better: int


def sensitivity(func: PrimFunc, machine: Machine, *, known_plan: Plan | None = None) -> tuple[MachineParameter, ...]:
    """Returns the gain of each parameter of the parts that the program uses, the largest first. Raises MachineError as `simulate` does."""
    plan = known_plan or planned(func)
    report = simulate(func, machine, known_plan=plan, whole=0)
    found = (tried(func, machine, trial, report, known_plan=plan) for trial in trials(machine, report))
    return ranked(parameter for parameter in found if parameter is not None)


def ranked(parameters: Iterable[MachineParameter]) -> tuple[MachineParameter, ...]:
    """Sorts parameters by gain, the largest first."""
    return tuple(sorted(parameters, key=lambda k: (-k.saved, k.path)))


def trials(machine: Machine, report: Report) -> tuple[Improvement, ...]:
    """Returns the trials for the parts that a program used."""
    used = {f"engines.{engine_of_channel(name)}" for name, engine in report.engines.items() if engine.tasks}
    used |= {
        f"memories.{m.name}"
        for m in machine.memories
        if any(r.scope == m.scope and r.peak_bytes for r in report.memory.values())
    }
    used |= {f"buses.{bus.name}" for bus in machine.buses} | {f"links.{link.name}" for link in machine.links}
    return tuple(trial for trial in _trials(machine) if trial.path.rpartition(".")[0] in used)


def tried(
    func: PrimFunc,
    machine: Machine,
    trial: Improvement,
    before: Report,
    *,
    known_plan: Plan | None = None,
    max_tasks: int = MAX_TASKS,
) -> MachineParameter | None:
    """Returns the gain of a parameter against the report `before`; None if the improved value is invalid, as banks that do not divide the
    capacity, or if the cycles of a report are not known.
    """
    try:
        better = machine.replace(trial.path, trial.better)
        report = simulate(func, better, max_tasks, known_plan=known_plan, whole=0)
    except MachineError:
        return None
    if report.unknown is not None or before.unknown is not None:
        return None
    return MachineParameter(*trial, report.cycles, before.cycles - report.cycles)


def _trials(machine: Machine) -> Iterator[Improvement]:
    for group in ("memories", "engines", "buses", "links"):
        for part in getattr(machine, group):
            for figure in part.__struct_fields__:
                value = getattr(part, figure)
                path = f"{group}.{part.name}.{figure}"
                if figure in FASTER:
                    yield Improvement(path, value, 2 * value)
                elif figure in SHORTER and value > 1:
                    yield Improvement(path, value, value // 2)
