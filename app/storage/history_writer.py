"""What was done to a file and is not in its history yet. Pages note it, the thread of the open files commits it.

Where the history cannot be written to all goes on without it: `trouble` says why, and the newest edits wait until it can.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from ...engine.ir import Refusal
from ..document import DocumentError
from ..document.files.history import Draft, Edit, Entry, History, Kept
from ..limits import LIMITS


class HistoryWriter:
    """The edits and drafts of the file `name` that wait for a commit. `text` is the text that the history ends at, if known."""

    def __init__(self, history: History, name: str) -> None:
        self.history, self._name = history, name
        self._lock = threading.Lock()
        self._edits: list[Edit] = []
        self._drafts: dict[str, Draft] = {}
        self._source: tuple[str, str] | None = None
        self.trouble: Refusal | None = None
        self.text: str | None = None

    def known(self, folder: Path) -> Kept | None:
        """What the history knows of the file; by a connection of its own, so that another thread may ask."""
        reading = History(folder)
        try:
            kept = reading.load(self._name)
        except DocumentError as error:
            self.trouble = error.refusal
            return None
        finally:
            reading.close()
        self.text = None if kept is None else kept.text
        return kept

    # Pages.

    def edit(self, edit: Edit) -> None:
        with self._lock:
            self._edits.append(edit)

    def draft(self, draft: Draft) -> None:
        """The last draft of each page counts."""
        with self._lock:
            self._drafts[draft.page] = draft

    def comes_from(self, source: str, text: str) -> None:
        """The notebook was made of another file."""
        with self._lock:
            self._source = (source, text)

    @property
    def waits(self) -> bool:
        return bool(self._edits or self._drafts)

    @property
    def drafts(self) -> tuple[Draft, ...]:
        """Drafts that are not committed and hold a text of their own."""
        with self._lock:
            return tuple(draft for draft in self._drafts.values() if draft.text != draft.base)

    # The thread.

    def entry(self, base: str | None, text: str) -> Entry | None:
        """What waits, for a commit; None where nothing does. `base` is what the file held before, `text` what it is to hold."""
        with self._lock:
            if not self.waits:
                return None
            return Entry(self._name, tuple(self._edits), base, text, tuple(self._drafts.values()), self._source)

    def committed(self, entry: Entry, trouble: Refusal | None) -> None:
        """The entry is in the history; or it is not, and why."""
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
        """The file is about to be written: who finds the text there knows that it is ours."""
        self._try(lambda: self.history.writing(self._name, text, temporary))

    def written(self, text: str, temporary: str) -> None:
        """The file holds the text."""
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
