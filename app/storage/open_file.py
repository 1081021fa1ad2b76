"""One open file: the text that its pages share, brought to the disk.

The thread of the open files commits what `begin_attempt` returns to the history, says so by `committed`, and calls `work`, which writes the
file and looks whether another program did.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from ...engine.ir import Refusal
from ..document import DocumentError
from ..document.files.history import Entry, History
from ..document.files.read_write import temporary_name
from .file_status import RELOADED, FileStanding
from .save_debounce import Times
from .shared_file import SharedFile


class OpenFile(SharedFile):
    """Made by the cabinet, whose thread calls what is here."""

    def __init__(self, path: Path, real: Path, history: History, call: Callable[[], None], times: Times) -> None:
        super().__init__(path, real, history, call, times)
        self._committed: str | None = None
        self._seen: tuple[int, FileStanding] | None = None

    @property
    def due(self) -> float:
        """When there is something to do."""
        with self._lock:
            if self._history_writer.waits and self._history_writer.trouble is None:
                return 0.0
            look = self._debounce.next_look
            return min(look, self._debounce.next_write) if self._may_write() else look

    @property
    def done(self) -> bool:
        """Whether nobody looks at it and the disk has it all."""
        with self._lock:
            standing = self.standing
            is_kept = standing.status == "new" or (standing.status == "saved" and standing.durable)
            return not self._followers and is_kept

    def _may_write(self) -> bool:
        return self._unsaved() and not self._clashes and self._disk.trouble is None

    def begin_attempt(self) -> Entry | None:
        """Begin to bring to the disk all that was done until now. Returns what is to be committed to the history, None for nothing."""
        with self._lock:
            self._attempts.begin()
            self._seen = self._visible()
            self._committed = self._now().text
            return self._history_writer.entry(self._base, self._committed)

    def committed(self, entry: Entry, trouble: Refusal | None) -> None:
        """The entry is in the history; or it is not, and why: then the file is written at once."""
        with self._lock:
            if trouble is not None and self._history_writer.trouble is None:
                self._debounce.hurry()
            self._history_writer.committed(entry, trouble)
        self._tell_news()
        self._attempts.check()

    def work(self, *, final: bool = False) -> bool:
        """Write and look, where that is due; whether it was written. Ends an attempt. Never raises."""
        is_written = False
        try:
            with self._lock:
                text = self._committed
                is_due = self._may_write() and (final or time.monotonic() >= self._debounce.next_write)
                if is_due:  # from here on no other text is saved, also not the one that the file still holds
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
        self._tell_news()
        self._attempts.check(ended=True)
        return is_written

    def _visible(self) -> tuple[int, FileStanding]:
        """What pages can see of it."""
        return id(self._now().notebook), self.standing

    def _tell_news(self) -> None:
        """Tell pages where the thread changed what they can see."""
        with self._lock:
            before, self._seen = self._seen, self._visible()
        if self._seen != before:
            self._followers.tell()

    def _failed(self, refusal: Refusal) -> None:
        with self._lock:
            self._debounce.failed()
            if self._not_written is None or self._not_written.message != refusal.message:
                self._not_written = refusal

    def _write(self, text: str) -> None:
        """`text` is in the history, so that a file that holds it is known to be ours."""
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
        self._tell_news()
        self._attempts.check()
        self._history_writer.written(text, temporary)

    def _look(self) -> None:
        """Whether another program changed the file."""
        self._debounce.looked()
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


__all__ = ["OpenFile"]
