"""What decides the cycles of a program: replays without the work of one engine, without contention at ports, or with free slots of a
buffer, and what they save."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec
from msgspec.structs import replace

from ..replay.counterfactual import Change, cycles_without, with_free_slots
from ..tasks.variants import TaskVariant
from .model import Report


class DecisiveCause(msgspec.Struct, frozen=True):
    """A cause of a program's cycles that was taken away: the work of the engine `name`, the contention at ports (`name` is ""), or the
    waits for a free slot of the buffer `name`. `saved` are the cycles that the program takes less then."""

    kind: Literal["engine", "ports", "slots"]
    name: str
    saved: int


def decisive_causes(report: Report) -> tuple[DecisiveCause, ...]:
    """Returns the causes whose removal changes the cycles, the largest first. Raises MachineError as a simulation does."""
    found = (cause for cause in _tried(report) if cause.saved > 0)
    return tuple(sorted(found, key=lambda cause: (-cause.saved, cause.name)))


def _tried(report: Report) -> Iterator[DecisiveCause]:
    program = report.program
    for number, engine in enumerate(program.machine.engines):
        if any(variant.engine == number for variant in program.variants):
            yield DecisiveCause("engine", engine.name, report.cycles - cycles_without(program, _without_work(number)))
    if any(variant.replay.demands for variant in program.variants):
        yield DecisiveCause("ports", "", report.cycles - cycles_without(program, _without_contention))
    waits = (wait for engine in report.engines.values() for wait in engine.waits)
    for buffer in dict.fromkeys(wait.buffer for wait in waits if wait.cause == "slot"):
        yield DecisiveCause("slots", buffer, saved_by_slots(report, buffer))


def saved_by_slots(report: Report, buffer: str) -> int:
    """Returns the cycles saved if there is always a free slot of a buffer. Raises MachineError as a simulation does."""
    cells = (
        range(p.first_cell, p.first_cell + p.cells) for p in report.program.places.placements if p.buffer.name == buffer
    )
    freed = with_free_slots(frozenset(cell for own in cells for cell in own))
    return report.cycles - cycles_without(report.program, freed)


def _without_work(engine: int) -> Change:
    """Returns the change of the tasks of an engine to tasks of one cycle."""

    def change(variant: TaskVariant) -> TaskVariant:
        if variant.engine != engine:
            return variant
        return replace(variant, replay=replace(variant.replay, duration=1, latency=0, setup=0, demands=()))

    return change


def _without_contention(variant: TaskVariant) -> TaskVariant:
    return replace(variant, replay=replace(variant.replay, demands=()))


__all__ = ["DecisiveCause", "decisive_causes", "saved_by_slots"]
