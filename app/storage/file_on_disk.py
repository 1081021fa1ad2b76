"""What the disk has of a file: written only while it is as it was seen last, and looked at for what other programs do to it.

The file's real path is found once, when it is opened. From then on no link is followed: neither one that takes the file's place, nor one
that takes the place of a folder above it.
"""

from __future__ import annotations

import os
from pathlib import Path

from ...engine.ir import Refusal
from ..document import DocumentError
from ..document.files.read_write import FileVersion, clear_leftovers, read_text, replace_text, stamp_of
from ..folders.state import sync_folder


class FileOnDisk:
    """`text` is what the file at the real path holds, None where there is no file. `trouble` is why nothing can be done to it: it is gone,
    or no text. Messages call the file `shown`.

    One thread changes it; pages see each of its fields as it is.
    """

    def __init__(self, real: Path, shown: Path) -> None:
        self._path, self._shown = real, shown
        self.text: str | None = None
        self.trouble: Refusal | None = None
        self._stamp: FileVersion | None = None
        self._missing = 0
        self._unsynced = False

    def read(self) -> None:
        """For the first time. Raises DocumentError where it is there and cannot be read."""
        try:
            self.text, self._stamp = self._found()
        except DocumentError as error:
            if error.code != "no-such-file":
                raise

    def clear_leftovers(self, names: tuple[str, ...]) -> None:
        """Remove temporary files of an earlier server that was killed while it wrote."""
        clear_leftovers(self._path.parent, names)

    def write(self, text: str, temporary: str) -> bool:
        """Write by way of the file `temporary`. Whether it holds `text` now: not where another program changed it. Raises DocumentError
        where it cannot be written."""
        self._require_place()
        try:
            self._stamp = replace_text(self._path, text, self._stamp, temporary, shown=self._shown)
        except DocumentError as error:
            self._unsynced = True  # the file may have been renamed, and that not synced
            if error.code != "changed-on-disk":
                raise
            return False
        self.text, self._missing, self._unsynced = text, 0, False
        return True

    def look(self) -> bool:
        """Whether another program put another text there."""
        try:
            self._require_place()
            stamp = stamp_of(self._path, follow=False)
            found = None if stamp is None or stamp == self._stamp else self._found()
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
        """Make durable what a write that failed may have left."""
        try:
            with self._path.open("rb") as file:
                os.fsync(file.fileno())
            sync_folder(self._path.parent)
        except OSError as error:
            raise DocumentError(Refusal("disk-error", f"cannot sync {self._shown}: {error.strerror}")) from error
        self._unsynced = False

    def _require_place(self) -> None:
        """Raises DocumentError "no-folder" where a link stands in the place of a folder above the file."""
        folder = str(self._path.parent)
        if os.path.realpath(folder) != folder:
            raise DocumentError(
                Refusal("no-folder", f"the folder of {self._shown.name} is another one now", expected="Save as")
            )

    def _is_gone(self) -> None:
        """Seen twice: editors take a file away for a moment when they write it."""
        self._missing += 1
        if self._missing > 1:
            self._stamp = self.text = None
            expected = "Save to write it there again, or Save as"
            self.trouble = Refusal("gone", f"{self._path.name} was deleted or moved", expected=expected)

    def make_again(self) -> None:
        """Where it is gone a person wants it there again."""
        if self.trouble is not None and self.trouble.code == "gone":
            self.trouble, self._missing = None, 0


__all__ = ["FileOnDisk"]
