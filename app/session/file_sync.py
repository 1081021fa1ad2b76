"""Between a page and the file that its notebook is in: what the page does goes into the file, what others do to it comes to the page.

While something is typed the page stays on the text that it is typed into; when that is done, both are brought together.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from msgspec.structs import replace

from ...engine.ir import Refusal
from ..actions.cell_actions import checked_text, settled
from ..actions.relocation import at_path, followed, located
from ..document import Document, DocumentError, Notebook, evaluate, load_document, read_document, read_text
from ..document.files.history import History
from ..document.files.merging import Part
from ..document.files.read_write import real_path
from ..document.notebook import revision_of
from ..jobs.event_loop import EventLoop
from ..state.addresses import NEW_DRAFT, Address
from ..state.model import FileStatus, LookedBack, State
from ..storage.drafts import draft_file, new_draft, no_such_draft
from ..storage.file_status import Line
from ..storage.open_file import OpenFile
from ..storage.registry import OpenFileRegistry
from ..views.notebook.versions import changes_of

TYPED = ("draft_cell", "draft_item", "edit", "edit_item", "edit_prose")
"""Messages with a text typed into what their page showed; all others that name a place in the notebook must be about what there is."""

MOST_OVERTAKEN = 20

Found = TypeVar("Found")

_NAME = re.compile(r"\w[\w .+-]{0,99}")


class FileSync:
    """One page's. `open_files` is None where nothing is to be written; `news` is called on the page's loop when the file has some."""

    def __init__(self, open_files: OpenFileRegistry | None, event_loop: EventLoop, news: Callable[[], None]) -> None:
        self.open_files = open_files
        self._event_loop, self._news = event_loop, news
        self._page = secrets.token_hex(6)
        self._file: OpenFile | None = None
        self._base: Notebook | None = None
        self._apart: tuple[Part, ...] = ()
        self._drafting = self._waiting = False
        self._overtaken: dict[int, Notebook] = {}

    # What the file says.

    def told(self) -> None:
        """There is news; from any thread."""
        if not self._waiting:
            self._waiting = True
            self._event_loop.soon(self._news)

    def caught_up(self, state: State) -> State:
        """The state with what others did to the file, unless something is being typed or clashes with it; and how the file stands."""
        self._waiting = False
        if self._file is None or state.notebook is None:
            return state
        line = self._file.line
        if line.notebook is not self._base and state.draft_of is None and not self._apart:
            if line.notebook is not state.notebook:
                self._overtake(state.notebook)
                state = followed(state, line)
            self._base = line.notebook
        after = self._in_file(state, self._file)
        return state if (after.file, after.address) == (state.file, state.address) else after

    def _overtake(self, notebook: Notebook) -> None:
        self._overtaken[revision_of(notebook)] = notebook
        for old in list(self._overtaken)[:-MOST_OVERTAKEN]:
            del self._overtaken[old]

    # What the page does.

    def read(self, path: str) -> Document:
        """The file at `path` as it is now. Raises DocumentError where it cannot be read, or leads out of the served folder."""
        if self.open_files is None:
            return load_document(path)
        if self._is_draft(Path(path)) and not Path(path).is_file():
            return _draft_of_history(Path(path))
        return read_document(read_text(self.open_files.place_of(Path(path)), follow=False)[0], path)

    def begun(self, state: State, *, anew: bool = False) -> OpenFile | None:
        """What `opened` needs of the file of a state that has just been opened, for a thread. None where it is there already."""
        if self.open_files is None or state.notebook is None or state.notebook.document.path is None:
            return None
        line = Line(state.notebook, state.past, state.future)
        return self.open_files.begun(Path(state.notebook.document.path), line, anew=anew)

    def opened(
        self, state: State, *, anew: bool = False, source: Document | None = None, begun: OpenFile | None = None
    ) -> State:
        """A state whose notebook has a path, in its file from now on. `anew`: written there, in the place of what there is. `source` is
        the file that was opened, where the notebook was made of it."""
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
        """The state with the folder that new notebooks go to."""
        folder = self.open_files.folder if self.open_files is not None else None
        return state if folder is None or state.folder else replace(state, folder=folder.resolve().name or str(folder))

    def after(self, before: State, after: State) -> State:
        """The state after what a person did, and after what came of it with what others did."""
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
        """The state in the file of a new draft, if its notebook is in no file and was edited, or is a text that was opened."""
        folder = self.open_files.drafts if self.open_files is not None else None
        if folder is None or after.notebook is None or after.notebook.document.path is not None:
            return after
        is_new = after.address == NEW_DRAFT
        is_edit = before.notebook is not None and bool(after.past or after.future or after.draft_of)
        if not is_new and (not is_edit or after.notebook is before.notebook):
            return after
        assert self.open_files is not None
        path = new_draft(folder)
        base = after.notebook if is_new or before.notebook is None else before.notebook
        self._file = self.open_files.open(path, Line(at_path(base, path)), self, anew=True)
        self._base, self._apart, self._overtaken = self._file.line.notebook, (), {}
        return self._in_file(located(after, path), self._file)

    def _in_file(self, state: State, file: OpenFile) -> State:
        """The state with how the file stands, and with its address."""
        is_draft = self._is_draft(file.path)
        address = Address("draft", file.path.stem) if is_draft else Address("file", file.path.name)
        return replace(state, file=FileStatus(file.path.name, file.standing, self._apart, is_draft), address=address)

    def _is_draft(self, path: Path) -> bool:
        return self.open_files is not None and path.parent == self.open_files.drafts

    def draft_path(self, name: str) -> Path:
        """The file of a draft. Raises DocumentError "no-such-draft"."""
        return draft_file(None if self.open_files is None else self.open_files.drafts, name)

    def discard_draft(self, path: Path) -> None:
        """Delete a draft; other files stay."""
        if self.open_files is not None and self._is_draft(path):
            self.open_files.discard(path)

    def discard_saved_draft(self, before: State, after: State) -> None:
        """A draft that went on as a file is no draft any more."""
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
        """What is on this page only is kept through a kill, too."""
        file.draft(self._page, base.document.text, notebook.document.text)
        self._drafting = True

    def _end_draft(self, file: OpenFile) -> None:
        if self._drafting:
            file.draft(self._page, "", "")
            self._drafting = False

    def leave(self, state: State) -> None:
        """The page shows something else, or is gone: what was being typed is an edit."""
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

    def based(self, state: State, message: dict[str, Any]) -> State:
        """The state that a message is about: for typed text the one that its page showed, where others changed the file since.

        Raises DocumentError "changed-meanwhile" for all else that is about a text that is not there any more.
        """
        old = self._overtaken.get(message.get("base", -1))
        if old is None or state.notebook is None or state.draft_of is not None:
            return state
        if message["base"] == revision_of(state.notebook):
            return state
        if message["kind"] not in TYPED:
            raise DocumentError(
                Refusal("changed-meanwhile", "the notebook was changed elsewhere a moment ago, so nothing was done")
            )
        self._base = old
        return replace(state, notebook=old, draft_of=old)

    # What a person asks for.

    def heard(self) -> None:
        """What was told is known."""
        if self._file is not None:
            self._file.heard()

    def save(self, state: State) -> State:
        """Write it now."""
        assert self._file is not None
        state = self.after(state, settled(state))
        self._file.save()
        return self.caught_up(state)

    @property
    def has_file(self) -> bool:
        return self._file is not None

    def when_durable(self, call: Callable[[], None], *, in_file: bool = False) -> None:
        """Call back on the page's loop once the text is durable (`in_file`: in its file), or an attempt to make it so has failed. The
        state says which."""
        if self._file is None:
            call()
            return

        def attempted() -> None:
            self._news()
            call()

        wait = self._file.when_saved if in_file else self._file.when_durable
        wait(lambda: self._event_loop.soon(attempted))

    def looked_back(self, state: State, message: dict[str, Any]) -> State:
        """The state with the file's earlier versions, with another one of them chosen, or without them."""
        shown = state.looked_back
        match message["kind"]:
            case "versions" if self._file is not None:
                place = self._file.path.resolve()
                found = _history_of(place, lambda history: history.versions(place.name)) or ()
                return replace(state, looked_back=LookedBack(found, changes_of(found), found[0].number if found else 0))
            case "version" if shown is not None:
                return replace(state, looked_back=replace(shown, chosen=int(message["version"])))
            case _:
                return replace(state, looked_back=None)

    def resolve(self, state: State, choices: list[str]) -> State:
        """A person's answer where two texts clash: "ours", "theirs" or "both" for each place."""
        if self._file is None or state.notebook is None:
            return state
        if self._apart:
            self._apart = self._file.settle(self, state.notebook, self._apart, choices)
            if not self._apart:
                self._end_draft(self._file)
        elif state.file is not None:
            self._file.answer(state.file.standing.clashes, choices)
        return self.caught_up(state)

    def place_for(self, name: str, *, replacing: bool = False) -> Path:
        """Where a file of this name goes: in the served folder. Raises DocumentError "no-folder", "bad-name", "file-exists"."""
        folder = self.open_files.folder if self.open_files is not None else None
        if folder is None:
            raise DocumentError(
                Refusal(
                    "no-folder",
                    "the server has no folder of yours",
                    expected="`tilewright serve FOLDER`, or a download",
                )
            )
        name = name.strip()
        stem = name.removesuffix(".py")
        if not _NAME.fullmatch(stem) or stem != stem.strip(" ."):
            raise DocumentError(
                Refusal(
                    "bad-name",
                    "this cannot be a file's name",
                    found=repr(name[:120]),
                    expected="letters and digits, as tiles.py",
                )
            )
        path = folder / f"{stem}.py"
        if path.is_symlink() and ((real := real_path(path)) is None or real.parent != folder.resolve()):
            raise DocumentError(Refusal("bad-name", f"{path.name} leads out of the folder", expected="another name"))
        if path.exists() and not path.is_file():
            raise DocumentError(Refusal("bad-name", f"{path.name} is no file", expected="another name"))
        if path.exists() and not replacing:
            raise DocumentError(
                Refusal(
                    "file-exists",
                    f"there is a file {path.name} already",
                    found=path.name,
                    expected="another name, or to replace it",
                )
            )
        return path


def readable(document: Document) -> tuple[Document, Notebook | None]:
    """The document to open a page with, of a file, and its notebook where it was read for that. Mostly the file's own. Where a notebook was
    made of it before, that one; where no program is in it any more, the last one of its history that had one, so that there is a picture
    to go on from."""
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
    """A draft whose file was not written when the server was killed. Raises DocumentError "no-such-draft"."""
    kept = _history_of(path.resolve(), lambda history: history.load(path.name))
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
    """What the history of a file's folder says; None where it cannot be read."""
    history = History(path.parent)
    try:
        return read(history)
    except DocumentError:
        return None
    finally:
        history.close()


def _way(before: State, after: State) -> str:
    """How the page got there: by an edit, or by undo or redo."""
    assert after.notebook is not None
    document = after.notebook.document
    if before.past and document is before.past[-1].document:
        return "undo"
    return "redo" if before.future and document is before.future[0].document else "edit"


__all__ = ["FileSync", "readable"]
