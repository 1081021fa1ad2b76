"""Intents that edit cells and the history, with their handlers. The text edits themselves are in `document`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast, get_args

from msgspec.structs import replace

from ...engine.ir import Refusal
from ...engine.script import is_text
from ..document import Document, DocumentError, Notebook, evaluate
from ..document.cells import CellKind
from ..document.editing.branches import add_branch, delete_branch, rename_branch, with_branch
from ..document.editing.cells import delete_cell, insert_cell, move_cell
from ..document.editing.conflicts import failed_step, put_back, repaired, skip_conflicts, stop_at
from ..document.editing.suggestions import suggestion, with_suggestion
from ..document.items import move_item, move_item_into, remove_item, switch_off, switch_on
from ..limits import LIMITS
from ..state.intents import Intent
from ..state.model import State


class InsertCell(Intent, frozen=True):
    """Insert an empty cell before cell `index`."""

    index: int
    kind: str


class RemoveCell(Intent, frozen=True):
    """Remove cell `index` from the notebook."""

    index: int


class MoveCell(Intent, frozen=True):
    """Move cell `index` to position `to`."""

    index: int
    to: int


class SwitchItem(Intent, frozen=True):
    """Switch schedule line `item` on or off; it stays in the text."""

    item: int
    on: bool


class RemoveItem(Intent, frozen=True):
    """Remove schedule line `item` from the text; the later lines are applied again."""

    item: int


class MoveItem(Intent, frozen=True):
    """Move schedule line `item` before or after line `target`."""

    item: int
    target: int
    after: bool = False


class MoveItemInto(Intent, frozen=True):
    """Move schedule line `item` to the end of cell `cell`, which may be empty."""

    item: int
    cell: int


class Mend(Intent, frozen=True):
    """Apply the suggestion for the notebook's error: a similar name, or the calls that make a step legal."""


class SkipConflicts(Intent, frozen=True):
    """Switch off every step that does not apply."""


class StopHere(Intent, frozen=True):
    """Switch off the step that does not apply and all later ones."""


class PutBack(Intent, frozen=True):
    """Restore step `step` of the last notebook without an error."""

    step: int


class AddBranch(Intent, frozen=True):
    """Add a branch that continues after `steps` steps, None for all."""

    name: str
    steps: int | None = None


class ChooseBranch(Intent, frozen=True):
    name: str


class RenameBranch(Intent, frozen=True):
    name: str
    new: str


class DeleteBranch(Intent, frozen=True):
    name: str


def edited(state: State, notebook: Notebook, *, draft: bool = False) -> State:
    """The state after an edit, with the old notebook on the undo stack. It shows the text as far as it is valid.

    Raises DocumentError for a text that could not be opened again.
    """
    checked_text(notebook.document.text)
    base = state.draft_of or state.notebook
    assert base is not None
    same = notebook.document.text == base.document.text
    if same and base.evaluated:
        notebook = base
    if draft:
        past, draft_of, future = state.past, base, state.future
    else:
        past = state.past if same else (*state.past, base)[-LIMITS.undo :]
        draft_of, future = None, state.future if same else ()
    return replace(
        state,
        notebook=notebook,
        shown=picture(state, notebook, draft=draft),
        past=past,
        future=future,
        draft_of=draft_of,
        chosen_step=None if notebook is not state.notebook else state.chosen_step,
        notice=None,
    )


def picture(state: State, notebook: Notebook, *, draft: bool = False) -> Notebook | None:
    """The notebook to show: the last valid one if this one is unreadable, or if a draft has an error.

    A refused step ends the visible program before it; after an error in the machine cell, the previous machine stays.
    """
    if not notebook.states or notebook.unread or (draft and notebook.error is not None):
        return state.shown
    machine = state.shown.machine if state.shown is not None else None
    if notebook.machine is None and notebook.error is not None and machine is not None:
        return replace(notebook, machine=machine)
    return notebook


def settled(state: State) -> State:
    """The state with an unfinished draft as an edit."""
    if state.draft_of is None or state.notebook is None:
        return state
    return edited(state, state.notebook)


def open_notebook(state: State) -> Notebook:
    """The open notebook. Raises DocumentError if there is none."""
    if state.notebook is None:
        raise DocumentError(Refusal("no-notebook", "no notebook is open"))
    return state.notebook


def checked_text(text: str) -> str:
    """The text, if its size and characters are valid. Raises DocumentError "text-too-long", and "not-text" for text that no file can
    hold."""
    most = LIMITS.text_characters
    if len(text) > most:
        raise DocumentError(
            Refusal("text-too-long", f"the text has {len(text)} characters", expected=f"at most {most}")
        )
    if text.count("\n") > LIMITS.text_lines:
        lines, expected = text.count("\n"), f"at most {LIMITS.text_lines}"
        raise DocumentError(Refusal("text-too-long", f"the text has {lines} lines", expected=expected))
    if not is_text(text):
        expected = "no lone surrogates and no null characters"
        raise DocumentError(Refusal("not-text", "the text cannot be written to a file", expected=expected))
    return text


def _changed(change: Callable[[Document, Any], Document]) -> Callable[[State, Any], State]:
    """The handler of an edit that is a function of the document."""

    def act(state: State, intent: Any) -> State:
        notebook = open_notebook(state)
        return edited(state, evaluate(change(notebook.document, intent), notebook))

    return act


def _insert_cell(document: Document, intent: InsertCell) -> Document:
    if intent.kind not in get_args(CellKind):
        raise DocumentError(Refusal("bad-cell", f"there is no cell of kind {intent.kind!r}"))
    return insert_cell(document, intent.index, cast("CellKind", intent.kind))


def _mend(state: State, _: Mend) -> State:
    notebook = open_notebook(state)
    if notebook.error is not None:
        found = suggestion(notebook, notebook.error)
        if found is not None:
            return edited(state, evaluate(with_suggestion(notebook.document, found), notebook))
    return edited(state, repaired(notebook))


def _skip(state: State, _: SkipConflicts) -> State:
    return edited(state, skip_conflicts(open_notebook(state)))


def _stop(state: State, _: StopHere) -> State:
    notebook = open_notebook(state)
    failed = failed_step(notebook)
    if failed is None:
        return state
    return edited(state, evaluate(stop_at(notebook.document, failed.index), notebook))


def _put_back(state: State, intent: PutBack) -> State:
    notebook, good = open_notebook(state), state.good
    if good is None:
        raise DocumentError(Refusal("no-such-step", "no notebook was right so far"))
    return edited(state, evaluate(put_back(notebook.document, good, intent.step), notebook))


EDITS: dict[type[Intent], Callable[[State, Any], State]] = {
    InsertCell: _changed(_insert_cell),
    RemoveCell: _changed(lambda document, intent: delete_cell(document, intent.index)),
    MoveCell: _changed(lambda document, intent: move_cell(document, intent.index, intent.to)),
    SwitchItem: _changed(lambda document, intent: (switch_on if intent.on else switch_off)(document, intent.item)),
    RemoveItem: _changed(lambda document, intent: remove_item(document, intent.item)),
    MoveItem: _changed(lambda d, intent: move_item(d, intent.item, intent.target, after=intent.after)),
    MoveItemInto: _changed(lambda document, intent: move_item_into(document, intent.item, intent.cell)),
    Mend: _mend,
    SkipConflicts: _skip,
    StopHere: _stop,
    PutBack: _put_back,
    AddBranch: _changed(lambda document, intent: add_branch(document, intent.name, intent.steps)),
    ChooseBranch: _changed(lambda document, intent: with_branch(document, intent.name)),
    RenameBranch: _changed(lambda document, intent: rename_branch(document, intent.name, intent.new)),
    DeleteBranch: _changed(lambda document, intent: delete_branch(document, intent.name)),
}


def edit_of(message: dict[str, Any]) -> Intent | None:
    """The edit for a message of the notebook; None for other messages. Raises KeyError and ValueError as `protocol.messages.intent_of`."""
    match message["kind"]:
        case "insert_cell":
            return InsertCell(int(message["cell"]), str(message["cell_kind"]))
        case "remove_cell":
            return RemoveCell(int(message["cell"]))
        case "move_cell":
            return MoveCell(int(message["cell"]), int(message["to"]))
        case "switch_item":
            return SwitchItem(int(message["item"]), bool(message["on"]))
        case "remove_item":
            return RemoveItem(int(message["item"]))
        case "move_item" if "cell" in message:
            return MoveItemInto(int(message["item"]), int(message["cell"]))
        case "move_item":
            return MoveItem(int(message["item"]), int(message["target"]), bool(message["after"]))
        case _:
            return _way_on_of(message)


def _way_on_of(message: dict[str, Any]) -> Intent | None:
    match message["kind"]:
        case "mend":
            return Mend()
        case "skip_conflicts":
            return SkipConflicts()
        case "stop_here":
            return StopHere()
        case "put_back":
            return PutBack(int(message["step"]))
        case "add_branch":
            return AddBranch(str(message["name"]), None if message["steps"] is None else int(message["steps"]))
        case "choose_branch":
            return ChooseBranch(str(message["name"]))
        case "rename_branch":
            return RenameBranch(str(message["name"]), str(message["new"]))
        case "delete_branch":
            return DeleteBranch(str(message["name"]))
        case _:
            return None


__all__ = ["EDITS", "checked_text", "edit_of", "edited", "open_notebook", "picture", "settled"]
