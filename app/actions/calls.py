"""Schedule calls: messages that request them by rows of the tree, intents with handles of the visible program, and the handlers of both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from ...engine.adopt import call_of
from ...engine.ir import PrimFunc, Refusal, ScheduleCall, TilewrightError, Var
from ...engine.schedule import Schedule
from ..document import Notebook, apply_call
from ..document.editing.kernel_edits import KERNEL_EDITS, kernel_edited
from ..document.editing.rename import renamed
from ..document.editing.revisions.placement import PLACES
from ..state.intents import ACTIONS, Intent, Message, Texts
from ..state.model import State
from ..state.row_ids import row_ids
from .call_arguments import call_arguments, handle_of
from .cell_actions import edited, func_of, latest
from .drops import (
    DropSeveral,
    Move,
    MoveSeveral,
    Predictable,
    ReviseOnRow,
    drop_of,
    relocation_of,
    repair_of,
    revision_of,
)


class Reorder(Message, frozen=True, tag="reorder"):
    """Reorder loops; `loops` are their rows in the new order."""

    refused_at = "tree"

    loops: Texts


class CallOnRow(Message, frozen=True, tag="call"):
    """Append a schedule call, as a row's menu sends it, to the notebook.

    `target` is the id of a row of the tree, `arguments` are the primitive's other arguments by name; a loop is given by the id of its
    row: {"kind": "call", "method": "compute_at", "target": "A_local.vtcm", "arguments": {"loop": "ko"}}. With `arguments`
    {"loops": [...]} (reorder, fuse), the list contains the rows, and `target` is ignored.
    """

    refused_at = "tree"

    method: str
    target: str = ""
    arguments: dict[str, Any] = msgspec.field(default_factory=dict)


class CallOnRows(Message, frozen=True, tag="calls"):
    """Append a call of `method` for each of several rows as one edit: all of them or none."""

    refused_at = "tree"

    method: str
    targets: Texts
    arguments: dict[str, Any] = msgspec.field(default_factory=dict)


class CallSequence(Message, frozen=True, tag="call_sequence"):
    """Append several calls as one edit: all of them or none."""

    refused_at = "tree"

    calls: tuple[CallOnRow, ...]


class RepairOnRow(Message, frozen=True, tag="repair"):
    """Append a call that is refused now, after the calls that make it legal (`repair` of its refusal): all of them or none. The fields are
    those of `call`."""

    refused_at = "tree"

    method: str
    target: str = ""
    arguments: dict[str, Any] = msgspec.field(default_factory=dict)


class Rename(Message, frozen=True, tag="rename"):
    """Rename a loop or a block (by the id of its row) everywhere in the notebook's text."""

    refused_at = "tree"

    row: str = msgspec.field(name="id")
    name: str


class MakeCall(Predictable, frozen=True, eq=False):
    """A schedule call with handles of the visible program."""

    call: ScheduleCall


class MakeCalls(Predictable, frozen=True, eq=False):
    """Several calls as one move: all of them or none."""

    calls: tuple[ScheduleCall, ...]


class EditKernel(Predictable, frozen=True, eq=False):
    """An edit of a TileLang kernel's own text, with a handle of the visible program."""

    method: str
    handle: Var | str
    arguments: dict[str, Any]


class RepairCall(Intent, frozen=True, eq=False):
    """Add a refused call after the calls that make it legal: all of them or none."""

    refused_at = "tree"

    call: ScheduleCall


def requested_call(message: Reorder | CallOnRow | RepairOnRow, state: State) -> ScheduleCall:
    """The call that the message requests. Raises TilewrightError, for example for a row that no longer exists."""
    func = func_of(state)
    match message:
        case CallOnRow() | RepairOnRow():
            return _on_row(func, message.method, message.target, message.arguments)
        case Reorder():
            ids = row_ids(func)
            return call_of("reorder", tuple(handle_of(ids, row) for row in message.loops))


def resolved(intent: Intent, state: State) -> Intent:
    """The intent with handles in place of rows, if it is a message with rows. Raises TilewrightError."""
    match intent:
        case RepairOnRow():
            return RepairCall(requested_call(intent, state))
        case CallOnRow(method=method, target=row, arguments=arguments) if method in KERNEL_EDITS:
            return EditKernel(method, handle_of(row_ids(func_of(state)), row), arguments)
        case Reorder() | CallOnRow():
            return MakeCall(requested_call(intent, state))
        case Move():
            return drop_of(intent, func_of(state))
        case ReviseOnRow():
            return revision_of(intent, func_of(state))
        case MoveSeveral():
            ids = row_ids(func_of(state))
            blocks = [handle for row in intent.rows if isinstance(handle := handle_of(ids, row), str)]
            return moved(state, blocks, handle_of(ids, intent.loop), switch_off=intent.switch_off, repair=intent.repair)
        case CallOnRows():
            func = func_of(state)
            return MakeCalls(tuple(_on_row(func, intent.method, row, intent.arguments) for row in intent.targets))
        case CallSequence():
            return MakeCalls(tuple(requested_call(call, state) for call in intent.calls))
        case _:
            return intent


def moved(
    state: State, blocks: Sequence[str], loop: Var | str, *, switch_off: bool = False, repair: bool = False
) -> MakeCalls | DropSeveral:
    """The move of blocks to a loop: revisions of the steps that placed them, or calls after all lines. Raises TilewrightError if no step
    has placed them and the move is illegal."""
    if not isinstance(loop, Var):
        raise TilewrightError(Refusal("unknown-row", f"{loop!r} is not a loop", expected="the row of a loop"))
    assert state.moment is not None
    drop = DropSeveral(tuple(blocks), loop, switch_off, repair)
    if repair or relocation_of(state, drop).placed:
        return drop
    moves = moves_of(state.moment.schedule, blocks, loop)
    if isinstance(moves, TilewrightError):
        raise moves
    return MakeCalls(tuple(call_of(method, (block, loop)) for method, block in moves))


def moves_of(schedule: Schedule, blocks: Sequence[str], loop: Var) -> list[tuple[str, str]] | TilewrightError:
    """(primitive, block) in an order that moves all of `blocks`, which no step has placed, to `loop`, else the last refusal.

    A producer moves after its consumers, so the last block in the text is tried first.
    """
    trial = schedule.copy()
    left = sorted(blocks, key=schedule.index.position, reverse=True)
    made: list[tuple[str, str]] = []
    error: TilewrightError | None = None
    while left:
        for block, method in ((b, m) for b in left for m in PLACES):
            try:
                getattr(trial, method)(block, loop)
            except TilewrightError as refused:
                error = refused
                continue
            made.append((method, block))
            left.remove(block)
            break
        else:
            assert error is not None
            return error
    return made


def _on_row(func: PrimFunc, method: str, target: str, arguments: dict[str, Any]) -> ScheduleCall:
    return call_of(method, *call_arguments(func, method, target, arguments))


def _with_calls(notebook: Notebook, calls: Iterable[ScheduleCall]) -> Notebook:
    """The notebook with all calls appended. Raises TilewrightError if one is refused."""
    for call in calls:
        notebook = apply_call(notebook, call)
    return notebook


@ACTIONS(MakeCall)
def _call(state: State, intent: MakeCall) -> State:
    notebook = latest(state)
    return edited(state, intent.made or apply_call(notebook, intent.call))


@ACTIONS(MakeCalls)
def _calls(state: State, intent: MakeCalls) -> State:
    notebook = latest(state)
    return edited(state, intent.made or _with_calls(notebook, intent.calls))


@ACTIONS(EditKernel)
def _edit_kernel(state: State, intent: EditKernel) -> State:
    notebook = latest(state)
    made = intent.made or kernel_edited(notebook, intent.method, intent.handle, intent.arguments)
    return edited(state, made)


@ACTIONS(RepairCall)
def _repair(state: State, intent: RepairCall) -> State:
    notebook = latest(state)
    return edited(state, _with_calls(notebook, (*repair_of(state, intent.call), intent.call)))


@ACTIONS(Rename)
def _rename(state: State, intent: Rename) -> State:
    handle = handle_of(row_ids(func_of(state)), intent.row)
    return edited(state, renamed(latest(state), handle, intent.name))


@ACTIONS(Move, ReviseOnRow, MoveSeveral, Reorder, CallOnRow, CallOnRows, CallSequence, RepairOnRow)
def _on_rows(state: State, intent: Intent) -> State:
    made = resolved(intent, state)
    return ACTIONS[made](state, made)
