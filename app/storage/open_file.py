"""An open file: the text that its pages share, and the steps that save it.

The registry's thread commits the entry that `begin_attempt` returns to the history, calls `committed` with the result, and then `work`,
which writes the file and polls it for changes by other programs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from ...engine.ir import Refusal
from ..document import DocumentError
from ..document.files.history import Entry, History
from ..document.files.read_write import temporary_name
from .file_status import RELOADED, SaveStatus
from .save_debounce import Times
from .shared_file import SharedFile


class OpenFile(SharedFile):
    """A shared file with the methods that the registry's thread calls."""

    def __init__(self, path: Path, real: Path, history: History, call: Callable[[], None], times: Times) -> None:
        super().__init__(path, real, history, call, times)
        self._committed: str | None = None
        self._seen: tuple[int, SaveStatus] | None = None
        self._retry_s, self._busy_until = times.look, 0.0

    @property
    def due(self) -> float:
        """The time of the next task, on the monotonic clock."""
        with self._lock:
            if self._history_writer.waits and self._history_writer.trouble is None:
                return 0.0
            look = self._debounce.next_look
            return min(look, self._debounce.next_write) if self._may_write() else look

    @property
    def done(self) -> bool:
        """Whether no page has the file open, and the disk has all edits, in the history too unless that cannot be used."""
        with self._lock:
            save_status = self.save_status
            is_kept = save_status.status == "new" or (save_status.status == "saved" and save_status.durable)
            is_recorded = not (self._history_writer.waits and self._history_writer.is_busy)
            return not self._followers and is_kept and is_recorded

    def _may_write(self) -> bool:
        return self._unsaved() and not self._conflicts and self._disk.trouble is None

    def begin_attempt(self, *, final: bool = False) -> Entry | None:
        """Begin an attempt to save all edits so far. Returns the entry to commit to the history, None if there is nothing to commit, or
        another process held the history a moment ago."""
        is_history_due = final or time.monotonic() >= self._busy_until
        with self._lock:
            self._attempts.begin()
            self._seen = self._visible()
        if is_history_due and self._unloaded is not None:
            self._load_late()
        with self._lock:
            self._committed = self._now().text
            if not is_history_due or self._unloaded is not None:
                return None
            return self._history_writer.entry(self._base, self._committed)

    def _load_late(self) -> None:
        """Load the history that another process held when the file was opened."""
        kept = self._history_writer.known(self.real.parent)
        with self._lock:
            opening = self._unloaded
            if self._history_writer.is_busy:
                self._busy_until = time.monotonic() + self._retry_s
                return
            self._unloaded = None
            if kept is not None and opening is not None:
                self._take_up_late(kept, opening)

    def committed(self, entry: Entry, trouble: Refusal | None) -> None:
        """Handle the result of a commit. When commits begin to fail (`trouble`), the file is written at once."""
        with self._lock:
            if trouble is not None and self._history_writer.trouble is None:
                self._debounce.hurry()
            self._history_writer.committed(entry, trouble)
            self._busy_until = time.monotonic() + self._retry_s if self._history_writer.is_busy else 0.0
        self._notify_changes()
        self._attempts.check()

    def work(self, *, final: bool = False) -> bool:
        """Write and poll the file if due, and end the attempt. Returns whether a write was attempted without an error. Never raises."""
        is_written = False
        try:
            with self._lock:
                text = self._committed
                is_due = self._may_write() and (final or time.monotonic() >= self._debounce.next_write)
                if is_due:  # during the write no other text counts as saved, not even the file's current one
                    self._writing = text
            if is_due and text is not None:
                self._write(text)
                is_written = True
            if not final and time.monotonic() >= self._debounce.next_look:
                self._look()
        except DocumentError as error:
            self._failed(error.refusal)
        except Exception as error:
            self._failed(Refusal("unwritable", f"cannot save {self.real.name}: {type(error).__name__}: {error}"))
        self._notify_changes()
        self._attempts.check(ended=True)
        return is_written

    def _visible(self) -> tuple[int, SaveStatus]:
        """The notebook's identity and the status: the parts that pages show."""
        return id(self._now().notebook), self.save_status

    def _notify_changes(self) -> None:
        """Notify pages if the thread changed the notebook or the status."""
        with self._lock:
            before, self._seen = self._seen, self._visible()
        if self._seen != before:
            self._followers.notify()

    def _failed(self, refusal: Refusal) -> None:
        with self._lock:
            self._debounce.failed()
            if self._not_written is None or self._not_written.message != refusal.message:
                self._not_written = refusal

    def _write(self, text: str) -> None:
        """Write `text`, which the history already has, so that it is recognised as our own."""
        self._debounce.writing()
        temporary = temporary_name(self.real)
        try:
            self._history_writer.writing(text, temporary)
            is_written = self._disk.write(text, temporary)
        finally:
            self._writing = None
        if not is_written:
            self._look()
            return
        with self._lock:
            self._base, self._untouched, self._not_written = text, None, None
        self._notify_changes()
        self._attempts.check()
        self._history_writer.written(text, temporary)

    def _look(self) -> None:
        """Poll the file and handle a change by another program."""
        self._debounce.looked()
        before = self._disk.text
        if self._disk.look() and self._disk.text is not None:
            with self._lock:
                self._found(self._disk.text, before)

    def _found(self, text: str, before: str | None) -> None:
        """Merge or reload `text`, which another program wrote; `before` is the file's previous text."""
        now = self._now()
        self._conflicts = ()
        if now.text not in (text, before, self._untouched):
            self._bring_together(self._base or "", text)
            return
        self._base = text
        if text != now.text:
            self._move(self._unread(text))
            self._notice = RELOADED


__all__ = ["OpenFile"]
