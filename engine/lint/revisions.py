"""Another call in place of one that was made: the schedule up to it, the new call, and the later ones again.

A block cannot be moved out of a loop that it stands under: it has to be put elsewhere in the first place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import msgspec

from ..ir import Var
from ..schedule import Schedule, ScheduleError, Step, Target
from ..schedule.trace import renamed

MOVES = ("compute_at", "reverse_compute_at")


class Revision(msgspec.Struct, frozen=True, eq=False):
    """`step` in place of the step `number` of a trace, which was `before`; None: that step left out. Handles are those of the schedule as
    it was then."""

    number: int
    before: Step
    step: Step | None


def last_move(schedule: Schedule, block: str) -> int | None:
    """Which step of the trace put a block where it is; None where the program came like this."""
    steps = schedule.trace.steps
    return next((n for n in reversed(range(len(steps))) if _moves(steps[n], block)), None)


def _moves(step: Step, block: str) -> bool:
    return step.method in MOVES and step.argument("block") == block


def before_step(schedule: Schedule, number: int) -> Schedule:
    """The schedule as it was before a step that changed the program."""
    moment = schedule.copy()
    while len(moment.trace.steps) > number and moment.undo():
        pass
    return moment


def other_places(schedule: Schedule, block: str) -> Iterator[tuple[Schedule, Revision]]:
    """The schedule with a block put elsewhere by the step that put it where it is, as far as the later steps go with that."""
    number = last_move(schedule, block)
    if number is None:
        return
    before = schedule.trace.steps[number]
    moment = before_step(schedule, number)
    try:
        targets: tuple[Target, ...] = moment.legal_targets(block)
    except ScheduleError:
        return
    for target in targets:
        if not target.legal or target.primitive != before.method or target.loop is before.argument("loop"):
            continue
        found = _replayed(schedule, moment, number, target.loop)
        if found is not None:
            yield found, Revision(number, before, found.trace.steps[number])


def left_where_it_was(schedule: Schedule, block: str) -> tuple[Schedule, Revision] | None:
    """The schedule without the step that put a block where it is, as far as the later steps go with that."""
    number = last_move(schedule, block)
    if number is None:
        return None
    found = _replayed(schedule, before_step(schedule, number), number, None)
    return None if found is None else (found, Revision(number, schedule.trace.steps[number], None))


def _replayed(schedule: Schedule, moment: Schedule, number: int, loop: Var | None) -> Schedule | None:
    """The moment after the step, with another loop (without it where there is none), and all later ones; None where one is refused."""
    found = moment.copy()
    new: dict[Any, Any] = {}
    try:
        for n, step in enumerate(schedule.trace.steps[number:], number):
            if n == number and loop is None:
                continue
            arguments = renamed(dict(step.arguments), new)
            if n == number:
                arguments["loop"] = loop
            listed = [arguments.pop(key) for key in ("loops", "ordered_loops") if key in arguments]
            getattr(found, step.method)(*cast("tuple[object, ...]", listed[0] if listed else ()), **arguments)
            new.update(zip(step.results, found.trace.steps[-1].results, strict=True))
    except (ScheduleError, TypeError, ValueError):
        return None
    return found
