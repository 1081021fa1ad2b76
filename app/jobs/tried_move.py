"""A move that was made and simulated without being shown: the notebook after it, and its report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import msgspec

from ...engine.cancellation import checkpoint
from ...engine.hwsim import Machine, Report
from ...engine.ir import Refusal, TilewrightError, Var
from ...engine.lower import Plan, RewriteResult, planned, with_sizes
from ...engine.schedule import Schedule
from ..actions.calls import MakeCall, MakeCalls
from ..actions.drops import Drop, DropSeveral, Predictable, Revise
from ..actions.table import act
from ..document import Notebook
from ..document.editing.revisions.later_lines import LATER_STEPS
from ..state.derived import attempt, report_of, sizes_of
from ..state.entries import Derived, Entry
from ..state.model import Notice, State
from ..views.tree.predictions import RefusedCall

_AFTER_MOVE = Derived[Notebook]("notebook after a move")


class TriedMove(msgspec.Struct, frozen=True, eq=False):
    """The notebook and the schedule after a move, with what the simulation needs and gives."""

    made: Notebook
    schedule: Schedule
    sizes: Mapping[str, int]
    sized: RewriteResult
    plan: Plan | TilewrightError
    report: Report | TilewrightError


def try_move(state: State, move: Predictable, machine: Machine) -> TriedMove | Notice | None:
    """Make and simulate a move; its refusal if it is refused."""
    checkpoint()
    after = act(state, move)
    if after.notice is not None or after.notebook is None or after.moment is None:
        return after.notice
    schedule = after.moment.schedule
    sizes = sizes_of(after, schedule.described)
    sized = with_sizes(schedule.described, sizes)
    plan = attempt("plan", lambda: planned(sized.func))
    return TriedMove(after.notebook, schedule, sizes, sized, plan, report_of(sized.func, machine, plan))


def present_report(state: State, machine: Machine) -> Report | TilewrightError:
    """The report of the visible program."""
    assert state.moment is not None
    described = state.moment.schedule.described
    return report_of(with_sizes(described, sizes_of(state, described)).func, machine)


def refused_value(why: Refusal | Notice | None) -> RefusedCall:
    """The prediction for a move that is refused; of a revision, with the later steps that no longer apply."""
    if why is None:
        return RefusedCall("")
    text = f"{why.message}:\n{why.found}" if why.code == LATER_STEPS else why.message
    return RefusedCall(text, why.code)


def move_key(notebook: Notebook | None, move: Predictable) -> Entry[Notebook] | None:
    """The entry of the notebook after a move: equal for equal moves on the same notebook, with loops by identity and blocks by name. None
    for moves that are never predicted."""
    match move:
        case Drop(method=method, block=block, loop=loop, switch_off=False, repair=False):
            parts: tuple[object, ...] = "drop", method, block, loop
        case DropSeveral(blocks=blocks, loop=loop, switch_off=False, repair=False):
            parts = "drops", *blocks, loop
        case Revise(method=method, handle=handle, arguments=arguments, switch_off=False):
            parts = "revise", method, handle, arguments
        case MakeCall() | MakeCalls():
            calls = move.calls if isinstance(move, MakeCalls) else (move.call,)
            if not all(_is_plain(value) for call in calls for _, value in call.arguments):
                return None
            parts = tuple((call.method, *call.arguments) for call in calls)
        case _:
            return None
    return None if notebook is None else _AFTER_MOVE(notebook, *parts)


def _is_plain(value: object) -> bool:
    """Whether a value is a loop, a text, a number, or a list of these: its text identifies it."""
    if isinstance(value, list | tuple):
        return all(_is_plain(item) for item in cast("Sequence[object]", value))
    return value is None or isinstance(value, Var | str | int | float)
