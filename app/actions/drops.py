"""Drops of blocks on loops, and revisions of steps: messages by rows of the tree, intents with handles of the visible program, and their
handlers. A drop of a block that a step has placed revises that step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ...engine.adopt import call_of, make_call
from ...engine.ir import PrimFunc, Refusal, ScheduleCall, TilewrightError, Var
from ..document import DocumentError, Notebook, apply_call
from ..document.editing.kernel_edits import is_kernel_text, kernel_moved
from ..document.editing.revisions.placement import PLACES, Method
from ..document.editing.revisions.relocation import Relocation, Repair
from ..document.editing.revisions.revise import revise
from ..document.editing.revisions.steps import last_step
from ..state.intents import ACTIONS, Intent, Message, Query, Texts
from ..state.model import State
from ..state.row_ids import row_ids
from .call_arguments import call_arguments, handle_of
from .cell_actions import edited, latest

METHODS: Mapping[str, Method] = {name: name for name in PLACES}


class Move(Message, frozen=True, tag="move"):
    """Drop a block on a loop: `primitive` is "compute_at" or "reverse_compute_at".

    If a step has already placed the block, that step gets the loop, and the later steps are applied again. If some of them no longer apply,
    the move is refused, unless `switch_off`: then they are switched off, and stay in the text. Later steps that placed other blocks get the
    loop too if they would no longer apply. With `repair`, a refused move is made after the calls that make it legal, or with the blocks
    that have to move too.
    """

    refused_at = "tree"

    block: str
    loop: str
    primitive: str
    switch_off: bool = False
    repair: bool = False


class MoveSeveral(Message, frozen=True, tag="moves"):
    """Drop several blocks on a loop, as one edit: all of them or none. `switch_off` and `repair` as in `move`."""

    refused_at = "tree"

    rows: Texts
    loop: str
    switch_off: bool = False
    repair: bool = False


class ReviseOnRow(Message, frozen=True, tag="revise"):
    """Change arguments of the last step of `method` that made a row or was called on it; the later steps are applied again, with
    `switch_off` as in `move`: {"kind": "revise", "method": "split", "target": "ko", "arguments": {"factors": [null, 32]}}."""

    refused_at = "tree"

    method: str
    target: str
    arguments: dict[str, Any] = msgspec.field(default_factory=dict)
    switch_off: bool = False


class FindRepair(Query, frozen=True, tag="find_repair"):
    """The calls that make a refused drop legal, or the blocks that have to move too. `others` are rows that are dropped together with the
    block."""

    block: str
    loop: str
    primitive: str
    others: Texts = ()


class Predictable(Intent, frozen=True, eq=False, kw_only=True):
    """A move whose result may be known before it is requested: `made` is the notebook after it, from a prediction."""

    refused_at = "tree"

    made: Notebook | None = None


class Drop(Predictable, frozen=True, eq=False):
    """A block on a loop of the visible program: a call, or the revision of the step that placed the block."""

    method: Method
    block: str
    loop: Var
    switch_off: bool = False
    repair: bool = False


class DropSeveral(Predictable, frozen=True, eq=False):
    """Several blocks on a loop of the visible program, of which steps have placed at least one."""

    blocks: tuple[str, ...]
    loop: Var
    switch_off: bool = False
    repair: bool = False


class Revise(Predictable, frozen=True, eq=False):
    """Other arguments, by name, for the last step of `method` that made `handle`, a loop or a block, or was called on it."""

    method: str
    handle: Var | str
    arguments: tuple[tuple[str, Any], ...]
    switch_off: bool = False


def drop_of(message: Move | FindRepair, func: PrimFunc) -> Drop | DropSeveral:
    """The drop that a message requests. Raises TilewrightError, for example for a row that no longer exists."""
    method = METHODS.get(message.primitive)
    if method is None:
        found, expected = f"a drop cannot apply {message.primitive!r}", " or ".join(PLACES)
        raise DocumentError(Refusal("unknown-method", found, expected=expected))
    ids = row_ids(func)
    block, loop = handle_of(ids, message.block), handle_of(ids, message.loop)
    if not isinstance(block, str) or not isinstance(loop, Var):
        raise DocumentError(Refusal("unknown-row", "a drop moves a block to a loop", expected="a block, and a loop"))
    if isinstance(message, FindRepair):
        others = [handle for row in message.others if isinstance(handle := handle_of(ids, row), str)]
        return DropSeveral((block, *others), loop) if others else Drop(method, block, loop)
    return Drop(method, block, loop, message.switch_off, message.repair)


def revision_of(message: ReviseOnRow, func: PrimFunc) -> Revise:
    """The revision that a message requests. Raises TilewrightError."""
    (handle,), arguments = call_arguments(func, message.method, message.target, message.arguments)
    return Revise(message.method, handle, tuple(arguments.items()), message.switch_off)


def relocation_of(state: State, drop: Drop | DropSeveral) -> Relocation:
    """The move of the blocks of a drop in the visible notebook."""
    assert state.shown is not None
    if isinstance(drop, Drop):
        return Relocation(state.shown, state.step_count, (drop.block,), drop.method)
    return Relocation(state.shown, state.step_count, drop.blocks)


def repair_of(state: State, call: ScheduleCall) -> tuple[ScheduleCall, ...]:
    """The calls that make a refused call legal; empty if it is legal, or if no repair is known."""
    if state.moment is None or state.looks_back:
        return ()
    try:
        make_call(state.moment.schedule.copy(), call)
    except TilewrightError as error:
        return error.refusal.repair
    return ()


def repair_of_drop(state: State, drop: Drop | DropSeveral) -> Repair:
    """What makes a refused drop legal; empty if it is legal, or if no repair is known."""
    return Repair() if state.looks_back or state.shown is None else relocation_of(state, drop).repair(drop.loop)


@ACTIONS(Drop)
def _drop(state: State, intent: Drop) -> State:
    notebook = latest(state)
    if intent.made is not None:
        return edited(state, intent.made)
    if is_kernel_text(notebook):
        return edited(state, kernel_moved(notebook, intent.block, intent.loop))
    relocation = relocation_of(state, intent)
    if relocation.unplaced and not intent.repair:
        return edited(state, apply_call(notebook, call_of(intent.method, (intent.block, intent.loop))))
    return edited(state, relocation.moved(intent.loop, repair=intent.repair).accepted(switch_off=intent.switch_off))


@ACTIONS(DropSeveral)
def _drop_several(state: State, intent: DropSeveral) -> State:
    latest(state)
    if intent.made is not None:
        return edited(state, intent.made)
    revised = relocation_of(state, intent).moved(intent.loop, repair=intent.repair)
    return edited(state, revised.accepted(switch_off=intent.switch_off))


@ACTIONS(Revise)
def _revise(state: State, intent: Revise) -> State:
    notebook = latest(state)
    if intent.made is not None:
        return edited(state, intent.made)
    step = last_step(notebook, len(notebook.states) - 1, (intent.method,), intent.handle)
    if step is None:
        name = intent.handle.name if isinstance(intent.handle, Var) else intent.handle
        raise DocumentError(
            Refusal("no-such-step", f"no step calls {intent.method} for {name!r}", expected="a row that it made")
        )
    revised = revise(notebook, step.index, dict(intent.arguments))
    return edited(state, revised.accepted(switch_off=intent.switch_off))
