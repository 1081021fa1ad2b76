"""What was done to a file and is not in its history yet. Pages note it, a thread of the cabinet's records it.

Where the history cannot be written to all goes on without it: `trouble` says why, and the newest edits wait until it can.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import msgspec

from ..engine.ir import Refusal
from .document import DocumentError
from .document.history import Draft, Edit, History, Kept
from .limits import LIMITS


class Waiting(msgspec.Struct, frozen=True):
    """What waits to be recorded."""

    edits: tuple[Edit, ...]
    drafts: tuple[Draft, ...]
    source: tuple[str, str] | None


class Journal:
    """That of the file `name`."""

    def __init__(self, history: History, name: str) -> None:
        self._history, self._name = history, name
        self._lock = threading.Lock()
        self._edits: list[Edit] = []
        self._drafts: dict[str, Draft] = {}
        self._source: tuple[str, str] | None = None
        self.trouble: Refusal | None = None

    def known(self, folder: Path) -> Kept | None:
        """What the history knows of the file; by a connection of its own, so that another thread may ask."""
        reading = History(folder)
        try:
            return reading.load(self._name)
        except DocumentError as error:
            self.trouble = error.refusal
            return None
        finally:
            reading.close()

    # Pages.

    def edit(self, edit: Edit) -> None:
        with self._lock:
            self._edits.append(edit)

    def draft(self, draft: Draft) -> None:
        """What is being typed on a page: the last one counts."""
        with self._lock:
            self._drafts[draft.page] = draft

    def comes_from(self, source: str, text: str) -> None:
        """The notebook was made of another file."""
        with self._lock:
            self._source = (source, text)

    @property
    def waits(self) -> bool:
        return bool(self._edits or self._drafts)

    def waiting(self) -> Waiting:
        with self._lock:
            return Waiting(tuple(self._edits), tuple(self._drafts.values()), self._source)

    # The thread.

    def record(self, waiting: Waiting, base: str | None) -> None:
        """Put it into the history; `base` is what the file held before."""
        if not waiting.edits and not waiting.drafts:
            return

        def write() -> None:
            self._history.record(self._name, waiting.edits, base)
            if waiting.source is not None:
                self._history.made(*waiting.source, self._name)
            for draft in waiting.drafts:
                self._history.draft(self._name, draft)

        recorded = self._tried(write)
        with self._lock:
            if not recorded:
                del self._edits[: -LIMITS.undo]
                return
            del self._edits[: len(waiting.edits)]
            self._drafts = {page: draft for page, draft in self._drafts.items() if draft not in waiting.drafts}
            self._source = None if self._source == waiting.source else self._source

    def writing(self, text: str) -> None:
        """The file is about to be written: who finds the text there knows that it is ours."""
        if self.trouble is None:
            self._tried(lambda: self._history.writing(self._name, text))

    def written(self, text: str) -> None:
        if self.trouble is None:
            self._tried(lambda: self._history.record(self._name, (), text))

    def _tried(self, write: Callable[[], None]) -> bool:
        try:
            write()
        except DocumentError as error:
            self.trouble = error.refusal
            return False
        self.trouble = None
        return True


__all__ = ["Journal", "Waiting"]
