"""One file that pages are open on: what its text is, where undo and redo lead, and whether the disk has it.

Pages call `publish` and `draft`, a thread of the cabinet calls `work`. Nothing that is not known to be ours is ever written over: what
another page or another program changed meanwhile is merged, and where both changed the same lines the person is asked.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from ..engine.ir import Refusal
from .document import DocumentError, Notebook, evaluate, read_document
from .document.files import Stamp, clear_leftovers, read_text, stamp_of, write_text
from .document.history import Draft, Edit, History, Kept, digest_of
from .document.merging import Part, merge, merged, resolved
from .limits import LIMITS

BACK = "Edits that were not in the file when the server ended are back."
TYPED = "What was being typed when the server ended is back; undo takes it away."
RELOADED = "Another program changed the file, and it was read anew; undo leads to how it was."
TOGETHER = "Another program changed the file too; both changes are in it now, undo leads to each."


class Times(msgspec.Struct, frozen=True):
    """Seconds: how long a burst of edits is waited for and at most, how often the disk is looked at, when a failed write is tried again."""

    quiet: float = 0.15
    longest: float = 1.0
    look: float = 1.0
    again: float = 5.0


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
        self._history, self._call, self._times = history, call, times
        self._lock = threading.RLock()
        self._followers: list[Follower] = []
        self._line: Line | None = None
        self._disk: str | None = None
        self._base: str | None = None
        self._stamp: Stamp | None = None
        self._untouched: str | None = None
        self._writing: str | None = None
        self._edits: list[Edit] = []
        self._source: tuple[str, str] | None = None
        self._drafts: dict[str, Draft] = {}
        self._not_written: Refusal | None = None
        self._not_there: Refusal | None = None
        self._no_history: Refusal | None = None
        self._clashes: tuple[Part, ...] = ()
        self._told = ""
        self._missing = 0
        self._ready: dict[str, Notebook] = {}
        self._first_edit: float | None = None
        self._last_edit = self._looked = self._tried = 0.0

    # Beginning.

    def begin(self, line: Line, *, anew: bool) -> None:
        """Take what the disk has, and what the history knows of it. Raises DocumentError where the file cannot be read."""
        clear_leftovers(self.path)
        self._looked = time.monotonic()
        self._line = line
        try:
            self._disk, self._stamp = read_text(self.path)
        except DocumentError as error:
            if error.code != "no-such-file":
                raise
        self._base = self._disk
        kept, read = self._known(), self._unread if anew else self._read
        if self._disk is not None:
            current = line.notebook if line.text == self._disk else read(self._disk)
            self._line = line if line.text == self._disk else Line(current)
            if kept is not None:
                self._restore(kept, current)
        elif kept is not None and not kept.disk and not anew:
            self._line = Line(self._read(kept.text), tuple(map(self._unread, kept.past)))
            self._told = BACK
        if anew:
            self.replace(line)
        elif self._disk is None and not self._told:
            self._untouched = line.text

    def _known(self) -> Kept | None:
        reading = History(self.path.resolve().parent)
        try:
            return reading.load(self._name)
        except DocumentError as error:
            self._no_history = error.refusal
            return None
        finally:
            reading.close()

    def _restore(self, kept: Kept, current: Notebook) -> None:
        """The disk has `current`; the history may know more."""
        past, future = tuple(map(self._unread, kept.past)), tuple(map(self._unread, kept.future))
        disk = current.document.text
        if kept.text == disk:
            self._line = Line(current, past, future)
        else:
            self._line = Line(self._read(kept.text), past, future)
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
            self._move(self._read(draft.text), now.notebook)  # one undo away
        elif text != now.text:
            self._move(self._read(text))
            self._told = TYPED
        self._drafts[draft.page] = Draft(draft.page, "", "")

    def _unread(self, text: str) -> Notebook:
        return Notebook(read_document(text, str(self.path)))

    def _read(self, text: str) -> Notebook:
        return self._ready.pop(text, None) or evaluate(read_document(text, str(self.path)), self._now().notebook)

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
            unsaved = self._unsaved()
            # A file that has the text is not enough: after an undo and a redo the history may still be at the undo.
            kept = not unsaved if self._no_history is not None else not (self._edits or self._drafts)
            if self._clashes:
                return Standing("asking", None, kept, self._clashes)
            why = self._not_there or (self._not_written if unsaved else None)
            if why is not None:
                return Standing("failed", why, kept)
            if self._now().text == self._untouched:
                return Standing("new", told=self._told)
            return Standing("saving" if unsaved else "saved", self._no_history, kept, told=self._told)

    def _unsaved(self) -> bool:
        text = self._now().text
        return text not in (self._disk, self._untouched) or self._writing not in (None, text)

    def join(self, follower: Follower) -> None:
        with self._lock:
            self._followers.append(follower)

    def comes_from(self, source: str, text: str) -> None:
        """The notebook was made of another file, which is opened again as this one."""
        with self._lock:
            self._source = (source, text)

    def leave(self, follower: Follower) -> None:
        """The page is gone. What it left is written now."""
        with self._lock:
            self._followers = [f for f in self._followers if f is not follower]
            self._first_edit = 0.0
        self._call()

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
                    self._move(line.notebook if text == line.text else self._read(text))
        self._tell(follower)
        return ()

    def settle(self, follower: Follower, mine: Notebook, text: str) -> None:
        """A page's answer where its text `mine` and that of others clashed; undo leads to each."""
        with self._lock:
            self._move(mine, self._read(text))
        self._tell(follower)

    def answer(self, choices: list[str]) -> None:
        """What a person wants of the clashes with another program's text; undo leads to each side."""
        with self._lock:
            if not self._clashes or self._disk is None:
                return
            text = resolved(self._clashes, choices)
            self._clashes, self._base = (), self._disk
            self._move(self._read(self._disk), self._read(text))
        self._tell()

    def replace(self, line: Line) -> None:
        """Another notebook goes into the file: with its own past where there was no file, else one undo after what was there."""
        with self._lock:
            self._untouched = None
            self._first_edit = 0.0
            if self._disk is None:
                self._line = line
            elif line.text != self._now().text:
                self._move(line.notebook)
        self._tell()

    def draft(self, page: str, base: str, text: str) -> None:
        """What is being typed on a page; nothing is where it is `base` again."""
        with self._lock:
            self._drafts[page] = Draft(page, base, text)
        self._call()

    def save(self) -> None:
        """Write it now; a file that is gone too."""
        with self._lock:
            self._first_edit, self._tried, self._told = 0.0, 0.0, ""
            self._untouched = None
            if self._not_there is not None and self._not_there.code == "gone":
                self._not_there, self._missing = None, 0
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
        self._edits.append(edit)
        self._last_edit = time.monotonic()
        self._first_edit = self._last_edit if self._first_edit is None else self._first_edit
        self._told = ""
        if self._clashes and self._disk is not None:
            self._clashes = ()
            self._bring_together(self._base or "", self._disk)

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
            if (self._edits or self._drafts) and self._no_history is None:
                return 0.0
            look = self._looked + self._times.look
            return min(look, self._write_time()) if self._may_write() else look

    @property
    def done(self) -> bool:
        """Whether nobody looks at it and the disk has it all."""
        with self._lock:
            return not self._followers and self.standing.status in ("saved", "new") and self.standing.kept

    def _may_write(self) -> bool:
        return self._unsaved() and not self._clashes and self._not_there is None

    def _write_time(self) -> float:
        """A while after the last edit, not too long after the first, and not at once again where it failed."""
        first = self._first_edit if self._first_edit is not None else 0.0
        wait = min(self._last_edit + self._times.quiet, first + self._times.longest)
        return max(wait, self._tried + self._times.again) if self._not_written is not None and self._tried else wait

    def work(self, *, final: bool = False) -> None:
        """Record, write, look: what is due. Never raises."""
        before = self._seen()
        try:
            text = self._record()
            with self._lock:
                due = self._may_write() and (final or time.monotonic() >= self._write_time())
            if due:
                self._write(text)
            if not final and time.monotonic() >= self._looked + self._times.look:
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
            self._tried = time.monotonic()
            if self._not_written is None or self._not_written.message != refusal.message:
                self._not_written = refusal

    def _record(self) -> str:
        """Edits into the history; returns the text that they end at. Where it cannot be they wait, and the file is written all the same."""
        with self._lock:
            edits, drafts, base, text = list(self._edits), dict(self._drafts), self._base, self._now().text
        if not edits and not drafts:
            return text
        try:
            self._history.record(self._name, edits, base)
            if self._source is not None:
                self._history.made(*self._source, self._name)
                self._source = None
            for draft in drafts.values():
                self._history.draft(self._name, draft)
        except DocumentError as error:
            with self._lock:
                self._no_history = error.refusal
                del self._edits[: -LIMITS.undo]
            return text
        with self._lock:
            self._no_history = None
            del self._edits[: len(edits)]
            self._drafts = {page: draft for page, draft in self._drafts.items() if drafts.get(page) is not draft}
        return text

    def _write(self, text: str) -> None:
        """`text` is in the history, so that a file that holds it is known to be ours."""
        with self._lock:
            stamp, self._first_edit, self._writing = self._stamp, None, text
        self._note(lambda: self._history.writing(self._name, text))
        try:
            made = write_text(self.path, text, stamp)
        except DocumentError as error:
            with self._lock:
                self._writing = None
            if error.code != "changed-on-disk":
                raise
            self._look()
            return
        with self._lock:
            self._disk = self._base = text
            self._stamp, self._writing, self._untouched = made, None, None
            self._not_written, self._missing = None, 0
        self._note(lambda: self._history.record(self._name, (), text))

    def _note(self, write: Callable[[], None]) -> None:
        if self._no_history is None:
            try:
                write()
            except DocumentError as error:
                with self._lock:
                    self._no_history = error.refusal

    def _look(self) -> None:
        """Whether another program changed the file."""
        self._looked = self._last_edit = time.monotonic()
        try:
            stamp = stamp_of(self.path)
            with self._lock:
                known = self._stamp
            found = None if stamp is None or stamp == known else read_text(self.path)
        except DocumentError as error:
            with self._lock:
                self._not_there = error.refusal
            return
        if found is not None:
            self._read_ahead(found[0])
        with self._lock:
            if found is not None:
                self._found(*found)
            elif stamp is None and known is not None:
                self._gone()
            else:
                self._missing, self._not_there = 0, None if stamp is not None else self._not_there

    def _read_ahead(self, theirs: str) -> None:
        """Read what another program wrote, and what comes of it with ours, while no page has to wait for the file."""
        with self._lock:
            base, now, before = self._base, self._now(), self._disk
        texts = [theirs] if theirs not in (before, now.text) else []
        if texts and now.text not in (before, self._untouched):
            texts += [text] if (text := merged(merge(base or "", now.text, theirs))) is not None else []
        ready = {text: evaluate(read_document(text, str(self.path)), now.notebook) for text in texts}
        with self._lock:
            self._ready = ready

    def _gone(self) -> None:
        """Seen twice: editors take a file away for a moment when they write it."""
        self._missing += 1
        if self._missing > 1:
            self._stamp = self._disk = None
            self._not_there = Refusal(
                "gone", f"{self._name} was deleted or moved", expected="Save to write it there again, or Save as"
            )

    def _found(self, text: str, stamp: Stamp) -> None:
        """The file holds `text`, and it is not we who wrote it."""
        before, now = self._disk, self._now()
        self._disk, self._stamp, self._missing, self._not_there = text, stamp, 0, None
        if text == before:
            return
        self._clashes = ()
        if now.text in (text, before, self._untouched) and text is not None:
            self._base = text
            if text != now.text:
                self._move(self._read(text))
                self._told = RELOADED
        else:
            self._bring_together(self._base or "", text)

    def _bring_together(self, base: str, theirs: str) -> None:
        """Our text, which is not written, and that on the disk."""
        parts = merge(base, self._now().text, theirs)
        text = merged(parts)
        self._base = base if text is None else theirs
        if text is None:
            self._clashes = parts
            return
        self._move(self._read(theirs))
        if text != theirs:
            self._move(self._read(text))
        self._told = TOGETHER


__all__ = ["Follower", "Line", "OpenFile", "Standing", "Times"]
