"""Which figure of the machine limits a program: each is made twice as good, one at a time, and the program is replayed."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ..ir import PrimFunc
from ..lower import Renewed, planned
from .errors import MachineError
from .machine import Machine
from .simulate import simulate

FASTER = ("bytes_per_cycle", "read_bytes_per_cycle", "write_bytes_per_cycle", "vector_bytes", "tile_rows", "tile_columns", "tile_depth",
          "rows", "columns", "queue_tasks", "banks", "capacity_bytes")  # fmt: skip
"""Figures of which there is twice as much."""

SHORTER = ("setup_cycles", "latency_cycles", "cycles_per_tile", "cycles_per_operation")
"""Figures of which there is half as much."""


class Knob(msgspec.Struct, frozen=True):
    """A figure of the machine by its path (`Machine.replace`), its value and the better one, and what the program takes then, in cycles."""

    path: str
    value: int
    better: int
    cycles: int
    saved: int


def sensitivity(func: PrimFunc, machine: Machine, *, known_plan: Renewed | None = None) -> tuple[Knob, ...]:
    """What each figure of the parts that the program uses would gain, the most first. Raises MachineError as `simulate` does."""
    plan = known_plan or planned(func)
    report = simulate(func, machine, known_plan=plan, whole=0)
    used = {f"engines.{name}" for name, engine in report.engines.items() if engine.tasks}
    used |= {
        f"memories.{m.name}"
        for m in machine.memories
        if any(r.scope == m.scope and r.peak_bytes for r in report.memory.values())
    }
    used |= {f"buses.{bus.name}" for bus in machine.buses}
    found: list[Knob] = []
    for path, value, better in _knobs(machine):
        if path.rpartition(".")[0] not in used:
            continue
        try:
            cycles = simulate(func, machine.replace(path, better), known_plan=plan, whole=0).cycles
        except MachineError:
            continue  # the figure cannot be that, as banks that would not divide the capacity
        found.append(Knob(path, value, better, cycles, report.cycles - cycles))
    return tuple(sorted(found, key=lambda k: (-k.saved, k.path)))


def _knobs(machine: Machine) -> Iterator[tuple[str, int, int]]:
    for group in ("memories", "engines", "buses"):
        for part in getattr(machine, group):
            for figure in part.__struct_fields__:
                value = getattr(part, figure)
                path = f"{group}.{part.name}.{figure}"
                if figure in FASTER:
                    yield path, value, 2 * value
                elif figure in SHORTER and value > 1:
                    yield path, value, value // 2
