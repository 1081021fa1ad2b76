"""The state of a page moved to another file, or to the file's text after changes by others."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from ..document import Notebook
from ..state.model import State
from ..storage.file_status import Line
from .cell_actions import open_notebook, picture, settled


def saved_as(state: State, path: Path) -> State:
    """The state for continuing in another file, with its undo stack."""
    return replace(located(settled(state), path), file=None, notice=None)


def located(state: State, path: Path) -> State:
    """The state with its notebook and its undo and redo stacks at another path."""
    notebook = at_path(open_notebook(state), path)
    shown = notebook if state.shown is state.notebook else state.shown and at_path(state.shown, path)
    past, future = (tuple(at_path(n, path) for n in line) for line in (state.past, state.future))
    draft_of = state.draft_of and at_path(state.draft_of, path)
    return replace(state, notebook=notebook, shown=shown, past=past, future=future, draft_of=draft_of)


def followed(state: State, line: Line) -> State:
    """The state with the file's text after changes by others."""
    notebook, mine = line.notebook, state.notebook
    if notebook.is_unread and mine is not None and mine.document.text == notebook.document.text:
        notebook = mine
    return replace(
        state,
        notebook=notebook,
        shown=picture(state, notebook),
        past=line.past,
        future=line.future,
        chosen_step=None,
    )


def at_path(notebook: Notebook, path: Path) -> Notebook:
    """The notebook at another path."""
    return replace(notebook, document=replace(notebook.document, path=str(path)))


__all__ = ["at_path", "followed", "located", "saved_as"]
