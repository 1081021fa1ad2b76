"""A file on the disk: it is written only if it is unchanged since the last read, and polled for changes by other programs.

The real path is resolved once, when the file is opened. Later no link is followed, neither one that replaces the file nor one that
replaces a folder above it.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from ...engine.ir import Refusal
from ..document import DocumentError
from ..document.files.read_write import FileVersion, clear_leftovers, read_text, replace_text, stamp_of
from ..folders.state import sync_folder

SETTLED_S = 0.1
"""The age from which a write by another program counts as complete."""


class FileOnDisk:
    """`text` is the content of the file at the real path; None if there is no file. `trouble` is the reason why the file is unusable: it
    was deleted, or it is not text. Messages name the file `shown`.

    One thread changes the fields; pages read them.
    """

    def __init__(self, real: Path, shown: Path) -> None:
        self._path, self._shown = real, shown
        self.text: str | None = None
        self.trouble: Refusal | None = None
        self._stamp: FileVersion | None = None
        self._missing = 0
        self._unsynced = False

    def read(self) -> None:
        """Read the file for the first time. Raises DocumentError if it exists and cannot be read."""
        try:
            self.text, self._stamp = self._found()
        except DocumentError as error:
            if error.code != "no-such-file":
                raise

    def clear_leftovers(self, names: tuple[str, ...]) -> None:
        """Remove temporary files of an earlier server that was killed during a write."""
        clear_leftovers(self._path.parent, names)

    def write(self, text: str, temporary: str) -> bool:
        """Write `text` through the file `temporary`. Returns whether the file holds `text` now: False if another program changed the file.
        Raises DocumentError if the file cannot be written."""
        self._require_place()
        try:
            self._stamp = replace_text(self._path, text, self._stamp, temporary, shown=self._shown)
        except DocumentError as error:
            self._unsynced = True  # the rename may have happened without a sync
            if error.code != "changed-on-disk":
                raise
            return False
        self.text, self._missing, self._unsynced = text, 0, False
        return True

    def look(self) -> bool:
        """Poll the file. Returns whether another program changed its text. A write of this moment waits for the next poll: a program that
        writes in place empties the file first."""
        try:
            self._require_place()
            stamp = stamp_of(self._path, follow=False)
            found = None if stamp is None or stamp == self._stamp or _is_fresh(stamp) else self._found()
        except DocumentError as error:
            self.trouble = error.refusal
            return False
        if stamp is None:
            if self._stamp is not None:
                self._is_gone()
            return False
        self._missing, self.trouble, before = 0, None, self.text
        if found is not None:
            self.text, self._stamp = found
        return self.text != before

    def _found(self) -> tuple[str, FileVersion]:
        text, stamp = read_text(self._path, follow=False)
        if self._unsynced:
            self._sync()
        return text, stamp

    def _sync(self) -> None:
        """Make the result of a failed write durable."""
        try:
            with self._path.open("rb") as file:
                os.fsync(file.fileno())
            sync_folder(self._path.parent)
        except OSError as error:
            raise DocumentError(Refusal("disk-error", f"cannot sync {self._shown}: {error.strerror}")) from error
        self._unsynced = False

    def _require_place(self) -> None:
        """Raise DocumentError "no-folder" if a link replaces a folder above the file."""
        folder = str(self._path.parent)
        if os.path.realpath(folder) != folder:
            raise DocumentError(
                Refusal("no-folder", f"the folder of {self._shown.name} was replaced", expected="Save as")
            )

    def _is_gone(self) -> None:
        """Count a poll without the file; two in a row mean that it is deleted, since editors remove a file for a moment when they save."""
        self._missing += 1
        if self._missing > 1:
            self._stamp = self.text = None
            expected = "Save to create it again, or Save as"
            self.trouble = Refusal("gone", f"{self._path.name} was deleted or moved", expected=expected)

    def make_again(self) -> None:
        """Allow the next write to create a deleted file again, at the user's request."""
        if self.trouble is not None and self.trouble.code == "gone":
            self.trouble, self._missing = None, 0


def _is_fresh(stamp: FileVersion) -> bool:
    """Whether a file was written just now, by the clock of this machine."""
    return 0 <= time.time() - stamp.mtime_ns / 1e9 < SETTLED_S


__all__ = ["FileOnDisk"]
