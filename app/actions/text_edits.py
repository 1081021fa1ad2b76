"""Intents for typed text, with their handlers.

Unfinished text is a draft: it is evaluated at each pause, shown if it is valid, and becomes one undo step at its end. If the user stops a
slow evaluation, the text stays and the previous program remains visible.
"""

from __future__ import annotations

from msgspec.structs import replace

from ...engine.ir import Refusal
from ..document import (
    DEFAULT_MACHINE,
    Document,
    DocumentError,
    Notebook,
    edited_cell,
    evaluate,
    read_document,
    replace_cell,
)
from ..document.editing.cells import cell_at, with_prose
from ..document.editing.revisions.follow import followed
from ..document.items import replace_item
from ..document.notebook import not_read
from ..state.intents import ACTIONS, Intent, Message, PageMessage, Whole
from ..state.model import State
from .cell_actions import checked_text, edited, open_notebook, picture
from .opening import notes_of


class Typed(Message, frozen=True):
    """Typed text of a part of the notebook. It is merged with the changes since the text that the client shows."""

    keeps_draft = True


class DraftText(Typed, frozen=True):
    """Unfinished text."""


class DraftCell(DraftText, frozen=True, tag="draft_cell"):
    """The unfinished text below the marker of cell `cell`; in a markdown cell its words."""

    cell: Whole
    text: str


class DraftItem(DraftText, frozen=True, tag="draft_item"):
    """The unfinished text of schedule line `item`."""

    item: Whole
    text: str


class DropDraft(Message, frozen=True, tag="drop_draft"):
    """Discard the draft."""

    keeps_draft = True


class EditCell(Typed, frozen=True, tag="edit"):
    """Set the text below the marker of cell `cell`."""

    cell: Whole
    body: str


class EditProse(Typed, frozen=True, tag="edit_prose"):
    """Set the words of markdown cell `cell`."""

    cell: Whole
    text: str


class EditItem(Typed, frozen=True, tag="edit_item"):
    """Set schedule line `item` (an index over steps and disabled lines) to `text`; the later lines are applied again."""

    item: Whole
    text: str


class SetText(Message, frozen=True, tag="set_text"):
    """Set the whole text of the notebook: an earlier version, or text from an API client."""

    keeps_draft = True

    text: str


class Read(Message, frozen=True, tag="read"):
    """Evaluate the notebook's text: it came from elsewhere, or the user had stopped its evaluation."""

    keeps_draft = True


class RestoreVersion(PageMessage, frozen=True, tag="restore_version"):
    """Set the whole text to an earlier version of the file, by its number among those shown."""

    keeps_draft = True

    version: Whole


class KeepTyped(Intent, frozen=True):
    """Keep the typed text without its evaluation, which the user has stopped."""

    keeps_draft = True

    typed: Typed | Read


def draft_base(state: State) -> Notebook:
    """The notebook before the draft."""
    return state.draft_of or open_notebook(state)


def _last_read(state: State) -> Notebook | None:
    """The evaluated notebook from which the next evaluation starts."""
    base = draft_base(state)
    return base if base.evaluated else state.shown


def _text_of(base: Document, intent: Intent) -> Document:
    """The document with the intent's text in its place."""
    match intent:
        case DraftItem() | EditItem():
            return replace_item(base, intent.item, checked_text(intent.text))
        case EditProse():
            return with_prose(base, intent.cell, checked_text(intent.text))
        case DraftCell() | EditCell():
            cell = cell_at(base, intent.cell)
            text = checked_text(intent.text if isinstance(intent, DraftCell) else intent.body)
            is_prose = isinstance(intent, DraftCell) and cell.kind == "markdown"
            return with_prose(base, intent.cell, text) if is_prose else replace_cell(base, cell, text)
        case _:
            raise TypeError(intent)


@ACTIONS(DraftCell, DraftItem)
def _draft(state: State, intent: Intent) -> State:
    return edited(state, evaluate(_text_of(draft_base(state).document, intent), _last_read(state)), draft=True)


@ACTIONS(DropDraft)
def _drop(state: State, _: DropDraft) -> State:
    if state.draft_of is None:
        return state
    back = edited(state, state.draft_of, draft=True)
    return replace(back, draft_of=None)


@ACTIONS(EditProse, EditItem)
def _edit(state: State, intent: Intent) -> State:
    return edited(state, _typed(state, _text_of(draft_base(state).document, intent)))


def _typed(state: State, document: Document) -> Notebook:
    """The notebook of a typed document; lines that name a renamed cache, block or loop by a text follow."""
    last = _last_read(state)
    found = evaluate(document, last)
    return found if last is None else followed(last, found, document)


@ACTIONS(EditCell)
def _edit_cell(state: State, intent: EditCell) -> State:
    document = draft_base(state).document
    made = edited_cell(document, cell_at(document, intent.cell), checked_text(intent.body), DEFAULT_MACHINE)
    after = edited(state, _typed(state, made.document))
    return after if made.notes == () and made.stopped is None else replace(after, notes=notes_of(made))


@ACTIONS(SetText)
def _set_text(state: State, intent: SetText) -> State:
    document = read_document(checked_text(intent.text), draft_base(state).document.path)
    return replace(edited(state, evaluate(document, _last_read(state))), looked_back=None)


@ACTIONS(RestoreVersion)
def _restore(state: State, intent: RestoreVersion) -> State:
    for version in () if state.looked_back is None else state.looked_back.versions:
        if version.number == intent.version:
            return _set_text(state, SetText(version.text))
    raise DocumentError(Refusal("no-such-version", "there is no such version", found=str(intent.version)))


@ACTIONS(KeepTyped)
def _keep(state: State, intent: KeepTyped) -> State:
    if isinstance(intent.typed, Read):
        return replace(state, notebook=not_read(open_notebook(state).document), notice=None)
    document = _text_of(draft_base(state).document, intent.typed)
    return edited(state, not_read(document), draft=isinstance(intent.typed, DraftText))


@ACTIONS(Read)
def _read(state: State, _: Read) -> State:
    notebook = open_notebook(state)
    if notebook.evaluated:
        return state
    made = evaluate(notebook.document, _last_read(state))
    return replace(state, notebook=made, shown=picture(state, made, draft=state.draft_of is not None), notice=None)


__all__ = [
    "DraftCell",
    "DraftItem",
    "DraftText",
    "DropDraft",
    "EditCell",
    "EditItem",
    "EditProse",
    "KeepTyped",
    "Read",
    "RestoreVersion",
    "SetText",
    "Typed",
]
