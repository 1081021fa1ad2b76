"""Edits of a file that wait for a commit to its history. Pages add them; the thread of the open files commits them.

If the history cannot be written, editing continues without it: `trouble` is the reason, and the newest edits stay queued.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from ...engine.ir import Refusal
from ..document import DocumentError
from ..document.files.history import BUSY, Draft, Edit, Entry, History, Kept
from ..limits import LIMITS


class HistoryWriter:
    """The queued edits and drafts of the file `name`. `text` is the last text in the history, if known."""

    def __init__(self, history: History, name: str) -> None:
        self.history, self._name = history, name
        self._lock = threading.Lock()
        self._edits: list[Edit] = []
        self._drafts: dict[str, Draft] = {}
        self._source: tuple[str, str] | None = None
        self.trouble: Refusal | None = None
        self.text: str | None = None

    def known(self, folder: Path) -> Kept | None:
        """Load the file's history through a separate connection, so that any thread may call this."""
        reading = History(folder)
        try:
            kept = reading.load(self._name)
        except DocumentError as error:
            self.trouble = error.refusal
            return None
        finally:
            reading.close()
        self.trouble = None
        self.text = None if kept is None else kept.text
        return kept

    @property
    def is_busy(self) -> bool:
        """Whether another process holds the history; the queued edits are recorded later."""
        return self.trouble is not None and self.trouble.code == BUSY

    # Called by pages.

    def edit(self, edit: Edit) -> None:
        with self._lock:
            self._edits.append(edit)

    def draft(self, draft: Draft) -> None:
        """Queue a draft; it replaces the page's previous one."""
        with self._lock:
            self._drafts[draft.page] = draft

    def comes_from(self, source: str, text: str) -> None:
        """Record the file that the notebook was converted from, and its text."""
        with self._lock:
            self._source = (source, text)

    @property
    def waits(self) -> bool:
        return bool(self._edits or self._drafts)

    @property
    def drafts(self) -> tuple[Draft, ...]:
        """Uncommitted drafts whose text differs from their base."""
        with self._lock:
            return tuple(draft for draft in self._drafts.values() if draft.text != draft.base)

    # Called by the registry's thread.

    def entry(self, base: str | None, text: str) -> Entry | None:
        """The queued changes as an entry to commit; None if the queue is empty. `base` is the file's old text, `text` its new one."""
        with self._lock:
            if not self.waits:
                return None
            return Entry(self._name, tuple(self._edits), base, text, tuple(self._drafts.values()), self._source)

    def committed(self, entry: Entry, trouble: Refusal | None) -> None:
        """Remove a committed entry from the queue; if the commit failed, record `trouble` and keep the last LIMITS.undo edits."""
        with self._lock:
            self.trouble = trouble
            if trouble is not None:
                del self._edits[: -LIMITS.undo]
                return
            del self._edits[: len(entry.edits)]
            self.text = entry.edits[-1].text if entry.edits else self.text
            self._drafts = {page: draft for page, draft in self._drafts.items() if draft not in entry.drafts}
            self._source = None if self._source == entry.source else self._source

    def writing(self, text: str, temporary: str) -> None:
        """Record a write before it happens, so that the text is recognised as our own when it is found in the file."""
        self._try(lambda: self.history.writing(self._name, text, temporary))

    def written(self, text: str, temporary: str) -> None:
        """Record a finished write."""
        self._try(lambda: self.history.written(self._name, text, temporary))
        self._try(self.history.checkpoint)

    def _try(self, write: Callable[[], None]) -> None:
        if self.trouble is not None:
            return
        try:
            write()
        except DocumentError as error:
            self.trouble = error.refusal


__all__ = ["HistoryWriter"]
