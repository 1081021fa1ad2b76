"""What decides the cycles of a program: replays without the work of one engine, or without contention at ports, and what they save."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec
from msgspec.structs import replace

from ..replay.counterfactual import Change, cycles_without
from ..tasks.variants import TaskVariant
from .model import Report


class DecisiveCause(msgspec.Struct, frozen=True):
    """A cause of a program's cycles that was taken away: the work of the engine `name`, or the contention at ports (`name` is ""). `saved`
    are the cycles that the program takes less then."""

    kind: Literal["engine", "ports"]
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


def _without_work(engine: int) -> Change:
    """Returns the change of the tasks of an engine to tasks of one cycle."""

    def change(variant: TaskVariant) -> TaskVariant:
        if variant.engine != engine:
            return variant
        return replace(variant, replay=replace(variant.replay, duration=1, latency=0, setup=0, demands=()))

    return change


def _without_contention(variant: TaskVariant) -> TaskVariant:
    return replace(variant, replay=replace(variant.replay, demands=()))


__all__ = ["DecisiveCause", "decisive_causes"]
