"""Synchronisation of a page with the file of its notebook: edits of the page reach the file, changes by others reach the page.

While the user types, the page keeps the text that the draft began with; at the end of the draft both are merged.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from ...engine.ir import Refusal
from ..actions.cell_actions import checked_text, settled
from ..actions.relocation import at_path, followed, located
from ..actions.text_edits import Typed
from ..document import Document, DocumentError, Notebook, evaluate, load_document, read_document, read_text
from ..document.files.history import BUSY, History
from ..document.files.merging import Part
from ..document.files.read_write import shown_path
from ..document.networks import MODEL
from ..document.notebook import revision_of
from ..jobs.event_loop import EventLoop
from ..state.addresses import NEW_DRAFT, Address, model_address
from ..state.intents import Message
from ..state.model import FileStatus, LookedBack, State
from ..storage.drafts import (
    discard_model,
    draft_file,
    equal_drafts,
    new_draft,
    no_such_draft,
    opened_draft,
    rename_draft,
)
from ..storage.file_status import Line, Presence
from ..storage.open_file import OpenFile
from ..storage.registry import OpenFileRegistry
from ..views.notebook.versions import changes_of

MOST_OVERTAKEN = 20

Found = TypeVar("Found")


class FileSync:
    """The file synchronisation of one page. `open_files` is None if nothing may be written; `news` is called on the page's event loop after
    changes of the file."""

    def __init__(self, open_files: OpenFileRegistry | None, event_loop: EventLoop, news: Callable[[], None]) -> None:
        self.open_files = open_files
        self._event_loop, self._news = event_loop, news
        self._page = secrets.token_hex(6)
        self.name = ""  # of the reader, for other pages on the file
        self._file: OpenFile | None = None
        self._base: Notebook | None = None
        self._apart: tuple[Part, ...] = ()
        self._drafting = self._waiting = False
        self._overtaken: dict[int, Notebook] = {}

    # Changes of the file.

    def on_change(self) -> None:
        """Schedule `news` on the page's event loop. Called from any thread."""
        if not self._waiting:
            self._waiting = True
            self._event_loop.soon(self._news)

    def caught_up(self, state: State) -> State:
        """The state with the file's current status, and with the changes of others unless a draft or a conflict is open."""
        self._waiting = False
        if self._file is None or state.notebook is None:
            return state
        line = self._file.line
        if line.notebook is not self._base and state.draft_of is None and not self._apart:
            if line.notebook is not state.notebook:
                self._overtake(state.notebook)
                state = followed(state, line)
            self._base = line.notebook
        self._file.present(self, Presence(self.name, state.chosen_step or 0, state.selected))
        after = self._in_file(state, self._file)
        return state if (after.file, after.address) == (state.file, state.address) else after

    def _overtake(self, notebook: Notebook) -> None:
        self._overtaken[revision_of(notebook)] = notebook
        for old in list(self._overtaken)[:-MOST_OVERTAKEN]:
            del self._overtaken[old]

    # Changes by the page.

    def read(self, path: str) -> Document:
        """The current file at `path`. Raises DocumentError if it is unreadable or is outside of the folder."""
        if self.open_files is None:
            return load_document(path)
        if self._is_draft(Path(path)) and not Path(path).is_file():
            return _draft_of_history(Path(path))
        return read_document(read_text(self.open_files.place_of(Path(path)), follow=False)[0], path)

    def begun(self, state: State, *, anew: bool = False) -> OpenFile | None:
        """The new file that `opened` needs for a state that has just been opened; a thread can prepare it. None if the file is open
        already."""
        if self.open_files is None or state.notebook is None or state.notebook.document.path is None:
            return None
        line = Line(state.notebook, state.past, state.future)
        return self.open_files.begun(Path(state.notebook.document.path), line, anew=anew)

    def opened(
        self, state: State, *, anew: bool = False, source: Document | None = None, begun: OpenFile | None = None
    ) -> State:
        """The state, bound to the file at its notebook's path. `anew` replaces the file's content by the notebook. `source` is the file
        that the notebook was converted from."""
        if self.open_files is None or state.notebook is None or state.notebook.document.path is None:
            return state
        path = Path(state.notebook.document.path)
        line = Line(state.notebook, state.past, state.future)
        file = self.open_files.open(path, line, self, anew=anew, begun=begun)
        if source is not None and source.path is not None and source.path != str(path):
            file.comes_from(Path(source.path).name, source.text)
        self._file, self._apart, self._overtaken = file, (), {}
        line = file.line
        self._base = line.notebook
        if line.notebook is state.notebook:
            return self.caught_up(replace(state, past=line.past, future=line.future))
        return self.caught_up(followed(state, line))

    def placed(self, state: State) -> State:
        """The state with the name of the folder for new notebooks."""
        folder = self.open_files.folder if self.open_files is not None else None
        return (
            state
            if folder is None or state.folder
            else replace(state, folder=shown_path(folder.resolve().name or folder))
        )

    def after(self, before: State, after: State) -> State:
        """The state after a user's change, published to the file and merged with the changes of others."""
        after = self.placed(after)
        if self._file is not None and (after.file is None or after.notebook is None):
            self.leave(before)
        if self._file is None:
            after = self._drafted(before, after)
        if self._file is None:
            return after
        if after.notebook is not before.notebook or after.draft_of is not before.draft_of:
            self._keep(self._file, before, after)
        return self.caught_up(after)

    def _drafted(self, before: State, after: State) -> State:
        """The state in the file of a new draft, if its notebook has no file and was edited or is an opened text."""
        folder = self.open_files.drafts if self.open_files is not None else None
        if folder is None or after.notebook is None or after.notebook.document.path is not None:
            return after
        is_new = after.address == NEW_DRAFT
        is_edit = before.notebook is not None and bool(after.past or after.future or after.draft_of)
        if not is_new and (not is_edit or after.notebook is before.notebook):
            return after
        assert self.open_files is not None
        base = after.notebook if is_new or before.notebook is None else before.notebook
        path = opened_draft(folder, base.document.text) if is_new else new_draft(folder)
        if self.open_files.is_open(path):
            path = new_draft(folder)
        known = is_new and path.exists()
        self._file = self.open_files.open(path, Line(at_path(base, path)), self, anew=not known)
        self._base, self._apart, self._overtaken = self._file.line.notebook, (), {}
        return self._in_file(located(after, path), self._file)

    def _in_file(self, state: State, file: OpenFile) -> State:
        """The state with the file's status and address."""
        is_draft = self._is_draft(file.path)
        address = Address("draft", file.path.stem) if is_draft else _address(state, file.path)
        status = FileStatus(file.path.name, file.save_status, self._apart, is_draft, file.others(self))
        return replace(state, file=status, address=address)

    def _is_draft(self, path: Path) -> bool:
        return self.open_files is not None and path.parent == self.open_files.drafts

    def draft_path(self, name: str) -> Path:
        """The file of a draft. Raises DocumentError "no-such-draft"."""
        return draft_file(None if self.open_files is None else self.open_files.drafts, name)

    def discard_draft_named(self, name: str, *, is_model: bool) -> None:
        """Delete a draft, or a model among the drafts, by its name. Raises DocumentError "no-such-draft"."""
        if is_model:
            discard_model(None if self.open_files is None else self.open_files.drafts, name)
        else:
            for path in equal_drafts(self.draft_path(name)):
                self.discard_draft(path)

    def rename_draft(self, name: str, title: str, *, is_model: bool) -> None:
        """Give a draft, or a model among the drafts, a heading. Raises the errors of `rename_draft`."""
        drafts = None if self.open_files is None else self.open_files.drafts
        if not is_model or drafts is None:
            rename_draft(self.draft_path(name), title)
            return
        path = drafts / name / MODEL
        if (drafts / name).parent != drafts:
            raise no_such_draft(name)
        assert self.open_files is not None
        rename_draft(self.open_files.place_of(path), title)

    def discard_draft(self, path: Path) -> None:
        """Delete a draft; other files stay."""
        if self.open_files is not None and self._is_draft(path):
            self.open_files.discard(path)

    def discard_saved_draft(self, before: State, after: State) -> None:
        """Delete the draft after its notebook was saved as a file."""
        if not before.is_draft or after.is_draft or after.file is None:
            return
        assert before.notebook is not None and before.notebook.document.path is not None
        self.discard_draft(Path(before.notebook.document.path))

    def _keep(self, file: OpenFile, before: State, after: State) -> None:
        assert after.notebook is not None and self._base is not None
        if after.draft_of is not None:
            self._draft(file, after.draft_of, after.notebook)
            return
        self._apart = ()
        if after.notebook.document.text != self._base.document.text:
            line = Line(after.notebook, after.past, after.future)
            self._apart = file.publish(self, self._base.document.text, line, _way(before, after))
            if not self._apart:
                self._base = after.notebook
        if self._apart:  # the text is on this page only
            self._draft(file, self._base, after.notebook)
        else:
            self._end_draft(file)

    def _draft(self, file: OpenFile, base: Notebook, notebook: Notebook) -> None:
        """Write the text that only this page has to the draft, so that it survives a kill."""
        file.draft(self._page, base.document.text, notebook.document.text)
        self._drafting = True

    def _end_draft(self, file: OpenFile) -> None:
        if self._drafting:
            file.draft(self._page, "", "")
            self._drafting = False

    def leave(self, state: State) -> None:
        """Leave the file: the page closes or shows something else. Unfinished typing becomes an edit."""
        if self._file is None:
            return
        after = settled(state)
        if after is not state:
            self._keep(self._file, state, after)
        if self._apart and after.notebook is not None:
            self._file.put_aside(after.notebook)
            self._end_draft(self._file)
        self._file.leave(self)
        self._file, self._apart = None, ()

    def based(self, state: State, message: Message) -> State:
        """The state that a message refers to: for typed text the one that its page showed, even if others changed the file since.

        Raises DocumentError "changed-meanwhile" for other messages about a text that is no longer current.
        """
        old = self._overtaken.get(-1 if message.base is None else message.base)
        if old is None or state.notebook is None or state.draft_of is not None:
            return state
        if message.base == revision_of(state.notebook):
            return state
        if not isinstance(message, Typed):
            raise DocumentError(
                Refusal("changed-meanwhile", "the notebook was changed elsewhere; the request was not executed")
            )
        self._base = old
        return replace(state, notebook=old, draft_of=old)

    # Requests of the user.

    def dismiss_message(self) -> None:
        """Dismiss the file's message: the user has read it."""
        if self._file is not None:
            self._file.clear_notice()

    def save(self, state: State) -> State:
        """Write the file now."""
        assert self._file is not None
        state = self.after(state, settled(state))
        self._file.save()
        return self.caught_up(state)

    @property
    def has_file(self) -> bool:
        return self._file is not None

    def when_durable(self, call: Callable[[], None], *, in_file: bool = False) -> None:
        """Call back on the page's event loop once the text is durable (`in_file`: in its file), or once an attempt to save it has failed.
        The state holds the result."""
        if self._file is None:
            call()
            return

        def attempted() -> None:
            self._news()
            call()

        wait = self._file.when_saved if in_file else self._file.when_durable
        wait(lambda: self._event_loop.soon(attempted))

    def with_versions(self, state: State) -> State:
        """The state with the file's earlier versions."""
        if self._file is None:
            return replace(state, looked_back=None)
        place = self._file.path.resolve()
        found = _read_history(place, lambda history: history.versions(place.name))
        return replace(state, looked_back=LookedBack(found, changes_of(found), found[0].number if found else 0))

    def resolve(self, state: State, choices: Sequence[str]) -> State:
        """Resolve a conflict with the user's choices: "ours", "theirs" or "both" for each place."""
        if self._file is None or state.notebook is None:
            return state
        if self._apart:
            self._apart = self._file.settle(self, state.notebook, self._apart, choices)
            if not self._apart:
                self._end_draft(self._file)
        elif state.file is not None:
            self._file.answer(state.file.save.conflicts, choices)
        return self.caught_up(state)

    @property
    def model_folder(self) -> Path:
        """The folder for new models: the served folder, else that of the drafts. Raises DocumentError "no-folder"."""
        drafts = self.open_files.drafts if self.open_files is not None and self.open_files.folder is None else None
        return drafts or self.folder

    @property
    def folder(self) -> Path:
        """The served folder. Raises DocumentError "no-folder"."""
        folder = self.open_files.folder if self.open_files is not None else None
        if folder is None:
            raise DocumentError(
                Refusal(
                    "no-folder",
                    "the server has no folder for files",
                    expected="`tilewright serve FOLDER`, or a download",
                )
            )
        return folder


def _address(state: State, path: Path) -> Address:
    """The address of a file: that of a kernel if it belongs to the open model."""
    if state.model is not None and state.kernel:
        known = state.model.called(state.kernel).notebook.document.path
        if known is not None and Path(known) == path:
            return model_address(state.model.name, state.kernel)
    return Address("file", path.name)


def with_version(state: State, number: int) -> State:
    """The state in which the version `number` of those shown is selected."""
    shown = state.looked_back
    return replace(state, looked_back=None if shown is None else replace(shown, chosen=number))


def readable(document: Document) -> tuple[Document, Notebook | None]:
    """The document to open for a file, and its notebook if it was evaluated on the way. Usually this is the file itself. If a notebook was
    converted from it before, it is that notebook; if it contains no program any longer, it is the last version in its history that does, so
    that the page has a program to show. Raises DocumentError "history-busy" for a program of which it is unknown whether a notebook was
    made."""
    checked_text(document.text)
    if document.path is None:
        return document, None
    path = Path(document.path)
    if any(cell.kind != "preamble" for cell in document.cells):
        notebook = evaluate(document)
        return (document, notebook) if notebook.schedule is not None else _with_a_program(notebook, path)
    place = path.resolve()
    name = _history_of(place, lambda history: history.made_of(place.name, document.text))
    made = None if name is None else place.with_name(name)
    if made is not None and made.is_file() and not made.is_symlink():
        return readable(load_document(made))
    return document, None


def _draft_of_history(path: Path) -> Document:
    """A draft whose file was not written before the server was killed. Raises DocumentError "no-such-draft", and the errors of History."""
    kept = _read_history(path.resolve(), lambda history: history.load(path.name))
    if kept is None:
        raise no_such_draft(path.stem)
    return read_document(kept.text, str(path))


def _with_a_program(notebook: Notebook, path: Path) -> tuple[Document, Notebook]:
    kept = _history_of(path.resolve(), lambda history: history.load(path.resolve().name))
    for text in () if kept is None else (kept.text, *reversed(kept.past)):
        earlier = evaluate(read_document(text, str(path)))
        if earlier.schedule is not None:
            return earlier.document, earlier
    return notebook.document, notebook


def _history_of(path: Path, read: Callable[[History], Found]) -> Found | None:
    """The result of `read` on the history of a file's folder; None if it cannot be used. Raises DocumentError "history-busy"."""
    try:
        return _read_history(path, read)
    except DocumentError as error:
        if error.code == BUSY:
            raise
        return None


def _read_history(path: Path, read: Callable[[History], Found]) -> Found:
    """The result of `read` on the history of a file's folder. Raises the errors of History."""
    history = History(path.parent)
    try:
        return read(history)
    finally:
        history.close()


def _way(before: State, after: State) -> str:
    """The kind of change: "edit", "undo" or "redo"."""
    assert after.notebook is not None
    document = after.notebook.document
    if before.past and document is before.past[-1].document:
        return "undo"
    return "redo" if before.future and document is before.future[0].document else "edit"


__all__ = ["FileSync", "readable", "with_version"]
