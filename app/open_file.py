"""One file that pages are open on: what its text is, where undo and redo lead, and whether the disk has it.

Pages call `publish` and `draft`, a thread of the cabinet calls `work`. Nothing that is not known to be ours is ever written over: what
another page or another program changed meanwhile is merged, and where both changed the same lines the person is asked.

Texts are brought together here, not read: a notebook that comes of it waits for the page that shows it to read it, in a thread of its own.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, Protocol

import msgspec
from msgspec.structs import replace

from ..engine.ir import Refusal
from .disk_copy import DiskCopy
from .document import DocumentError, Notebook, read_document
from .document.history import Draft, Edit, History, Kept, digest_of
from .document.merging import Part, merge, merged, resolved
from .journal import Journal
from .limits import LIMITS
from .pace import Pace, Times

BACK = "Edits that were not in the file when the server ended are back."
TYPED = "What was being typed when the server ended is back; undo takes it away."
RELOADED = "Another program changed the file, and it was read anew; undo leads to how it was."
TOGETHER = "Another program changed the file too; both changes are in it now, undo leads to each."


class Line(msgspec.Struct, frozen=True, eq=False):
    """A notebook, and those that undo and redo lead to."""

    notebook: Notebook
    past: tuple[Notebook, ...] = ()
    future: tuple[Notebook, ...] = ()

    @property
    def text(self) -> str:
        return self.notebook.document.text


class Standing(msgspec.Struct, frozen=True):
    """How a file stands. "new": there is none yet, the first edit makes it; "failed": the disk does not have the text, and `why`; "asking":
    another program changed the same lines (`clashes`).

    `kept`: the disk has all edits, in the file or in its history. `told` is what was done unasked: recovered, merged, reloaded.
    """

    status: Literal["saved", "saving", "new", "failed", "asking"]
    why: Refusal | None = None
    kept: bool = True
    clashes: tuple[Part, ...] = ()
    told: str = ""


class Follower(Protocol):
    """A page."""

    def told(self) -> None:
        """The file is another one, or stands otherwise. Called from any thread, nothing being held."""
        ...


class OpenFile:
    """Made by the cabinet. `path` is as it was asked for: a link is written through."""

    def __init__(self, path: Path, history: History, call: Callable[[], None], times: Times) -> None:
        self.path, self._name = path, path.resolve().name
        self._call = call
        self._lock = threading.RLock()
        self._followers: list[Follower] = []
        self._line: Line | None = None
        self._disk, self._journal = DiskCopy(path), Journal(history, self._name)
        self._writing: str | None = None
        self._base: str | None = None
        self._untouched: str | None = None
        self._not_written: Refusal | None = None
        self._clashes: tuple[Part, ...] = ()
        self._told = ""
        self._pace = Pace(times)

    # Beginning.

    def begin(self, line: Line, *, anew: bool) -> None:
        """Take what the disk has, and what the history knows of it. Raises DocumentError where the file cannot be read."""
        self._disk.read()
        self._pace.looked()
        self._line, self._base = line, self._disk.text
        kept = self._journal.known(self.path.resolve().parent)
        if self._disk.text is not None:
            current = line.notebook if line.text == self._disk.text else self._unread(self._disk.text)
            self._line = line if line.text == self._disk.text else Line(current)
            if kept is not None:
                self._restore(kept, current)
        elif kept is not None and not kept.disk and not anew:
            self._line = Line(self._unread(kept.text), tuple(map(self._unread, kept.past)))
            self._told = BACK
        if anew:
            self.replace(line)
        elif self._disk.text is None and not self._told:
            self._untouched = line.text

    def _restore(self, kept: Kept, current: Notebook) -> None:
        """The disk has `current`; the history may know more."""
        past, future = tuple(map(self._unread, kept.past)), tuple(map(self._unread, kept.future))
        disk = current.document.text
        if kept.text == disk:
            self._line = Line(current, past, future)
        else:
            self._line = Line(self._unread(kept.text), past, future)
            if digest_of(disk) in kept.disk:
                self._told = BACK
            elif digest_of(kept.text) in kept.disk or kept.base is None:
                self._move(current)
                self._told = RELOADED
            else:
                self._bring_together(kept.base, disk)
        for draft in kept.drafts:
            self._take_back(draft)

    def _take_back(self, draft: Draft) -> None:
        """What was being typed when the server ended."""
        now = self._now()
        text = merged(merge(draft.base, draft.text, now.text))
        if text is None:
            self._move(self._unread(draft.text), now.notebook)  # one undo away
        elif text != now.text:
            self._move(self._unread(text))
            self._told = TYPED
        self._journal.draft(Draft(draft.page, "", ""))

    def _unread(self, text: str) -> Notebook:
        return Notebook(read_document(text, str(self.path)))

    # Pages.

    @property
    def line(self) -> Line:
        with self._lock:
            return self._now()

    def _now(self) -> Line:
        assert self._line is not None, "the cabinet began it"
        return self._line

    @property
    def standing(self) -> Standing:
        with self._lock:
            unsaved, no_history = self._unsaved(), self._journal.trouble
            # A file that has the text is not enough: after an undo and a redo the history may still be at the undo.
            kept = not unsaved if no_history is not None else not self._journal.waits
            if self._clashes:
                return Standing("asking", None, kept, self._clashes)
            why = self._disk.trouble or (self._not_written if unsaved else None)
            if why is not None:
                return Standing("failed", why, kept, told=self._told)
            if self._now().text == self._untouched:
                return Standing("new", told=self._told)
            return Standing("saving" if unsaved else "saved", no_history, kept, told=self._told)

    def _unsaved(self) -> bool:
        text = self._now().text
        return text not in (self._disk.text, self._untouched) or self._writing not in (None, text)

    def join(self, follower: Follower) -> None:
        with self._lock:
            self._followers.append(follower)

    def comes_from(self, source: str, text: str) -> None:
        """The notebook was made of another file, which is opened again as this one."""
        self._journal.comes_from(source, text)

    def leave(self, follower: Follower) -> None:
        """The page is gone. What it left is written now."""
        with self._lock:
            self._followers = [f for f in self._followers if f is not follower]
            self._pace.hurry()
        self._call()

    def discard(self) -> bool:
        """The file is about to be deleted: edits that are not written yet are forgotten. Returns whether no page has it open."""
        with self._lock:
            self._untouched = self._now().text
            return not self._followers

    def publish(self, follower: Follower, base: str, line: Line, way: str = "edit") -> tuple[Part, ...]:
        """A page made `line` of the text `base`. Returns clashes with what others made of it meanwhile: then nothing was done."""
        with self._lock:
            now = self._now()
            if base == now.text:
                self._accept(line, Edit(base, line.text, way))
            elif line.text != now.text:
                parts = merge(base, line.text, now.text)
                text = merged(parts)
                if text is None:
                    return parts
                if text != now.text:
                    self._move(line.notebook if text == line.text else self._unread(text))
        self._tell(follower)
        return ()

    def settle(
        self, follower: Follower, mine: Notebook, parts: Sequence[Part], choices: Sequence[str]
    ) -> tuple[Part, ...]:
        """A page's answer where its text `mine` and that of others clashed; undo leads to each. Returns clashes with what others made
        of theirs since: then nothing was done."""
        theirs = resolved(parts, ["theirs"] * len(parts))
        with self._lock:
            clashes = merge(theirs, resolved(parts, choices), self._now().text)
            text = merged(clashes)
            if text is None:
                return clashes
            self._move(mine, self._unread(text))
        self._tell(follower)
        return ()

    def put_aside(self, mine: Notebook) -> None:
        """A page is gone without an answer: undo leads to what it had."""
        with self._lock:
            self._move(mine, replace(self._now().notebook))  # another object: pages follow what is another one
        self._tell()

    def answer(self, clashes: tuple[Part, ...], choices: Sequence[str]) -> None:
        """What a person wants of the `clashes` with another program's text; undo leads to each side. Where they are others by now,
        the person is asked again."""
        with self._lock:
            if not clashes or self._clashes != clashes or self._disk.text is None:
                return
            self._clashes, self._base = (), self._disk.text
            self._move(self._unread(self._disk.text), self._unread(resolved(clashes, choices)))
        self._tell()

    def replace(self, line: Line) -> None:
        """Another notebook goes into the file: with its own past where there was no file, else one undo after what was there."""
        with self._lock:
            self._untouched = None
            self._pace.hurry()
            if self._disk.text is None:
                self._line = line
            elif line.text != self._now().text:
                self._move(line.notebook)
        self._tell()

    def draft(self, page: str, base: str, text: str) -> None:
        """What is being typed on a page; nothing is where it is `base` again."""
        self._journal.draft(Draft(page, base, text))
        self._call()

    def save(self) -> None:
        """Write it now; a file that is gone too."""
        with self._lock:
            self._pace.hurry()
            self._told, self._untouched = "", None
            self._disk.make_again()
        self._tell()

    def heard(self) -> None:
        """What was told is known."""
        with self._lock:
            self._told = ""
        self._tell()

    def _move(self, *notebooks: Notebook) -> None:
        """Edits, one after the other."""
        for notebook in notebooks:
            now = self._now()
            line = Line(notebook, (*now.past, now.notebook)[-LIMITS.undo :])
            self._accept(line, Edit(now.text, line.text))

    def _accept(self, line: Line, edit: Edit) -> None:
        self._line = line
        self._journal.edit(edit)
        self._pace.edited()
        self._told = ""
        if self._clashes and self._disk.text is not None:
            self._clashes = ()
            self._bring_together(self._base or "", self._disk.text)

    def _bring_together(self, base: str, theirs: str) -> None:
        """Our text, which is not written, and that on the disk."""
        parts = merge(base, self._now().text, theirs)
        text = merged(parts)
        self._base = base if text is None else theirs
        if text is None:
            self._clashes = parts
            return
        self._move(self._unread(theirs))
        if text != theirs:
            self._move(self._unread(text))
        self._told = TOGETHER

    def _tell(self, but: Follower | None = None) -> None:
        """Pages look again, and the thread."""
        with self._lock:
            followers = [f for f in self._followers if f is not but]
        for follower in followers:
            with suppress(RuntimeError):  # its loop has ended
                follower.told()
        self._call()

    # The thread.

    @property
    def due(self) -> float:
        """When there is something to do."""
        with self._lock:
            if self._journal.waits and self._journal.trouble is None:
                return 0.0
            look = self._pace.next_look
            return min(look, self._pace.next_write) if self._may_write() else look

    @property
    def done(self) -> bool:
        """Whether nobody looks at it and the disk has it all."""
        with self._lock:
            return not self._followers and self.standing.status in ("saved", "new") and self.standing.kept

    def _may_write(self) -> bool:
        return self._unsaved() and not self._clashes and self._disk.trouble is None

    def work(self, *, final: bool = False) -> None:
        """Record, write, look: what is due. Never raises."""
        before = self._seen()
        try:
            text = self._record()
            with self._lock:
                due = self._may_write() and (final or time.monotonic() >= self._pace.next_write)
                if due:  # from here on no other text is saved, also not the one that the file still holds
                    self._writing = text
            if due:
                self._write(text)
            if not final and time.monotonic() >= self._pace.next_look:
                self._look()
        except DocumentError as error:
            self._failed(error.refusal)
        except Exception as error:
            self._failed(Refusal("unwritable", f"cannot save {self._name}: {type(error).__name__}: {error}"))
        if self._seen() != before:
            self._tell()

    def _seen(self) -> tuple[object, ...]:
        """What pages can see of it."""
        with self._lock:
            return (id(self._now().notebook), self.standing)

    def _failed(self, refusal: Refusal) -> None:
        with self._lock:
            self._pace.failed()
            if self._not_written is None or self._not_written.message != refusal.message:
                self._not_written = refusal

    def _record(self) -> str:
        """Edits into the history; returns the text that they end at. Where it cannot be they wait, and the file is written all the same."""
        with self._lock:
            waiting, base, text = self._journal.waiting(), self._base, self._now().text
        self._journal.record(waiting, base)
        return text

    def _write(self, text: str) -> None:
        """`text` is in the history, so that a file that holds it is known to be ours."""
        self._pace.writing()
        try:
            self._journal.writing(text)
            written = self._disk.write(text)
        finally:
            self._writing = None
        if not written:
            self._look()
            return
        with self._lock:
            self._base, self._untouched, self._not_written = text, None, None
        self._journal.written(text)

    def _look(self) -> None:
        """Whether another program changed the file."""
        self._pace.looked()
        before = self._disk.text
        if self._disk.look() and self._disk.text is not None:
            with self._lock:
                self._found(self._disk.text, before)

    def _found(self, text: str, before: str | None) -> None:
        """The file holds `text`, and it is not we who wrote it."""
        now = self._now()
        self._clashes = ()
        if now.text not in (text, before, self._untouched):
            self._bring_together(self._base or "", text)
            return
        self._base = text
        if text != now.text:
            self._move(self._unread(text))
            self._told = RELOADED


__all__ = ["Follower", "Line", "OpenFile", "Standing"]
