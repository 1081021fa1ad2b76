"""Revisions of a schedule: an earlier call is replaced, and the later ones are made again.

A block cannot be moved out of an enclosing loop: the call that placed it there has to change. A split that does not divide its loop has to
be replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

import msgspec

from ..arith import divisors
from ..ir import ScheduleCall, Var, build, replay
from ..schedule import Schedule, ScheduleError, Target

Chain = Callable[[Schedule], object]
"""Calls on a schedule that they may change. A refused call ends the chain."""

MOVES = ("compute_at", "reverse_compute_at")


class Revision(msgspec.Struct, frozen=True, eq=False):
    """`step` replaces `before`, the step `number` of a trace; None leaves that step out. Handles are those of the schedule at that step."""

    number: int
    before: ScheduleCall
    step: ScheduleCall | None


def last_move(schedule: Schedule, block: str) -> int | None:
    """The number of the step that placed a block; None if no step moved it."""
    steps = schedule.trace.steps
    return next((n for n in reversed(range(len(steps))) if _moves(steps[n], block)), None)


def _moves(step: ScheduleCall, block: str) -> bool:
    return step.method in MOVES and step.argument("block") == block


def before_step(schedule: Schedule, number: int) -> Schedule:
    """The schedule before a step that changed the program."""
    earlier = schedule.copy()
    while len(earlier.trace.steps) > number and earlier.undo():
        pass
    return earlier


def other_placements(
    schedule: Schedule, block: str, wanted: Callable[[Schedule, Target], bool] = lambda _, __: True
) -> Iterator[tuple[Schedule, Revision]]:
    """Yields the schedule with other loops in the step that placed a block, if the later steps still apply. `wanted` chooses the targets,
    given the schedule before that step."""
    number = last_move(schedule, block)
    if number is None:
        return
    before = schedule.trace.steps[number]
    earlier = before_step(schedule, number)
    try:
        targets: tuple[Target, ...] = earlier.legal_targets(block)
    except ScheduleError:
        return
    for target in targets:
        if not target.legal or target.primitive != before.method or target.loop is before.argument("loop"):
            continue
        if not wanted(earlier, target):
            continue
        found = _revised(schedule, earlier, number, before.with_arguments({"loop": target.loop}).made_on)
        if found is not None:
            yield found


def without_move(schedule: Schedule, block: str) -> tuple[Schedule, Revision] | None:
    """The schedule without the step that placed a block, if the later steps still apply."""
    number = last_move(schedule, block)
    if number is None:
        return None
    return _revised(schedule, before_step(schedule, number), number, None)


def other_splits(schedule: Schedule, loop: Var) -> Iterator[tuple[Schedule, Revision]]:
    """Yields the schedule in which the split that created `loop` uses another divisor: the nearest above and below."""
    steps = schedule.trace.steps
    number = next((n for n, s in enumerate(steps) if s.method == "split" and any(r is loop for r in s.results)), None)
    if number is None:
        return
    factors = cast("tuple[object, ...]", tuple(steps[number].argument("factors")))
    given = [f for f in factors if isinstance(f, int)]
    earlier = before_step(schedule, number)
    extent = build.int_value(earlier.index.loop(steps[number].argument("loop")).extent)
    if extent is None or len(factors) != 2 or (len(given) != 1 and given[0] * given[-1] != extent):
        return
    between = divisors(extent)[1:-1]
    nearest = (
        max((d for d in between if d < given[0]), default=0),
        min((d for d in between if d > given[0]), default=0),
    )
    for divisor in (d for d in nearest if d):
        both = (divisor, extent // divisor)
        wanted = both if len(given) == 2 else tuple(divisor if f == given[0] else f for f in factors)
        found = _revised(schedule, earlier, number, steps[number].with_arguments({"factors": wanted}).made_on)
        if found is not None:
            yield found


def other_call(
    schedule: Schedule, block: str, method: str, call: Callable[[Schedule, ScheduleCall], object]
) -> tuple[Schedule, Revision] | None:
    """The schedule with another call in place of the one of `method` that created a block, if the later steps still apply. `call` receives
    the schedule before that step, and the step."""
    steps = schedule.trace.steps
    number = next((n for n, s in enumerate(steps) if s.method == method and block in s.results), None)
    if number is None:
        return None
    return _revised(schedule, before_step(schedule, number), number, lambda sch: call(sch, steps[number]))


def _revised(
    schedule: Schedule, earlier: Schedule, number: int, instead: Chain | None
) -> tuple[Schedule, Revision] | None:
    """The schedule `earlier`, which precedes the step `number`, after `instead` (no call if None) and all later steps; None if one is
    refused."""
    steps = schedule.trace.steps
    found = earlier.copy()
    new: dict[Any, Any] = {}
    try:
        if instead is not None:
            instead(found)
            new.update(zip(steps[number].results, found.trace.steps[-1].results, strict=True))
        replay(steps[number + 1 :], found.make, new)
    except (ScheduleError, TypeError, ValueError):
        return None
    return found, Revision(number, steps[number], None if instead is None else found.trace.steps[number])
