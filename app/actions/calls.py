"""Schedule calls: messages that request them by rows of the tree, intents with handles of the visible program, and the handlers of both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from ...engine.adopt import call_method
from ...engine.ir import PrimFunc, Proposal, Refusal, TilewrightError, Var, called_with
from ...engine.schedule import Schedule
from ..document import DocumentError, Notebook, apply_call
from ..document.editing.rename import renamed
from ..state.intents import Intent, Message, Query, Texts
from ..state.model import State
from ..state.row_ids import row_ids
from .call_arguments import call_arguments, handle_of
from .cell_actions import edited, open_notebook

MOVES = ("compute_at", "reverse_compute_at")
"""The primitives of a drop of a block on a loop."""


class Move(Message, frozen=True, tag="move"):
    """Drop a block on a loop: `primitive` is "compute_at" or "reverse_compute_at"."""

    block: str
    loop: str
    primitive: str


class MoveSeveral(Message, frozen=True, tag="moves"):
    """Drop several blocks on a loop, as one edit: all of them or none."""

    rows: Texts
    loop: str


class Reorder(Message, frozen=True, tag="reorder"):
    """Reorder loops; `loops` are their rows in the new order."""

    loops: Texts


class CallOnRow(Message, frozen=True, tag="call"):
    """Append a schedule call, as a row's menu sends it, to the notebook.

    `target` is the id of a row of the tree, `arguments` are the primitive's other arguments by name; a loop is given by the id of its
    row: {"kind": "call", "method": "compute_at", "target": "A_local.vtcm", "arguments": {"loop": "ko"}}. With `arguments`
    {"loops": [...]} (reorder, fuse), the list contains the rows, and `target` is ignored.
    """

    method: str
    target: str = ""
    arguments: dict[str, Any] = msgspec.field(default_factory=dict)


class CallOnRows(Message, frozen=True, tag="calls"):
    """Append a call of `method` for each of several rows as one edit: all of them or none."""

    method: str
    targets: Texts
    arguments: dict[str, Any] = msgspec.field(default_factory=dict)


class CallSequence(Message, frozen=True, tag="call_sequence"):
    """Append several calls as one edit: all of them or none."""

    calls: tuple[CallOnRow, ...]


class RepairOnRow(Message, frozen=True, tag="repair"):
    """Append a call that is refused now, after the calls that make it legal (`repair` of its refusal): all of them or none. The fields are
    those of `call`."""

    method: str
    target: str = ""
    arguments: dict[str, Any] = msgspec.field(default_factory=dict)


class Rename(Message, frozen=True, tag="rename"):
    """Rename a loop or a block (by the id of its row) everywhere in the notebook's text."""

    row: str = msgspec.field(name="id")
    name: str


class FindRepair(Query, frozen=True, tag="find_repair"):
    """The calls that make a refused drop legal."""

    block: str
    loop: str
    primitive: str


class Call(Intent, frozen=True, eq=False):
    """A schedule call with handles of the visible program: a loop is its Var, a block its name.

    `made` is the precomputed notebook after the call, from a prediction.
    """

    method: str
    args: tuple[Any, ...] = ()
    kwargs: tuple[tuple[str, Any], ...] = ()
    made: Notebook | None = None


class Calls(Intent, frozen=True, eq=False):
    """Several calls as one move: all of them or none. `made` as in `Call`."""

    calls: tuple[Call, ...]
    made: Notebook | None = None


class Repair(Intent, frozen=True, eq=False):
    """Add a refused call after the calls that make it legal: all of them or none."""

    call: Call


def call_of(message: Move | Reorder | CallOnRow | RepairOnRow | FindRepair, state: State) -> Call:
    """The call that the message requests. Raises TilewrightError, for example for a row that no longer exists."""
    func = _func_of(state)
    match message:
        case CallOnRow() | RepairOnRow():
            return _on_row(func, message.method, message.target, message.arguments)
        case Reorder():
            ids = row_ids(func)
            return Call("reorder", tuple(handle_of(ids, row) for row in message.loops))
        case Move() | FindRepair():
            if message.primitive not in MOVES:
                found, expected = f"a drop cannot apply {message.primitive!r}", " or ".join(MOVES)
                raise DocumentError(Refusal("unknown-method", found, expected=expected))
            ids = row_ids(func)
            return Call(message.primitive, (handle_of(ids, message.block), handle_of(ids, message.loop)))


def resolved(intent: Intent, state: State) -> Intent:
    """The intent with handles in place of rows, if it is a message with rows. Raises TilewrightError."""
    match intent:
        case RepairOnRow():
            return Repair(call_of(intent, state))
        case Move() | Reorder() | CallOnRow():
            return call_of(intent, state)
        case MoveSeveral():
            ids = row_ids(_func_of(state))
            assert state.moment is not None
            blocks = [handle for row in intent.rows if isinstance(handle := handle_of(ids, row), str)]
            return moved(state.moment.schedule, blocks, handle_of(ids, intent.loop))
        case CallOnRows():
            func = _func_of(state)
            return Calls(tuple(_on_row(func, intent.method, row, intent.arguments) for row in intent.targets))
        case CallSequence():
            return Calls(tuple(call_of(call, state) for call in intent.calls))
        case _:
            return intent


def moved(schedule: Schedule, blocks: Sequence[str], loop: Var | str) -> Calls:
    """The calls that move blocks to a loop. Raises TilewrightError if the move is illegal."""
    if not isinstance(loop, Var):
        raise TilewrightError(Refusal("unknown-row", f"{loop!r} is not a loop", expected="the row of a loop"))
    moves = moves_of(schedule, blocks, loop)
    if isinstance(moves, TilewrightError):
        raise moves
    return Calls(tuple(Call(method, (block, loop)) for method, block in moves))


def moves_of(schedule: Schedule, blocks: Sequence[str], loop: Var) -> list[tuple[str, str]] | TilewrightError:
    """(primitive, block) in an order that moves all of `blocks` to `loop`, else the last refusal.

    A producer moves after its consumers, so the last block in the text is tried first.
    """
    trial = schedule.copy()
    left = sorted(blocks, key=schedule.index.position, reverse=True)
    made: list[tuple[str, str]] = []
    error: TilewrightError | None = None
    while left:
        for block, method in ((b, m) for b in left for m in MOVES):
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


def repair_of(state: State, call: Call) -> tuple[Proposal, ...]:
    """The calls that make a refused one legal; empty if it is legal, or if no repair is known."""
    if state.moment is None or state.looks_back:
        return ()
    try:
        call_method(state.moment.schedule.copy(), call.method, call.args, dict(call.kwargs))
    except TilewrightError as error:
        return error.refusal.repair
    return ()


def latest(state: State) -> Notebook:
    """The notebook to add a call to. The visible program must be of its last line, so that the handles are valid in it."""
    notebook = open_notebook(state)
    if state.looks_back:
        raise DocumentError(
            Refusal(
                "looking-back",
                f"the page shows the program after step {state.step_count}; new steps are appended at the end",
                expected="the last step selected, or a branch from here",
            )
        )
    if notebook.unread or not notebook.states:
        refusal = notebook.error.refusal if notebook.error is not None else None
        place = refusal.place if refusal is not None else None
        raise DocumentError(
            Refusal(
                "broken-text",
                "the text cannot be parsed, so no step can be added",
                expected="a text without errors",
                place=place,
            )
        )
    return notebook


def _func_of(state: State) -> PrimFunc:
    if state.moment is None:
        raise DocumentError(Refusal("no-notebook", "no notebook is open"))
    return state.moment.schedule.func


def _on_row(func: PrimFunc, method: str, target: str, arguments: dict[str, Any]) -> Call:
    args, kwargs = call_arguments(func, method, target, arguments)
    return Call(method, args, tuple(kwargs.items()))


def _applied(notebook: Notebook, call: Call) -> Notebook:
    return apply_call(notebook, call.method, *call.args, **dict(call.kwargs))


def _call(state: State, intent: Call) -> State:
    notebook = latest(state)
    return edited(state, intent.made or _applied(notebook, intent))


def _calls(state: State, intent: Calls) -> State:
    notebook = latest(state)
    if intent.made is not None:
        return edited(state, intent.made)
    for call in intent.calls:
        notebook = _applied(notebook, call)
    return edited(state, notebook)


def _repair(state: State, intent: Repair) -> State:
    notebook = latest(state)
    for proposal in repair_of(state, intent.call):
        args, keywords = called_with(dict(proposal.arguments))
        notebook = apply_call(notebook, proposal.method, *args, **keywords)
    return edited(state, _applied(notebook, intent.call))


def _rename(state: State, intent: Rename) -> State:
    handle = handle_of(row_ids(_func_of(state)), intent.row)
    return edited(state, renamed(latest(state), handle, intent.name))


def _on_rows(state: State, intent: Intent) -> State:
    made = resolved(intent, state)
    return CALLS[type(made)](state, made)


CALLS: dict[type[Intent], Callable[[State, Any], State]] = {
    Call: _call,
    Calls: _calls,
    Repair: _repair,
    Rename: _rename,
    **dict.fromkeys((Move, MoveSeveral, Reorder, CallOnRow, CallOnRows, CallSequence, RepairOnRow), _on_rows),
}

OF_THE_TREE = (Call, Calls, Rename, Move, MoveSeveral, Reorder, CallOnRow, CallOnRows, CallSequence)
"""Intents whose refusal is shown beside the tree."""
