"""Intents that edit cells and the history, with their handlers. The text edits themselves are in `document`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, cast, get_args

from msgspec import Meta
from msgspec.structs import replace

from ...engine.adopt import is_carrier
from ...engine.ir import PrimFunc, Refusal
from ...engine.script import is_text
from ..document import Document, DocumentError, Notebook, evaluate
from ..document.cells import CellKind
from ..document.editing.branches import add_branch, delete_branch, rename_branch, with_branch
from ..document.editing.cells import delete_cell, insert_cell, move_cell
from ..document.editing.conflicts import failed_step, put_back, repaired, skip_conflicts, stop_at
from ..document.editing.suggestions import suggestion, with_suggestion
from ..document.items import move_item, move_item_into, remove_item, switch_off, switch_on, with_comment
from ..limits import LIMITS
from ..state.intents import ACTIONS, Intent, Message, Whole
from ..state.model import State


class InsertCell(Message, frozen=True, tag="insert_cell"):
    """Insert an empty cell before cell `cell`; `cell_kind` is "markdown", "schedule", …"""

    cell: Whole
    cell_kind: str


class RemoveCell(Message, frozen=True, tag="remove_cell"):
    """Remove cell `cell` from the notebook."""

    cell: Whole


class MoveCell(Message, frozen=True, tag="move_cell"):
    """Move cell `cell` to position `to`."""

    cell: Whole
    to: Whole


class SwitchItem(Message, frozen=True, tag="switch_item"):
    """Switch schedule line `item` on or off; it stays in the text."""

    item: Whole
    on: bool


class RemoveItem(Message, frozen=True, tag="remove_item"):
    """Remove schedule line `item` from the text; the later lines are applied again."""

    item: Whole


class CommentItem(Message, frozen=True, tag="comment_item"):
    """Change the comment above schedule line `item`; an empty `text` removes it."""

    item: Whole
    text: Annotated[str, Meta(max_length=2_000)]


class MoveItem(Message, frozen=True, tag="move_item"):
    """Move schedule line `item` before or after line `target`."""

    item: Whole
    target: Whole
    after: bool = False


class MoveItemInto(Message, frozen=True, tag="move_item_into"):
    """Move schedule line `item` to the end of cell `cell`, which may be empty."""

    item: Whole
    cell: Whole


class ApplySuggestion(Message, frozen=True, tag="apply_suggestion"):
    """Apply the suggestion for the notebook's error: a similar name, or the calls that make a step legal."""


class SkipConflicts(Message, frozen=True, tag="skip_conflicts"):
    """Switch off every step that does not apply."""


class StopHere(Message, frozen=True, tag="stop_here"):
    """Switch off the step that does not apply and all later ones."""


class RestoreStep(Message, frozen=True, tag="restore_step"):
    """Restore step `step` of the last notebook without an error."""

    step: Whole


class AddBranch(Message, frozen=True, tag="add_branch"):
    """Add a branch that continues after `steps` steps, None for all."""

    name: str
    steps: Whole | None = None


class ChooseBranch(Message, frozen=True, tag="choose_branch"):
    """Continue with another branch."""

    name: str


class RenameBranch(Message, frozen=True, tag="rename_branch"):
    """Rename branch `name` to `new`."""

    name: str
    new: str


class DeleteBranch(Message, frozen=True, tag="delete_branch"):
    """Delete a branch that is not the current one."""

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


def func_of(state: State) -> PrimFunc:
    """The visible program. Raises DocumentError if no notebook is open."""
    if state.moment is None:
        raise DocumentError(Refusal("no-notebook", "no notebook is open"))
    return state.moment.schedule.func


def checked_text(text: str) -> str:
    """The text, if its size and characters are valid; a carrier, whose code is checked later, may be longer. Raises DocumentError
    "text-too-long", and "not-text" for text that no file can hold."""
    is_longer = len(text) > LIMITS.text_characters and is_carrier(text)
    most = LIMITS.carrier_bytes if is_longer else LIMITS.text_characters
    if len(text) > most:
        raise DocumentError(
            Refusal("text-too-long", f"the text has {len(text)} characters", expected=f"at most {most}")
        )
    if text.count("\n") > LIMITS.text_lines and not is_carrier(text):
        lines, expected = text.count("\n"), f"at most {LIMITS.text_lines}"
        raise DocumentError(Refusal("text-too-long", f"the text has {lines} lines", expected=expected))
    if not is_text(text):
        expected = "no lone surrogates and no null characters"
        raise DocumentError(Refusal("not-text", "the text cannot be written to a file", expected=expected))
    return text


def _edits(kind: type[Intent]) -> Callable[[Callable[[Document, Any], Document]], None]:
    """Registers an edit that is a function of the document."""

    def register(change: Callable[[Document, Any], Document]) -> None:
        @ACTIONS(kind)
        def act(state: State, intent: Any) -> State:
            notebook = open_notebook(state)
            return edited(state, evaluate(change(notebook.document, intent), notebook))

    return register


_edits(RemoveCell)(lambda document, intent: delete_cell(document, intent.cell))
_edits(MoveCell)(lambda document, intent: move_cell(document, intent.cell, intent.to))
_edits(SwitchItem)(lambda document, intent: (switch_on if intent.on else switch_off)(document, intent.item))
_edits(RemoveItem)(lambda document, intent: remove_item(document, intent.item))
_edits(CommentItem)(lambda document, intent: with_comment(document, intent.item, intent.text))
_edits(MoveItem)(lambda document, intent: move_item(document, intent.item, intent.target, after=intent.after))
_edits(MoveItemInto)(lambda document, intent: move_item_into(document, intent.item, intent.cell))
_edits(AddBranch)(lambda document, intent: add_branch(document, intent.name, intent.steps))
_edits(ChooseBranch)(lambda document, intent: with_branch(document, intent.name))
_edits(RenameBranch)(lambda document, intent: rename_branch(document, intent.name, intent.new))
_edits(DeleteBranch)(lambda document, intent: delete_branch(document, intent.name))


@_edits(InsertCell)
def _insert_cell(document: Document, intent: InsertCell) -> Document:
    if intent.cell_kind not in get_args(CellKind):
        raise DocumentError(Refusal("bad-cell", f"there is no cell of kind {intent.cell_kind!r}"))
    return insert_cell(document, intent.cell, cast("CellKind", intent.cell_kind))


@ACTIONS(ApplySuggestion)
def _apply_suggestion(state: State, _: ApplySuggestion) -> State:
    notebook = open_notebook(state)
    if notebook.error is not None:
        found = suggestion(notebook, notebook.error)
        if found is not None:
            return edited(state, evaluate(with_suggestion(notebook.document, found), notebook))
    return edited(state, repaired(notebook))


@ACTIONS(SkipConflicts)
def _skip(state: State, _: SkipConflicts) -> State:
    return edited(state, skip_conflicts(open_notebook(state)))


@ACTIONS(StopHere)
def _stop(state: State, _: StopHere) -> State:
    notebook = open_notebook(state)
    failed = failed_step(notebook)
    if failed is None:
        return state
    return edited(state, evaluate(stop_at(notebook.document, failed.index), notebook))


@ACTIONS(RestoreStep)
def _put_back(state: State, intent: RestoreStep) -> State:
    notebook, good = open_notebook(state), state.good
    if good is None:
        raise DocumentError(Refusal("no-such-step", "there is no valid version of the notebook"))
    return edited(state, evaluate(put_back(notebook.document, good, intent.step), notebook))


__all__ = ["checked_text", "edited", "func_of", "latest", "open_notebook", "picture", "settled"]
