"""The text that all pages on one file share, with its undo and redo stacks and its save status.

Only our own text is ever overwritten: changes by other pages or programs are merged (three-way), and the user is asked if both sides
changed the same lines.

This module merges texts and does not parse them: the page that shows a merged notebook parses it, in a separate thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from ...engine.ir import Refusal
from ..document import Notebook, read_document
from ..document.files.history import Draft, Edit, History, Kept, digest_of
from ..document.files.merging import Part, merge, merged, resolved
from ..limits import LIMITS
from .commit_waiters import CommitWaiters
from .file_on_disk import FileOnDisk
from .file_status import BACK, RELOADED, TOGETHER, TYPED, Follower, Followers, Line, Presence, SaveStatus
from .history_writer import HistoryWriter
from .save_debounce import SaveDebounce, Times


class _Opening(msgspec.Struct, frozen=True, eq=False):
    """The line and the file's text at the opening of a file; `anew`: the notebook replaces the file's content."""

    line: Line
    disk: str | None
    anew: bool


class SharedFile:
    """The interface of an open file for pages. `path` is the requested path, `real` the resolved one: writes go to a link's target, so that
    the link remains. `call` wakes the thread that saves the text."""

    def __init__(self, path: Path, real: Path, history: History, call: Callable[[], None], times: Times) -> None:
        self.path, self.real, self.history = path, real, history
        self._call = call
        self._lock = threading.RLock()
        self._followers = Followers()
        self._line: Line | None = None
        self._disk, self._history_writer = FileOnDisk(real, path), HistoryWriter(history, real.name)
        self._attempts = CommitWaiters()
        self._edited = False
        self._writing: str | None = None
        self._base: str | None = None
        self._untouched: str | None = None
        self._not_written: Refusal | None = None
        self._conflicts: tuple[Part, ...] = ()
        self._notice = ""
        self._debounce = SaveDebounce(times)
        self._unloaded: _Opening | None = None

    # Start.

    def begin(self, line: Line, *, anew: bool) -> None:
        """Load the text from the disk and the history. Raises DocumentError if the file cannot be read."""
        self._disk.read()
        self._debounce.looked()
        self._line, self._base = line, self._disk.text
        if self._disk.text is not None and line.text != self._disk.text:
            self._line = Line(self._unread(self._disk.text))
        kept = self._history_writer.known(self.real.parent)
        opening = _Opening(self._now(), self._disk.text, anew)
        if kept is not None:
            self._take_up(kept, opening)
        elif self._history_writer.is_busy:
            self._unloaded = opening
        if anew:
            self.replace(line)
        elif self._disk.text is None and not self._notice:
            self._untouched = line.text

    def _take_up(self, kept: Kept, opening: _Opening) -> None:
        """Take up the history of a file whose line is that of its opening."""
        self._disk.clear_leftovers(kept.temporary)
        if opening.disk is not None:
            self._restore(kept, opening.line.notebook)
        elif not kept.disk and not opening.anew and (kept.past or kept.drafts or kept.text != opening.line.text):
            self._line = Line(self._unread(kept.text), tuple(map(self._unread, kept.past)))
            self._notice = BACK
            self._take_back(kept.drafts)

    def _take_up_late(self, kept: Kept, opening: _Opening) -> None:
        """Take up a history that another process held when the file was opened: edits made since are merged with what it restores. If
        they cannot be merged, undo leads to what it restores."""
        mine = self._now()
        self._line = opening.line
        self._take_up(kept, opening)
        now, same = self._now(), replace(mine.notebook)  # a new object: pages detect changes by identity
        if now.text == opening.line.text:
            future = now.future if mine is opening.line else mine.future
            self._line = Line(same, (*now.past, *mine.past)[-LIMITS.undo :], future)
        elif mine.text != opening.line.text:
            self._untouched, self._conflicts = None, ()
            text = None if opening.anew else merged(merge(opening.line.text, mine.text, now.text))
            self._move(same if text is None else self._unread(text))
        elif self._notice:
            self._untouched = None

    def _restore(self, kept: Kept, current: Notebook) -> None:
        """Restore the undo stack and newer edits from the history (`kept`); the disk has `current`."""
        past, future = tuple(map(self._unread, kept.past)), tuple(map(self._unread, kept.future))
        disk = current.document.text
        if kept.text == disk:
            self._line = Line(current, past, future)
        else:
            self._line = Line(self._unread(kept.text), past, future)
            if digest_of(disk) in kept.disk:
                self._notice = BACK
            elif digest_of(kept.text) in kept.disk or kept.base is None:
                self._move(current)
                self._notice = RELOADED
            else:
                self._bring_together(kept.base, disk)
        self._take_back(kept.drafts)

    def _take_back(self, drafts: Sequence[Draft]) -> None:
        """Restore drafts: unfinished input of the last server run, or input that clashed with the file."""
        for draft in drafts:
            now = self._now()
            text = merged(merge(draft.base, draft.text, now.text))
            if text is None:
                self._move(self._unread(draft.text), now.notebook)  # one undo away
            elif text != now.text:
                self._move(self._unread(text))
                self._notice = TYPED
            self._history_writer.draft(Draft(draft.page, "", ""))

    def _unread(self, text: str) -> Notebook:
        return Notebook(read_document(text, str(self.path)))

    # Called by pages.

    @property
    def line(self) -> Line:
        with self._lock:
            return self._now()

    def _now(self) -> Line:
        assert self._line is not None, "the registry called begin"
        return self._line

    @property
    def save_status(self) -> SaveStatus:
        with self._lock:
            unsaved, notice = self._unsaved(), self._notice
            why = self._disk.trouble or (self._not_written if unsaved else None)
            if self._conflicts:
                status, why, notice = "asking", None, ""
            elif why is not None:
                status = "failed"
            elif self._now().text == self._untouched:
                status = "new"
            else:
                status = "saving" if unsaved else "saved"
            return SaveStatus(status, why, self._is_durable(), self._conflicts, notice, self._history_writer.trouble)

    def _is_durable(self) -> bool:
        """Whether the disk has the text and all unfinished input."""
        if self._history_writer.trouble is not None:
            return self._is_in_file() and not self._history_writer.drafts
        # The file's text alone is not enough: after an undo and a redo, the history may still end at the undo.
        return not self._history_writer.waits and (self._is_in_file() or self._history_writer.text == self._now().text)

    def _is_in_file(self) -> bool:
        text = self._now().text
        return self._disk.text == text and self._writing in (None, text)

    def unkept(self) -> tuple[str, ...]:
        """The user's texts that would be lost if the server ended now: the notebook's, and unfinished input."""
        with self._lock:
            if self._is_durable():
                return ()
            is_kept = self._is_in_file() or (
                self._history_writer.trouble is None and self._history_writer.text == self._now().text
            )
            own = () if is_kept or not self._edited else (self._now().text,)
            return (*own, *(draft.text for draft in self._history_writer.drafts))

    def when_durable(self, call: Callable[[], None]) -> None:
        """Run `call` once the text is durable, or an attempt to make it durable fails; in any thread."""
        if self._attempts.wait(lambda: self.save_status.durable, call):
            self._call()

    def when_saved(self, call: Callable[[], None]) -> None:
        """Run `call` once the file holds the text, or an attempt to write it fails; in any thread."""
        if self._attempts.wait(lambda: self.save_status.status == "saved", call):
            self._call()

    def _unsaved(self) -> bool:
        text = self._now().text
        return text not in (self._disk.text, self._untouched) or self._writing not in (None, text)

    def join(self, follower: Follower) -> None:
        self._followers.join(follower)

    def present(self, follower: Follower, presence: Presence) -> None:
        """Send the name and the selection of this page to the others."""
        self._followers.present(follower, presence)

    def others(self, follower: Follower) -> tuple[Presence, ...]:
        """The names and selections of the other pages."""
        return self._followers.others(follower)

    def comes_from(self, source: str, text: str) -> None:
        """Record that the notebook was converted from the file `source` with the content `text`; opening `source` then opens this file."""
        self._history_writer.comes_from(source, text)

    def leave(self, follower: Follower) -> None:
        """Remove a closed page and write its last edits now."""
        self._followers.leave(follower)
        with self._lock:
            self._debounce.hurry()
        self._call()

    def discard(self) -> bool:
        """Drop unsaved edits before the file is deleted. Returns whether no page has the file open."""
        with self._lock:
            self._untouched = self._now().text
            return not self._followers

    def publish(self, follower: Follower, base: str, line: Line, way: str = "edit") -> tuple[Part, ...]:
        """Accept a page's edit from the text `base` to `line`, merged with newer edits. Returns the parts with conflicts, without
        any change, if they cannot be merged."""
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
        self._notify(follower)
        return ()

    def settle(
        self, follower: Follower, mine: Notebook, parts: Sequence[Part], choices: Sequence[str]
    ) -> tuple[Part, ...]:
        """Apply a page's answer to a conflict between its text `mine` and that of others; undo leads to each. Returns the parts with new
        conflicts, without any change, if the others' newer edits cannot be merged."""
        theirs = resolved(parts, ["theirs"] * len(parts))
        with self._lock:
            conflicts = merge(theirs, resolved(parts, choices), self._now().text)
            text = merged(conflicts)
            if text is None:
                return conflicts
            self._move(mine, self._unread(text))
        self._notify(follower)
        return ()

    def put_aside(self, mine: Notebook) -> None:
        """Keep the text of a page that closed without an answer to a conflict: undo leads to it."""
        with self._lock:
            self._move(mine, replace(self._now().notebook))  # a new object: pages detect changes by identity
        self._notify()

    def answer(self, conflicts: tuple[Part, ...], choices: Sequence[str]) -> None:
        """Apply the user's choices for the `conflicts` with another program's text; undo leads to each side. If the conflicts have
        changed, the user is asked again."""
        with self._lock:
            if not conflicts or self._conflicts != conflicts or self._disk.text is None:
                return
            self._conflicts, self._base = (), self._disk.text
            self._move(self._unread(self._disk.text), self._unread(resolved(conflicts, choices)))
        self._notify()

    def replace(self, line: Line) -> None:
        """Replace the notebook. A new file takes over its undo stack; otherwise undo leads to the old content."""
        with self._lock:
            self._untouched, self._edited = None, True
            self._debounce.hurry()
            if self._disk.text is None:
                self._line = line
            elif line.text != self._now().text:
                self._move(line.notebook)
        self._notify()

    def draft(self, page: str, base: str, text: str) -> None:
        """Record unfinished input of a page; a `text` equal to `base` clears it."""
        self._history_writer.draft(Draft(page, base, text))
        self._call()

    def save(self) -> None:
        """Write the file now, even if it was deleted."""
        with self._lock:
            self._debounce.hurry()
            self._notice, self._untouched = "", None
            self._disk.make_again()
        self._notify()

    def clear_notice(self) -> None:
        """Clear the message about an automatic action."""
        with self._lock:
            self._notice = ""
        self._notify()

    def _move(self, *notebooks: Notebook) -> None:
        """Apply notebooks as consecutive edits."""
        for notebook in notebooks:
            now = self._now()
            line = Line(notebook, (*now.past, now.notebook)[-LIMITS.undo :])
            self._accept(line, Edit(now.text, line.text))

    def _accept(self, line: Line, edit: Edit) -> None:
        self._line, self._edited, self._notice = line, True, ""
        self._history_writer.edit(edit)
        self._debounce.edited()
        if self._history_writer.trouble is not None:  # only the file can make it durable
            self._debounce.hurry()
        if self._conflicts and self._disk.text is not None:
            self._conflicts = ()
            self._bring_together(self._base or "", self._disk.text)

    def _bring_together(self, base: str, theirs: str) -> None:
        """Merge our unsaved text with the text on the disk (`theirs`); `base` is their common ancestor."""
        parts = merge(base, self._now().text, theirs)
        text = merged(parts)
        self._base = base if text is None else theirs
        if text is None:
            self._conflicts = parts
            return
        self._move(self._unread(theirs))
        if text != theirs:
            self._move(self._unread(text))
        self._notice = TOGETHER

    def _notify(self, but: Follower | None = None) -> None:
        """Notify all pages except `but`, and wake the thread."""
        self._followers.notify(but)
        self._call()


__all__ = ["SharedFile"]
